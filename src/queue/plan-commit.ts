import type { ChainableCommander, Redis } from 'ioredis'
import type { Change, Comparison, KnownObject, ScannedObject } from '../change.ts'
import { encodeIndexEntry, nameOf } from './index-entry.ts'
import { KeptObjects } from './kept-objects.ts'
import type { KnownEntries } from './known-entries.ts'
import { emptyPlan, Overlay, type Plan, readKnown, type SourceKeys } from './overlay.ts'
import { decideTransition } from './transition.ts'
import { COMPLETE, UnseenLostError } from './unseen.ts'

/** The reads that a commit needs under WATCH, sent together with it, and what it makes of the answers. */
export interface Preparation {
  read(pipeline: ChainableCommander): void
  plan(replies: readonly unknown[], redis: Redis): Plan | Promise<Plan>
  /** The replies as this session expects them, where it need not ask; the transaction checks the entries of the index. */
  assume?(): { replies: readonly unknown[]; entries: ReadonlyMap<string, string | null> } | undefined
}

/** How many own states one transaction decides: each holds one delivery at most. */
const MOST_DUE = 100

export const NOTHING: Preparation = { read() {}, plan: () => emptyPlan() }

/** Forgets what the index knows. */
export const FORGET: Preparation = { read() {}, plan: () => ({ ...emptyPlan(), forget: 'all' }) }

/** Forgets the old objects that were kept once. */
export const FORGET_OLD: Preparation = { read() {}, plan: () => ({ ...emptyPlan(), forget: 'old' }) }

/** Forgets what a list had not seen: with a commit, as by itself it could arrive late and take the names of the next list. */
export const FORGET_UNSEEN: Preparation = {
  read() {},
  plan: () => ({ ...emptyPlan(), forget: 'unseen' }),
}

/** Own states of limits whose time has come. */
export function prepareExpiry({ timers }: SourceKeys, nowMs: number): Preparation {
  return {
    read: (pipeline) => pipeline.zrange(timers, '-inf', String(nowMs), 'BYSCORE', 'LIMIT', 0, MOST_DUE),
    plan: ([due]) => ({ ...emptyPlan(), due: due as string[] }),
  }
}

/** Own states of limits that nobody follows any more. */
export function prepareGone(fields: readonly string[]): Preparation {
  return { read() {}, plan: () => ({ ...emptyPlan(), gone: [...fields] }) }
}

/** What rules follow of these objects ends; the index goes on knowing them. */
export function prepareLeaving(keys: SourceKeys, uids: readonly string[], nowMs: number): Preparation {
  return {
    read: (pipeline) => readKnown(pipeline, keys, uids),
    plan([entries, old]) {
      const overlay = new Overlay(keys)
      overlay.read(uids, entries, old)
      for (const uid of uids) overlay.endFollowed(uid, nowMs)
      return overlay.plan()
    },
  }
}

/** Objects that are there at the beginning: known, not told. */
export function prepareSeed({ keep }: SourceKeys, page: readonly Change[]): Preparation {
  const last = new Map(page.map((change) => [change.object.uid, change]))
  const there = [...last.values()].filter(({ type }) => type !== 'DELETED')
  const gone = [...last.values()].filter(({ type }) => type === 'DELETED')
  return {
    read() {},
    plan() {
      const kept = keep && new KeptObjects(keep)
      for (const { object } of there) kept?.put(object)
      for (const { object } of gone) kept?.delete(object.uid)
      return {
        ...emptyPlan(),
        indexSet: there.flatMap(({ object }) => [object.uid, encodeIndexEntry(object)]),
        indexDelete: gone.map(({ object }) => object.uid),
        ...kept?.plan(),
      }
    },
  }
}

/** The frames of a watch, in order. */
export function prepareWatch(keys: SourceKeys, changes: readonly Change[], known: KnownEntries): Preparation {
  const uids = [...new Set(changes.map((change) => change.object.uid))]
  return {
    assume() {
      const entries = keys.keep ? undefined : known.assume(changes)
      return entries && { replies: [uids.map((uid) => entries.get(uid))], entries }
    },
    read(pipeline) {
      if (uids.length > 0) readKnown(pipeline, keys, uids)
    },
    plan([entries, old]) {
      const overlay = new Overlay(keys)
      overlay.read(uids, entries, old)
      for (const change of changes)
        overlay.apply(decideTransition(change, overlay.get(change.object.uid), 'newer', false))
      return overlay.plan()
    },
  }
}

/** A page of a list. A name that the index knows under another uid was deleted before this one came. */
export function prepareList(
  keys: SourceKeys,
  page: readonly Change[],
  comparison: Comparison,
  isNew: (object: ScannedObject) => boolean = () => true,
): Preparation {
  const uids = page.map((change) => change.object.uid)
  const names = page.map((change) => nameOf(change.object))
  return {
    read(pipeline) {
      pipeline.hmget(keys.unseen, COMPLETE, ...names)
      readKnown(pipeline, keys, uids)
    },
    async plan([unseen, entries, old], redis) {
      const [complete, ...holders] = unseen as (string | null)[]
      if (complete === null) throw new UnseenLostError()
      const overlay = new Overlay(keys)
      overlay.read(uids, entries, old)
      const replaced = replacedBy(uids, holders)
      await overlay.readMore(redis, [...replaced.values()])
      for (const [i, change] of page.entries()) {
        overlay.remove(replaced.get(i), change.observedAtMs)
        overlay.meet(change, comparison, replaced.has(i) || isNew(change.object))
      }
      return { ...overlay.plan(), unseenDelete: names }
    },
  }
}

/** Objects that are gone for certain, but those that are not selected: these are only forgotten. */
export function prepareDeletions(
  keys: SourceKeys,
  { names, uids }: { names: readonly string[]; uids: readonly string[] },
  nowMs: number,
  isSelected: (object: KnownObject) => boolean = () => true,
): Preparation {
  return {
    read: (pipeline) => readKnown(pipeline, keys, uids),
    plan([entries, old]) {
      const overlay = new Overlay(keys)
      overlay.read(uids, entries, old)
      for (const uid of uids) {
        const entry = overlay.get(uid)
        if (entry && !isSelected({ uid, ...entry })) overlay.leave(uid, nowMs)
        else overlay.remove(uid, nowMs)
      }
      return { ...overlay.plan(), unseenDelete: [...names] }
    },
  }
}

/**
 * Place in the page → the uid that its name had before. A streamed list may bring one name several times: its old object
 * was deleted before the first of them.
 */
function replacedBy(uids: readonly string[], holders: readonly (string | null)[]): Map<number, string> {
  const first = (uid: string, i: number) => holders.indexOf(uid) === i
  return new Map(
    holders.flatMap((uid, i) => (uid !== null && uid !== uids[i] && first(uid, i) ? [[i, uid]] : [])),
  )
}
