/** What the core hands to a sink when it is opened. */
export interface SinkContext {
  /** The sink's name in the configuration. */
  name: string
  /** The cluster's name in the configuration. */
  cluster: string
  log: Logger
  metrics: SinkMetrics
  store: KeyValueStore
  /** For requests to others, such as `kubeherald/0.1.0`. */
  userAgent: string
  clock: { now(): number }
}

export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Metrics of a sink's own. Names are snake_case without prefix: `digests_total` of a slack sink becomes
 * `kubeherald_slack_digests_total{sink="oncall"}`. Asking for the same name again gives the same metric. A type has at most 50;
 * what is delivered must not be part of a name.
 */
export interface SinkMetrics {
  counter(name: string, help: string): (n?: number) => void
  gauge(name: string, help: string): (value: number) => void
}

/**
 * A little state that all processes share and that survives restarts: threads, tokens, locks. Lies in Redis, under keys of
 * this sink's own; every value has an end. Calls reject while Redis is away: let that be a `retry` of what needed it.
 */
export interface KeyValueStore {
  get(key: string): Promise<string | undefined>
  set(key: string, value: string, options: { ttlMs: number }): Promise<void>
  /** Sets it unless it is there; true when it was set. A lock, if the value is the holder's alone. */
  add(key: string, value: string, options: { ttlMs: number }): Promise<boolean>
  /** Adds 1 and gives what it is now, 1 the first time; its end is set then and stays. For limits that processes share. */
  increment(key: string, options: { ttlMs: number }): Promise<number>
  /** Deletes it; with `value` only while it has that value. True when it is gone by this call. */
  delete(key: string, value?: string): Promise<boolean>
}
