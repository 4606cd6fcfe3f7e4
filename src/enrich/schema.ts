import * as z from 'zod'

const Kinds = z.array(z.string().min(1, 'is empty: name a kind')).max(50, 'has more than 50 kinds')

/** By default. */
export const MAX_OBJECTS = 200_000

const COUNT_RULE = 'must be a whole number from 100 to 10000000'

/** `enrich:`, what is read of the objects around an event where rules ask for it. */
export const EnrichSettings = z.strictObject({
  owners: Kinds.default([]).meta({
    description: 'Kinds between an object and the top of its owners, besides ReplicaSet and Job.',
    examples: [['rollouts.argoproj.io']],
  }),
  regarding: Kinds.min(1, 'is an empty list: leave it out for the usual kinds')
    .optional()
    .meta({
      description: 'Kinds of objects that Events are about, for rules that name none in regarding.kind.',
      examples: [['Pod', 'Node']],
    }),
  maxObjects: z
    .number(COUNT_RULE)
    .int(COUNT_RULE)
    .min(100, COUNT_RULE)
    .max(10_000_000, COUNT_RULE)
    .default(MAX_OBJECTS)
    .meta({ description: 'How many objects are remembered; default: 200000.', examples: [200_000] }),
})
export type EnrichSettings = z.output<typeof EnrichSettings>
