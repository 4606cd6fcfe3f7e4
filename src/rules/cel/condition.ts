import type { ClusterEvent } from '../../event.ts'
import { COST, type Condition } from '../conditions.ts'
import { type Compiled, compiled } from '../fault.ts'
import { checkedProgram } from './check.ts'
import { CelError, type CelProgram } from './engine.ts'
import { TooMuchWork } from './meter.ts'
import { type CelNode, walk } from './syntax-tree.ts'
import { isHeaderField, variablesOf } from './variables.ts'

/** An `if` whose evaluation failed: its rule does not match. The message says what was missing. */
export class IfError extends Error {
  override name = 'IfError'
}

/** Compiles an `if`: an expression in CEL over `object`, `oldObject`, `event`, `cluster` and `now` that gives true or false. */
export function celConditions({ if: text }: { if?: string | undefined }): Compiled<readonly Condition[]> {
  if (text === undefined) return compiled([])
  const result = checkedProgram(text)
  if (!result.ok)
    return { ok: false, faults: result.faults.map((it) => ({ ...it, path: ['if', ...it.path] })) }
  const program = result.value
  const accesses = accessesIn(program.tree)
  const test = (event: ClusterEvent) => {
    const value = evaluate(program, event, text, accesses)
    if (typeof value === 'boolean') return value
    throw new IfError(`gives ${kindOf(value)} where true or false is asked for`)
  }
  return compiled([{ name: 'if', cost: costOf(program.tree), test }])
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

/** What only reads the header is asked before the object is parsed. */
function costOf(tree: CelNode): number {
  const variables = variablesIn(tree)
  if (variables.has('object') || variables.has('oldObject')) return COST.object + 1
  let fields = 0
  let events = 0
  walk(tree, ({ op, args }) => {
    if (op === 'id' && args === 'event') events++
    if (op !== '.') return
    const [base, key] = args as [CelNode, string]
    if (base.op === 'id' && base.args === 'event' && isHeaderField(key)) fields++
  })
  return events === fields ? COST.header : COST.object + 1
}

function variablesIn(tree: CelNode): Set<string> {
  const names = new Set<string>()
  walk(tree, ({ op, args }) => {
    if (op === 'id') names.add(args as string)
  })
  return names
}
