/** What editors show of a key. */
export interface Explained {
  text: string
  examples?: readonly unknown[]
}

/** A table of keys, as their schema calls them, `.*` standing for a name of one's own and `[]` for an entry of a list. */
export type Explanations = Readonly<Record<string, string | readonly [text: string, ...examples: unknown[]]>>

export function explained(table: Explanations, path: string): Explained | undefined {
  const found = Object.hasOwn(table, path) ? table[path] : undefined
  if (found === undefined) return undefined
  if (typeof found === 'string') return { text: found }
  const [text, ...examples] = found
  return { text, examples }
}
