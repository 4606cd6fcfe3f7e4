import type { FieldChange, Resource, WayStep } from '../model/event.ts'
import { isMap } from '../text/plain-data.ts'
import { type Json, shownPair } from './shown-values.ts'

const NAMED = -1
/** Maximum number of changes in a message. */
const MAX_CHANGES = 40
/** A hostile object can have a hundred thousand fields: the comparison ends at this number of changes. */
const MAX_FOUND = 4_000
const MAX_DEPTH = 50

interface Found {
  trail: Trail
  old: Json
  next: Json
}

/**
 * Returns the differences between two states of an object, the most important first: named paths, images, the rest of spec and
 * data, status, metadata, times. Fields that change permanently (resourceVersion, heartbeats) are omitted. Items of lists are matched by
 * their natural key (`containers[name=web]`, `conditions[type=Ready]`); a list of scalars is one value. Values of Secrets and of
 * fields with a secret's name are `***`. Linear in the objects' size.
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

/** Absent and null are equal, as for the API server. */
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

/** Compares status and metadata last: the limit of changes omits these first. */
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

/** An added or removed item is one change. */
function compareItem(trail: Trail, old: Json, next: Json, found: Found[]): void {
  if (old !== undefined && next !== undefined) compare(trail, old, next, found)
  else if (found.length < MAX_FOUND && !isNoise(trail)) found.push({ trail, old, next })
}

type Members = Readonly<Record<string, Json>>

/** Compares scalars, lists of scalars, and values below the maximum depth. */
function isSame(old: Json, next: Json): boolean {
  if (typeof old !== 'object' || typeof next !== 'object') return old === next
  if (Array.isArray(old) && Array.isArray(next) && clearlyDiffer(old, next)) return false
  try {
    return JSON.stringify(old) === JSON.stringify(next)
  } catch {
    return false // nested beyond what the stack holds
  }
}

/** Whether two lists differ in length or in a scalar: most different lists do, and need no serialization. */
function clearlyDiffer(old: readonly Json[], next: readonly Json[]): boolean {
  return old.length !== next.length || old.some((it, place) => typeof it !== 'object' && it !== next[place])
}

interface ItemPair {
  /** The name and value of its natural key, or its index. */
  label: string
  key: string
  old: Json
  next: Json
}

/** Natural keys by the API conventions that are not the first match in `KEYS`. */
const KEY_OF_LIST = new Map([
  ['conditions', 'type'],
  ['ownerReferences', 'uid'],
  ['volumeMounts', 'mountPath'],
  ['volumeDevices', 'devicePath'],
])

const KEYS = ['name', 'type', 'uid', 'key', 'containerPort', 'port', 'ip', 'host', 'path']

/**
 * Matches the items of a list of objects by their natural key, in the new order, removed items last; without such a key by their
 * index, if the number of items is equal. Returns undefined if they cannot be matched, or are no objects.
 */
function pairItems(list: string, old: Json, next: Json): ItemPair[] | undefined {
  const [before, after] = [old ?? [], next ?? []]
  if (!areObjects(before) || !areObjects(after) || before.length + after.length === 0) return undefined
  const candidates = [KEY_OF_LIST.get(list), ...KEYS].filter((key) => key !== undefined)
  const label = candidates.find((key) => identifies(key, before) && identifies(key, after))
  if (label !== undefined) return byKey(label, before, after)
  if (before.length !== after.length) return undefined
  return after.map((item, place) => ({ label: '', key: String(place), old: before[place], next: item }))
}

type Item = Readonly<Record<string, Json>>

function areObjects(list: Json): list is Item[] {
  return Array.isArray(list) && list.every(isMap)
}

function identifies(key: string, items: readonly Item[]): boolean {
  const seen = new Set<string>()
  for (const item of items) {
    const id = idOf(item, key)
    if (id === undefined || seen.has(id)) return false
    seen.add(id)
  }
  return true
}

function idOf(item: Item, key: string): string | undefined {
  const value = memberOf(item, key)
  return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined
}

