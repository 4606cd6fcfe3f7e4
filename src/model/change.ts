import type { Delivery } from './delivery.ts'
import type { ChangeType, Resource } from './event.ts'
import type { LimitKeys, LimitOutcome, LimitStates, Limits, RuleCounts, Suppression } from './limit.ts'

/**
 * An object's identity, read from the bytes of its JSON without parsing them.
 * `bytes` is the whole object; ranges are offsets into it, [start, end).
 */
export interface ScannedObject {
  bytes: Buffer
  uid: string
  resourceVersion: string
  /** '' for cluster-scoped objects. */
  namespace: string
  name: string
  /** Raw JSON of metadata.labels; '{}' when there are none. */
  labelsJson: string
  annotations?: readonly [start: number, end: number]
  /** The values of metadata, metadata.creationTimestamp and metadata.ownerReferences. */
  metadata?: readonly [start: number, end: number]
  created?: readonly [start: number, end: number]
  ownerReferences?: readonly [start: number, end: number]
  /** metadata.managedFields with its key and one adjoining comma: cutting it leaves valid JSON. */
  managedFields?: readonly [start: number, end: number]
}

/** A frame of a watch, or an item of a list (`type` ADDED), before it is compared with the index. */
export interface Change {
  type: ChangeType
  object: ScannedObject
  observedAtMs: number
  /** Read before the watch had caught up: it can have happened while nothing was read. */
  isCatchUp?: true
}

/** A change after the comparison with the index: it happened, and is processed once. */
export interface Transition {
  type: ChangeType
  uid: string
  resourceVersion: string
  namespace: string
  name: string
  labelsJson: string
  observedAtMs: number
  /** See `Change.isCatchUp`. */
  isCatchUp?: true
  synthesized: boolean
  /** The version that was known before, where this one is older: etcd was restored. */
  after?: string
  /** Absent for a deletion that was found by a relist: only the index knows the object. */
  object?: ScannedObject
  /** The object is trimmed and hashed already, because it comes from the journal. */
  isTrimmed?: true
  /** Field manager of the last write, if the trimmed object of a journal no longer has it. */
  manager?: string
  /**
   * If previous objects are stored: the previous version as JSON (trimmed, Secret values hashed). Decompresses when
   * called; returns undefined when that fails.
   */
  old?: () => Buffer | undefined
  /** The object did not change, but the watch no longer selects it. Ends the limit states of the object; not an event. */
  deselected?: true
}

/**
 * One stream of changes: a resource, one namespace or all, its selectors. Its `key` names the
 * durable state (checkpoint, index, ledger) and changes when any of its parts does.
 */
export interface Source {
  key: string
  /** Display name: `deployments.apps in shop`. A metric label. */
  title: string
  resource: Resource
  /** '' watches all namespaces (or a cluster-scoped resource). */
  namespace: string
  /** Patterns of namespaces of several joined entries: one of the lists must match. */
  namespaces?: readonly (readonly string[])[]
  labelSelector: string
  fieldSelector: string
  /** The first start, without a checkpoint: silent, or with an ADDED for every existing object. */
  initial: 'now' | 'emit' | { resourceVersion: string }
  /** Only this part of the objects. */
  shard?: Shard
  /** Reads metadata only. */
  metadataOnly?: true
  clusterUid: string
  /** The kind as written in the configuration. */
  spelling: string
  /** A CustomResourceDefinition defines the resource, so its removal can be verified. */
  custom: boolean
}

/** A part of a source's objects, by the hash of their uids. */
export interface Shard {
  /** Counted from 0. */
  index: number
  of: number
}

/** The selection of a source within its resource. */
export type Selection = Pick<Source, 'namespace' | 'namespaces' | 'labelSelector' | 'fieldSelector' | 'shard'>

/** The part of an object that the index stores. */
export type KnownObject = Pick<Transition, 'uid' | 'namespace' | 'name' | 'labelsJson'>

/** A source that another selection of the same resource has replaced. */
export interface FormerSource {
  source: Source
  /** Whether the object belongs to the source that takes over; others belong to other sources. */
  claims(object: KnownObject): boolean
}

/** The position and phase of a source, durable in Redis. */
export interface Checkpoint {
  /**
   * `seeding`: a silent first list is not complete; `listing`: a list whose differences are emitted is not complete;
   * `absent`: the resource is not installed, so everything in it will be new.
   */
  phase: 'seeding' | 'listing' | 'watching' | 'absent'
  /** The position to resume from; '' before the first list was complete. */
  resourceVersion: string
  /** Counts the commits. With `holder` it makes every value unique, so that a stale writer is detected. */
  sequence: number
  /** Random per session. */
  holder: string
  /** Name of the process. */
  instance?: string
  /** That process has released the source. */
  released?: true
  /**
   * With `seeding`: the source takes over the state of former sources, and its first list is compared with it. Their
   * selections: an object that is new within them is an event.
   */
  adopting?: readonly Selection[]
  atMs: number
}

