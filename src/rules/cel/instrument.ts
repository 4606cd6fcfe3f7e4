import { CelValueError, charge, chargeText, chargeValue } from './meter.ts'
import {
  type CelCall,
  type CelLoop,
  type CelMethodCall,
  type CelNode,
  type Handle,
  walk,
} from './syntax-tree.ts'
import {
  celNumber,
  celValue,
  checkAll,
  checkNesting,
  equals,
  hasFields,
  isObject,
  isPlainMap,
  keysOf,
  memberIn,
  memberOf,
  readMember,
  safe,
  safeItems,
} from './values.ts'

/** How a value is used: of a `part` only a member or the size, so that it may stay plain JSON; a `whole` must be a CEL value. */
type Use = 'part' | 'whole'

/** Patches a checked expression so that it converts JSON to CEL values lazily, and meters its cost. */
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
  // Three nodes are the macro's own.
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

/** A variable, or the item of a loop. */
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

/** Returns the handler of `.key` and `[key]` on JSON, by the use of the result. */
function accessOf(node: CelNode, base: CelNode, use: Use): Handle {
  const inner = node.handle as Handle
  const isOptional = node.op === '.?' || node.op === '[?]' || base.checkedType?.kind === 'optional'
  if (isOptional) return readOptional(inner, use)
  if (base.checkedType?.name === 'dyn') return use === 'whole' ? readAll(inner) : readPart(inner)
  if (use !== 'whole' || !node.checkedType?.hasDynType) return inner
  return (left, right, it, evaluator) => celValue(inner(left, right, it, evaluator))
}

/** Replaces the evaluation of `has()`: the library takes a key `constructor` for a type. The last step is the root. */
function readHas({ meta }: CelNode, steps: readonly CelNode[]): void {
  const root = steps.at(-1) as CelNode
  const way = steps.slice(0, -1).reverse()
  ;(meta.macro as { evaluate: unknown }).evaluate = (evaluator: Evaluator, _: unknown, context: unknown) => {
    let value = safe(evaluator.run(root, context))
    let isOptional = false
    for (const [place, step] of way.entries()) {
      const key = (step.args as [CelNode, string])[1]
      const isLast = place === way.length - 1
      if (isLast && hasFields(value)) return value.has(key)
      const next = readMember(value, key)
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

/** Members of JSON are read here; the library reads all others, and reports what is missing. */
function readPart(inner: Handle): Handle {
  return (left, right, node, evaluator) => {
    const value = memberIn(left, right)
    return value === undefined ? inner(left, right, node, evaluator) : safe(value)
  }
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

/** The library takes a value without a known type for missing, so that it gets a map with a known type. */
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

/** Functions that need only the size of a list or map. */
const SIZES = new Set(['size'])

/** Undefined for values that the library measures itself. */
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

/** Functions that read the whole text. */
const CONVERSIONS = new Set(['bytes', 'string', 'double', 'int', 'uint', 'duration', 'timestamp'])

/** Parts of a timestamp in a time zone are slow. */
function costOf(name: string): number {
  return /^get(FullYear|Month|Date|Day|Hours|Minutes|Seconds)/.test(name) ? 2_000 : 6
}

function instrumentBinary(node: CelNode): void {
  const operands = node.args as [CelNode, CelNode]
  for (const operand of operands) instrument(operand)
  node.handle = operatorOf(node, operands)
}

const COMPARISONS = new Set(['<', '<=', '>', '>='])

/** Returns the handler of a binary operator: it meters its cost, and compares JSON by CEL's rules. */
function operatorOf(node: CelNode, [left, right]: readonly [CelNode, CelNode]): Handle {
  const inner = node.handle as Handle
  const isTyped = !left.checkedType?.hasDynType && !right.checkedType?.hasDynType
  const isBounded = isScalar(left) || isScalar(right)
  if (node.op === '==' || node.op === '!=') {
    if (isText(left) || isText(right)) return node.op === '==' ? (a, b) => a === b : (a, b) => a !== b
    if (!isTyped) return comparedBy(node.op === '==', inner)
    return isBounded ? inner : counted(inner)
  }
  if (node.op === 'in') return isTyped ? counted(inner) : soughtBy(inner)
  if (node.op === '+') return joinedBy(inner)
  return !isTyped || (COMPARISONS.has(node.op) && !isBounded) ? counted(inner) : inner
}

/** A constant text is only equal to a text. */
function isText({ op, args }: CelNode): boolean {
  return op === 'value' && typeof args === 'string' && args.length < 1_000
}

function isScalar({ op, args }: CelNode): boolean {
  return op === 'value' && (typeof args !== 'string' || args.length < 1_000)
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

/** An operator whose cost depends on the size of its operands. */
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

function sizeOf(value: unknown): number {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length
  return value instanceof Map || value instanceof Set ? value.size : 1
}
