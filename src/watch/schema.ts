import * as z from 'zod'

const NamespacePattern = z.string().min(1, 'is empty: leave "namespaces" out for all of them')

const SHARDS_RULE = 'must be a whole number from 2 to 16; leave it out to read all in one'

/** One entry of `watch:`. */
export const WatchEntry = z.strictObject({
  /** `Deployment`, `deployments.apps`, `apps/v1/Deployment`. */
  kind: z.string().min(1, 'is empty: name a kind'),
  /** Exact or globs, `!` for not; without it, all. */
  namespaces: z
    .union([
      NamespacePattern.transform((it) => [it]),
      z.array(NamespacePattern).min(1, 'is an empty list: leave it out for all namespaces'),
    ])
    .optional(),
  /** Label and field selector, applied by the API server. */
  labels: z.string().min(1, 'is empty: leave it out for all labels').optional(),
  fields: z.string().min(1, 'is empty: leave it out').optional(),
  /** How the first start begins: with what happens from now on, or with everything that exists. */
  initial: z.enum(['now', 'emit']).optional(),
  /** Read in so many parts, where the API server splits it. */
  shards: z.number(SHARDS_RULE).int(SHARDS_RULE).min(2, SHARDS_RULE).max(16, SHARDS_RULE).optional(),
})
export type WatchEntry = z.infer<typeof WatchEntry>

/** An entry as it may be written: a bare text is a kind. */
export const WatchEntryInput = z.union([
  z
    .string()
    .min(1, 'is empty: name a kind')
    .transform((kind): WatchEntry => ({ kind })),
  WatchEntry,
])
