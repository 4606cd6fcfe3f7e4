import { charge } from './meter.ts'

/**
 * Are two values of JSON equal, as CEL has it: ints and doubles by their value, other types never with each other? Undefined
 * for values of other kinds. What is compared is counted.
 */
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

/** Of JSON, or made of it. */
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

/** The keys of a map; to list many is slow. */
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
