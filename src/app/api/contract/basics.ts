import * as z from 'zod'

// The page imports the types of these files, and none of their code.

export const Ms = z.int().nonnegative().meta({ description: 'Unix time in milliseconds.' })
export const Count = z.int().nonnegative()

/** How many items an answer has at most, and how many it has by default. */
export const MOST_ITEMS = 500
const DEFAULT_ITEMS = 100

const Limit = z.coerce
  .number()
  .int()
  .min(1)
  .max(MOST_ITEMS)
  .default(DEFAULT_ITEMS)
  .meta({ description: `How many items: 1 to ${MOST_ITEMS}; default: ${DEFAULT_ITEMS}.` })
const Cursor = z.string().min(1).max(200).optional().meta({ description: '`next` of the answer before.' })

/** Query parameters of a list that has more than one page. */
export const PageQuery = z.strictObject({ limit: Limit, cursor: Cursor })

/** A list; `next` is the `cursor` of the page behind it, absent on the last one. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    items: z.array(item),
    next: z
      .string()
      .optional()
      .meta({ description: 'The `cursor` of the next page; absent on the last one.' }),
  })
}

/** Time back to which a page of the history reaches that ended before it was full. */
export const StoppedAt = Ms.optional().meta({
  description:
    'The page ended early, since it had read for long: it has what is newer than this, and `next` goes on. Absent: it did not.',
})

/** A list without pages. */
export function allOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item) })
}

/** Errors: RFC 9457. */
export const Problem = z
  .strictObject({
    type: z
      .string()
      .meta({ description: 'An URI of the kind of problem; about:blank where the status is enough.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What is wrong, and what to do.' }),
  })
  .meta({ id: 'Problem', description: 'What is wrong with a request (RFC 9457).' })
export type Problem = z.output<typeof Problem>

export const Role = z.enum(['read', 'act'])
export type Role = z.output<typeof Role>

export const Access = z
  .strictObject({
    name: z
      .string()
      .meta({ description: '`token:NAME`, or `user:NAME` of the proxy; `local` without either.' }),
    role: Role,
    namespaces: z
      .array(z.string())
      .optional()
      .meta({ description: 'The namespaces that the token may read; absent: all of the cluster.' }),
    cluster: z.string(),
    version: z.string(),
    historyFromMs: Ms.optional().meta({
      description: 'Since when the history goes back; absent: it is empty.',
    }),
    journalFromMs: Ms.optional().meta({
      description: 'Since when the journal goes back; absent: there is none.',
    }),
  })
  .meta({ id: 'Access', description: 'Who the request is from, and what it may read.' })
export type Access = z.output<typeof Access>
