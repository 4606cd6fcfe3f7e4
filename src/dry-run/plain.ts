/** Plain data of YAML or JSON. */
export type PlainMap = Readonly<Record<string, unknown>>

export function isPlainMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A text, where it is one and not empty. */
export function textIn(map: unknown, key: string): string | undefined {
  const value = isPlainMap(map) ? map[key] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}
