/** An object as the API server sends it. */
export interface KubernetesObject {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    /** Absent for cluster-scoped objects. */
    namespace?: string
    uid: string
    resourceVersion: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    /** RFC 3339. */
    creationTimestamp?: string
    [member: string]: unknown
  }
  [member: string]: unknown
}

/** One change of one object. A change that is repeated after a crash has the same `uid` and `resourceVersion`. */
export interface Change<T = KubernetesObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** Such as `Deployment`. */
  readonly kind: string
  /** Such as `apps/v1`, or `v1`. */
  readonly apiVersion: string
  /** `''` for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** ResourceVersion of the change; for a synthesized DELETED, the last one that was known. */
  readonly resourceVersion: string
  /**
   * The object after the change; of a DELETED its last state. A synthesized DELETED has the last known state with `keepOld`, otherwise
   * only `apiVersion`, `kind` and of `metadata` the members `name`, `namespace`, `uid` and `resourceVersion`.
   */
  readonly object: T
  /** Object before a MODIFIED, with `keepOld`. Absent if only the checkpoint knew the object. */
  readonly old?: T
  /**
   * Found by comparing a list with what was known: the first list, and the net difference after a gap in the history. Several changes
   * of an object in a gap are one; an object that was created and deleted in a gap is not seen.
   */
  readonly synthesized: boolean
}

/** What to watch of one kind. */
export interface KindOptions {
  /**
   * `Pod`, `pods`, `po`, `deployments.apps`, `apps/v1/Deployment`, as kubectl takes it. Custom resources by their kind or
   * `widgets.example.com`.
   */
  kind: string
  /** Names, not patterns; each is a watch of its own, for which a Role in that namespace is enough. Default: all namespaces. */
  namespaces?: readonly string[]
  /** A label selector that the API server applies, such as `app in (shop, pay)`. An object that leaves it is DELETED. */
  labels?: string
  /** A field selector that the API server applies, such as `spec.nodeName=node-1`. */
  fields?: string
}

/** A text is a `kind`. */
export type Kind = string | KindOptions

/** A fault that is retried. */
export interface Warning {
  message: string
  /** Which watch, such as `deployments.apps in shop`; absent if the kinds could not be resolved. */
  watch?: string
  /** The fault in one line, without credentials. */
  error?: string
  /** Milliseconds until the next attempt. */
  retryInMs?: number
}

/** Keeps the positions of the watches for the next start. One program at a time may use it. */
export interface CheckpointStore {
  /** Returns what was saved last; undefined before the first time. */
  load(): Promise<string | undefined>
  /** Replaces what was saved, as a whole or not at all. About 100 bytes for each object. Calls do not overlap. */
  save(checkpoint: string): Promise<void>
}

export interface WatchOptions {
  kinds: readonly Kind[]
  /** A file, or several separated as in `$KUBECONFIG`. Default: `$KUBECONFIG`, `~/.kube/config`, the pod's service account. */
  kubeconfig?: string
  /** Default: the current context. */
  context?: string
  /** Ends the iteration, without an error, after the change that is being processed. */
  signal?: AbortSignal
  /** Where to go on after a restart. Default: each start begins with all objects that exist. */
  checkpoint?: CheckpointStore
  /** Whether objects that exist when a kind is watched for the first time are ADDED. Default: `emit`. */
  initial?: 'emit' | 'skip'
  /** Keeps the JSON of every object in memory, for `old` and for the `object` of a synthesized DELETED. Default: false. */
  keepOld?: boolean
  /**
   * Called for faults that are retried: of a watch once for each cause, until the watch works again. Default: a warning of the process
   * (`process.emitWarning`).
   */
  onWarning?(warning: Warning): void
}

/**
 * The changes of all watched kinds, to be iterated once. In order for each watch, and so for each object; watches take turns.
 * A change counts as processed when the next one is requested. The iteration throws WatchError when a watch cannot go on.
 */
export interface Changes<T = KubernetesObject> extends AsyncIterable<Change<T>>, AsyncDisposable {
  /**
   * Resolves when all changes that happened before the start were processed: the first lists, and with a checkpoint what happened
   * meanwhile. Only an iteration gets there: do not await it before one. Rejects with WatchError when the iteration ends before.
   */
  readonly synced: Promise<void>
  /**
   * Watches one more kind. Resolves when the API server has answered the first list; the stream does not end when it rejects with
   * WatchError (unknown kind, missing permission). May be awaited in the loop.
   */
  add(kind: Kind): Promise<void>
  /**
   * Stops what `kinds` or `add` began, and forgets its position: no further change of it comes, also no DELETED. A text stops all watches of
   * that name, options the watch with the same ones. Resolves when the connections are closed, with false if it was not watched. May be
   * awaited in the loop.
   */
  remove(kind: Kind): Promise<boolean>
  /** Ends the iteration and saves the position. The change that is being processed will be repeated; use `signal` if it must not be. */
  close(): Promise<void>
}

/** Why a watch cannot go on. */
export type WatchErrorCode =
  /** A mistake in the options. */
  | 'invalid-options'
  /** No kubeconfig, or one that cannot be used. */
  | 'no-cluster'
  /** The cluster has no such kind, and no definition of one. */
  | 'unknown-kind'
  /** The name is that of several kinds, or watches of one kind overlap. */
  | 'invalid-kind'
  /** 401, or credentials that cannot be had. */
  | 'unauthorized'
  /** 403: a permission is missing. */
  | 'forbidden'
  /** The API server rejects the request (400, 405, 422), such as a wrong selector. */
  | 'rejected'
  /** The checkpoint cannot be read or saved. */
  | 'checkpoint'
  /** The iteration ended before that. */
  | 'closed'

/** The message is for users: what is wrong, where, what to do. Credentials are not in it. */
export class WatchError extends Error {
  override name = 'WatchError'
  readonly code: WatchErrorCode
  /** Which watch, such as `deployments.apps in shop`, if it is one. */
  readonly watch: string | undefined

  constructor(code: WatchErrorCode, message: string, watch?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.watch = watch
  }
}
