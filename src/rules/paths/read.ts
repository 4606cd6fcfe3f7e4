import { createHash } from 'node:crypto'
import type { Step, ValuePath } from './path.ts'

/** The values at a path, each by the way that led to it: two states of an object are compared way by way. */
export type Values = ReadonlyMap<string, unknown>

/** A hostile object may have a hundred thousand: what lies behind these is not looked at. */
const MAX_VALUES = 10_000
/** Of a way each value has its own copy, so that a long key counts by its hash. */
const MAX_KEY = 100
const MAX_DEPTH = 500

/** What is at a path of an object; nothing where a step leads nowhere. */
export function valuesAt({ steps }: ValuePath, object: unknown): Values {
  const values = new Map<string, unknown>()
  follow(steps, 0, object, '', values)
  return values
}

/** Are the values at a path others than before? Items of lists are matched by what identifies them, not by their place. */
export function differs(path: ValuePath, old: unknown, next: unknown): boolean {
  const before = valuesAt(path, old)
  const after = valuesAt(path, next)
  if (before.size !== after.size) return true
  for (const [way, value] of after) if (!before.has(way) || !isSame(before.get(way), value)) return true
  return false
}

function follow(
  steps: readonly Step[],
  at: number,
  value: unknown,
  way: string,
  values: Map<string, unknown>,
): void {
  const step = steps[at]
  if (values.size >= MAX_VALUES) return
  if (!step) values.set(way, value)
  else if (Array.isArray(value)) followList(steps, at, step, value, way, values)
  else if (typeof value === 'object' && value !== null)
    followMap(steps, at, step, value as Record<string, unknown>, way, values)
}

function followMap(
  steps: readonly Step[],
  at: number,
  step: Step,
  map: Record<string, unknown>,
  way: string,
  values: Map<string, unknown>,
): void {
  if (step.is === 'any') {
    for (const key of Object.keys(map)) {
      if (values.size >= MAX_VALUES) return
      follow(steps, at + 1, map[key], `${way}\0${shortKey(key)}`, values)
    }
    return
  }
  const key = step.is === 'member' ? step.key : step.is === 'place' ? String(step.place) : undefined
  if (key !== undefined && Object.hasOwn(map, key)) follow(steps, at + 1, map[key], way, values)
}

function followList(
  steps: readonly Step[],
  at: number,
  step: Step,
  list: readonly unknown[],
  way: string,
  values: Map<string, unknown>,
): void {
  if (step.is === 'place') {
    if (step.place < list.length) follow(steps, at + 1, list[step.place], way, values)
  } else if (step.is === 'item') {
    for (const item of list)
      if (textOf(memberOf(item, step.key)) === step.value) follow(steps, at + 1, item, way, values)
  } else if (step.is === 'any') {
    const name = nameOf(list)
    for (const [place, item] of list.entries()) {
      if (values.size >= MAX_VALUES) return
      const key = name === undefined ? String(place) : String(memberOf(item, name))
      follow(steps, at + 1, item, `${way}\0${shortKey(key)}`, values)
    }
  }
}

function shortKey(key: string): string {
  return key.length <= MAX_KEY ? key : createHash('sha256').update(key).digest('base64')
}

/** What identifies the items of lists in Kubernetes' objects. */
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
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isMap && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

/** A value as patterns see it: texts, numbers and truth values as they are written, lists and maps as JSON. */
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
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (depth >= MAX_DEPTH) throw tooDeep()
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => isSame(item, b[i], depth + 1))
    )
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(memberOf(a, key), memberOf(b, key), depth + 1))
  )
}
