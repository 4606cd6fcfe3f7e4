import type { ChangeType } from './event.ts'
import type { LimitName } from './limit.ts'

/** One call of a sink for one delivery. */
export interface Attempt {
  /** When it began, Unix milliseconds. */
  atMs: number
  tookMs: number
  /** How much of that the message took to render; undefined: less than half a millisecond. */
  renderedMs?: number
  /** Why it failed: at most 200 characters, no secrets; undefined for a success. */
  error?: string
}

/** The event that a record is about: enough to find it again, and to name it. */
export interface HistoryEvent {
  /** Id of the event; for a digest, a resolve notification and a state that waited, followed by the kind and the rule. */
  id: string
  type: ChangeType
  apiVersion: string
  kind: string
  namespace?: string
  name: string
  /** Only for an Event: its reason, and the object that it regards. */
  reason?: string
  regarding?: { kind: string; namespace?: string; name: string }
}

/**
 * What became of one delivery, or of an event that a limit suppressed. `failed`: attempts failed, and the delivery waits on in
 * quarantine. The others are final; a dead letter can be retried.
 */
export interface HistoryRecord {
  outcome: 'delivered' | 'dead' | 'failed' | 'suppressed'
  /** Unix milliseconds. */
  atMs: number
  event: HistoryEvent
  rule: string
  /** One; of a suppressed event, those that it would have gone to. */
  sinks: readonly string[]
  /** At most ten, the first and the last ones; [] where the process that made them ended before. */
  attempts: readonly Attempt[]
  /** How many attempts there were, if they are more. */
  attemptCount?: number
  /** Reason of a dead letter. */
  reason?: string
  detail?: string
  /** What the reader saw first, as plain text: at most 120 characters; only of messages that have one. */
  title?: string
  /** Delivered in an unusual way, such as `truncated`. */
  note?: string
  /** Limit that suppressed the event. */
  limit?: LimitName
  /**
   * Time until which the limit suppresses the event, as known when it was suppressed, in Unix milliseconds; only if the limit has an
   * end. A later event can postpone it, and an operator or the end of an incident can bring it forward.
   */
  untilMs?: number
  /** The id of the silence that suppressed it; `detail` has who added it, and why. */
  silence?: string
  /** A digest of `count` events, with the objects of the first of them, or the end of an incident. */
  notice?: { kind: 'digest'; count: number; objects: readonly string[] } | { kind: 'resolved' }
  /** A dead letter that was retried by hand, or a delivery of `kubeherald replay`. */
  isReplay?: true
}
