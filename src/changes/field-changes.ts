import type { FieldChange, Resource, WayStep } from '../event.ts'
import { type Json, mapsOf, memberOf } from './json.ts'
import { pairItems } from './list-items.ts'
import { isNoise, rankOf } from './rank.ts'
import { shownPair } from './shown.ts'
import { Trail } from './trail.ts'

/** Before all other ranks. */
const NAMED = -1
/** How many changes a message can do with. */
const MAX_CHANGES = 40
/** A hostile object may have a hundred thousand fields: what lies behind these is not told. */
const MAX_FOUND = 4_000
const MAX_DEPTH = 50

interface Found {
  trail: Trail
  old: Json
  next: Json
}

/**
 * What differs between two states of one object, the most telling first: what `isNamed` says, images, the rest of spec and
 * data, status, metadata, times. Left out is what changes all the time (resourceVersion, heartbeats). Items of lists are matched by
 * their natural key (`containers[name=web]`, `conditions[type=Ready]`); a list of scalars is one value. Values of Secrets,
 * and texts whose name says that they are secret, are `***`. Linear in the objects' size.
 */
export function fieldChanges(
  old: Json,
  next: Json,
  resource: Pick<Resource, 'group' | 'kind'>,
  isNamed: (way: readonly WayStep[]) => boolean = () => false,
): FieldChange[] {
  const found: Found[] = []
  compare(new Trail(resource), old, next, found)
  return found
    .map((it) => ({ ...it, rank: isNamed(it.trail.way()) ? NAMED : rankOf(it.trail) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_CHANGES)
    .map(({ trail, old, next }) => ({ path: trail.text(), ...shownPair(trail, old, next) }))
}

/** Absent and null are the same, as they are for the API server. */
function compare(trail: Trail, left: Json, right: Json, found: Found[]): void {
  const old = left ?? undefined
  const next = right ?? undefined
  if (old === next || found.length >= MAX_FOUND || isNoise(trail)) return
  if (trail.depth < MAX_DEPTH) {
    const maps = mapsOf(old, next)
    if (maps) return compareMembers(trail, ...maps, found)
    const pairs = pairItems(trail.key, old, next)
    if (pairs) {
      for (const { label, key, old, next } of pairs) compareItem(trail.item(label, key), old, next, found)
      return
    }
  }
  if (!isSame(old, next)) found.push({ trail, old, next })
}

/** The bulk of an object comes before its status and metadata: a limit cuts these off first. */
function compareMembers(trail: Trail, old: Members, next: Members, found: Found[]): void {
  for (const key of keysOf(old, next, trail.depth === 0)) {
    if (found.length >= MAX_FOUND) return
    const [before, after] = [memberOf(old, key), memberOf(next, key)]
    if (before !== after) compare(trail.member(key), before, after, found)
  }
}

function keysOf(old: Members, next: Members, isObject: boolean): Iterable<string> {
  const keys = [...Object.keys(old), ...Object.keys(next).filter((key) => !Object.hasOwn(old, key))]
  return isObject ? keys.toSorted((a, b) => LAST.indexOf(a) - LAST.indexOf(b)) : keys
}

const LAST = ['status', 'metadata']

/** An item that came or went is told as a whole. */
function compareItem(trail: Trail, old: Json, next: Json, found: Found[]): void {
  if (old !== undefined && next !== undefined) compare(trail, old, next, found)
  else if (found.length < MAX_FOUND && !isNoise(trail)) found.push({ trail, old, next })
}

type Members = Readonly<Record<string, Json>>

/** For scalars, lists of them, and what lies too deep. */
function isSame(old: Json, next: Json): boolean {
  if (typeof old !== 'object' || typeof next !== 'object') return old === next
  if (Array.isArray(old) && Array.isArray(next) && differAtOnce(old, next)) return false
  try {
    return JSON.stringify(old) === JSON.stringify(next)
  } catch {
    return false // nested beyond what the stack holds
  }
}

/** Do two lists differ in length, or in a scalar? Most that differ do, and need not be written out. */
function differAtOnce(old: readonly Json[], next: readonly Json[]): boolean {
  return old.length !== next.length || old.some((it, place) => typeof it !== 'object' && it !== next[place])
}