/** How resourceVersions are compared with those of the index. */
export type Comparison =
  /** As integers (KEP-5504): only a newer one is a change. */
  | 'newer'
  /** Any different one is a change: after a restore of etcd, or if the server's are not integers. */
  | 'different'

/**
 * The durable state of one source. Every call is one transaction that also moves the
 * checkpoint, and is fenced: if another process moved it, nothing is written.
 * While Redis is unreachable or full, a call waits until `signal`; it never drops and never applies twice.
 */
export interface SourceSession {
  /** The stored checkpoint; undefined before the first start. */
  readonly checkpoint: Checkpoint | undefined
  /** Previous objects are stored, so a seed needs whole objects, not only their metadata. */
  readonly keepsPrevious: boolean
  /** How many changes this session has emitted. */
  readonly emitted: number
  /** Deletes the index and starts a silent first list. */
  beginSeed(signal: AbortSignal): Promise<void>
  /** Adds a page to the index, and removes DELETED objects from it. Emits nothing. */
  seed(page: readonly Change[], signal: AbortSignal): Promise<void>
  /**
   * Takes over the index, the previous objects and the limit states of a source that this one replaces, and deletes that source. The
   * session must be new, or adopting already; it adopts until its next list ends. Can be repeated after a crash. Undefined takes over
   * nothing: the next list is compared as one that adopts.
   */
  adopt(former: FormerSource | undefined, signal: AbortSignal): Promise<void>
  /** Starts a list whose differences to the index are emitted as synthesized changes. */
  beginList(comparison: Comparison, signal: AbortSignal): Promise<void>
  /**
   * Emits new and different objects of a page of that list; for a name with a new uid it first emits DELETED of the old one. Objects that
   * are not in the index and not `isNew` are only indexed.
   */
  list(
    page: readonly Change[],
    signal: AbortSignal,
    isNew?: (object: ScannedObject) => boolean,
  ): Promise<void>
  /**
   * Ends a seed or list: emits DELETED for objects that were not listed, and moves to `watching` at `resourceVersion`. A list that is
   * not `complete`, because items could not be read, deletes nothing. An object that is not `isSelected` was not deleted: it is removed
   * from the index, and its limit states end.
   */
  endList(
    resourceVersion: string,
    signal: AbortSignal,
    complete?: boolean,
    isSelected?: (object: KnownObject) => boolean,
  ): Promise<void>
  /** Emits the changes of a watch and moves the position; an empty batch only moves the position (bookmark). */
  commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void>
  /** The resource was removed (its CRD does not exist): emits DELETED for the whole index, phase `absent`. */
  markAbsent(signal: AbortSignal): Promise<void>
  /** When to call `expire`, Unix time in milliseconds: the earliest due time of its limit states. */
  readonly dueMs: number | undefined
  /**
   * Evaluates some of the limit states that were due at `readMs`, Unix time in milliseconds; default: now. Call it only when all
   * changes until then are committed: an unread change can end the state.
   */
  expire(signal: AbortSignal, readMs?: number): Promise<void>
  /** The source was removed: its limit states end, and their waiting events are counted as gone. */
  forgetLimits(signal: AbortSignal): Promise<void>
}

/**
 * Returns true if both are resourceVersions that can be compared, and `a` is the older one (KEP-5504: decimal without leading
 * zeros; the shorter is the older, else the lexically smaller).
 */
export function isOlder(a: string, b: string): boolean {
  if (!isComparable(a) || !isComparable(b)) return false
  return a.length === b.length ? a < b : a.length < b.length
}

/** Returns false for a resourceVersion that is none of Kubernetes' own, such as that of an extension API server. */
export function isComparable(resourceVersion: string): boolean {
  return COMPARABLE.test(resourceVersion)
}

const COMPARABLE = /^[1-9][0-9]*$/

/**
 * Resolves when the related metadata of these changes is known, or the wait budget is used up. With 'all', when all that rules
 * need is known: nobody knows yet which objects a list has not found.
 */
export type AwaitMetadata = (
  source: Source,
  changes: readonly Change[] | 'all',
  signal: AbortSignal,
) => Promise<void>

/** Opens a source's durable state; the newest opener owns it, older sessions are fenced. */
export interface SourceStore {
  /** Calls `permit` before each attempt; it throws when this process may not own the source. */
  open(source: Source, signal: AbortSignal, permit?: () => void): Promise<SourceSession>
  /** Returns the checkpoint without taking ownership. */
  peek(source: Source, signal: AbortSignal): Promise<PeekedCheckpoint | undefined>
  /** Releases a source to other processes; this process no longer writes it. Does nothing if another process owns it. */
  release(source: Source, signal: AbortSignal): Promise<void>
  readonly owners: Owners
  /** Kinds that were not installed: when they appear, all their objects are new. */
  readonly absentKinds: AbsentKinds
  readonly identities: ClusterIdentities
  readonly splits: Splits
  /** Returns the sources that were ever listed, also those that are no longer configured. */
  stored(signal: AbortSignal): Promise<Source[]>
}

