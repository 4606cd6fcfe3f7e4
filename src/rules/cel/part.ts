import type { ClusterEvent } from '../../model/event.ts'
import { COST, type ConditionCompiler } from '../condition.ts'
import { compiled, under } from '../fault.ts'
import { checkedProgram, ifEngine } from './check.ts'
import { CelError, type CelProgram, celText } from './engine.ts'
import { Fields, isHeaderField, VARIABLES, variablesOf } from './event-fields.ts'
import { TooMuchWork } from './meter.ts'
import { type CelNode, childrenOf, pathOf, walk } from './syntax-tree.ts'

/** The evaluation of an `if` failed, so that its rule does not match. */
class IfError extends Error {
  override name = 'IfError'
}

/** What the library reports of a field or an item that is not there. */
const MISSING: readonly string[] = ['no_such_key', 'index_out_of_bounds']

/** Compiles an `if`: a CEL expression over `object`, `oldObject`, `event`, `cluster` and `now` that returns true or false. */
export const celPart: ConditionCompiler = ({ if: text }) => {
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
  const seen = (event: ClusterEvent) => valuesIn(program.tree, event)
  const asked = relatedIn(program.tree)
  const isUnknown = (event: ClusterEvent) => asked.some((field) => UNKNOWN[field](event))
  const readsOld = variablesIn(program.tree).has('oldObject')
  const isMissing = (error: unknown, { oldObject }: ClusterEvent) =>
    error instanceof IfError &&
    error.cause instanceof CelError &&
    MISSING.includes(error.cause.code) &&
    !(readsOld && oldObject === undefined)
  const tests = { test, seen, isUnknown, isMissing }
  return compiled({ conditions: [{ name: 'if', path: ['if'], cost: costOf(program.tree), ...tests }] })
}

/** Related metadata reads as empty while it is not known. */
const UNKNOWN = {
  owner: ({ owners, lacksOwners }: ClusterEvent) => owners === undefined || lacksOwners === true,
  namespaceLabels: ({ namespace, namespaceLabels }: ClusterEvent) =>
    namespace !== undefined && namespaceLabels === undefined,
  namespaceAnnotations: ({ namespace, namespaceAnnotations }: ClusterEvent) =>
    namespace !== undefined && namespaceAnnotations === undefined,
}

/** Returns the related metadata that an expression reads. */
function relatedIn(tree: CelNode): (keyof typeof UNKNOWN)[] {
  const fields = new Set<keyof typeof UNKNOWN>()
  walk(tree, (node) => {
    const { variable, keys: [key] = [] } = pathOf(node) ?? {}
    if (variable === 'event' && Object.hasOwn(UNKNOWN, String(key))) fields.add(key as keyof typeof UNKNOWN)
  })
  return [...fields]
}

/** Returns whether an expression reads the previous object, which must be stored then; false if it has faults. */
export function mentionsOld(text: string): boolean {
  return readsVariable(text, 'oldObject')
}

/** Returns whether an expression reads the object; false if it has faults. */
export function mentionsObject(text: string): boolean {
  return readsVariable(text, 'object')
}

/** Returns whether an expression reads the owner of the object; false if it has faults. */
export function mentionsOwner(text: string): boolean {
  const result = checkedProgram(text)
  return result.ok && relatedIn(result.value.tree).includes('owner')
}

function readsVariable(text: string, name: string): boolean {
  const result = checkedProgram(text)
  return result.ok && variablesIn(result.value.tree).has(name)
}

function evaluate(program: CelProgram, event: ClusterEvent, text: string, accesses: Accesses): unknown {
  try {
    return program.run(variablesOf(event))
  } catch (error) {
    if (error instanceof TooMuchWork) throw new IfError(`${error.message}; it was stopped`, { cause: error })
    if (!(error instanceof CelError)) throw error
    throw new IfError(messageOf(error, text, accesses), { cause: error })
  }
}

/** The starts of member accesses by their ends: an error only has the position of the key. */
type Accesses = ReadonlyMap<number, number>

function accessesIn(tree: CelNode): Accesses {
  const accesses = new Map<number, number>()
  walk(tree, ({ op, start, end }) => {
    if (op === '.' || op === '[]') accesses.set(end, Math.min(start, accesses.get(end) ?? start))
  })
  return accesses
}

function messageOf({ message, code, range }: CelError, text: string, accesses: Accesses): string {
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

/** Conditions that need no parsed object are evaluated first. */
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
  return events === fields ? COST.header : COST.metadata
}

function variablesIn(tree: CelNode): Set<string> {
  const names = new Set<string>()
  walk(tree, ({ op, args }) => {
    if (op === 'id') names.add(args as string)
  })
  return names
}

const MAX_SEEN = 8

/** Returns the values that an expression reads, by their paths, such as `object.spec.replicas`. */
function valuesIn(tree: CelNode, event: ClusterEvent): Readonly<Record<string, unknown>> {
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
  const isField = Object.hasOwn(value, key) || value instanceof Fields
  return isField ? (value as Record<string, unknown>)[key] : undefined
}

/** A path of fields in an expression, without `object.`. */
interface ExpressionPath {
  path: string
  /** The offset of the path in the text. */
  offset: number
  /** The offset of `object`. */
  root: number
}

/** Returns the paths that an expression reads of `object` and `oldObject`; none if it has faults. */
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
  // Optional fields, and paths over several lines, are not checked.
  if (!written.startsWith('.') || /[?\s]/.test(written)) return []
  return [{ path: written.slice(1), offset: start + found.variable.length + 1, root: start }]
}

function rootOf(node: CelNode): CelNode {
  const [base] = childrenOf(node)
  return base ? rootOf(base) : node
}
