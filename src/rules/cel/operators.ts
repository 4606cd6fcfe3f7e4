import { equals, memberOf } from './equality.ts'
import { isPlainMap } from './members.ts'
import { charge, chargeText, chargeValue } from './meter.ts'
import { checkNesting } from './nesting.ts'
import type { CelNode, Handle } from './syntax-tree.ts'

const COMPARISONS = new Set(['<', '<=', '>', '>='])

/** An operator of two values, which counts its work and compares JSON as CEL does. */
export function operatorOf(node: CelNode, [left, right]: readonly [CelNode, CelNode]): Handle {
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

/** A text that stands in the expression: nothing but a text equals it. */
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

function sizeOf(value: unknown): number {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length
  return value instanceof Map || value instanceof Set ? value.size : 1
}
