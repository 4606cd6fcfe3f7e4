import * as z from 'zod'
import { Count, listOf, Ms, PageQuery, StoppedAt } from './basics.ts'

export const ChangeType = z.enum(['ADDED', 'MODIFIED', 'DELETED'])

const Place = {
  kind: z.string(),
  namespace: z.string().optional(),
  name: z.string(),
}

/** An event in short: what the history stores of it. */
export const EventSummary = z.strictObject({
  id: z.string().meta({ description: '`<cluster>/<object uid>/<resourceVersion>/<type>`.' }),
  type: ChangeType,
  apiVersion: z.string(),
  ...Place,
  reason: z.string().optional().meta({ description: 'Of an Event.' }),
  regarding: z.strictObject(Place).optional().meta({ description: 'The object that an Event regards.' }),
})
export type EventSummary = z.output<typeof EventSummary>

export const Attempt = z.strictObject({
  atMs: Ms,
  tookMs: Count,
  renderedMs: Count.optional().meta({
    description: 'How much of `tookMs` the message took to render; absent: less than half a millisecond.',
  }),
  error: z.string().optional().meta({ description: 'Absent: it succeeded.' }),
})
export type Attempt = z.output<typeof Attempt>

export const Notice = z.strictObject({
  kind: z.enum(['digest', 'resolved']),
  count: Count.optional().meta({ description: 'Of a digest: its events.' }),
  objects: z
    .array(z.string())
    .optional()
    .meta({ description: 'Of a digest: the first ones, as `kind/namespace/name`.' }),
})

export const Until = Ms.optional().meta({
  description: 'Until when the limit suppresses, as known then; absent: it has no known end.',
})

const END = z.enum(['delivered', 'dead', 'failed', 'suppressed'])

export const HistoryRecord = z
  .strictObject({
    outcome: END.meta({
      description: '`failed`: attempts failed, and the delivery waits in quarantine. The others are final.',
    }),
    atMs: Ms,
    event: EventSummary,
    rule: z.string(),
    sinks: z.array(z.string()),
    attempts: z.array(Attempt).meta({ description: 'At most ten, the first and the last ones.' }),
    attemptCount: Count.optional().meta({ description: 'How many there were, if they are more.' }),
    reason: z.string().optional().meta({ description: 'Of a dead letter.' }),
    detail: z.string().optional(),
    title: z.string().optional().meta({ description: 'The first line of the message, as plain text.' }),
    note: z.string().optional().meta({ description: 'Delivered in an unusual way, such as `truncated`.' }),
    limit: z.string().optional().meta({ description: 'What suppressed it.' }),
    untilMs: Until,
    silence: z.string().optional().meta({ description: 'The id of the silence that suppressed it.' }),
    notice: Notice.optional(),
    isReplay: z
      .literal(true)
      .optional()
      .meta({ description: 'A dead letter that was retried, or a replay.' }),
  })
  .meta({ id: 'HistoryRecord', description: 'What became of a delivery, or of a suppressed event.' })
export type HistoryRecord = z.output<typeof HistoryRecord>
export const History = listOf(HistoryRecord).extend({ stoppedAtMs: StoppedAt }).meta({ id: 'History' })
export type History = z.output<typeof History>

const Name = z.string().min(1).max(253)

const recordFilter = {
  sink: Name.optional(),
  rule: Name.optional(),
  outcome: END.optional(),
  kind: Name.optional().meta({
    description: 'A kind or a short name; of an Event, that of the object it regards.',
  }),
  namespace: Name.optional(),
  name: Name.optional(),
}

export const StreamQuery = z.strictObject(recordFilter)
export type StreamQuery = z.output<typeof StreamQuery>

const Time = z.coerce.number().int().nonnegative()
export const HistoryQuery = PageQuery.extend({
  ...recordFilter,
  since: Time.optional().meta({ description: 'Unix time in milliseconds.' }),
  until: Time.optional().meta({ description: 'Unix time in milliseconds.' }),
})
export type HistoryQuery = z.output<typeof HistoryQuery>

/** Data of the event `gap` of the stream. */
export const StreamGap = z
  .strictObject({
    skipped: Count.optional().meta({ description: 'Records that were not sent; absent: nobody knows.' }),
    why: z.enum(['slow', 'behind', 'trimmed']).meta({
      description:
        '`slow`: the client did not read; `behind`: there were more than the server reads for streams; `trimmed`: the position is no longer in the history.',
    }),
  })
  .meta({ id: 'StreamGap' })
export type StreamGap = z.output<typeof StreamGap>
