import type { Delivery } from './delivery.ts'
import type { ChangeType, Resource } from './event.ts'
import type { LimitKeys, LimitOutcome, LimitStates, Limits, RuleCounts } from './limit.ts'

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
}

/** A change after the comparison with the index: what really happened, once. */
export interface Transition {
  type: ChangeType
  uid: string
  resourceVersion: string
  namespace: string
  name: string
  labelsJson: string
  observedAtMs: number
  synthesized: boolean
  /** Absent for a deletion that was found by a relist: only the index knows the object. */
  object?: ScannedObject
  /** The object is as it may leave already: of a journal. */
  isTrimmed?: true
  /** Who wrote it last, where the object does not say it any more: of a journal. */
  manager?: string
  /**
   * Where old objects are kept: the object as it was told before, as JSON (trimmed, Secret values hashed). Unpacked when
   * called; undefined when it cannot be.
   */
  old?: () => Buffer | undefined
  /** Nothing happened to the object: the watch does not select it any more. It ends what rules follow, and is no event. */
  left?: true
}

/**
 * One stream of changes: a resource, one namespace or all, its selectors. Its `key` names the
 * durable state (checkpoint, index, ledger) and changes when any of its parts does.
 */
export interface Source {
  key: string
  /** How people call it: `deployments.apps in shop`. A metric label. */
  title: string
  resource: Resource
  /** '' watches all namespaces (or a cluster-scoped resource). */
  namespace: string
  /** Patterns of namespaces, where those of several entries are joined: one of the lists has to match. */
  namespaces?: readonly (readonly string[])[]
  labelSelector: string
  fieldSelector: string
  /** How to begin without a checkpoint: from now on, or with an ADDED for everything that exists. */
  initial: 'now' | 'emit'
  /** Only this part of the objects. */
  shard?: Shard
  /** Reads metadata alone. */
  metadataOnly?: true
  clusterUid: string
  /** As the configuration spells its kind. */
  spelling: string
  /** Its resource is defined by a CustomResourceDefinition, so it can be gone for certain. */
  custom: boolean
}

/** A part of a source's objects, by the hash of their uids. */
export interface Shard {
  /** Counted from 0. */
  index: number
  of: number
}

/** What a source selects of its resource. */
export type Selection = Pick<Source, 'namespace' | 'namespaces' | 'labelSelector' | 'fieldSelector' | 'shard'>

/** What the index knows of an object. */
export type KnownObject = Pick<Transition, 'uid' | 'namespace' | 'name' | 'labelsJson'>

/** A source that another selection of the same resource has replaced. */
export interface FormerSource {
  source: Source
  /** Is the object one of the source that takes over? Others belong to other sources. */
  claims(object: KnownObject): boolean
}

/** Where a source stands, durable in Redis. */
export interface Checkpoint {
  /**
   * `seeding`: a silent first list is not complete; `listing`: a list whose differences are emitted is not complete;
   * `absent`: the resource is not installed, so everything in it will be new.
   */
  phase: 'seeding' | 'listing' | 'watching' | 'absent'
  /** The position to resume from; '' before the first list was complete. */
  resourceVersion: string
  /** Counts the commits; with `holder` it makes every value unique, so that a stale writer is noticed. */
  sequence: number
  /** Random per session. */
  holder: string
  /** Of the process. */
  instance?: string
  /** That process has left the source to others. */
  released?: true
  /**
   * With `seeding`: it takes over what former sources knew, and its first list is compared with that. What they selected:
   * whatever is new there is an event.
   */
  adopting?: readonly Selection[]
  atMs: number
}

/** How resourceVersions are compared with the index's. */
export type Comparison =
  /** Integers, longer wins (KEP-5504): only a newer one is a change. */
  | 'newer'
  /** Any other one is a change: after a restored etcd, or when the server's are no integers. */
  | 'different'

/**
 * What the watch asks of durable storage. Every call is one transaction that also moves the
 * checkpoint, and is fenced: if another process moved it meanwhile, nothing is written.
 * While Redis is away or full a call waits (until `signal`); it never drops and never applies twice.
 */
export interface SourceSession {
  /** What is stored now; undefined before the first start. */
  readonly checkpoint: Checkpoint | undefined
  /** Old objects are kept: a seed then takes whole objects, not their metadata alone. */
  readonly keepsOld: boolean
  /** Forgets the index and starts a silent first list. */
  beginSeed(signal: AbortSignal): Promise<void>
  /** Adds a page to the index (and takes what is DELETED out of it); nothing is emitted. */
  seed(page: readonly Change[], signal: AbortSignal): Promise<void>
  /**
   * Takes over the index, the old objects and the states of limits of a source that this one replaces, and forgets it. The
   * session must be at its beginning, or adopt already; it adopts until its next list ends. May be repeated after a crash.
   */
  adopt(former: FormerSource, signal: AbortSignal): Promise<void>
  /** Starts a list whose differences to the index are emitted as synthesized changes. */
  beginList(comparison: Comparison, signal: AbortSignal): Promise<void>
  /**
   * Emits what is new or different in a page of that list; a name with a new uid emits DELETED of the old first. Objects that
   * are not in the index and not `isNew` are only noted.
   */
  list(
    page: readonly Change[],
    signal: AbortSignal,
    isNew?: (object: ScannedObject) => boolean,
  ): Promise<void>
  /**
   * Ends a seed or list: emits DELETED for what was not in it, and moves to `watching` at `resourceVersion`. A list that was
   * not `complete`, because items could not be read, deletes nothing. What is not `isSelected` was not deleted: it is forgotten,
   * and what rules follow of it ends.
   */
  endList(
    resourceVersion: string,
    signal: AbortSignal,
    complete?: boolean,
    isSelected?: (object: KnownObject) => boolean,
  ): Promise<void>
  /** Emits the changes of a watch and moves the position; an empty batch moves the position alone (bookmark). */
  commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void>
  /** The resource is gone for certain (its CRD is): emits DELETED for all of the index, phase `absent`. */
  markAbsent(signal: AbortSignal): Promise<void>
  /** When `expire` is to be called, Unix time in milliseconds: the time of a limit of its objects is over. */
  readonly dueMs: number | undefined
  /**
   * Decides what limits of its objects have waited for, some of what is due. Only when all that happened before is committed:
   * a change that was not read yet may be what ends the waiting.
   */
  expire(signal: AbortSignal): Promise<void>
  /** Nobody follows its objects any more: what rules follow of them ends, and what waits for them is counted as gone. */
  forgetLimits(signal: AbortSignal): Promise<void>
}

