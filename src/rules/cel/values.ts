const MIN_INT = -(2 ** 63)
const MAX_INT = 2 ** 63

/** A number of JSON as CEL has it: whole ones are ints. */
export function celNumber(value: number): bigint | number {
  return Number.isInteger(value) && value >= MIN_INT && value < MAX_INT ? BigInt(value) : value
}

const wholes = new WeakMap<object, object>()

/**
 * A value of JSON as CEL has it, with all that is in it. What holds nothing to be changed stays as it is; lists and maps are
 * looked through once, whoever asks.
 */
export function celValue(value: unknown): unknown {
  if (typeof value === 'number') return celNumber(value)
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  const known = wholes.get(value)
  if (known) return known
  const made = Array.isArray(value) ? listOf(value) : mapOf(value as Record<string, unknown>)
  wholes.set(value, made)
  if (made !== value) wholes.set(made, made)
  return made
}

/** Of JSON, and not of a type of ours; a `Map` was made of it before. */
function isPlain(value: object): boolean {
  if (Array.isArray(value) || Object.hasOwn(value, 'constructor')) return true
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null
}

function listOf(list: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < list.length; i++) {
    const item = celValue(list[i])
    if (item !== list[i]) copy ??= [...list]
    if (copy) copy[i] = item
  }
  return copy ?? list
}

/** A map with a key of its own called `constructor` would be taken for a value of an unknown type: it becomes a `Map`. */
function mapOf(map: Record<string, unknown>): object {
  if (Object.hasOwn(map, 'constructor'))
    return new Map(Object.entries(map).map(([key, value]) => [key, celValue(value)]))
  let copy: Record<string, unknown> | undefined
  for (const key of Object.keys(map)) {
    const value = celValue(map[key])
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