/** The index of a source, for reads outside of its session. */
export interface IndexReader {
  /** Returns the resourceVersions of these objects; undefined for those that are not in the index. */
  versions(uids: readonly string[]): Promise<(string | undefined)[]>
  /** Yields all entries, in pages; one that is there all the time comes at least once. */
  all(): AsyncIterable<readonly { uid: string; name: string; resourceVersion: string }[]>
}

/** The processes that own sources. */
export interface Owners {
  /** Counts how often a process ended or released sources. */
  readonly changes: number
  /** Resolves when `changes` differs from `since`, or after `ms`. */
  wait(since: number, ms: number, signal: AbortSignal): Promise<void>
}

/** `ownerAlive` is also false when the owner has released the source, and undefined when it is unknown. */
export interface PeekedCheckpoint extends Checkpoint {
  ownerAlive: boolean | undefined
}

/** Identities of the clusters behind API servers' addresses; `address` is a hash. */
export interface ClusterIdentities {
  get(address: string, signal: AbortSignal): Promise<ClusterIdentity | undefined>
  set(address: string, identity: ClusterIdentity, signal: AbortSignal): Promise<void>
  /** Finds the same cluster at another address. */
  ofUid(uid: string, signal: AbortSignal): Promise<ClusterIdentity | undefined>
}

export interface ClusterIdentity {
  /** Part of every source's key and every event's id. */
  id: string
  /** Uid of the namespace kube-system, if it could be read. */
  uid?: string
}

/** Whether a source is split into shards; the first process decides once. */
export interface Splits {
  get(name: string, signal: AbortSignal): Promise<'shards' | 'whole' | undefined>
  /** Returns the decision of this or an earlier call. */
  settle(name: string, choice: 'shards' | 'whole', signal: AbortSignal): Promise<'shards' | 'whole'>
}

/** What is recorded in addition to a kind that may be in a part of the API that does not answer: it is new only if a definition has come. */
export function unsureOf(kind: string): string {
  return `?${kind}`
}

export interface AbsentKinds {
  add(kind: string, signal: AbortSignal): Promise<void>
  has(kind: string, signal: AbortSignal): Promise<boolean>
  remove(kind: string, signal: AbortSignal): Promise<void>
}

/** Another process moved the checkpoint: this session must not write. */
export class FencedError extends Error {
  override name = 'FencedError'
}

/** Redis no longer has a checkpoint that it had confirmed: it lost data, including waiting deliveries. */
export class PositionLostError extends FencedError {
  override name = 'PositionLostError'
}

/** The result of the rules for the transitions of one commit. */
export interface Evaluation {
  deliveries: readonly Delivery[]
  unmatched: number
  dropped: number
  /** At least one delivery was made. */
  matched: number
  /** Events of rules without limits that only silences suppressed. */
  limited?: number
  /** What silences suppressed of rules without limits. */
  suppressed?: readonly Suppression[]
  /** The ids of silences that could not test an event, once for each event of a rule without limits. */
  untested?: readonly string[]
  /** Counts of the rules without limits; they send everything that they match and that is not silenced. */
  rules?: ReadonlyMap<string, RuleCounts>
  /** Events of rules with limits, to be evaluated when their states are read: neither matched nor `limited` yet. */
  limits?: PendingLimits
  /** Called when the commit is durable. */
  trace?: { committed(): void }
}

/** The part of the evaluation that needs limit states; runs under the transaction's WATCH. */
export interface PendingLimits {
  keys: LimitKeys
  apply(states: LimitStates, nowMs: number): LimitOutcome
  /** For each event: whether it is counted in `matched`, `dropped` or `unmatched` already; others become `matched` or `limited`. */
  counted: readonly boolean[]
  /** Id of each event → number of deliveries of the evaluation that precede those of its limits. */
  places: ReadonlyMap<string, number>
}

/** Turns transitions into deliveries; pure. `src/app/evaluation.ts` composes it from normalise and match. */
export type Evaluate = (source: Source, transitions: readonly Transition[]) => Evaluation

/** Evaluates the transitions of one commit; constant for the whole commit. */
export interface Evaluator {
  evaluate: Evaluate
  /** Evaluates limit states that are due. */
  expire?: Limits['expire']
  /** Names of the configured rules; undefined means all. */
  rules?: ReadonlySet<string>
  /** Returns the lane of a delivery: `<sink>/<lane>`. */
  laneOf(delivery: Delivery): string
  /** Whether deliveries of the lane leave it immediately; then compression does not pay. */
  keepsUp?(lane: string): boolean
}
