/** A value as JSON.parse gives it. */
export type Json = unknown

type Members = Readonly<Record<string, Json>>

export function isMap(value: Json): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Its own member: one called `constructor` may be the object's, never the prototype's. */
export function memberOf(map: Members, key: string): Json {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

/** Two maps, or one that came or went: its fields tell more than it does. An empty one has none that could. */
export function mapsOf(old: Json, next: Json): [Members, Members] | undefined {
  if (isMap(old) && isMap(next)) return [old, next]
  if (old === undefined && isMap(next) && Object.keys(next).length > 0) return [{}, next]
  if (next === undefined && isMap(old) && Object.keys(old).length > 0) return [old, {}]
  return undefined
}
