import { isTimeZone } from '../../text/timezone.ts'
import { type Compiled, compiled, type Fault } from '../fault.ts'
import { type CelEngine, type CelFault, type CelProgram, createEngine } from './engine.ts'
import { conditionHint, faultText, typeName } from './error-messages.ts'
import { VARIABLE_TYPES, VARIABLES } from './event-fields.ts'
import { patternFault } from './function.ts'
import { isAddress, isQuantity, isRange } from './kubernetes-functions.ts'
import { type CelCall, type CelMethodCall, type CelNode, childrenOf, pathOf, walk } from './syntax-tree.ts'

let made: CelEngine | undefined

/** Returns the engine of `if`, made on first use. */
export function ifEngine(): CelEngine {
  made ??= createEngine({ variables: VARIABLES, types: VARIABLE_TYPES })
  return made
}

/** Compiles an `if`; or returns all its faults, with offsets into the text. */
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
  const faults = [...constantFaults(tree), ...annotationFaults(tree), ...resultFaults(result.program)]
  return faults.length > 0 ? { ok: false, faults } : compiled(result.program)
}

const MAX_SIDES = 30

/** The checker stops at its first fault; after a type fault the operands of `&&` and `||` are checked one by one. */
function faultsOf(engine: CelEngine, text: string, first: CelFault): Fault[] {
  const known = [first]
  const sides = isTypeFault(first) ? sidesOf(text).slice(0, MAX_SIDES) : []
  for (const { start, end } of sides) {
    const result = engine.compile(text.slice(start, end))
    if (result.ok || !isTypeFault(result.fault)) continue
    const fault = { ...result.fault, start: start + result.fault.start, end: start + result.fault.end }
    if (fault.start !== first.start) known.push(fault)
  }
  known.sort((a, b) => a.start - b.start)
  return known.map((it) => {
    const { message, hint, start = it.start, end = it.end, code } = faultText(it, text, engine.functions)
    return { ...fault(message, start, end - start, hint), ...(code && { code }) }
  })
}

function isTypeFault({ code }: CelFault): boolean {
  return /^(unknown_variable|no_such_key|no_such_overload|no_matching_overload|heterogeneous_|invalid_(condition|logical|index|comp)|cannot_index|incompatible_|optional_)/.test(
    code,
  )
}

/** Returns the texts between `&&` and `||` outside of brackets and texts; of parentheses, those in them. */
function sidesOf(text: string, offset = 0): { start: number; end: number }[] {
  const sides: { start: number; end: number }[] = []
  let depth = 0
  let start = 0
  let opened = -1
  let closed = -1
  const add = (end: number) => {
    const side = text.slice(start, end)
    const core = side.trim()
    const from = start + side.indexOf(core)
    const isGroup = core.startsWith('(') && closed === from + core.length - 1 && opened === from
    if (isGroup) sides.push(...sidesOf(core.slice(1, -1), offset + from + 1))
    else if (core !== '') sides.push({ start: offset + from, end: offset + from + core.length })
  }
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    if (char === '"' || char === "'") i = endOfText(text, i)
    else if ('([{'.includes(char)) {
      if (depth++ === 0) opened = i
    } else if (')]}'.includes(char)) {
      if (--depth === 0) closed = i
    } else if (depth === 0 && /^(&&|\|\|)/.test(text.slice(i, i + 2))) {
      add(i)
      start = i + 2
      i++
    }
  }
  add(text.length)
  return sides
}

/** Returns where a text in quotes ends: its last quote, or the end of all. */
function endOfText(text: string, start: number): number {
  const quote = text[start]
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === quote) return i
  }
  return text.length
}

/** Checks the constants that functions parse: with a wrong one the expression fails for every event. */
function constantFaults(tree: CelNode): Fault[] {
  const faults: Fault[] = []
  walk(tree, (node) => {
    const [name, written] = constantArgument(node)
    if (typeof written?.args !== 'string') return
    const { start, end, args: text } = written
    if (/^(matches_?|find|findAll)$/.test(name)) {
      const found = patternFault(text)
      if (!found) return
      // Positions are only known in a text without escapes.
      const { message, offset = 0, length } = found
      const isVerbatim = end - start === text.length + 2 && length !== undefined
      faults.push(
        isVerbatim ? fault(message, start + 1 + offset, length) : fault(message, start, end - start),
      )
    }
    const parsed = PARSED.find(({ functions }) => functions.test(name))
    if (parsed && !parsed.isValid(text))
      faults.push(fault(`"${text}" is no ${parsed.what}`, start, end - start, parsed.hint))
  })
  return faults
}

