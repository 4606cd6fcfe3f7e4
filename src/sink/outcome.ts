/** Why a delivery did not succeed: a closed set, used as a metric label. */
export const REASONS = [
  'network',
  'timeout',
  'rate-limited',
  'server-error',
  'auth',
  'config',
  'gone',
  'rejected',
  'expired',
  'render',
  'unknown',
] as const
export type Reason = (typeof REASONS)[number]

/**
 * How far a failure reaches: only this event, the sink's target of this event (channel, topic: what its lane stands for),
 * or the whole sink. A failure of a target or sink delays its lanes and burns no attempts.
 */
export const SCOPES = ['event', 'target', 'sink'] as const
export type Scope = (typeof SCOPES)[number]

export type Outcome =
  | { kind: 'delivered'; note?: Note }
  /** Not sent yet, for the sink paces itself: no failure, no try. `afterMs` is when to come again. */
  | { kind: 'later'; afterMs: number }
  /**
   * To be tried again, no earlier than `afterMs` if given. `ambiguous`: it may have arrived, so that the next try may be a
   * repeat.
   */
  | { kind: 'retry'; reason: Reason; detail: string; scope: Scope; afterMs?: number; ambiguous?: true }
  /** Refused for good: becomes a dead letter with this detail (redacted, at most 2 KiB are kept). */
  | { kind: 'rejected'; reason: Reason; detail: string }

/** How it was delivered, where that is not as usual: as one of many in a digest, shortened, in a plainer form. */
export const NOTES = ['digest', 'truncated', 'fallback'] as const
export type Note = (typeof NOTES)[number]
