import type { ChainableCommander, Redis } from 'ioredis'
import type { Change, Comparison, Transition } from '../change.ts'
import { decodeIndexEntry, encodeIndexEntry, type IndexEntry, nameOf } from './index-entry.ts'
import { decideTransition, deletionOf } from './transition.ts'
import { COMPLETE, UnseenLostError } from './unseen.ts'

/** What a commit is to write besides the checkpoint. */
export interface Plan {
  transitions: Transition[]
  /** uid, entry, uid, entry, … */
  indexSet: string[]
  indexDelete: string[]
  unseenDelete: string[]
  /** Forget the whole index first. */
  forget?: true
}

/** The reads that a commit needs under WATCH, sent together with it, and what it makes of the answers. */
export interface Preparation {
  read(pipeline: ChainableCommander): void
  plan(replies: readonly unknown[], redis: Redis): Plan | Promise<Plan>
}

export const NOTHING: Preparation = { read() {}, plan: () => emptyPlan() }

/** Forgets what the index knows. */
export const FORGET: Preparation = { read() {}, plan: () => ({ ...emptyPlan(), forget: true }) }

/** Objects that are there at the beginning: known, not told. */
export function prepareSeed(page: readonly Change[]): Preparation {
  const last = new Map(page.map((change) => [change.object.uid, change]))
  const there = [...last.values()].filter(({ type }) => type !== 'DELETED')
  const gone = [...last.values()].filter(({ type }) => type === 'DELETED')
  return {
    read() {},
    plan: () => ({
      ...emptyPlan(),
      indexSet: there.flatMap(({ object }) => [object.uid, encodeIndexEntry(object)]),
      indexDelete: gone.map(({ object }) => object.uid),
    }),
  }
}

/** The frames of a watch, in order. */
export function prepareWatch(indexKey: string, changes: readonly Change[]): Preparation {
  const uids = [...new Set(changes.map((change) => change.object.uid))]
  return {
    read: (pipeline) => void (uids.length > 0 && pipeline.hmget(indexKey, ...uids)),
    plan([entries]) {
      const overlay = new Overlay(uids, entries as (string | null)[] | undefined)
      for (const change of changes)
        overlay.apply(decideTransition(change, overlay.get(change.object.uid), 'newer', false))
      return overlay.plan()
    },
  }
}

/** A page of a list. A name that the index knows under another uid was deleted before this one came. */
export function prepareList(keys: ListKeys, page: readonly Change[], comparison: Comparison): Preparation {
  const uids = page.map((change) => change.object.uid)
  const names = page.map((change) => nameOf(change.object))
  return {
    read: (pipeline) => void pipeline.hmget(keys.index, ...uids).hmget(keys.unseen, COMPLETE, ...names),
    async plan([entries, unseen], redis) {
      const [complete, ...holders] = unseen as (string | null)[]
      if (complete === null) throw new UnseenLostError()
      const overlay = new Overlay(uids, entries as (string | null)[])
      const replaced = await readReplaced(redis, keys.index, uids, holders)
      for (const [i, change] of page.entries()) {
        const old = replaced.get(i)
        if (old) overlay.apply(deletionOf(old.uid, old.entry, change.observedAtMs))
        overlay.apply(decideTransition(change, overlay.get(change.object.uid), comparison, true))
      }
      return { ...overlay.plan(), unseenDelete: names }
    },
  }
}

/** Objects that are gone for certain. */
export function prepareDeletions(
  keys: ListKeys,
  names: readonly string[],
  uids: readonly string[],
  nowMs: number,
): Preparation {
  return {
    read: (pipeline) => void pipeline.hmget(keys.index, ...uids),
    plan([entries]) {
      const overlay = new Overlay(uids, entries as (string | null)[])
      for (const uid of uids) {
        const entry = overlay.get(uid)
        if (entry) overlay.apply(deletionOf(uid, entry, nowMs))
      }
      return { ...overlay.plan(), unseenDelete: [...names] }
    },
  }
}

export interface ListKeys {
  index: string
  unseen: string
}

async function readReplaced(
  redis: Redis,
  indexKey: string,
  uids: readonly string[],
  holders: readonly (string | null)[],
): Promise<Map<number, { uid: string; entry: IndexEntry }>> {
  // A streamed list may bring one name several times: its old object was deleted before the first of them.
  const first = (uid: string, i: number) => holders.indexOf(uid) === i
  const others = holders.flatMap((uid, i) =>
    uid !== null && uid !== uids[i] && first(uid, i) ? [{ i, uid }] : [],
  )
  if (others.length === 0) return new Map()
  const entries = await redis.hmget(indexKey, ...others.map(({ uid }) => uid))
  return new Map(
    others.flatMap(({ i, uid }, at) => {
      const entry = entries[at]
      return entry ? [[i, { uid, entry: decodeIndexEntry(entry) }] as const] : []
    }),
  )
}

/** The index as it will be: what was read, changed by the transitions so far. */
class Overlay {
  readonly #entries = new Map<string, IndexEntry | undefined>()
  readonly #touched = new Set<string>()
  readonly #transitions: Transition[] = []

  constructor(uids: readonly string[], entries: readonly (string | null)[] | undefined) {
    for (const [i, uid] of uids.entries()) {
      const entry = entries?.[i]
      this.#entries.set(uid, entry ? decodeIndexEntry(entry) : undefined)
    }
  }

  get(uid: string): IndexEntry | undefined {
    return this.#entries.get(uid)
  }

  apply(transition: Transition | undefined): void {
    if (!transition) return
    this.#transitions.push(transition)
    this.#touched.add(transition.uid)
    this.#entries.set(transition.uid, transition.type === 'DELETED' ? undefined : transition)
  }

  plan(): Plan {
    const plan = { ...emptyPlan(), transitions: this.#transitions }
    for (const uid of this.#touched) {
      const entry = this.#entries.get(uid)
      if (entry) plan.indexSet.push(uid, encodeIndexEntry(entry))
      else plan.indexDelete.push(uid)
    }
    return plan
  }
}

function emptyPlan(): Plan {
  return { transitions: [], indexSet: [], indexDelete: [], unseenDelete: [] }
}