const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** Functions, and what their constant argument must be. */
const PARSED: readonly { functions: RegExp; what: string; hint: string; isValid(text: string): boolean }[] = [
  {
    functions: /^duration$/,
    what: 'duration',
    hint: 'such as "90s", "5m" or "24h"',
    isValid: (text) => DURATION.test(text),
  },
  {
    functions: /^timestamp$/,
    what: 'timestamp',
    hint: 'such as "2026-01-01T00:00:00Z"',
    isValid: (text) => RFC_3339.test(text) && !Number.isNaN(Date.parse(text)),
  },
  {
    functions: /^get(?:FullYear|Month|Date|DayOf(?:Week|Month|Year)|Hours|Minutes|Seconds|Milliseconds)$/,
    what: 'time zone',
    hint: 'such as "Europe/Berlin" or "+01:00"',
    isValid: isTimeZone,
  },
  { functions: /^quantity$/, what: 'quantity', hint: 'such as "500m" or "1Gi"', isValid: isQuantity },
  { functions: /^ip$/, what: 'IP address', hint: 'such as "10.0.0.1"', isValid: isAddress },
  { functions: /^cidr$/, what: 'CIDR', hint: 'such as "10.0.0.0/8"', isValid: isRange },
]

/** Returns the function, and the argument that it parses, if that is a constant. */
function constantArgument({ op, args }: CelNode): [name: string, argument?: CelNode | undefined] {
  const [name, parameters] =
    op === 'rcall'
      ? [(args as CelMethodCall)[0], (args as CelMethodCall)[2]]
      : op === 'call'
        ? (args as CelCall)
        : ['', []]
  const argument = parameters[op === 'call' && name === 'matches' ? 1 : 0]
  return [name, argument?.op === 'value' ? argument : undefined]
}

/** Returns the annotations of the namespace and of the regarded object that an expression names; none if it has faults. */
export function relatedAnnotations(text: string): { namespace: string[]; regarding: string[] } {
  const result = /annotations/i.test(text) ? checkedProgram(text) : undefined
  const uses = result?.ok ? annotationUses(result.value.tree) : []
  const keysOf = (map: string) =>
    uses.flatMap((it) => (it.map === map && it.key !== undefined ? [it.key] : []))
  return { namespace: keysOf('namespaceAnnotations'), regarding: keysOf('regarding,annotations') }
}

/** Only annotations that the configuration names are kept, so an expression must name them. */
function annotationFaults(tree: CelNode): Fault[] {
  return annotationUses(tree).flatMap(({ key, node }) => {
    if (key !== undefined) return []
    const message = 'these annotations need a key that is written here: only those that are named are known'
    const hint = 'such as event.namespaceAnnotations["team/slack"] == "shop"'
    return [fault(message, node.start, node.end - node.start, hint)]
  })
}

interface AnnotationUse {
  /** `namespaceAnnotations` or `regarding,annotations`. */
  map: string
  /** Undefined if it is no constant. */
  key: string | undefined
  node: CelNode
}

function annotationUses(tree: CelNode): AnnotationUse[] {
  const uses: AnnotationUse[] = []
  walk(tree, (node) => {
    const { op, args } = node
    for (const child of childrenOf(node)) {
      const map = annotationMap(child)
      if (map === undefined) continue
      const [left, right] = args as [CelNode, CelNode | string]
      const written = op === 'in' ? left : right
      const isAccess = ['.', '.?', '[]', '[?]', 'in'].includes(op)
      const constant =
        typeof written === 'string' ? written : written?.op === 'value' ? written.args : undefined
      const key = isAccess && typeof constant === 'string' ? constant : undefined
      uses.push({ map, key, node: child })
    }
  })
  return uses
}

function annotationMap(node: CelNode): string | undefined {
  const { variable, keys = [] } = pathOf(node) ?? {}
  const path = String(keys)
  const isMap = path === 'namespaceAnnotations' || path === 'regarding,annotations'
  return variable === 'event' && isMap ? path : undefined
}

function resultFaults({ type, tree }: CelProgram): Fault[] {
  if (type === 'bool' || type === 'dyn') return []
  const message = `gives ${typeName(type)}, and a condition is true or false`
  return [fault(message, tree.start, tree.end - tree.start, conditionHint(type))]
}

function fault(message: string, offset: number, length: number, hint?: string): Fault {
  return { path: [], message, offset, length: Math.max(length, 1), ...(hint !== undefined && { hint }) }
}
