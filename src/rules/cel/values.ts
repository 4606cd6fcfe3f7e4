import { CelValueError, charge } from './meter.ts'

const MIN_INT = -(2 ** 63)
const MAX_INT = 2 ** 63

/** Returns a number of JSON as a CEL value: whole numbers are ints. */
export function celNumber(value: number): bigint | number {
  return Number.isInteger(value) && value >= MIN_INT && value < MAX_INT ? BigInt(value) : value
}

interface Whole {
  made: object
  /** How many values are in it. */
  size: number
}

const wholes = new WeakMap<object, Whole>()
/** Larger values are charged to each rule, so that no rule works only because another one paid. */
const FREE = 1_000

/** The number of values visited so far. */
let looked = 0

/** Returns a value of JSON as a CEL value. Lists and maps are converted once for all rules, and copied only if they change. */
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

/** Returns whether it is JSON, and not of a declared type or a `Map` that was made of JSON. */
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

/** The library takes a map with an own key `constructor` for a value of an unknown type, so that it becomes a `Map`. */
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

/** Sets a key, which may be `__proto__`. */
function define(map: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true })
  else map[key] = value
}

/** Returns a value of JSON for reading its members: a map with an own key `constructor` is converted, all others stay the same. */
export function safe(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const made = value.constructor
  if (made === Object || made === Array || typeof made === 'function') return value
  return Object.hasOwn(value, 'constructor') ? celValue(value) : value
}

export function safeItems(list: readonly unknown[]): readonly unknown[] {
  for (const item of list) if (safe(item) !== item) return list.map(safe)
  return list
}

/** Returns whether two values of JSON are equal by CEL's rules, with ints and doubles compared by value; undefined for other values. */
export function equals(a: unknown, b: unknown): boolean | undefined {
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length > 256) charge(a.length / 256)
    return a === b
  }
  if (a === b) return true
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return scalarsEqual(a, b)
  charge(2)
  if (Array.isArray(a) && Array.isArray(b)) return listsEqual(a, b)
  if (!isMap(a) || !isMap(b))
    return Array.isArray(a) || Array.isArray(b) || isMap(a) || isMap(b) ? false : undefined
  return mapsEqual(a, b)
}

function scalarsEqual(a: unknown, b: unknown): boolean | undefined {
  if (isNumber(a) && isNumber(b)) return typeof a === typeof b ? a === b : a >= b && a <= b
  return false
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function isMap(value: object): boolean {
  if (value instanceof Map) return true
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null
}

function listsEqual(a: readonly unknown[], b: readonly unknown[]): boolean | undefined {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) {
    charge(1)
    const same = equals(a[i], b[i])
    if (same !== true) return same
  }
  return true
}

function mapsEqual(a: object, b: object): boolean | undefined {
  const keys = keysOf(a)
  if (keys.length !== keysOf(b).length) return false
  for (const key of keys) {
    charge(2)
    const other = memberOf(b, key)
    if (other === undefined) return false
    const same = equals(memberOf(a, key), other)
    if (same !== true) return same
  }
  return true
}

/** Returns the keys of a map; listing them is metered. */
export function keysOf(map: object): readonly unknown[] {
  const keys = map instanceof Map ? [...map.keys()] : Object.keys(map)
  charge(keys.length)
  return keys
}

export function memberOf(map: object, key: unknown): unknown {
  if (map instanceof Map) return map.get(key)
  return typeof key === 'string' && Object.hasOwn(map, key)
    ? (map as Record<string, unknown>)[key]
    : undefined
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function isPlainMap(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value.constructor === Object || value.constructor === undefined)
  )
}

/** Returns whether it is a value with declared fields. */
export function hasFields(value: unknown): value is { has(key: string): boolean } {
  return isObject(value) && !isPlainMap(value) && 'has' in value && typeof value.has === 'function'
}

/** Returns a member of a map, or a declared field. */
export function readMember(value: unknown, key: string): unknown {
  if (!isObject(value) || Array.isArray(value)) return undefined
  if (hasFields(value) && !(value instanceof Map)) return (value as unknown as Record<string, unknown>)[key]
  return memberOf(value, key)
}

/** Returns the member of a value of JSON by key or index; undefined for values that the library reads. */
export function memberIn(left: unknown, right: unknown): unknown {
  if (!isObject(left)) return undefined
  if (left.constructor === Object)
    return typeof right === 'string' && Object.hasOwn(left, right)
      ? (left as Record<string, unknown>)[right]
      : undefined
  return Array.isArray(left) && typeof right === 'bigint' ? left[Number(right)] : undefined
}

/** The library derives a type from the first members of each level, and keeps every type that it has met. */
const MAX_NESTING = 8

/** Throws if the first members are nested too deeply to be handed to the library. */
export function checkNesting(value: unknown): void {
  let inner = value
  for (let depth = 0; typeof inner === 'object' && inner !== null; depth++) {
    if (depth > MAX_NESTING) throw new CelValueError('this value is nested too deeply to be handed on')
    inner = firstOf(inner)
  }
}

export function checkAll(values: readonly unknown[]): void {
  for (let i = 0; i < values.length; i++) if (typeof values[i] === 'object') checkNesting(values[i])
}

function firstOf(value: object): unknown {
  if (Array.isArray(value)) return value[0]
  if (value instanceof Map) return value.values().next().value
  if (!isPlainMap(value)) return undefined
  for (const key in value) return value[key]
  return undefined
}
