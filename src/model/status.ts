/** What a watch does at this moment, for status, readiness and metrics. */
export interface WatchStatus {
  /** The source's key. */
  key: string
  /** How people call it: `deployments.apps in shop`, `pods (all namespaces)`. */
  title: string
  phase:
    | 'resolving'
    | 'waiting-for-kind'
    | 'listing'
    | 'watching'
    | 'reconnecting'
    | 'failing'
    /** Another process works on it; this one takes over when that stops. */
    | 'standby'
    | 'stopped'
  resourceVersion: string
  /** When the API server last said something (a frame, a bookmark, an answer). */
  lastContactMs: number
  /** Up to when the watch may stay silent without being stuck; later than that it makes no progress. */
  aliveUntilMs: number
  /** While its position is behind the API server's, or cannot be compared: for how long, and what the watch waits for. */
  behind?: { ms: number; waitsFor: 'api-server' | 'redis' }
  lastError?: string
  /** Who holds its lease, where there are leases; '' when nobody does. */
  holder?: string
  /** True once a first position is durable. */
  ready: boolean
  /** True while all is read that happened before the watch was opened; undefined in reports of older versions. */
  current?: boolean
}

/** A watch that is behind for longer than this is not ready. The list that a stalled watch asks for has come by then. */
export const TOO_FAR_BEHIND_MS = 180_000

/** What waits, and what may: of one sink, or of dead letters. */
export interface QueueStatus {
  /** About: an estimate from samples. */
  bytes: number
  maxBytes: number
  maxAgeMs: number
  /** In so many milliseconds the bound in bytes is reached, if it goes on as it did; 0 when it is. */
  reachedMs?: number
}

/** What a sink's lanes do, as one process sees it. */
export interface SinkStatus {
  sink: string
  healthy: boolean
  /** The configuration does not have it any more; what waited is still delivered. */
  removed?: true
  /** Objects that fail while others pass: tried alone, with pauses. */
  aside: number
  /** Lanes whose target (a channel, a topic) fails. */
  failingTargets: number
  /** Undefined in reports of older versions, and before the first measurement. */
  queue?: QueueStatus
  lastDeliveredMs?: number
  lastError?: string
  lastErrorMs?: number
}

/** A rule of the configuration, as one process sees it. */
export interface RuleStatus {
  rule: string
  /** Times that it failed and so did not match, since the process started. */
  errors?: number
  lastError?: string
}

/** Which configuration a process uses. */
export interface ConfigStatus {
  /** The first 12 characters of its file's SHA-256, references not filled in; undefined for a built-in one. */
  digest?: string
  /** Since when it is in use. */
  appliedMs: number
  /** Keys of the file whose values need a restart. */
  restart?: readonly string[]
  /** The file is another one by now, and not good: where, and why. */
  rejected?: { sinceMs: number; problem: string /** `file:line` of the first problem. */; place?: string }
}
