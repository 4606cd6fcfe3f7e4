import * as z from 'zod'
import { durationText } from '../sink/duration.ts'
import { By } from './by.ts'
import { Mute } from './mute-schema.ts'

const Span = durationText({ least: '1s', most: '7d', example: '10m' })
const Wait = durationText({ least: '0s', most: '7d', example: '30s' })

/** States hold as many times of events. */
const MOST = 1_000

const count = (least: number) => {
  const rule = `must be a whole number from ${least} to ${MOST.toLocaleString('en')}`
  return z.int(rule).min(least, rule).max(MOST, rule)
}

const OCCURRENCE_RULE = 'must be a whole number from 1'
const Occurrence = z.int(OCCURRENCE_RULE).min(1, OCCURRENCE_RULE)
const Occurrences = z
  .array(Occurrence)
  .min(1, 'is an empty list: write counts, such as [1, 10, 100]')
  .max(100, 'has more than 100 entries: for every 10th write { every: 10 }')

const Count = z
  .union([
    Occurrences,
    z
      .strictObject({ at: Occurrences.optional(), every: Occurrence.optional() })
      .refine(({ at, every }) => at !== undefined || every !== undefined, {
        message: 'has no count in it',
        params: { hint: 'such as [1, 10, 100], or { at: [1], every: 10 }' },
      }),
  ])
  .transform((it): { at: readonly number[]; every?: number | undefined } =>
    Array.isArray(it) ? { at: it } : { at: [], ...(it as { at?: number[]; every?: number }) },
  )

const SAMPLE_RULE = 'must be a part from 0 to 1, such as 0.1 for one event in ten'

/** Also for `10%`, `1/10` and a number in quotes. */
function sampleRule(input: unknown): string {
  const [, number, over, percent] =
    /^\s*(\d{1,9}(?:\.\d{1,6})?)\s*(?:\/\s*(\d{1,9})|(%|percent))?\s*$/.exec(
      typeof input === 'string' ? input : '',
    ) ?? []
  const part = Number((Number(number) / Number(over ?? (percent ? 100 : 1))).toPrecision(6))
  return part > 0 && part <= 1 ? `${SAMPLE_RULE}: write ${part}` : SAMPLE_RULE
}

/** What a rule may say beside its conditions so that people are told less, and once. In the order in which they are asked. */
export const LimitKeysShape = {
  mute: Mute.optional(),
  sample: z
    .number({ error: ({ input }) => sampleRule(input) })
    .gt(0, SAMPLE_RULE)
    .lte(1, SAMPLE_RULE)
    .optional(),
  for: Span.optional(),
  count: Count.optional(),
  after: z.strictObject({ count: count(2), within: Span, per: By.optional() }).optional(),
  throttle: z.strictObject({ per: By.optional(), every: Span, burst: count(1).optional() }).optional(),
  group: z
    .strictObject({
      by: By.optional(),
      wait: Wait.optional(),
      interval: Span.optional(),
      max: count(2).optional(),
    })
    .optional(),
  resolve: z.union([z.boolean(), z.strictObject({ after: Span, per: By.optional() })]).optional(),
} satisfies Record<string, z.ZodType>

/** In the order in which they are asked. */
export const LIMIT_KEYS = Object.keys(LimitKeysShape) as (keyof typeof LimitKeysShape)[]

const Shape = z.strictObject(LimitKeysShape)
export type RuleLimits = z.output<typeof Shape>
