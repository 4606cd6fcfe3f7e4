/** An object of any size is read no further than this. */
const MAX_ITEMS = 200
const MAX_TEXT = 8_000

/** What lies at a path of own properties; undefined where there is none. Never throws. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string | number, unknown>)[key]
  }
  return found
}

/** '' when it is no text. */
export function text(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path)
  return typeof found === 'string' ? found.slice(0, MAX_TEXT) : ''
}

/** Undefined when it is no finite number. */
export function number(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = at(value, ...path)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

/** The first items of an array; [] when it is none. */
export function list(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.slice(0, MAX_ITEMS) : []
}

/** The texts of an array. */
export function texts(value: unknown, ...path: readonly (string | number)[]): readonly string[] {
  return list(value, ...path)
    .map((it) => text(it))
    .filter((it) => it !== '')
}

/** The first own keys; [] when it is no map. */
export function keys(value: unknown, ...path: readonly (string | number)[]): readonly string[] {
  const found = at(value, ...path)
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return []
  return Object.keys(found).slice(0, MAX_ITEMS)
}

/** Milliseconds since 1970 of an RFC 3339 text; undefined when it is none. */
export function timeMs(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = text(value, ...path)
  if (!/^\d{4}-\d\d-\d\dT/.test(found)) return undefined
  const ms = Date.parse(found)
  return Number.isNaN(ms) ? undefined : ms
}

/** A text or number as text; '' for anything else. */
export function scalar(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path)
  return typeof found === 'number' ? String(found) : text(found)
}
