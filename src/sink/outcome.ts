/** Why a delivery did not succeed: a closed set, used as a metric label. */
export type Reason =
  | 'network'
  | 'timeout'
  | 'rate-limited'
  | 'server-error'
  | 'auth'
  | 'config'
  | 'gone'
  | 'rejected'
  | 'expired'
  | 'render'
  | 'unknown'

/**
 * How far a failure reaches: only this event, the sink's target of this event (channel, topic, URL),
 * or the whole sink. A failure of a target or sink delays its lanes and burns no attempts.
 */
export type Scope = 'event' | 'target' | 'sink'

export type Outcome =
  | { kind: 'delivered' }
  /** To be tried again, no earlier than `afterMs` if given. */
  | { kind: 'retry'; reason: Reason; detail: string; scope: Scope; afterMs?: number }
  /** Refused for good: becomes a dead letter with this detail (redacted, at most 2 KiB are kept). */
  | { kind: 'rejected'; reason: Reason; detail: string }
