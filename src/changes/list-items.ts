import { isMap, type Json, memberOf } from './json.ts'

/** An item of a list, in its two states. */
export interface ItemPair {
  /** What identifies it: the name of a key and its value, or its place. */
  label: string
  key: string
  old: Json
  next: Json
}

/** What the API conventions make the key of a list, where it is not the first of `KEYS` that fits. */
const KEY_OF_LIST = new Map([
  ['conditions', 'type'],
  ['ownerReferences', 'uid'],
  ['volumeMounts', 'mountPath'],
  ['volumeDevices', 'devicePath'],
])

const KEYS = ['name', 'type', 'uid', 'key', 'containerPort', 'port', 'ip', 'host', 'path']

/**
 * The items of a list of objects, matched by their natural key, in the new order with those that went behind; without such
 * a key by their place, if none came or went. Undefined when they cannot be matched, or are no objects.
 */
export function pairItems(list: string, old: Json, next: Json): ItemPair[] | undefined {
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
