import { equals, keysOf, memberOf } from './equality.ts'
import { CelValueError } from './function.ts'
import { charge, chargeText, chargeValue } from './meter.ts'
import { type CelCall, type CelLoop, type CelMethodCall, type CelNode, walk } from './syntax-tree.ts'
import { celNumber, celValue, safe, safeItems } from './values.ts'

/**
 * How a value is used. As `part`, only something in it or its size is wanted, so it may stay as JSON has it; as `whole`, all of
 * it must be as CEL has it.
 */
type Use = 'part' | 'whole'

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
  if (macroHasProps) instrumentHas(node, macroHasProps)
  for (const part of [receiver, arg, val]) if (part) instrument(part, 'whole')
  if (exp) instrument(exp, use)
}

/** The library would take a key `constructor` for a type; and of values with declared fields all can be read. */
function instrumentHas({ meta }: CelNode, steps: readonly CelNode[]): void {
  const root = steps.at(-1) as CelNode
  const way = steps.slice(0, -1).reverse()
  instrument(root, 'part')
  ;(meta.macro as { evaluate: unknown }).evaluate = (evaluator: Evaluator, _: unknown, context: unknown) => {
    let value = safe(evaluator.run(root, context))
    let isOptional = false
    for (const [place, step] of way.entries()) {
      const key = (step.args as [CelNode, string])[1]
      const isLast = place === way.length - 1
      if (isLast && hasFields(value)) return value.has(key)
      const next = read(value, key)
      isOptional ||= step.op === '.?'
      if (isLast || (next === undefined && isOptional)) return next !== undefined
      if (next === undefined) throw missing(key, step)
      value = safe(next)
    }
    return true
  }
}

interface Evaluator {
  run(node: CelNode, context: unknown): unknown
}

function missing(key: string, { end }: CelNode): Error {
  const range = { start: end - key.length, end }
  return Object.assign(new CelValueError(`No such key: ${key}`), { code: 'no_such_key', range })
}

/** A value of a type of ours. */
function hasFields(value: unknown): value is { has(key: string): boolean } {
  return isObject(value) && !isPlainMap(value) && 'has' in value && typeof value.has === 'function'
}

