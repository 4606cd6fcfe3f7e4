import { CelValueError } from './function.ts'
import { hasFields, isObject, memberIn, readMember } from './members.ts'
import type { CelNode, Handle } from './syntax-tree.ts'
import { celNumber, celValue, safe } from './values.ts'

/**
 * How a value is used. As `part`, only something in it or its size is wanted, so it may stay as JSON has it; as `whole`, all of
 * it must be as CEL has it.
 */
export type Use = 'part' | 'whole'

/** Reads `.key` and `[key]` of what came from JSON, with what its base and its result are used for. */
export function accessOf(node: CelNode, base: CelNode, use: Use): Handle {
  const inner = node.handle as Handle
  const isOptional = node.op === '.?' || node.op === '[?]' || base.checkedType?.kind === 'optional'
  if (isOptional) return readOptional(inner, use)
  if (base.checkedType?.name === 'dyn') return use === 'whole' ? readAll(inner) : readPart(inner)
  if (use !== 'whole' || !node.checkedType?.hasDynType) return inner
  return (left, right, it, evaluator) => celValue(inner(left, right, it, evaluator))
}

/**
 * Lets `has()` read its steps, the last of which is the root. The library would take a key `constructor` for a type; and of
 * values with declared fields all can be read.
 */
export function readHas({ meta }: CelNode, steps: readonly CelNode[]): void {
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

/** What came from JSON; the library reads all else, and tells what is not there. */
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
