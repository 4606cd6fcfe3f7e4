/** The current state of a watch, for status, readiness and metrics. */
export interface WatchStatus {
  /** The source's key. */
  key: string
  /** Its name for users: `deployments.apps in shop`, `pods (all namespaces)`. */
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
  /** The watch counts as stuck if it receives nothing until this time, by `performance.now()` of its process. */
  aliveUntilMs: number
  /** Set while its position is behind the API server's, or cannot be compared: for how long, and what the watch waits for. */
  behind?: { ms: number; waitsFor: 'api-server' | 'redis' }
  /** Lists after the first one since the process works on it: how many, and the cause and the time of the last one. */
  relists?: { count: number; cause: string; atMs: number }
  /** The last comparison of the index with the cluster: when it ended, and how many objects differed. */
  verified?: { atMs: number; differences: number }
  lastError?: string
  /** With leases: the holder of its lease; '' if it has none. */
  holder?: string
  /** True once a first position is durable. */
  ready: boolean
  /** True while all changes from before the watch was opened have been read. */
  current?: boolean
}

/** Returns whether a watch cannot go on as it is, or cannot begin because its kind cannot be resolved. */
export function isFailing(watch: { phase: WatchStatus['phase']; lastError?: string | undefined }): boolean {
  const { phase, lastError } = watch
  return phase === 'failing' || (phase === 'resolving' && lastError !== undefined)
}

/**
 * Returns whether a process evaluates changes, or would if it could: false where another process works on each of its watches, also while
 * this one has lost the API server. Its related metadata is not used then.
 */
export function evaluates(watches: readonly Pick<WatchStatus, 'phase' | 'behind'>[]): boolean {
  return watches.some(({ phase, behind }) => {
    // While no process works on a watch, it is behind.
    if (phase === 'reconnecting') return behind !== undefined
    return phase !== 'standby' && phase !== 'stopped' && phase !== 'waiting-for-kind'
  })
}

const METADATA = 'metadata of '

/** Returns the title of a watch of metadata, also before its kind is resolved, when its status has that of the kind. */
export function metadataTitle({ title }: Pick<WatchStatus, 'title'>): string {
  return title.startsWith(METADATA) ? title : `${METADATA}${title}`
}

/**
 * Returns whether it is not known which sources an entry has: its kind is not resolved, whether it is split into shards is not known, or it
 * contradicts another one. State that nobody seems to want may be of these.
 */
export function isUnresolved({ key, title, phase }: Pick<WatchStatus, 'key' | 'title' | 'phase'>): boolean {
  return phase === 'resolving' || (phase === 'failing' && key === title)
}

/** A watch that is behind for longer than this is not ready. The list that a stalled watch asks for has come by then. */
export const TOO_FAR_BEHIND_MS = 180_000

/** The size and the bounds of a sink's queue, or of dead letters. */
export interface QueueStatus {
  /** About: an estimate from samples. */
  bytes: number
  maxBytes: number
  maxAgeMs: number
  /** Time in milliseconds until the bound in bytes is reached if the growth continues; 0 when it is reached. */
  reachedMs?: number
}

/** The state of a sink and its lanes, as seen by one process. */
export interface SinkStatus {
  sink: string
  healthy: boolean
  /** The configuration does not have it any more; what waited is still delivered. */
  removed?: true
  /** Objects in quarantine: they fail while others pass; their deliveries are retried alone, with pauses. */
  quarantined: number
  /** Lanes whose target (a channel, a topic) fails. */
  failingTargets: number
  /** Undefined before the first measurement. */
  queue?: QueueStatus
  lastDeliveredMs?: number
  lastError?: string
  lastErrorMs?: number
  /** What does not work although it delivers, such as buttons of its messages. No secrets. */
  warnings?: readonly string[]
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

/** `redis and server changed: restart to use them`. */
export function describeRestart(keys: readonly string[]): string {
  const last = keys.at(-1) ?? ''
  const names = keys.length === 1 ? last : `${keys.slice(0, -1).join(', ')} and ${last}`
  return `${names} changed: restart to use ${keys.length === 1 ? 'it' : 'them'}`
}
