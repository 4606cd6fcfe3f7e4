import { createHash } from 'node:crypto'
import { isMap } from '../text/plain-data.ts'
import type { Step, ValuePath } from './path.ts'

/**
 * The values at a path, by the keys of the items that its steps select: two states of an object are compared key by key. Null is
 * absent, as for the API server: whether it writes null or nothing differs between its versions.
 */
type Values = ReadonlyMap<string, unknown>

/** A hostile object can have a hundred thousand values: further ones are ignored. */
const MAX_VALUES = 10_000
/** Longer keys are hashed, because each value has a copy. */
const MAX_KEY = 100
const MAX_DEPTH = 500

/** Returns the values at a path of an object; empty if a step does not exist. */
export function valuesAt({ steps }: ValuePath, object: unknown): Values {
  const values = new Map<string, unknown>()
  follow(values, steps, object, 0, '')
  return values
}

/*
 * Called for each value of each event that a rule looks into: closures would halve the speed.
 * `way` has the keys of the selected items so far.
 */

type Found = Map<string, unknown>

function follow(values: Found, steps: readonly Step[], value: unknown, at: number, way: string): void {
  const step = steps[at]
  if (values.size >= MAX_VALUES || value === null) return
  if (!step) values.set(way, value)
  else if (Array.isArray(value)) followList(values, steps, value, at, way)
  else if (isMap(value)) followMap(values, steps, value, at, way)
}

function followMap(
  values: Found,
  steps: readonly Step[],
  map: Record<string, unknown>,
  at: number,
  way: string,
): void {
  const step = steps[at] as Step
  if (step.is === 'any') {
    for (const key of Object.keys(map)) {
      if (values.size >= MAX_VALUES) return
      follow(values, steps, map[key], at + 1, `${way}\0${shortKey(key)}`)
    }
    return
  }
  const key = step.is === 'member' ? step.key : step.is === 'place' ? String(step.place) : undefined
  if (key !== undefined && Object.hasOwn(map, key)) follow(values, steps, map[key], at + 1, way)
}

function followList(
  values: Found,
  steps: readonly Step[],
  list: readonly unknown[],
  at: number,
  way: string,
): void {
  const step = steps[at] as Step
  if (step.is === 'place') {
    if (step.place < list.length) follow(values, steps, list[step.place], at + 1, way)
    return
  }
  if (step.is === 'member') return
  const items = step.is === 'any' ? list : itemsWith(step.key, step.value, list)
  // `[name=app]` is one item. Of `[ready=false]` there can be several, now or in the other state.
  if (step.is === 'item' && items.length === 1 && NAMES.includes(step.key))
    return follow(values, steps, items[0], at + 1, way)
  const name = nameOf(items)
  for (const [place, item] of items.entries()) {
    if (values.size >= MAX_VALUES) return
    const key = name === undefined ? String(place) : String(memberOf(item, name))
    follow(values, steps, item, at + 1, `${way}\0${shortKey(key)}`)
  }
}

function itemsWith(key: string, value: string, list: readonly unknown[]): unknown[] {
  const items: unknown[] = []
  for (const item of list) if (textOf(memberOf(item, key)) === value) items.push(item)
  return items
}

/**
 * Whether the values at a path differ. Items that a step selects are matched by their natural key, not by their index; a list within a value
 * is compared in its order.
 */
export function differs(path: ValuePath, old: unknown, next: unknown): boolean {
  const before = valuesAt(path, old)
  const after = valuesAt(path, next)
  if (before.size !== after.size) return true
  // Without `*`, one value in both states is the same one, whatever its item is called.
  if (after.size === 1 && !path.steps.some(({ is }) => is === 'any'))
    return !isSame([...before.values()][0], [...after.values()][0])
  for (const [way, value] of after) if (!before.has(way) || !isSame(before.get(way), value)) return true
  return false
}

function shortKey(key: string): string {
  return key.length <= MAX_KEY ? key : createHash('sha256').update(key).digest('base64')
}

/** Natural keys of lists in Kubernetes objects. */
const NAMES = ['name', 'type', 'uid', 'key', 'mountPath', 'containerPort', 'port', 'ip', 'host', 'path']

function nameOf(list: readonly unknown[]): string | undefined {
  return NAMES.find((name) => {
    const seen = new Set<string>()
    for (const item of list) {
      const value = memberOf(item, name)
      if (typeof value !== 'string' && typeof value !== 'number') return false
      const text = String(value)
      if (seen.has(text)) return false
      seen.add(text)
    }
    return true
  })
}

function memberOf(value: unknown, key: string): unknown {
  return isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** Returns the text of a value that patterns are compared with: lists and maps as JSON. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return undefined
  return typeof value === 'object' ? jsonOf(value) : String(value)
}

function jsonOf(value: object): string {
  try {
    return JSON.stringify(value)
  } catch {
    throw tooDeep()
  }
}

function tooDeep(): RangeError {
  return new RangeError('a value is nested too deeply to be compared')
}

function isSame(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null)
    return (a ?? undefined) === (b ?? undefined)
  if (depth >= MAX_DEPTH) throw tooDeep()
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => isSame(item, b[i], depth + 1))
    )
  return (
    Object.keys(a).every((key) => isSame((a as Record<string, unknown>)[key], memberOf(b, key), depth + 1)) &&
    Object.keys(b).every((key) => Object.hasOwn(a, key) || (b as Record<string, unknown>)[key] === null)
  )
}
