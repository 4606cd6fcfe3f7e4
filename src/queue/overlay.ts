import type { ChainableCommander, Redis } from 'ioredis'
import type { Change, Comparison, ScannedObject, Transition } from '../change.ts'
import { decodeIndexEntry, encodeIndexEntry, type IndexEntry } from './index-entry.ts'
import { type Keep, KeptObjects } from './kept-objects.ts'
import { valuesOf } from './replies.ts'
import { decideTransition, deletionOf, leavingOf } from './transition.ts'

/** A source's keys in Redis, and what is kept of its objects; undefined when nothing is. */
export interface SourceKeys {
  index: string
  unseen: string
  old: string
  keep: Keep | undefined
  /** The states of limits of its own objects, and when they are due. */
  limits: string
  timers: string
}

/** What a commit is to write besides the checkpoint. */
export interface Plan {
  transitions: Transition[]
  /** uid, entry, uid, entry, … */
  indexSet: string[]
  indexDelete: string[]
  unseenDelete: string[]
  /** uid, packed object, uid, packed object, … */
  oldSet: (string | Buffer)[]
  oldDelete: string[]
  /** Forget the whole index first, and with it the old objects; or these alone; or what a list had not seen. */
  forget?: 'all' | 'old' | 'unseen'
  /** Of limits: own states whose time has come, or that nobody follows any more. */
  due?: string[]
  gone?: string[]
  /** Objects that are not selected any more: what rules follow of them ends. */
  left?: Transition[]
}

export function emptyPlan(): Plan {
  return { transitions: [], indexSet: [], indexDelete: [], unseenDelete: [], oldSet: [], oldDelete: [] }
}

/** What is known of these objects: the last replies of a preparation. */
export function readKnown(
  pipeline: ChainableCommander,
  { index, old, keep }: SourceKeys,
  uids: readonly string[],
): void {
  pipeline.hmget(index, ...uids)
  if (keep) pipeline.hmgetBuffer(old, ...uids)
}

/** Index and old objects as they will be: what was read, changed by the transitions so far. */
export class Overlay {
  readonly #keys: SourceKeys
  readonly #entries = new Map<string, IndexEntry | undefined>()
  readonly #kept: KeptObjects | undefined
  readonly #touched = new Set<string>()
  readonly #transitions: Transition[] = []
  readonly #left: Transition[] = []

  constructor(keys: SourceKeys) {
    this.#keys = keys
    this.#kept = keys.keep && new KeptObjects(keys.keep)
  }

  /** Takes the replies that `readKnown` asked for. */
  read(uids: readonly string[], entries: unknown, old: unknown): void {
    for (const [i, uid] of uids.entries()) {
      const entry = (entries as (string | null)[])[i]
      this.#entries.set(uid, entry ? decodeIndexEntry(entry) : undefined)
    }
    if (old) this.#kept?.read(uids, old as (Buffer | null)[])
  }

  /** Reads what else the index knows; still under WATCH. */
  async readMore(redis: Redis, uids: readonly string[]): Promise<void> {
    const more = uids.filter((uid) => !this.#entries.has(uid))
    if (more.length === 0) return
    const pipeline = redis.pipeline()
    readKnown(pipeline, this.#keys, more)
    const [entries, old] = valuesOf(await pipeline.exec())
    this.read(more, entries, old)
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
    if (type === 'DELETED') this.#kept?.delete(uid)
    else if (object) this.#kept?.put(object)
  }

  /**
   * An object of a list. One that did not change is kept all the same, if it was not yet. One that is neither known nor new is
   * only noted.
   */
  meet(change: Change, comparison: Comparison, isNew: boolean): void {
    const { object } = change
    const known = this.get(object.uid)
    if (!known && !isNew) return this.#note(object)
    const transition = decideTransition(change, known, comparison, true)
    if (transition) this.apply(transition)
    else if (
      known?.resourceVersion === object.resourceVersion &&
      !this.#kept?.at(object.uid, object.resourceVersion)
    )
      this.#kept?.put(object)
  }

  #note(object: ScannedObject): void {
    this.#touched.add(object.uid)
    this.#entries.set(object.uid, object)
    this.#kept?.put(object)
  }

  /** Forgets an object that is not selected any more. */
  leave(uid: string, nowMs: number): void {
    const entry = this.get(uid)
    if (!entry) return
    this.endFollowed(uid, nowMs)
    this.#touched.add(uid)
    this.#entries.set(uid, undefined)
    this.#kept?.delete(uid)
  }

  /** Ends what rules follow of an object, and goes on knowing it. */
  endFollowed(uid: string, nowMs: number): void {
    const entry = this.get(uid)
    if (entry) this.#left.push(this.#withOld(leavingOf(uid, entry, nowMs)))
  }

  /** Deletes what nobody saw being deleted. */
  remove(uid: string | undefined, nowMs: number): void {
    const entry = uid === undefined ? undefined : this.get(uid)
    if (uid !== undefined && entry) this.apply(deletionOf(uid, entry, nowMs))
  }

  plan(): Plan {
    const plan: Plan = { ...emptyPlan(), transitions: this.#transitions, ...this.#kept?.plan() }
    if (this.#left.length > 0) plan.left = this.#left
    for (const uid of this.#touched) {
      const entry = this.#entries.get(uid)
      if (entry) plan.indexSet.push(uid, encodeIndexEntry(entry))
      else plan.indexDelete.push(uid)
    }
    return plan
  }

  /** With the object as it was before, where that tells more than the change itself. */
  #withOld(transition: Transition): Transition {
    const { uid, type, object } = transition
    const known = this.#entries.get(uid)
    if (!this.#kept || !known || (type === 'DELETED' && object)) return transition
    const old = this.#kept.at(uid, known.resourceVersion)
    return old ? { ...transition, old } : transition
  }
}
