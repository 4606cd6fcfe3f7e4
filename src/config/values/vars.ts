import { isMap, isScalar, type Node } from 'yaml'
import { type Located, leaf, type SourceFile } from '../source-node.ts'
import { type NodePair, nameOf, spanOf } from '../yaml/nodes.ts'
import type { VarText } from './interpolate.ts'

/** The variables that `${var:NAME}` can name in a file. */
export interface Scope {
  /** Undefined for a name that is not defined. */
  value(name: string): Located | undefined
  names(): readonly string[]
}

export const NO_VARS: Scope = { value: () => undefined, names: () => [] }

/** The variables that a file sees. */
export interface Vars extends Scope {
  /** Returns the value of a variable within a text, or why it cannot be part of one. */
  textOf(name: string): VarText
  /** Variables that the file defines or was given, and that nothing has used so far. */
  unused(): readonly string[]
}

interface VarsParts {
  file: SourceFile
  root: Node | null
  /** Variables of the files around this one. */
  outer: Scope
  /** Values from the file that includes this one; they override its own. */
  given?: ReadonlyMap<string, Located> | undefined
  build(node: Node): Located
  /** Whether the node is being built: a reference to it is then a cycle. */
  isOpen(node: Node): boolean
}

/** The number of unknown names that get a suggestion: finding the closest of thousands of names is slow. */
const MAX_SUGGESTED = 20

/** Given variables take precedence over those of the file, and these over those of the files around it. */
export function createVars({ file, root, outer, given, build, isOpen }: VarsParts): Vars {
  const own = ownVars(root)
  const used = new Set<string>()
  let unknown = 0

  /** Returns undefined for a variable that refers to itself. */
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
      const written = found.value === null ? '' : found.source
      return { text: written ?? String(found.value ?? ''), secrets: found.secrets }
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
