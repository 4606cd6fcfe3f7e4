import * as z from 'zod'

const NamespacePattern = z.string().min(1, 'is empty: leave "namespaces" out for all of them')

const SHARDS_RULE = 'must be a whole number from 2 to 16; leave it out to read all in one'

/** One entry of `watch:`. */
export const WatchEntry = z.strictObject({
  kind: z
    .string()
    .min(1, 'is empty: name a kind')
    .meta({ description: 'Deployment, deployments.apps or apps/v1/Deployment.', examples: ['Event'] }),
  namespaces: z
    .union([
      NamespacePattern.transform((it) => [it]),
      z.array(NamespacePattern).min(1, 'is an empty list: leave it out for all namespaces'),
    ])
    .optional()
    .meta({ description: 'Names or globs, "!" for not; without it, all.', examples: [['shop', 'pay-*']] }),
  labels: z
    .string()
    .min(1, 'is empty: leave it out for all labels')
    .optional()
    .meta({
      description: 'A label selector that the API server applies.',
      examples: ['team in (shop, pay)'],
    }),
  fields: z
    .string()
    .min(1, 'is empty: leave it out')
    .optional()
    .meta({
      description: 'A field selector that the API server applies.',
      examples: ['status.phase!=Succeeded'],
    }),
  initial: z
    .enum(['now', 'emit'])
    .optional()
    .meta({ description: 'How the first start begins: now, or emit for all that exists.' }),
  shards: z
    .number(SHARDS_RULE)
    .int(SHARDS_RULE)
    .min(2, SHARDS_RULE)
    .max(16, SHARDS_RULE)
    .optional()
    .meta({ description: 'Read in so many parts, where the API server splits it.' }),
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
