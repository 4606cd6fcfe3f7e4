import type { ChainableCommander } from 'ioredis'
import type { Change, KnownObject, ScannedObject, Transition } from '../../model/change.ts'
import {
  deletionOf,
  deselectionOf,
  goingBack,
  type IndexEntry,
  transitionOf,
} from '../../model/transition.ts'
import { decodeIndexEntry, encodeIndexEntry, type KnownEntries, nameOf } from './index-entries.ts'
import { type PreviousJson, PreviousObjects } from './previous-objects.ts'
import { COMPLETE, type ComparedList, RelistDiffLostError } from './relist-diff.ts'

/** The commands that read for a plan. */
export type Reads = Pick<ChainableCommander, 'hmget' | 'hmgetBuffer' | 'zrange'>

/** Executes reads, and returns their replies. */
export type Read = (queue: (reads: Reads) => void) => Promise<readonly unknown[]>

/** The reads of a commit, and the plan that it makes of their replies. */
export interface CommitPlan {
  read(reads: Reads): void
  compute(replies: readonly unknown[], read: Read): Plan | Promise<Plan>
  /** Returns the replies that this session expects, so that it need not read; the transaction compares the entries of the index. */
  assume?(): { replies: readonly unknown[]; entries: ReadonlyMap<string, string | null> } | undefined
}

/** Own states that one transaction evaluates: each has at most one delivery. */
const MOST_DUE = 100

/** A plan without reads. */
function withoutReads(plan: Partial<Plan>): CommitPlan {
  return { read() {}, compute: () => ({ ...emptyPlan(), ...plan }) }
}

export const NOTHING = withoutReads({})

/** Deletes the index. */
export const FORGET = withoutReads({ forget: 'all' })

/** Deletes the previous objects. */
export const FORGET_PREVIOUS = withoutReads({ forget: 'previous' })

/** Deletes the names that a list has not listed; in a commit, because a late DEL alone could delete the names of the next list. */
export const FORGET_UNLISTED = withoutReads({ forget: 'unlisted' })

/** Evaluates own limit states that are due. */
export function planExpiry({ timers }: SourceKeys, nowMs: number): CommitPlan {
  return {
    read: (reads) => void reads.zrange(timers, '-inf', String(nowMs), 'BYSCORE', 'LIMIT', 0, MOST_DUE),
    compute: ([due]) => ({ ...emptyPlan(), due: due as string[] }),
  }
}

/** Ends own limit states that are no longer used. */
export function planGone(fields: readonly string[]): CommitPlan {
  return withoutReads({ gone: [...fields] })
}

/** Ends the limit states of these objects; they stay in the index. */
export function planDeselection(keys: SourceKeys, uids: readonly string[], nowMs: number): CommitPlan {
  return planChanges(keys, uids, (index) => {
    for (const uid of uids) index.endFollowed(uid, nowMs)
    return undefined
  })
}

/** Indexes the objects that exist at the first start, without emitting them. */
export function planSeed(keys: SourceKeys, page: readonly Change[]): CommitPlan {
  return {
    read() {},
    compute() {
      const index = new IndexTransaction(keys)
      for (const { type, object } of page)
        if (type === 'DELETED') index.forget(object.uid)
        else index.note(object)
      return index.plan()
    },
  }
}

/** Applies the frames of a watch, in order. */
export function planWatch(keys: SourceKeys, changes: readonly Change[], known: KnownEntries): CommitPlan {
  const uids = [...new Set(changes.map((change) => change.object.uid))]
  return {
    ...planChanges(keys, uids, (index) => {
      for (const change of changes)
        index.apply(transitionOf(change, index.get(change.object.uid), 'newer', false))
      return undefined
    }),
    assume() {
      const entries = keys.previousJson ? undefined : known.assume(changes)
      return entries && { replies: [uids.map((uid) => entries.get(uid))], entries }
    },
  }
}

/**
 * Applies a page of a list, which is newer than its `position`, unless etcd was restored. If the index has a name with another uid, that object
 * was deleted before this one was created.
 */
