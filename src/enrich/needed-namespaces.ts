/** More of them are one watch of all namespaces, as it costs less. */
const MOST = 5

/**
 * Where objects are that a rule with these patterns sees through an entry of `watch` with those; undefined: in all
 * namespaces. Empty when it sees none.
 */
export function namespacesFor(
  patterns: unknown,
  watched: readonly string[] | undefined,
): readonly string[] | undefined {
  const asked = namesIn(patterns)
  if (!watched) return asked && asked.length <= MOST ? asked : undefined
  const names = namesIn(watched)
  return (names && asked?.filter((it) => names.includes(it))) ?? watched
}

/** A glob, an expression or a `!` is among them. */
export function hasPatterns(namespaces: readonly string[]): boolean {
  return namespaces.some((it) => /[*?!/]/.test(it))
}

/** Both; all of them when they cannot be said in one list. */
export function joinNamespaces(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!a || !b) return undefined
  const joined = [...new Set([...a, ...b])]
  if (joined.length === a.length && joined.length === b.length) return a
  // In one list a `!` would take from the other's, too.
  return joined.some((it) => it.startsWith('!')) ? undefined : joined
}

function namesIn(patterns: unknown): string[] | undefined {
  const list = [patterns].flat().filter((it) => typeof it === 'string')
  return list.length === 0 || hasPatterns(list) ? undefined : list
}
