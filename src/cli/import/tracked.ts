import { isMap } from '../../text/plain-data.ts'

/** Another tool's configuration as parsed YAML of any form. */
export type Raw = Readonly<Record<string, unknown>>

interface Reads {
  raw: object
  keys: Set<string>
  /** The tracked maps and lists below, by their keys. */
  inner: Map<string, unknown>
}

const reads = new WeakMap<object, Reads>()

/** Returns the value in a form that records which of its keys are read, at every depth. */
export function tracked<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  const own: Reads = { raw: value, keys: new Set(), inner: new Map() }
  const proxy = new Proxy(value, {
    get(target, key) {
      const found = Reflect.get(target, key)
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return found
      own.keys.add(key)
      if (!own.inner.has(key)) own.inner.set(key, tracked(found))
      return own.inner.get(key)
    },
  })
  reads.set(proxy, own)
  return proxy
}

/**
 * Returns the paths of the values that are set and were not read, such as `tls.keyFile`, `routes[0].matches`. They count as read from then
 * on, so that each is reported once.
 */
export function takeUnread(value: unknown): string[] {
  const own = typeof value === 'object' && value !== null ? reads.get(value) : undefined
  if (!own) return []
  const isList = Array.isArray(own.raw)
  return Object.entries(own.raw).flatMap(([key, item]) => {
    if (!isSet(item)) return []
    const step = isList ? `[${key}]` : key
    if (!own.keys.has(key)) {
      own.keys.add(key)
      return [step]
    }
    return takeUnread(own.inner.get(key)).map((path) => step + (path.startsWith('[') ? path : `.${path}`))
  })
}

/** Returns the paths of all values that are set; they count as read. */
export function pathsOf(value: unknown): string[] {
  return takeUnread(tracked(value)).flatMap((path) => {
    const item = (value as Raw)[path.replace(/^\[(\d+)\]$/, '$1')]
    const below = pathsOf(item)
    return below.length === 0 ? [path] : below.map((it) => path + (it.startsWith('[') ? it : `.${it}`))
  })
}

/** Counts all of a value as read: it is reported as a whole. */
export function skip(value: unknown): void {
  for (const item of Object.values(Array.isArray(value) ? value : mapOf(value))) skip(item)
}

/** Other tools' files have empty options. */
function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isSet)
  return value !== undefined && value !== null && value !== '' && value !== false
}

/** Several parts of one configuration as one. Maps are joined; of other values the last one counts. */
export function joined(parts: readonly Raw[]): Raw {
  const whole: Record<string, unknown> = {}
  for (const key of new Set(parts.flatMap((part) => Object.keys(part)))) {
    const holders = parts.filter((part) => Object.hasOwn(part, key))
    const get = () => {
      const values = holders.map((part) => part[key])
      const maps = values.map(mapOf)
      return values.length > 1 && values.every((it, i) => it === maps[i]) ? joined(maps) : values.at(-1)
    }
    Object.defineProperty(whole, key, { enumerable: true, get })
  }
  return whole
}

export function mapOf(value: unknown): Raw {
  return isMap(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

/** Returns a scalar as text in which `${NAME}` and `$NAME` are `${env:NAME}`; `''` for other values. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? withVariables(String(value))
    : ''
}

export function textsOf(value: unknown): string[] {
  return listOf(value)
    .map(textOf)
    .filter((text) => text !== '')
}

/** Other `${`, such as `${file:…}`, would have a meaning here that they did not have there. */
function withVariables(text: string): string {
  return text.replace(
    /\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Z][A-Z0-9_]{2,})|\$\{/g,
    (_, braced?: string, bare?: string) => (braced || bare ? `\${env:${braced ?? bare}}` : '$${'),
  )
}

export function isOn(value: unknown): boolean {
  return value === true || value === 'true'
}

/** True for the name of a namespace, and for none. */
export function isNamespace(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && /^[a-z0-9-]*$/.test(value))
}
