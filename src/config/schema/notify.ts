import * as z from 'zod'
import { durationText } from '../../sink/duration.ts'

/** Failures of kubeherald itself that it can report. */
export const OWN_FAILURES = [
  'watch-failing',
  'sink-failing',
  'dead-letter',
  'config-rejected',
  'ledger',
] as const
export type OwnFailure = (typeof OWN_FAILURES)[number]

/** Milliseconds. */
const Every = durationText({ least: '1m', most: '7d', example: '1h' })

/** A duration alone goes to the sink of the failures. */
const Heartbeat = z.union(
  [
    Every.transform((every): { every: number; to?: string } => ({ every })),
    z.strictObject({
      every: Every.meta({ description: 'How often.', examples: ['5m'] }),
      to: z
        .string()
        .min(1, 'is empty: name a sink')
        .optional()
        .meta({ description: 'A sink of its own; default: that of the failures.', examples: ['deadman'] }),
    }),
  ],
  { error: ({ input }) => (typeof input === 'number' ? 'needs a unit, such as 1h' : undefined) },
)

/** Where kubeherald reports its own failures. */
export const Notify = z.strictObject({
  to: z
    .string()
    .min(1, 'is empty: name a sink')
    .meta({
      description: 'A sink; best of a service that no other sink depends on.',
      examples: ['ops'],
    }),
  on: z
    .array(z.enum(OWN_FAILURES))
    .min(1, `is an empty list: leave it out for all, which are ${OWN_FAILURES.join(', ')}`)
    .default([...OWN_FAILURES])
    .meta({ description: 'Which failures; default: all.', examples: [['sink-failing', 'dead-letter']] }),
  heartbeat: Heartbeat.optional().meta({
    description: 'Also sends this often that kubeherald runs.',
    examples: ['1h', { every: '5m', to: 'deadman' }],
  }),
})
export type Notify = z.output<typeof Notify>
