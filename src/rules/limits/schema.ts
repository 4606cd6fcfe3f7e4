import * as z from 'zod'
import { durationText } from '../../sink/duration.ts'
import { GROUP_KEY_TEXT, GroupKey } from './group-key.ts'
import { Mute } from './mute-window.ts'

const Span = durationText({ least: '1s', most: '7d', example: '10m' })
const Wait = durationText({ least: '0s', most: '7d', example: '30s' })

/** A state contains at most this many times of events. */
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
      .strictObject({
        at: Occurrences.optional().meta({ description: 'These counts.', examples: [[1, 10]] }),
        every: Occurrence.optional().meta({ description: 'Each multiple of this.', examples: [100] }),
      })
      .refine(({ at, every }) => at !== undefined || every !== undefined, {
        message: 'has no count in it',
        params: { hint: 'such as [1, 10, 100], or { at: [1], every: 10 }' },
      }),
  ])
  .transform((it): { at: readonly number[]; every?: number | undefined } =>
    Array.isArray(it) ? { at: it } : { at: [], ...(it as { at?: number[]; every?: number }) },
  )

const SAMPLE_RULE = 'must be a share from 0 to 1, such as 0.1 for one event in ten'

/** The limits, which are keys of a rule, in the order of their evaluation. */
export const LimitKeysShape = {
  mute: Mute.optional().meta({
    description: 'Send no notification during this time of day, or these.',
    examples: [{ from: '22:00', to: '07:00', days: 'mon-fri', timezone: 'Europe/Berlin' }],
  }),
  sample: z
    .number(SAMPLE_RULE)
    .gt(0, SAMPLE_RULE)
    .lte(1, SAMPLE_RULE)
    .optional()
    .meta({
      description: 'The share of events that passes. The same event always gets the same answer.',
      examples: [0.1],
    }),
  for: Span.optional().meta({
    description:
      'Notify only after the conditions have held for this long; no notification if they end earlier.',
    examples: ['2m'],
  }),
  count: Count.optional().meta({
    description: 'The counts of a recurring Event at which it passes.',
    examples: [[1, 10, 100], { at: [1], every: 10 }],
  }),
  debounce: z
    .strictObject({
      per: GroupKey.optional().meta({
        description: `The group key: ${GROUP_KEY_TEXT}. Default: regarding.`,
      }),
      quiet: Span.meta({ description: 'How long nothing newer may come.', examples: ['30s'] }),
      atMost: Span.optional().meta({
        description: 'The longest time that the first event waits; default: ten times quiet, 7d at most.',
        examples: ['5m'],
      }),
    })
    .superRefine(({ quiet, atMost = quiet }, context) => {
      if (atMost >= quiet) return
      const params = { hint: 'leave it out, or write a longer time' }
      context.addIssue({ code: 'custom', message: 'is shorter than "quiet"', path: ['atMost'], params })
    })
    .optional()
    .meta({
      description:
        'Notify of the newest event when none has come for a while; those before it are suppressed.',
      examples: [{ quiet: '30s', atMost: '5m' }],
    }),
  after: z
    .strictObject({
      count: count(2).meta({ description: 'How many it takes.' }),
      within: Span.meta({ description: 'Within which time.', examples: ['10m'] }),
      per: GroupKey.optional().meta({
        description: `The group key: ${GROUP_KEY_TEXT}. Default: regarding.`,
      }),
    })
    .optional()
    .meta({
      description: 'Notify at the count-th event within a time, then start to count from zero.',
      examples: [{ count: 3, within: '10m' }],
    }),
  throttle: z
    .strictObject({
      per: GroupKey.optional().meta({
        description: `The group key: ${GROUP_KEY_TEXT}. Default: regarding.`,
      }),
      every: Span.meta({ description: 'The window.', examples: ['10m'] }),
      burst: count(1)
        .optional()
        .meta({ description: 'How many notifications pass in a window; default: 1.' }),
    })
    .optional()
    .meta({
      description: 'At most burst in any window of this length; the next says how many were suppressed.',
      examples: [{ every: '10m' }],
    }),
  group: z
    .strictObject({
      by: GroupKey.optional().meta({
        description: `The group key: ${GROUP_KEY_TEXT}. Default: namespace and reason of Events, namespace and kind of others.`,
      }),
      wait: Wait.optional().meta({
        description: 'How long the first event of a group waits for others; default: 30s.',
        examples: ['30s'],
      }),
      interval: Span.optional().meta({
        description: 'How long events are collected after a digest; default: 5m.',
        examples: ['5m'],
      }),
      max: count(2)
        .optional()
        .meta({ description: 'A digest with this many events is sent immediately; default: 100.' }),
    })
    .optional()
    .meta({
      description: 'Collect events in one digest.',
      examples: [{ by: 'namespace', wait: '30s', interval: '5m', max: 100 }],
    }),
  resolve: z
    .union([
      z.boolean(),
      z.strictObject({
        after: Span.meta({ description: 'Resolved when nothing matched for this long.', examples: ['15m'] }),
        per: GroupKey.optional().meta({
          description: `The group key: ${GROUP_KEY_TEXT}. Default: regarding.`,
        }),
      }),
    ])
    .optional()
    .meta({
      description:
        'Notify when the incident ends: the object no longer matches or is deleted; or nothing matched for a while.',
      examples: [true, { after: '15m' }],
    }),
} satisfies Record<string, z.ZodType>

export const LIMIT_KEYS = Object.keys(LimitKeysShape) as (keyof typeof LimitKeysShape)[]

const Shape = z.strictObject(LimitKeysShape)
export type RuleLimits = z.output<typeof Shape>
