import { accessOf, readHas, type Use } from './access.ts'
import { keysOf } from './equality.ts'
import { isPlainMap } from './members.ts'
import { charge, chargeValue } from './meter.ts'
import { checkAll } from './nesting.ts'
import { operatorOf } from './operators.ts'
import {
  type CelCall,
  type CelLoop,
  type CelMethodCall,
  type CelNode,
  type Handle,
  walk,
} from './syntax-tree.ts'
import { celValue, safeItems } from './values.ts'

/** Makes a checked expression read JSON as CEL has it, lazily, and count its work. */
export function instrument(node: CelNode, use: Use = 'whole'): void {
  const { alternate, macro } = node.meta
  if (alternate?.op === 'comprehension') instrumentLoop(alternate, use)
  else if (macro) instrumentMacro(node, use)
  else if (!alternate) instrumentPlain(node, use)
}

function instrumentLoop(node: CelNode, use: Use): void {
  const loop = node.args as CelLoop
  const inner = node.handle as Handle
  node.handle = (items, ...rest) => {
    charge(4)
    return inner(Array.isArray(items) ? safeItems(items) : isPlainMap(items) ? keysOf(items) : items, ...rest)
  }
  instrument(loop.iterable, 'part')
  instrument(loop.step, use)
  const { condition } = loop
  // Three of them are the macro's own.
  const units = 1 + (walk(loop.step, () => {}) - 3) / 3
  loop.condition = (accumulated) => {
    charge(units)
    return condition ? condition(accumulated) : true
  }
}

function instrumentMacro(node: CelNode, use: Use): void {
  const { macroHasProps, receiver, arg, val, exp } = node.meta.macro ?? {}
  if (macroHasProps) {
    instrument(macroHasProps.at(-1) as CelNode, 'part')
    readHas(node, macroHasProps)
  }
  for (const part of [receiver, arg, val]) if (part) instrument(part, 'whole')
  if (exp) instrument(exp, use)
}

function instrumentPlain(node: CelNode, use: Use): void {
  switch (node.op) {
    case 'id':
      if (use === 'whole' && node.checkedType?.hasDynType) readWhole(node)
      return
    case '.':
    case '[]':
    case '.?':
    case '[?]':
      return instrumentAccess(node, use)
    case '?:': {
      const [condition, ...branches] = node.args as [CelNode, CelNode, CelNode]
      instrument(condition)
      for (const branch of branches) instrument(branch, use)
      return
    }
    case 'accuPush':
      return instrument(node.args as CelNode, use)
    case 'rcall':
      return instrumentMethod(node)
    case 'call':
      return instrumentCall(node)
    case 'list':
    case '&&':
    case '||':
      for (const part of node.args as CelNode[]) instrument(part)
      return
    case 'map':
      for (const part of (node.args as CelNode[][]).flat()) instrument(part)
      return
    case '!_':
    case '-_':
      return instrument(node.args as CelNode)
    default:
      if (Array.isArray(node.args)) instrumentBinary(node)
  }
}

/** A variable, or what a loop goes through. */
function readWhole(node: CelNode): void {
  node.evaluate = (evaluator, it, context) =>
    celValue((context as { getCheckedValue(e: unknown, n: CelNode): unknown }).getCheckedValue(evaluator, it))
}

function instrumentAccess(node: CelNode, use: Use): void {
  const [base, key] = node.args as [CelNode, CelNode | string]
  instrument(base, 'part')
  if (typeof key !== 'string') instrument(key)
  node.handle = accessOf(node, base, use)
}

/** Functions that look at nothing but the size of a list or map. */
const SIZES = new Set(['size'])

/** Undefined for what the library measures itself. */
function sizeIn(value: unknown): bigint | undefined {
  if (Array.isArray(value)) return BigInt(value.length)
  if (isPlainMap(value) || value instanceof Map) return BigInt(keysOf(value).length)
  if (typeof value === 'string') charge(value.length / 8)
  return undefined
}

function instrumentMethod(node: CelNode): void {
  const [name, receiver, args] = node.args as CelMethodCall
  instrument(receiver, SIZES.has(name) ? 'part' : 'whole')
  for (const arg of args) instrument(arg)
  const inner = node.handle as Handle
  const cost = costOf(name)
  const isSize = SIZES.has(name) && args.length === 0
  node.handle = (values: unknown[], evaluator, it) => {
    charge(cost)
    if (isSize) {
      const size = sizeIn(values[0])
      if (size !== undefined) return size
    }
    checkAll(values)
    return inner(values, evaluator, it)
  }
  if (name === 'value')
    node.handle = (
      (handle) =>
      (...rest) =>
        celValue(handle(...rest))
    )(node.handle)
}

function instrumentCall(node: CelNode): void {
  const [name, args] = node.args as CelCall
  for (const arg of args) instrument(arg, SIZES.has(name) ? 'part' : 'whole')
  const inner = node.handle as Handle
  const isSize = SIZES.has(name) && args.length === 1
  const isLinear = CONVERSIONS.has(name)
  node.handle = (values: unknown[], it, evaluator) => {
    charge(8)
    const size = isSize ? sizeIn(values[0]) : undefined
    if (size !== undefined) return size
    if (isLinear) chargeValue(values[0])
    checkAll(values)
    return inner(values, it, evaluator)
  }
}

/** They read all of a text. */
const CONVERSIONS = new Set(['bytes', 'string', 'double', 'int', 'uint', 'duration', 'timestamp'])

/** Parts of a time with a time zone are slow. */
function costOf(name: string): number {
  return /^get(FullYear|Month|Date|Day|Hours|Minutes|Seconds)/.test(name) ? 2_000 : 6
}

function instrumentBinary(node: CelNode): void {
  const operands = node.args as [CelNode, CelNode]
  for (const operand of operands) instrument(operand)
  node.handle = operatorOf(node, operands)
}
