import { isPlainMap } from './plain.ts'

const OF_METADATA = ['name', 'namespace', 'labels', 'annotations', 'ownerReferences', 'creationTimestamp']

/** An object as it is written in tests: without `metadata`, what stands there may stand at the top. */
export function unshortened(given: unknown): unknown {
  if (!isPlainMap(given) || given['metadata'] !== undefined) return given
  const entries = Object.entries(given)
  const own = entries.filter(([key]) => OF_METADATA.includes(key))
  if (own.length === 0) return given
  const rest = entries.filter(([key]) => !OF_METADATA.includes(key))
  return { ...Object.fromEntries(rest), metadata: Object.fromEntries(own) }
}

/** Where a part of the whole object stands in the one that was given. */
export function pathAsGiven(path: readonly PropertyKey[], given: unknown): readonly PropertyKey[] {
  const [first, ...inner] = path
  return first === 'metadata' && isPlainMap(given) && given['metadata'] === undefined ? inner : path
}
