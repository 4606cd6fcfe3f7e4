/** A node of the library's syntax tree, with the properties that are used here. */
export interface CelNode {
  op: string
  args: unknown
  /** Offsets into the expression's text. */
  start: number
  end: number
  /** Set by the type check. */
  checkedType?: { kind: string; name: string; hasDynType: boolean }
  /** The handler of an operator, access or call. */
  // biome-ignore lint/suspicious/noExplicitAny: its arguments differ from operator to operator
  handle?: (...args: any[]) => unknown
  evaluate(evaluator: unknown, node: CelNode, context: unknown): unknown
  meta: { alternate?: CelNode; macro?: CelMacro }
}

/** Computes the value of an operator or a function from the values of its operands. */
export type Handle = NonNullable<CelNode['handle']>

export interface CelMacro {
  macroHasProps?: readonly CelNode[]
  receiver?: CelNode
  arg?: CelNode
  val?: CelNode
  exp?: CelNode
}

/** The expansion of `all`, `exists`, `map` and so on. */
export interface CelLoop {
  iterable: CelNode
  iterVarName: string
  step: CelNode
  condition?: (accumulated: unknown) => boolean
}

export type CelCall = readonly [name: string, args: readonly CelNode[]]
export type CelMethodCall = readonly [name: string, receiver: CelNode, args: readonly CelNode[]]

/** Returns the direct parts of a node, as written. */
export function childrenOf({ op, args }: CelNode): readonly CelNode[] {
  switch (op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [(args as [CelNode])[0]]
    case '!_':
    case '-_':
    case 'accuPush':
      return [args as CelNode]
    case 'call':
      return (args as CelCall)[1]
    case 'rcall':
      return [(args as CelMethodCall)[1], ...(args as CelMethodCall)[2]]
    case 'map':
      return (args as CelNode[][]).flat()
    default:
      return Array.isArray(args) ? (args as CelNode[]) : []
  }
}

/** Visits a node and all its descendants. Returns their number. */
export function walk(node: CelNode, visit: (node: CelNode) => void): number {
  visit(node)
  let count = 1
  for (const child of childrenOf(node)) count += walk(child, visit)
  return count
}

/** Returns the variable and the keys of a path such as `object.spec.replicas`; undefined for other expressions. */
export function pathOf(node: CelNode): { variable: string; keys: readonly (string | bigint)[] } | undefined {
  if (node.op === 'id') return { variable: node.args as string, keys: [] }
  if (!['.', '.?', '[]', '[?]'].includes(node.op)) return undefined
  const [base, key] = node.args as [CelNode, CelNode | string]
  const step = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined
  const inner = pathOf(base)
  if (!inner || (typeof step !== 'string' && typeof step !== 'bigint')) return undefined
  return { ...inner, keys: [...inner.keys, step] }
}
