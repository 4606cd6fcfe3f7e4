import { isMap, isScalar, type Node } from 'yaml'
import type { VarText } from './interpolate.ts'
import { type Located, leaf } from './located.ts'
import type { SourceFile } from './source-file.ts'
import { type NodePair, nameOf, spanOf } from './yaml/nodes.ts'

/** What `${var:NAME}` stands for in a file. */
export interface Scope {
  /** Undefined for a name that nobody defined. */
  value(name: string): Located | undefined
  names(): readonly string[]
}

export const NO_VARS: Scope = { value: () => undefined, names: () => [] }

/** The variables that a file sees. */
export interface Vars extends Scope {
  /** What one is within a text, or why it cannot be there. */
  textOf(name: string): VarText
  /** Its own, and those that it was given, that nothing used so far. */
  unused(): readonly string[]
}

export interface VarsParts {
  file: SourceFile
  root: Node | null
  /** Of the files around this one. */
  outer: Scope
  /** What the file around says of this one's variables: it goes before. */
  given?: ReadonlyMap<string, Located> | undefined
  build(node: Node): Located
  /** Is it being built? Then what refers to it is part of it. */
  isOpen(node: Node): boolean
}

/** To look for the nearest name among thousands takes its time. */
const MAX_SUGGESTED = 20

/** What is given wins over what a file says itself, and that over what is around. */
export function createVars({ file, root, outer, given, build, isOpen }: VarsParts): Vars {
  const own = ownVars(root)
  const used = new Set<string>()
  let unknown = 0

  /** Those that refer to themselves have none. */
  function value(name: string): Located | undefined {
    const fromAbove = given?.get(name)
    if (fromAbove) {
      used.add(name)
      return fromAbove
    }
    const pair = own.get(name)
    if (!pair) return outer.value(name)
    used.add(name)
    const node = pair.value
    if (!node) return leaf(spanOf(file, pair.key), null)
    return isOpen(node) ? undefined : build(node)
  }

  function names(): string[] {
    return [...new Set([...(given?.keys() ?? []), ...own.keys(), ...outer.names()])]
  }

  return {
    value,
    names,
    textOf(name) {
      const found = value(name)
      if (!found) {
        const node = own.get(name)?.value
        const isCircle = node !== undefined && node !== null && isOpen(node)
        if (isCircle) return { circle: true }
        return { known: unknown++ < MAX_SUGGESTED ? names() : [] }
      }
      if (found.entries || found.items) return { shape: found.items ? 'a list' : 'a map' }
      return { text: String(found.value ?? ''), secrets: found.secrets }
    },
    unused: () => [...new Set([...own.keys(), ...(given?.keys() ?? [])])].filter((it) => !used.has(it)),
  }
}

/** The nodes under `vars`, by their names. */
function ownVars(root: Node | null): Map<string, NodePair> {
  const pairs = isMap(root) ? (root.items as NodePair[]) : []
  const vars = pairs.find(({ key }) => isScalar(key) && key.value === 'vars')?.value
  const own = new Map<string, NodePair>()
  if (!isMap(vars)) return own
  for (const pair of vars.items as NodePair[]) {
    const name = nameOf(pair.key)
    if (name !== undefined && !own.has(name)) own.set(name, pair)
  }
  return own
}
