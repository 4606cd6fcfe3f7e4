import * as z from 'zod'
import { allOf, Count, Ms, Role } from './basics.ts'

const Process = z.strictObject({
  id: z.string(),
  host: z.string(),
  pid: z.int(),
  role: z.enum(['all', 'watch', 'deliver']),
  version: z.string(),
  startedMs: Ms,
  config: z
    .string()
    .optional()
    .meta({ description: 'The first characters of the digest of its configuration.' }),
})

export const Overview = z
  .strictObject({
    cluster: z.string(),
    version: z.string(),
    atMs: Ms,
    startedMs: Ms.optional().meta({ description: 'Since when the oldest process runs.' }),
    access: Role,
    historyFromMs: Ms.optional().meta({
      description: 'Since when the history goes back; absent: it is empty.',
    }),
    journalFromMs: Ms.optional().meta({
      description: 'Since when the journal goes back; absent: there is none.',
    }),
    processes: z.array(Process),
    troubles: z
      .array(z.string())
      .meta({ description: 'What is wrong now, the worst first; empty: nothing is.' }),
    watches: z.strictObject({ total: Count, failing: Count, behind: Count }),
    sinks: z.strictObject({ total: Count, failing: Count }),
    deadLetters: Count,
    pending: Count.meta({ description: 'Deliveries that wait.' }),
    silences: Count.meta({ description: 'Silences in force.' }),
    balanced: z.boolean().meta({ description: 'Whether the ledger balances.' }),
  })
  .meta({ id: 'Overview', description: 'The state of all processes of the cluster in short.' })
export type Overview = z.output<typeof Overview>

const WatchCounts = z.strictObject({
  observed: Count,
  unmatched: Count,
  dropped: Count,
  matched: Count,
  limited: Count,
})

export const Watch = z
  .strictObject({
    title: z.string().meta({ description: 'Such as `deployments.apps in shop`.' }),
    key: z.string(),
    phase: z.enum([
      ...['resolving', 'waiting-for-kind', 'listing', 'watching', 'reconnecting', 'failing'],
      ...['standby', 'stopped'],
    ] as const),
    process: z.string().optional().meta({ description: 'Host and pid of the process that works on it.' }),
    resourceVersion: z.string().optional(),
    lastContactMs: Ms.optional().meta({ description: 'When the API server last sent something.' }),
    behindMs: Count.optional().meta({
      description: 'For how long it is behind the API server, in milliseconds.',
    }),
    relists: z
      .strictObject({
        count: Count,
        cause: z
          .string()
          .meta({ description: 'Of the last one, as in the metric: `expired`, `regression` …' }),
        atMs: Ms,
      })
      .optional()
      .meta({
        description: 'Lists after the first one since the process works on it; absent: none.',
      }),
    lastError: z.string().optional(),
    ready: z.boolean().meta({ description: 'It has a position.' }),
    differences: Count.optional().meta({
      description: 'Of the last comparison with the cluster (`verify`).',
    }),
    counts: WatchCounts,
  })
  .meta({ id: 'Watch' })
export type Watch = z.output<typeof Watch>
export const Watches = allOf(Watch).meta({ id: 'Watches' })
export type Watches = z.output<typeof Watches>

export const Sink = z
  .strictObject({
    name: z.string(),
    type: z.string().optional().meta({ description: 'Absent: the configuration does not have it any more.' }),
    health: z.enum(['ok', 'partly', 'failing', 'draining', 'not in use']),
    pending: Count,
    oldestMs: Ms.optional().meta({ description: 'When its oldest waiting delivery was observed.' }),
    enqueued: Count,
    delivered: Count,
    dead: Count.meta({ description: 'Deliveries that became dead letters, deleted ones included.' }),
    queueBytes: Count.optional(),
    queueMaxBytes: Count.optional(),
    fullInMs: Count.optional().meta({
      description: 'When its queue is full if it goes on like this; 0: it is full.',
    }),
    quarantined: Count.meta({ description: 'Objects that fail while others succeed.' }),
    failingTargets: Count,
    lastDeliveredMs: Ms.optional(),
    lastError: z.string().optional(),
    lastErrorMs: Ms.optional(),
    warnings: z
      .array(z.string())
      .optional()
      .meta({ description: 'What does not work although it delivers, such as buttons; absent: nothing.' }),
  })
  .meta({ id: 'Sink' })
export type Sink = z.output<typeof Sink>
export const Sinks = allOf(Sink).meta({ id: 'Sinks' })
export type Sinks = z.output<typeof Sinks>

export const Lane = z
  .strictObject({
    lane: z.string(),
    pending: Count,
    oldestMs: Ms.optional(),
    process: z.string().optional().meta({ description: 'Host and pid of the process that delivers it.' }),
    quarantine: z.boolean(),
    object: z.string().optional().meta({ description: 'Of a quarantine lane: `Kind namespace/name`.' }),
  })
  .meta({ id: 'Lane' })
export type Lane = z.output<typeof Lane>
export const Lanes = allOf(Lane)
  .extend({ isComplete: z.boolean().meta({ description: 'False: there are more lanes than are listed.' }) })
  .meta({ id: 'Lanes' })
export type Lanes = z.output<typeof Lanes>

const RuleCounts = z.strictObject({
  matched: Count,
  sent: Count,
  digested: Count,
  waiting: Count,
  suppressed: z
    .record(z.string(), Count)
    .meta({ description: 'Limit, or `drop` → events that it suppressed.', examples: [{ throttle: 3 }] }),
})

export const Rule = RuleCounts.extend({
  name: z.string(),
  file: z.string().optional(),
  line: z.int().optional(),
  yaml: z.string().meta({ description: 'The lines of the configuration; secrets are ***.' }),
  to: z.array(z.string()),
  isRemoved: z.literal(true).optional().meta({ description: 'The configuration does not have it any more.' }),
  errors: Count.meta({
    description: 'How often it failed since the processes started, and so did not match.',
  }),
  lastError: z.string().optional(),
  lastMatchMs: Ms.optional(),
}).meta({ id: 'Rule' })
export type Rule = z.output<typeof Rule>
export const Rules = allOf(Rule).meta({ id: 'Rules' })
export type Rules = z.output<typeof Rules>

const SinkCounts = z.strictObject({
  enqueued: Count,
  delivered: Count,
  dead: Count,
  pending: Count,
})

const isBalanced = z.boolean().meta({ description: 'Whether its equation holds.' })

/**
 * The equations: of a watch, `observed = unmatched + dropped + matched + limited`; of a rule, `matched = sent + digested +
 * waiting + suppressed`; of a sink, `enqueued = delivered + dead + pending`.
 */
export const LedgerReport = z
  .strictObject({
    atMs: Ms,
    balanced: z.boolean(),
    watches: z.array(WatchCounts.extend({ title: z.string(), key: z.string(), balanced: isBalanced })),
    rules: z.array(RuleCounts.extend({ name: z.string(), balanced: isBalanced })),
    sinks: z.array(
      SinkCounts.extend({
        name: z.string(),
        discarded: Count.meta({ description: 'Deleted dead letters; they stay in `dead`.' }),
        archived: Count,
        dropped: Count,
        balanced: isBalanced,
      }),
    ),
    sums: z.strictObject({ watches: WatchCounts, sinks: SinkCounts }),
    off: z.array(z.string()).meta({ description: 'The equations that do not hold, with their numbers.' }),
  })
  .meta({ id: 'Ledger' })
export type LedgerReport = z.output<typeof LedgerReport>