export function planList(
  keys: SourceKeys,
  page: readonly Change[],
  list: ComparedList,
  isNew: (object: ScannedObject) => boolean = () => true,
): CommitPlan {
  const uids = page.map((change) => change.object.uid)
  const names = page.map((change) => nameOf(change.object))
  return {
    read(reads) {
      reads.hmget(keys.unlisted, COMPLETE, ...names)
      readKnown(reads, keys, uids)
    },
    async compute([unlisted, entries, previous], read) {
      const [complete, ...holders] = unlisted as (string | null)[]
      if (complete === null) throw new RelistDiffLostError()
      const index = new IndexTransaction(keys)
      index.read(uids, entries, previous)
      const replaced = replacedBy(uids, holders)
      await index.readMore(read, [...replaced.values()])
      for (const [i, change] of page.entries()) {
        index.remove(replaced.get(i), change.observedAtMs)
        index.meet(change, list, replaced.has(i) || isNew(change.object))
      }
      return { ...index.plan(), unlistedDelete: names }
    },
  }
}

/** Deletes objects; those that are no longer selected are only removed from the index. */
export function planDeletions(
  keys: SourceKeys,
  { names, uids }: { names: readonly string[]; uids: readonly string[] },
  nowMs: number,
  isSelected: (object: KnownObject) => boolean = () => true,
): CommitPlan {
  return planChanges(keys, uids, (index) => {
    for (const uid of uids) {
      const entry = index.get(uid)
      if (entry && !isSelected({ uid, ...entry })) index.deselect(uid, nowMs)
      else index.remove(uid, nowMs)
    }
    return { unlistedDelete: [...names] }
  })
}

/** Reads the entries of these objects, and applies changes to them. */
function planChanges(
  keys: SourceKeys,
  uids: readonly string[],
  change: (index: IndexTransaction) => Partial<Plan> | undefined,
): CommitPlan {
  return {
    read(reads) {
      if (uids.length > 0) readKnown(reads, keys, uids)
    },
    compute([entries, previous]) {
      const index = new IndexTransaction(keys)
      index.read(uids, entries, previous)
      const more = change(index)
      return { ...index.plan(), ...more }
    },
  }
}

/**
 * Returns position in the page → former uid of the same name. A streamed list can contain a name several times: its former object
 * was deleted before the first of them.
 */
function replacedBy(uids: readonly string[], holders: readonly (string | null)[]): Map<number, string> {
  const first = (uid: string, i: number) => holders.indexOf(uid) === i
  return new Map(
    holders.flatMap((uid, i) => (uid !== null && uid !== uids[i] && first(uid, i) ? [[i, uid]] : [])),
  )
}

/** A source's keys in Redis, and how its previous objects are stored, if they are. */
export interface SourceKeys {
  index: string
  unlisted: string
  previous: string
  previousJson: PreviousJson | undefined
  /** For large previous objects. */
  hasRoom(): boolean
  /** The limit states of its own objects, and their due times. */
  limits: string
  timers: string
}

/** The writes of a commit, without the checkpoint. */
export interface Plan {
  transitions: Transition[]
  /** uid, entry, uid, entry, … */
  indexSet: string[]
  indexDelete: string[]
  unlistedDelete: string[]
  /** uid, packed object, uid, packed object, … */
  previousSet: (string | Buffer)[]
  previousDelete: string[]
  /** Delete first: the whole index with the previous objects; only these; or the names that a list has not listed. */
  forget?: 'all' | 'previous' | 'unlisted'
  /** Own limit states: those that are due, and those that are no longer used. */
  due?: string[]
  gone?: string[]
  /** Objects that are no longer selected: their limit states end. */
  deselected?: Transition[]
}

export function emptyPlan(): Plan {
  return {
    transitions: [],
    indexSet: [],
    indexDelete: [],
    unlistedDelete: [],
    previousSet: [],
    previousDelete: [],
  }
}

/** Queues the reads of index and previous objects; their replies are the last ones of a plan. */
function readKnown(
  reads: Reads,
  { index, previous, previousJson }: SourceKeys,
  uids: readonly string[],
): void {
  reads.hmget(index, ...uids)
  if (previousJson) reads.hmgetBuffer(previous, ...uids)
}