function byKey(label: string, before: readonly Item[], after: readonly Item[]): ItemPair[] {
  const gone = new Map(before.map((item) => [idOf(item, label) as string, item]))
  const pairs = after.map((item) => {
    const key = idOf(item, label) as string
    const old = gone.get(key)
    gone.delete(key)
    return { label, key, old, next: item }
  })
  return [...pairs, ...[...gone].map(([key, item]) => ({ label, key, old: item, next: undefined }))]
}

/** Metadata that the API server changes at every write. */
const BOOKKEEPING = new Set([
  'resourceVersion',
  'generation',
  'managedFields',
  'selfLink',
  'creationTimestamp',
])

/** Status fields that change without an event. */
const HEARTBEATS = new Set(['observedGeneration', 'lastHeartbeatTime', 'lastProbeTime', 'lastUpdateTime'])

/** Annotations that controllers write like a status. */
const SIGNS_OF_LIFE = new Set([
  'control-plane.alpha.kubernetes.io/leader',
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
])

function isNoise({ depth, top, key, parent, resource }: Trail): boolean {
  switch (top) {
    case 'metadata':
      return depth === 2 ? BOOKKEEPING.has(key) : parent?.key === 'annotations' && SIGNS_OF_LIFE.has(key)
    case 'status':
      return HEARTBEATS.has(key)
    case 'spec':
      return key === 'renewTime' && resource.kind === 'Lease'
    default:
      return depth === 1 && (key === 'apiVersion' || key === 'kind')
  }
}

const STATE_OF_DELETION = new Set(['deletionTimestamp', 'finalizers'])

/** The lowest rank is the most important. */
function rankOf({ top, depth, key }: Trail): number {
  if (top === 'status') return /(Time|At|ID)$/.test(key) ? 5 : 3
  if (top === 'metadata') return depth === 2 && STATE_OF_DELETION.has(key) ? 2 : 4
  return key === 'image' ? 0 : 1
}

const MAX_PATH = 300
const MAX_KEY = 100

/** The path from an object to one of its values. */
class Trail {
  readonly resource: Pick<Resource, 'group' | 'kind'>
  readonly parent: Trail | undefined
  /** The member's name; for an item of a list the value of its natural key. */
  readonly key: string
  readonly depth: number
  /** The first member on the path. */
  readonly top: string
  /** The name of an item's natural key; '' if `key` is its index. */
  readonly #label: string | undefined

  constructor(resource: Pick<Resource, 'group' | 'kind'>, parent?: Trail, key = '', label?: string) {
    this.resource = resource
    this.parent = parent
    this.key = key
    this.#label = label
    this.depth = parent ? parent.depth + 1 : 0
    this.top = parent?.parent ? parent.top : key
  }

  member(name: string): Trail {
    return new Trail(this.resource, this, name)
  }

  item(label: string, key: string): Trail {
    return new Trail(this.resource, this, key, label)
  }

  /** `spec.template.spec.containers[name=web].image`, `metadata.labels["app.kubernetes.io/name"]`. */
  text(): string {
    const steps: string[] = []
    for (let at: Trail | undefined = this; at?.parent; at = at.parent) steps.push(at.#step())
    return cut(steps.reverse().join('').replace(/^\./, ''), MAX_PATH)
  }

  way(): WayStep[] {
    const steps: WayStep[] = []
    for (let at: Trail | undefined = this; at?.parent; at = at.parent)
      steps.push({ label: at.#label, key: at.key })
    return steps.reverse()
  }

  #step(): string {
    const key = cut(this.key, MAX_KEY)
    if (this.#label === undefined)
      return /^[A-Za-z_$][\w$-]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
    const value = /^[\w.:/@+-]+$/.test(key) ? key : JSON.stringify(key)
    return this.#label === '' ? `[${value}]` : `[${this.#label}=${value}]`
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** Reads own members only: a key can be `constructor`. */
function memberOf(map: Members, key: string): Json {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

/** Two maps, or an added or removed map with fields: its fields are the changes. */
function mapsOf(old: Json, next: Json): [Members, Members] | undefined {
  if (isMap(old) && isMap(next)) return [old, next]
  if (old === undefined && isMap(next) && Object.keys(next).length > 0) return [{}, next]
  if (next === undefined && isMap(old) && Object.keys(old).length > 0) return [old, {}]
  return undefined
}
