import { CelValueError } from './function.ts'
import { isPlainMap } from './members.ts'

/** The library looks at the type of all that comes first in it, and keeps what it has seen. */
const MAX_NESTING = 8

/** Throws when a value is nested so deeply in what comes first that the library must not get it. */
export function checkNesting(value: unknown): void {
  let inner = value
  for (let depth = 0; typeof inner === 'object' && inner !== null; depth++) {
    if (depth > MAX_NESTING) throw new CelValueError('this value is nested too deeply to be handed on')
    inner = firstOf(inner)
  }
}

/** The same for each of several. */
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
