import type { ClusterEvent } from '../../event.ts'
import { COST, type PartMaker } from '../condition.ts'
import { compiled, under } from '../fault.ts'
import { checkedProgram } from './check.ts'
import { CelError, type CelProgram, celText } from './engine.ts'
import { EventFields, isHeaderField, OwnerFields, RegardingFields } from './event-fields.ts'
import { TooMuchWork } from './meter.ts'
import { type CelNode, childrenOf, pathOf, walk } from './syntax-tree.ts'
import { VARIABLES, variablesOf } from './variables.ts'

/** An `if` whose evaluation failed: its rule does not match. The message says what was missing. */
export class IfError extends Error {
  override name = 'IfError'
}

/** An `if`: an expression in CEL over `object`, `oldObject`, `event`, `cluster` and `now` that gives true or false. */
export const celPart: PartMaker = ({ if: text }) => {
  if (text === undefined) return compiled({ conditions: [] })
  const result = checkedProgram(text)
  if (!result.ok) return { ok: false, faults: under(['if'], result.faults) }
  const program = result.value
  const accesses = accessesIn(program.tree)
  const test = (event: ClusterEvent) => {
    const value = evaluate(program, event, text, accesses)
    if (typeof value === 'boolean') return value
    throw new IfError(`gives ${kindOf(value)} where true or false is asked for`)
  }
  const seen = (event: ClusterEvent) => seenIn(program.tree, event)
  const asked = aroundIn(program.tree)
  const isUnknown = (event: ClusterEvent) => asked.some((field) => UNKNOWN[field](event))
  return compiled({
    conditions: [{ name: 'if', path: ['if'], cost: costOf(program.tree), test, seen, isUnknown }],
  })
}

/** What is around an object reads as empty while it is not known. */
const UNKNOWN = {
  owner: ({ owners, lacksOwners }: ClusterEvent) => owners === undefined || lacksOwners === true,
  namespaceLabels: ({ namespace, namespaceLabels }: ClusterEvent) =>
    namespace !== undefined && namespaceLabels === undefined,
}

/** Which of it an expression reads. */
function aroundIn(tree: CelNode): (keyof typeof UNKNOWN)[] {
  const fields = new Set<keyof typeof UNKNOWN>()
  walk(tree, ({ op, args }) => {
    if (!op.startsWith('.')) return
    const [base, key] = args as [CelNode, unknown]
    if (base?.op === 'id' && base.args === 'event' && (key === 'owner' || key === 'namespaceLabels'))
      fields.add(key)
  })
  return [...fields]
}

/** Does an expression mention the object as it was? Then it must be kept. Of one that is faulty nobody knows. */
export function mentionsOld(text: string): boolean {
  const result = checkedProgram(text)
  return result.ok && variablesIn(result.value.tree).has('oldObject')
}

function evaluate(program: CelProgram, event: ClusterEvent, text: string, accesses: Accesses): unknown {
  try {
    return program.run(variablesOf(event))
  } catch (error) {
    if (error instanceof TooMuchWork) throw new IfError(`${error.message}; it was stopped`, { cause: error })
    if (!(error instanceof CelError)) throw error
    throw new IfError(sentenceOf(error, text, accesses), { cause: error })
  }
}

/** Where accesses begin, by where they end: an error knows only the key. */
type Accesses = ReadonlyMap<number, number>

function accessesIn(tree: CelNode): Accesses {
  const accesses = new Map<number, number>()
  walk(tree, ({ op, start, end }) => {
    if (op === '.' || op === '[]') accesses.set(end, Math.min(start, accesses.get(end) ?? start))
  })
  return accesses
}

function sentenceOf({ message, code, range }: CelError, text: string, accesses: Accesses): string {
  const sentence = message
    .replace(/^No such key/, 'no such key')
    .replace(/^no such key: index/, 'no such item: index')
  if (!range || range.end > text.length) return sentence
  const start = code === 'no_such_key' ? (accesses.get(range.end) ?? range.start) : range.start
  const place = text.slice(start, range.end).replaceAll(/\s+/g, ' ')
  return `${sentence}, in ${place.length > 120 ? `${place.slice(0, 119)}…` : place}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'a text'
  if (typeof value === 'bigint' || typeof value === 'number') return 'a number'
  return Array.isArray(value) ? 'a list' : 'something'
}

/** What is read of an event before the object is parsed is asked before. */
function costOf(tree: CelNode): number {
  const variables = variablesIn(tree)
  if (variables.has('oldObject')) return COST.old
  if (variables.has('object')) return COST.expression
  let fields = 0
  let events = 0
  walk(tree, ({ op, args }) => {
    if (op === 'id' && args === 'event') events++
    if (op !== '.') return
    const [base, key] = args as [CelNode, string]
    if (base.op === 'id' && base.args === 'event' && isHeaderField(key)) fields++
  })
  return events === fields ? COST.header : COST.surroundings
}

function variablesIn(tree: CelNode): Set<string> {
  const names = new Set<string>()
  walk(tree, ({ op, args }) => {
    if (op === 'id') names.add(args as string)
  })
  return names
}

const MAX_SEEN = 8

/** The values that an expression reads, by their paths: `object.spec.replicas`. */
function seenIn(tree: CelNode, event: ClusterEvent): Readonly<Record<string, unknown>> {
  const seen: Record<string, unknown> = {}
  const look = (node: CelNode) => {
    const path = Object.keys(seen).length < MAX_SEEN ? pathOf(node) : undefined
    if (path && path.keys.length > 0 && isVariable(path.variable)) {
      let value: unknown = variablesOf(event)[path.variable]
      for (const key of path.keys) value = memberAt(value, key)
      seen[celText(node)] = typeof value === 'bigint' ? Number(value) : value
    } else for (const child of childrenOf(node)) look(child)
  }
  look(tree)
  return seen
}

function isVariable(name: string): name is keyof typeof VARIABLES {
  return Object.hasOwn(VARIABLES, name)
}

function memberAt(value: unknown, key: string | bigint): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (value instanceof Map) return value.get(key)
  if (typeof key === 'bigint') return (value as readonly unknown[])[Number(key)]
  const isField =
    Object.hasOwn(value, key) ||
    value instanceof EventFields ||
    value instanceof RegardingFields ||
    value instanceof OwnerFields
  return isField ? (value as Record<string, unknown>)[key] : undefined
}