function read(value: unknown, key: string): unknown {
  if (!isObject(value) || Array.isArray(value)) return undefined
  if (hasFields(value) && !(value instanceof Map)) return (value as unknown as Record<string, unknown>)[key]
  return memberOf(value, key)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
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

type Handle = NonNullable<CelNode['handle']>

function instrumentAccess(node: CelNode, use: Use): void {
  const [base, key] = node.args as [CelNode, CelNode | string]
  instrument(base, 'part')
  if (typeof key !== 'string') instrument(key)
  const inner = node.handle as Handle
  const isOptional = node.op === '.?' || node.op === '[?]' || base.checkedType?.kind === 'optional'
  if (isOptional) node.handle = readOptional(inner, use)
  else if (base.checkedType?.name === 'dyn') node.handle = use === 'whole' ? readAll(inner) : readPart(inner)
  else if (use === 'whole' && node.checkedType?.hasDynType)
    node.handle = (left, right, it, evaluator) => celValue(inner(left, right, it, evaluator))
}

/** What came from JSON; the library reads all else, and tells what is not there. */
function readPart(inner: Handle): Handle {
  return (left, right, node, evaluator) => {
    const value = memberIn(left, right)
    return value === undefined ? inner(left, right, node, evaluator) : safe(value)
  }
}

function memberIn(left: unknown, right: unknown): unknown {
  if (!isObject(left)) return undefined
  if (left.constructor === Object)
    return typeof right === 'string' && Object.hasOwn(left, right)
      ? (left as Record<string, unknown>)[right]
      : undefined
  return Array.isArray(left) && typeof right === 'bigint' ? left[Number(right)] : undefined
}

function readAll(inner: Handle): Handle {
  return (left, right, node, evaluator) => {
    const value = memberIn(left, right)
    if (typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number') return celNumber(value)
    return celValue(value === undefined ? inner(left, right, node, evaluator) : value)
  }
}

interface OptionalValue {
  hasValue(): boolean
  value(): unknown
  constructor: { of?(value: unknown): unknown }
}

/** The library takes what it cannot type for missing, so it is given maps that it can. */
function readOptional(inner: Handle, use: Use): Handle {
  return (left, right, node, evaluator) => {
    const base = isOptionalValue(left) ? (left.hasValue() ? left.value() : undefined) : left
    const value = memberIn(safe(base), right)
    const from = isObject(value) && safe(value) !== value ? { [String(right)]: celValue(value) } : left
    const optional = inner(
      from,
      typeof right === 'bigint' && from !== left ? String(right) : right,
      node,
      evaluator,
    ) as OptionalValue
    if (use === 'part' || !optional.hasValue()) return optional
    const whole = celValue(optional.value())
    return whole === optional.value() ? optional : optional.constructor.of?.(whole)
  }
}

function isOptionalValue(value: unknown): value is OptionalValue {
  return isObject(value) && 'hasValue' in value && typeof value.hasValue === 'function'
}

/** Functions that look at nothing but the size of a list or map. */
const SIZES = new Set(['size'])

/** The library looks at the type of all that comes first in it, and keeps what it has seen. */
const MAX_NESTING = 8

function checkNesting(value: unknown): void {
  let inner = value
  for (let depth = 0; typeof inner === 'object' && inner !== null; depth++) {
    if (depth > MAX_NESTING) throw new CelValueError('this value is nested too deeply to be handed on')
    inner = firstOf(inner)
  }
}

function checkAll(values: readonly unknown[]): void {
  for (let i = 0; i < values.length; i++) if (typeof values[i] === 'object') checkNesting(values[i])
}

function firstOf(value: object): unknown {
  if (Array.isArray(value)) return value[0]
  if (value instanceof Map) return value.values().next().value
  if (!isPlainMap(value)) return undefined
  for (const key in value) return value[key]
  return undefined
}

function isPlainMap(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value.constructor === Object || value.constructor === undefined)
  )
}

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
  const [left, right] = node.args as [CelNode, CelNode]
  instrument(left)
  instrument(right)
  const inner = node.handle as Handle
  const isTyped = !left.checkedType?.hasDynType && !right.checkedType?.hasDynType
  if (node.op === '==' || node.op === '!=') {
    if (isText(left) || isText(right)) node.handle = node.op === '==' ? (a, b) => a === b : (a, b) => a !== b
    else if (!isTyped) node.handle = comparedBy(node.op === '==', inner)
    else if (!isScalar(left) && !isScalar(right)) node.handle = counted(inner)
  } else if (node.op === 'in') node.handle = isTyped ? counted(inner) : soughtBy(inner)
  else if (node.op === '+') node.handle = joinedBy(inner)
  else if (!isTyped || (COMPARISONS.has(node.op) && !isScalar(left) && !isScalar(right)))
    node.handle = counted(inner)
}

function comparedBy(wanted: boolean, inner: Handle): Handle {
  return (a, b, it, evaluator) => {
    const same = equals(a, b)
    return same === undefined ? inner(a, b, it, evaluator) : same === wanted
  }
}

function soughtBy(inner: Handle): Handle {
  return (a, b, it, evaluator) => {
    if (Array.isArray(b)) {
      for (const item of b) {
        charge(1)
        const same = equals(a, item)
        if (same === undefined) return inner(a, b, it, evaluator)
        if (same) return true
      }
      return false
    }
    if (isPlainMap(b) || b instanceof Map) return memberOf(b, a) !== undefined
    return inner(a, b, it, evaluator)
  }
}

function joinedBy(inner: Handle): Handle {
  return (a, b, it, evaluator) => {
    if (typeof a === 'string' && typeof b === 'string') chargeText(a.length + b.length)
    else if (typeof a === 'object') {
      charge(sizeOf(a) + sizeOf(b))
      checkNesting(a)
      checkNesting(b)
    }
    return inner(a, b, it, evaluator)
  }
}

/** An operator whose work depends on the size of what it is given. */
function counted(inner: Handle): Handle {
  return (a, b, it, evaluator) => {
    if (typeof a === 'string' || typeof a === 'object') chargeValue(a)
    if (typeof a === 'object' || typeof b === 'object') {
      if (it.op === 'in') chargeValue(b)
      checkNesting(a)
      checkNesting(b)
    }
    return inner(a, b, it, evaluator)
  }
}

const COMPARISONS = new Set(['<', '<=', '>', '>='])

/** A text that stands in the expression: nothing but a text equals it. */
function isText({ op, args }: CelNode): boolean {
  return op === 'value' && typeof args === 'string' && args.length < 1_000
}

function isScalar({ op, args }: CelNode): boolean {
  return op === 'value' && (typeof args !== 'string' || args.length < 1_000)
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length
  return value instanceof Map || value instanceof Set ? value.size : 1
}
