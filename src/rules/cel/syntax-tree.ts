/** What the library's parser makes of an expression, as far as we look at it. */
export interface CelNode {
  op: string
  args: unknown
  /** Into the expression's text. */
  start: number
  end: number
  /** Known once it was checked. */
  checkedType?: { kind: string; name: string; hasDynType: boolean }
  /** Of operators, accesses and calls: what makes the value of its operands' values. */
  // biome-ignore lint/suspicious/noExplicitAny: its arguments differ from operator to operator
  handle?: (...args: any[]) => unknown
  evaluate(evaluator: unknown, node: CelNode, context: unknown): unknown
  meta: { alternate?: CelNode; macro?: CelMacro }
}

/** What evaluates an operator or a function, once its operands are. */
export type Handle = NonNullable<CelNode['handle']>

export interface CelMacro {
  macroHasProps?: readonly CelNode[]
  receiver?: CelNode
  arg?: CelNode
  val?: CelNode
  exp?: CelNode
}

/** What `all`, `exists`, `map` and so on become. */
export interface CelLoop {
  iterable: CelNode
  iterVarName: string
  step: CelNode
  condition?: (accumulated: unknown) => boolean
}

export type CelCall = readonly [name: string, args: readonly CelNode[]]
export type CelMethodCall = readonly [name: string, receiver: CelNode, args: readonly CelNode[]]

/** The parts of an expression as they are written. */
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

/** Visits a part and all that is in it. Gives how many there are. */
export function walk(node: CelNode, visit: (node: CelNode) => void): number {
  visit(node)
  let count = 1
  for (const child of childrenOf(node)) count += walk(child, visit)
  return count
}

/** `['spec', 'replicas']` of `object.spec.replicas`, with the name of the variable; undefined for what is computed. */
export function pathOf(node: CelNode): { variable: string; keys: readonly (string | bigint)[] } | undefined {
  if (node.op === 'id') return { variable: node.args as string, keys: [] }
  if (!['.', '.?', '[]', '[?]'].includes(node.op)) return undefined
  const [base, key] = node.args as [CelNode, CelNode | string]
  const step = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined
  const inner = pathOf(base)
  if (!inner || (typeof step !== 'string' && typeof step !== 'bigint')) return undefined
  return { ...inner, keys: [...inner.keys, step] }
}
