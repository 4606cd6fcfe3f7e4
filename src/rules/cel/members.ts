import { memberOf } from './equality.ts'

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Of JSON, or made of it. */
export function isPlainMap(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value.constructor === Object || value.constructor === undefined)
  )
}

/** A value of a type of ours. */
export function hasFields(value: unknown): value is { has(key: string): boolean } {
  return isObject(value) && !isPlainMap(value) && 'has' in value && typeof value.has === 'function'
}

/** A member of a map, or a field of a value of ours, by its name. */
export function readMember(value: unknown, key: string): unknown {
  if (!isObject(value) || Array.isArray(value)) return undefined
  if (hasFields(value) && !(value instanceof Map)) return (value as unknown as Record<string, unknown>)[key]
  return memberOf(value, key)
}

/** What a value of JSON has under a key or at a place; undefined for all that the library has to read. */
export function memberIn(left: unknown, right: unknown): unknown {
  if (!isObject(left)) return undefined
  if (left.constructor === Object)
    return typeof right === 'string' && Object.hasOwn(left, right)
      ? (left as Record<string, unknown>)[right]
      : undefined
  return Array.isArray(left) && typeof right === 'bigint' ? left[Number(right)] : undefined
}
