import type { ChangeType, EventHeader, ObjectRef } from './event.ts'

/** The rule of reports of kubeherald's own failures. No rule of a configuration can have this name. */
export const OWN_REPORT_RULE = 'kubeherald:notify'

/** One event for one sink: the queue's unit. */
export interface Delivery {
  sink: string
  /** The rule that sent it. */
  rule: string
  event: EventHeader
  /** The object, trimmed, as JSON bytes. */
  objectJson: Buffer
  /** The object lacks parts: it was too large for the state of a limit, where it waited. */
  truncated?: true
  /** Emitted by the rule's limits, and not by the event alone. */
  notice?: Digest | Resolved
  /** Number of events that the rule's limits suppressed before this one, and since when (RFC 3339). */
  suppressed?: { count: number; since: string }
  /** The log that its rule asks for, once it was read; in a lane of Redis only where a delivery was put there again. */
  logs?: ContainerLog
  /** It is kept in order with all of its rule that have the same, instead of with those of its object: a group's. */
  order?: string
  /** When limits let it go, RFC 3339, where that was long after it was observed: it has waited for nobody else. */
  releasedAt?: string
  /** Put back from the dead letters by hand; may arrive after newer ones of its object. */
  replay?: true
  /** Sent again by `kubeherald replay`: it was delivered before, and may arrive after newer ones of its object. */
  replayed?: true
  /** Where its trace goes on, when it is sampled. */
  trace?: TraceContext
}

/** Several events in one delivery; its `event` and object are those of the first. */
export interface Digest {
  kind: 'digest'
  /** How many there are, those included that `items` has no place for. */
  count: number
  /** The values of the group key: `[['namespace', 'shop'], ['reason', 'BackOff']]`. */
  by: readonly (readonly [name: string, value: string])[]
  /** Times of the first and the last, RFC 3339. */
  from: string
  to: string
  items: readonly DigestItem[]
}

/** An event of a digest: small. */
export interface DigestItem {
  id: string
  type: ChangeType
  kind: string
  namespace?: string
  name: string
  time: string
  /** Only for an Event: `Normal` or `Warning`, and its reason. */
  eventType?: string
  reason?: string
  /** At most 200 characters. */
  message?: string
  regarding?: ObjectRef
  /** Only for another object: the title and severity of its summary. At most 200 characters; absent in digests of older versions. */
  title?: string
  severity?: 'error' | 'warning' | 'info' | 'resolved'
}

/** An incident is over; `event` is what ended it, or the last one where only time did. */
export interface Resolved {
  kind: 'resolved'
  /** When it had begun, RFC 3339. */
  since: string
  /** When it was over, RFC 3339. */
  at: string
  /** It held no longer; the object was deleted, or is no longer watched; nothing came for the rule's `resolve` time. */
  why: 'ended' | 'deleted' | 'unwatched' | 'quiet'
  /** What had begun, as the summary's title: `Node worker-3 is not ready`. Absent if the rule got `resolve` after the incident was emitted. */
  title?: string
}

/** Where a trace goes on, in another process or at a peer: the headers of W3C Trace Context. */
export interface TraceContext {
  /** `00-<trace id>-<parent id>-<flags>`, lower-case hexadecimal. */
  readonly traceparent: string
  readonly tracestate?: string
}

/** The end of a container's log that a rule asks for. */
export interface LogSettings {
  /** Maximum number of lines, counted from the end. */
  readonly lines: number
  /** Maximum number of bytes of UTF-8, counted from the end. */
  readonly maxBytes: number
  /** The run before the last restart; undefined: decided by the container's state. */
  readonly previous?: boolean | undefined
  /** Undefined: decided by the event. */
  readonly container?: string | undefined
}

/** The end of a container's log, or why it could not be had: exactly one of `text` and `error`. */
export interface ContainerLog {
  /** Missing where only the API server knows it: the only container of a pod that an Event is about. */
  readonly container?: string
  /** It is of the run before the last restart. */
  readonly previous: boolean
  /** Lines without control characters and without what looks like a secret; '' if nothing was written. */
  readonly text?: string
  /** A clause such as `the pod no longer exists`. */
  readonly error?: string
}
