import { mapOf, type Raw } from './read.ts'

/** Options of another tool that remember which of them were read. */
export interface TrackedOptions {
  options: Raw
  /** The paths of the options that have a value and were not read, such as `sasl.keytab`. */
  unread(): string[]
}

/** Options of the source, with a record of which were read: the rest become comments in the result. */
export function trackOptions(raw: Raw): TrackedOptions {
  const read = new Set<string>()
  const inner = new Map<string, TrackedOptions>()
  for (const [key, value] of Object.entries(raw))
    if (Object.keys(mapOf(value)).length > 0) inner.set(key, trackOptions(mapOf(value)))
  const options = new Proxy(raw, {
    get(target, key) {
      read.add(String(key))
      return inner.get(String(key))?.options ?? Reflect.get(target, key)
    },
  })
  const unread = () =>
    Object.keys(raw).flatMap((key) => {
      if (!read.has(key)) return isSet(raw[key]) ? [key] : []
      return (
        inner
          .get(key)
          ?.unread()
          .map((it) => `${key}.${it}`) ?? []
      )
    })
  return { options, unread }
}

/** The comments for options that were not carried over. */
export function notesOf(unread: readonly string[]): string[] {
  return unread.map((key) => `${key} was not carried over`)
}

/** Other tools' files name options that they leave empty. */
function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isSet)
  return value !== undefined && value !== null && value !== '' && value !== false
}
