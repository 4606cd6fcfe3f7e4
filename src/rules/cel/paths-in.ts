import { ifEngine } from './check.ts'
import { type CelNode, childrenOf, pathOf } from './syntax-tree.ts'

/** A path of fields in an expression, as it is written behind `object.`. */
export interface ExpressionPath {
  path: string
  /** Where it begins in the text. */
  offset: number
  /** Where `object` begins before it. */
  root: number
}

/** What an expression asks of the object, now or before: `spec.replicas` of `object.spec.replicas > 3`. None of a faulty one. */
export function pathsInExpression(text: string): ExpressionPath[] {
  const result = ifEngine().compile(text)
  return result.ok ? pathsIn(result.program.tree, text) : []
}

function pathsIn(node: CelNode, text: string): ExpressionPath[] {
  const found = pathOf(node)
  if (!found || found.keys.length === 0) return childrenOf(node).flatMap((child) => pathsIn(child, text))
  if (found.variable !== 'object' && found.variable !== 'oldObject') return []
  const { start } = rootOf(node)
  const written = text.slice(start + found.variable.length, node.end)
  // Optional fields, and those that are written over several lines, are left to the cluster.
  if (!written.startsWith('.') || /[?\s]/.test(written)) return []
  return [{ path: written.slice(1), offset: start + found.variable.length + 1, root: start }]
}

function rootOf(node: CelNode): CelNode {
  const [base] = childrenOf(node)
  return base ? rootOf(base) : node
}