/** Index and previous objects after the transitions so far. */
class IndexTransaction {
  readonly #keys: SourceKeys
  readonly #entries = new Map<string, IndexEntry | undefined>()
  readonly #previous: PreviousObjects | undefined
  readonly #touched = new Set<string>()
  readonly #transitions: Transition[] = []
  readonly #left: Transition[] = []

  constructor(keys: SourceKeys) {
    this.#keys = keys
    this.#previous = keys.previousJson && new PreviousObjects(keys.previousJson)
  }

  /** Takes the replies that `readKnown` asked for. */
  read(uids: readonly string[], entries: unknown, previous: unknown): void {
    for (const [i, uid] of uids.entries()) {
      const entry = (entries as (string | null)[])[i]
      this.#entries.set(uid, entry ? decodeIndexEntry(entry) : undefined)
    }
    if (previous) this.#previous?.read(uids, previous as (Buffer | null)[])
  }

  /** Reads more entries of the index. */
  async readMore(read: Read, uids: readonly string[]): Promise<void> {
    const more = uids.filter((uid) => !this.#entries.has(uid))
    if (more.length === 0) return
    const [entries, previous] = await read((reads) => readKnown(reads, this.#keys, more))
    this.read(more, entries, previous)
  }

  get(uid: string): IndexEntry | undefined {
    return this.#entries.get(uid)
  }

  apply(transition: Transition | undefined): void {
    if (!transition) return
    const { uid, type, object } = transition
    this.#transitions.push(this.#withOld(transition))
    this.#touched.add(uid)
    this.#entries.set(uid, type === 'DELETED' ? undefined : transition)
    if (type === 'DELETED') this.#previous?.delete(uid)
    else if (object) this.#previous?.put(object)
  }

  /**
   * Applies an object of a list. An unchanged object is stored as previous object if it was not yet. An object that is neither
   * in the index nor new is only indexed.
   */
  meet(change: Change, list: ComparedList, isNew: boolean): void {
    const { object } = change
    const known = this.get(object.uid)
    if (!known && !isNew) return this.note(object)
    const transition = transitionOf(change, known, list.comparison, true)
    if (transition) this.apply(goingBack(transition, known?.resourceVersion ?? list.position))
    else if (known?.resourceVersion === object.resourceVersion)
      this.#previous?.keep(object, list.otherVersion)
  }

  /** Indexes an object without emitting it. */
  note(object: ScannedObject): void {
    this.#touched.add(object.uid)
    this.#entries.set(object.uid, object)
    this.#previous?.put(object)
  }

  /** Removes an object from the index without emitting it. */
  forget(uid: string): void {
    this.#touched.add(uid)
    this.#entries.set(uid, undefined)
    this.#previous?.delete(uid)
  }

  /** Removes an object that is no longer selected from the index. */
  deselect(uid: string, nowMs: number): void {
    const entry = this.get(uid)
    if (!entry) return
    this.endFollowed(uid, nowMs)
    this.forget(uid)
  }

  /** Ends the limit states of an object, which stays in the index. */
  endFollowed(uid: string, nowMs: number): void {
    const entry = this.get(uid)
    if (entry) this.#left.push(this.#withOld(deselectionOf(uid, entry, nowMs)))
  }

  /** Emits a synthesized deletion. */
  remove(uid: string | undefined, nowMs: number): void {
    const entry = uid === undefined ? undefined : this.get(uid)
    if (uid !== undefined && entry) this.apply(deletionOf(uid, entry, nowMs))
  }

  plan(): Plan {
    const plan: Plan = {
      ...emptyPlan(),
      transitions: this.#transitions,
      ...this.#previous?.plan(this.#keys.hasRoom()),
    }
    if (this.#left.length > 0) plan.deselected = this.#left
    for (const uid of this.#touched) {
      const entry = this.#entries.get(uid)
      if (entry) plan.indexSet.push(uid, encodeIndexEntry(entry))
      else plan.indexDelete.push(uid)
    }
    return plan
  }

  /** Adds the previous object, unless the change contains the whole last state. */
  #withOld(transition: Transition): Transition {
    const { uid, type, object } = transition
    const known = this.#entries.get(uid)
    if (!this.#previous || !known || (type === 'DELETED' && object)) return transition
    const old = this.#previous.at(uid, known.resourceVersion)
    return old ? { ...transition, old } : transition
  }
}
