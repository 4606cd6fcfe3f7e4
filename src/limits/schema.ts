import * as z from 'zod'
import { durationText } from '../sink/duration.ts'

/** What limits count by: `rule` (all of its events together), or one or several properties of the event. */
const By = z.union([z.string(), z.array(z.string()).min(1, 'is an empty list')])

const Span = durationText({ least: '1s', most: '7d', example: '10m' })

const COUNT_RULE = 'must be a whole number from 1'
const Count = z.int(COUNT_RULE).min(1, COUNT_RULE)

/** What a rule may say beside its conditions so that people are told less, and once. */
export const LimitKeysShape = {
  throttle: z.strictObject({ per: By.optional(), every: Span, burst: Count.optional() }).optional(),
  group: z
    .strictObject({
      by: By.optional(),
      wait: Span.optional(),
      interval: Span.optional(),
      max: Count.optional(),
    })
    .optional(),
  after: z.strictObject({ count: Count, within: Span, per: By.optional() }).optional(),
  count: z
    .union([
      z.array(Count).min(1),
      z.strictObject({ at: z.array(Count).optional(), every: Count.optional() }),
    ])
    .optional(),
  for: Span.optional(),
  resolve: z.union([z.boolean(), z.strictObject({ after: Span.optional() })]).optional(),
  sample: z.number().gt(0).lte(1).optional(),
} satisfies Record<string, z.ZodType>

const Shape = z.strictObject(LimitKeysShape)
export type RuleLimits = z.output<typeof Shape>
