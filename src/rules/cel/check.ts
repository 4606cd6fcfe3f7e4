import { type Compiled, compiled, type Fault } from '../fault.ts'
import { type CelEngine, type CelFault, type CelProgram, createEngine } from './engine.ts'
import { VARIABLE_TYPES } from './event-fields.ts'
import { faultWords } from './fault-words.ts'
import { endOfText } from './operands.ts'
import { isOptional } from './optional-words.ts'
import { patternFault } from './regex.ts'
import { type CelCall, type CelMethodCall, type CelNode, walk } from './syntax-tree.ts'
import { typeName } from './type-words.ts'
import { VARIABLES } from './variables.ts'

let made: CelEngine | undefined

/** The engine of `if`. */
export function ifEngine(): CelEngine {
  made ??= createEngine({ variables: VARIABLES, types: VARIABLE_TYPES })
  return made
}

/** Reads and checks an `if`, or says all that is wrong with it; offsets count from the begin of the text. */
export function checkedProgram(text: string): Compiled<CelProgram> {
  if (text.trim() === '')
    return {
      ok: false,
      faults: [fault('is empty', 0, 1, 'write a condition, such as object.spec.replicas > 3')],
    }
  const engine = ifEngine()
  const result = engine.compile(text)
  if (!result.ok) return { ok: false, faults: faultsOf(engine, text, result.fault) }
  const { tree } = result.program
  const faults = [...patternFaults(tree), ...timeFaults(tree), ...resultFaults(result.program, text)]
  return faults.length > 0 ? { ok: false, faults } : compiled(result.program)
}

const MAX_SIDES = 30

/** The checker stops at its first fault: the sides of `&&` and `||` are looked at one by one, so that all are told at once. */
function faultsOf(engine: CelEngine, text: string, first: CelFault): Fault[] {
  const known = [first]
  const sides = isSyntax(first) ? [] : sidesOf(text).slice(0, MAX_SIDES)
  for (const { start, end } of sides) {
    const result = engine.compile(text.slice(start, end))
    if (result.ok || isSyntax(result.fault)) continue
    const fault = { ...result.fault, start: start + result.fault.start, end: start + result.fault.end }
    if (fault.start !== first.start) known.push(fault)
  }
  known.sort((a, b) => a.start - b.start)
  return known.map((it) => {
    const { message, hint, start = it.start, end = it.end } = faultWords(it, text, engine.functions)
    return fault(message, start, end - start, hint)
  })
}

function isSyntax({ code }: CelFault): boolean {
  return !/^(unknown_variable|no_such_key|no_such_overload|no_matching_overload|heterogeneous_|invalid_(condition|logical|index|comp)|cannot_index|incompatible_|optional_)/.test(
    code,
  )
}

/** What stands between `&&` and `||` outside of brackets and texts; of parentheses, what is in them. */
function sidesOf(text: string, offset = 0): { start: number; end: number }[] {
  const sides: { start: number; end: number }[] = []
  let depth = 0
  let start = 0
  const add = (end: number) => {
    const side = text.slice(start, end)
    const lead = side.length - side.trimStart().length
    const core = side.trim()
    const at = offset + start + lead
    if (core.startsWith('(') && closes(core) === core.length - 1)
      sides.push(...sidesOf(core.slice(1, -1), at + 1))
    else if (core !== '') sides.push({ start: at, end: at + core.length })
  }
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '"' || char === "'") i = endOfText(text, i)
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char)) depth--
    else if (depth === 0 && /^(&&|\|\|)/.test(text.slice(i, i + 2))) {
      add(i)
      start = i + 2
      i++
    }
  }
  add(text.length)
  return sides
}

function closes(text: string): number {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"' || text[i] === "'") i = endOfText(text, i)
    else if (text[i] === '(') depth++
    else if (text[i] === ')' && --depth === 0) return i
  }
  return -1
}

/** Regular expressions that stand in the text itself. */
function patternFaults(tree: CelNode): Fault[] {
  const faults: Fault[] = []
  walk(tree, (node) => {
    const source = patternIn(node)
    const found = source && typeof source.args === 'string' ? patternFault(source.args) : undefined
    if (!source || !found) return
    const isVerbatim = source.end - source.start === (source.args as string).length + 2
    const start = source.start + (isVerbatim ? 1 + (found.offset ?? 0) : 0)
    const length = isVerbatim && found.length !== undefined ? found.length : source.end - source.start
    faults.push(fault(found.message, start, length))
  })
  return faults
}

const SPAN = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/

/** Times and spans of time that stand in the text itself. */
function timeFaults(tree: CelNode): Fault[] {
  const faults: Fault[] = []
  walk(tree, ({ op, args }) => {
    const [name, [written]] = op === 'call' ? (args as CelCall) : ['', []]
    if (written?.op !== 'value' || typeof written.args !== 'string') return
    const length = written.end - written.start
    if (name === 'duration' && !SPAN.test(written.args))
      faults.push(
        fault(`"${written.args}" is no span of time`, written.start, length, spanHint(written.args)),
      )
    if (name === 'timestamp' && Number.isNaN(Date.parse(written.args)))
      faults.push(
        fault(`"${written.args}" is no time`, written.start, length, 'such as "2026-01-01T00:00:00Z"'),
      )
  })
  return faults
}

function spanHint(text: string): string {
  const [, number, unit = ''] = /^\s*(\d{1,6})\s*([a-z]+)\s*$/i.exec(text) ?? []
  if (number !== undefined && /^d/i.test(unit)) return `write "${Number(number) * 24}h"`
  const known = /^(h|m|s)(r|our|in|inute|ec|econd)?s?$/i.exec(unit)?.[1]
  return known ? `write "${number}${known.toLowerCase()}"` : 'such as "90s", "5m" or "1h30m"'
}

function patternIn({ op, args }: CelNode): CelNode | undefined {
  if (op === 'rcall') {
    const [name, , parameters] = args as CelMethodCall
    return /^(matches_|find|findAll)$/.test(name) && parameters[0]?.op === 'value' ? parameters[0] : undefined
  }
  const [name, parameters] = op === 'call' ? (args as CelCall) : ['', []]
  return name === 'matches' && parameters[1]?.op === 'value' ? parameters[1] : undefined
}

function resultFaults({ type, tree }: CelProgram, text: string): Fault[] {
  if (type === 'bool' || type === 'dyn') return []
  const written = text.trim().length < 40 ? text.trim() : '…'
  const isNumber = /^(int|uint|double)$/.test(type)
  const hint = isOptional(type)
    ? 'end it with .orValue(…)'
    : `compare it, such as ${written} ${isNumber ? '> 3' : type === 'string' ? '== "…"' : '== …'}`
  const message = `gives ${typeName(type)}, and a condition is true or false`
  return [fault(message, tree.start, tree.end - tree.start, hint)]
}

function fault(message: string, offset: number, length: number, hint?: string): Fault {
  return { path: [], message, offset, length: Math.max(length, 1), ...(hint !== undefined && { hint }) }
}
