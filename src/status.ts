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
  lastError?: string
  /** Who holds its lease, where there are leases; '' when nobody does. */
  holder?: string
  /** True once a first position is durable. */
  ready: boolean
}

/** What a sink's lanes do, as one process sees it. */
export interface SinkStatus {
  sink: string
  healthy: boolean
  /** Objects that fail while others pass: tried alone, with pauses. */
  aside: number
  /** Lanes whose target (a channel, a topic) fails. */
  failingTargets: number
  lastDeliveredMs?: number
  lastError?: string
  lastErrorMs?: number
}
