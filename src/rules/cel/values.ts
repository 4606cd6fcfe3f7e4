import { charge } from './meter.ts'

const MIN_INT = -(2 ** 63)
const MAX_INT = 2 ** 63

/** A number of JSON as CEL has it: whole ones are ints. */
export function celNumber(value: number): bigint | number {
  return Number.isInteger(value) && value >= MIN_INT && value < MAX_INT ? BigInt(value) : value
}

interface Whole {
  made: object
  /** How many values are in it. */
  size: number
}

const wholes = new WeakMap<object, Whole>()
/** Larger ones are charged to all who ask, so that no rule works only because of another one. */
const FREE = 1_000

/** All values that were looked through so far. */
let looked = 0

/**
 * A value of JSON as CEL has it, with all that is in it. What holds nothing to be changed stays as it is; lists and maps are
 * looked through once, whoever asks. Large ones are counted.
 */
export function celValue(value: unknown): unknown {
  return wholeOf(value, FREE)
}

function wholeOf(value: unknown, free: number): unknown {
  if (typeof value === 'number') return celNumber(value)
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  const known = wholes.get(value)
  if (known) {
    looked += known.size
    if (known.size > free) charge(known.size)
    return known.made
  }
  const before = looked
  const made = Array.isArray(value) ? listOf(value) : mapOf(value as Record<string, unknown>)
  const whole = { made, size: looked - before }
  wholes.set(value, whole)
  if (made !== value) wholes.set(made, whole)
  return made
}

function count(members: number): void {
  looked += members
  charge(members)
}

/** Of JSON, and not of a type of ours; a `Map` was made of it before. */
function isPlain(value: object): boolean {
  if (Array.isArray(value) || Object.hasOwn(value, 'constructor')) return true
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null
}

function listOf(list: readonly unknown[]): readonly unknown[] {
  count(list.length)
  let copy: unknown[] | undefined
  for (let i = 0; i < list.length; i++) {
    const item = wholeOf(list[i], 0)
    if (item !== list[i]) copy ??= [...list]
    if (copy) copy[i] = item
  }
  return copy ?? list
}

/** A map with a key of its own called `constructor` would be taken for a value of an unknown type: it becomes a `Map`. */
function mapOf(map: Record<string, unknown>): object {
  const keys = Object.keys(map)
  count(keys.length)
  if (Object.hasOwn(map, 'constructor')) return new Map(keys.map((key) => [key, wholeOf(map[key], 0)]))
  let copy: Record<string, unknown> | undefined
  for (const key of keys) {
    const value = wholeOf(map[key], 0)
    if (value !== map[key]) copy ??= copyOf(map)
    if (copy) define(copy, key, value)
  }
  return copy ?? map
}

function copyOf(map: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(map)) define(copy, key, map[key])
  return copy
}

/** `__proto__` is a key like others. */
function define(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true })
  else map[key] = value
}

/** A value of JSON of which parts will be read: with an own key `constructor` it is made anew, all others stay as they are. */
export function safe(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const made = value.constructor
  if (made === Object || made === Array || typeof made === 'function') return value
  return Object.hasOwn(value, 'constructor') ? celValue(value) : value
}

/** The same of all items of a list. */
export function safeItems(list: readonly unknown[]): readonly unknown[] {
  for (const item of list) if (safe(item) !== item) return list.map(safe)
  return list
}