/** Opens a source's durable state; the newest opener owns it, older sessions are fenced. */
export interface SourceStore {
  /** `permit` is asked before each try, and throws when this process may not own it (any more). */
  open(source: Source, signal: AbortSignal, permit?: () => void): Promise<SourceSession>
  /** Where a source stands, without taking it. */
  peek(source: Source, signal: AbortSignal): Promise<PeekedCheckpoint | undefined>
  /** Leaves a source to other processes; nothing of this one writes it any more. Does nothing where another one owns it. */
  release(source: Source, signal: AbortSignal): Promise<void>
  readonly owners: Owners
  /** Kinds that were not installed when they were asked for: once they come, everything in them is new. */
  readonly absentKinds: AbsentKinds
  readonly identities: ClusterIdentities
  readonly splits: Splits
  /** The sources that were ever listed, whether they are still wanted or not. */
  stored(signal: AbortSignal): Promise<Source[]>
}

/** The processes that own sources. */
export interface Owners {
  /** Counts how often a process went or left sources to others. */
  readonly changes: number
  /** Resolves once `changes` is no longer `since`, or after `ms`. */
  wait(since: number, ms: number, signal: AbortSignal): Promise<void>
}

/** `ownerAlive` is false also when the owner has left the source to others, and undefined when nobody can tell. */
export interface PeekedCheckpoint extends Checkpoint {
  ownerAlive: boolean | undefined
}

/** How the clusters behind API servers' addresses are told apart; `address` is a hash. */
export interface ClusterIdentities {
  get(address: string, signal: AbortSignal): Promise<ClusterIdentity | undefined>
  set(address: string, identity: ClusterIdentity, signal: AbortSignal): Promise<void>
  /** The same cluster may have been met at another address. */
  ofUid(uid: string, signal: AbortSignal): Promise<ClusterIdentity | undefined>
}

export interface ClusterIdentity {
  /** Part of every source's key and every event's id. */
  id: string
  /** Of the namespace kube-system, once it could be read. */
  uid?: string
}

/** Whether a source that may be split is; decided once, by the process that comes first. */
export interface Splits {
  get(name: string, signal: AbortSignal): Promise<'shards' | 'whole' | undefined>
  /** Gives what is decided, by this call or an earlier one. */
  settle(name: string, choice: 'shards' | 'whole', signal: AbortSignal): Promise<'shards' | 'whole'>
}

export interface AbsentKinds {
  add(kind: string, signal: AbortSignal): Promise<void>
  has(kind: string, signal: AbortSignal): Promise<boolean>
  remove(kind: string, signal: AbortSignal): Promise<void>
}

/** Another process moved the checkpoint: this session must not write any more. */
export class FencedError extends Error {
  override name = 'FencedError'
}

/** Redis no longer has the position that it had confirmed: it lost its data, and with it whatever waited there. */
export class PositionLostError extends FencedError {
  override name = 'PositionLostError'
}

/** What matching made of the transitions of one commit. */
export interface Decision {
  deliveries: readonly Delivery[]
  unmatched: number
  dropped: number
  /** At least one delivery was made. */
  matched: number
  /** What rules without limits matched; they send all of it. */
  rules?: ReadonlyMap<string, RuleCounts>
  /** Events that rules with limits decide once their states are read: neither matched nor `limited` yet. */
  limits?: PendingLimits
  /** Is told when the commit is durable. */
  trace?: { committed(): void }
}

/** What is decided under the transaction's WATCH, when the states are known. */
export interface PendingLimits {
  keys: LimitKeys
  apply(states: LimitStates, nowMs: number): LimitOutcome
  /** For each event: is it in `matched`, `dropped` or `unmatched` already? The others become `matched` or `limited`. */
  counted: readonly boolean[]
  /** Id of each event → how many of the decision's deliveries come before what limits make of it. */
  places: ReadonlyMap<string, number>
}

/** Turns what happened into deliveries; pure. `src/decision.ts` composes it of normalise and match. */
export type Decide = (source: Source, transitions: readonly Transition[]) => Decision

/** What becomes of the transitions of one commit: from its beginning to its end the same. */
export interface Routing {
  decide: Decide
  /** Decides states of limits whose time has come. */
  expire?: Limits['expire']
  /** The rules of the configuration; undefined: whatever there is. */
  rules?: ReadonlySet<string>
  /** Names the lane of a delivery: `<sink>/<lane>`. */
  laneOf(delivery: Delivery): string
  /** Does what is enqueued there leave it at once? Then it is not worth compressing. */
  keepsUp?(lane: string): boolean
}
