import type { Fault } from '../fault.ts'
import { ifEngine } from './check.ts'
import { type CelNode, walk } from './syntax-tree.ts'
import {
  booleanDoubt,
  type Doubt,
  fixedDoubt,
  isInObject,
  lastKey,
  listAccess,
  listDoubt,
  textDoubt,
  wordDoubt,
} from './word-doubts.ts'

interface Known {
  added: boolean
  /** Labels that "when" asks for, by the map that has them, such as `event.namespaceLabels`. */
  keys?: Readonly<Record<string, readonly string[]>>
}

const NO_KEYS = {}

/**
 * What an expression asks that is legal and hardly meant: comparisons that never hold, and what ends in an error. `added`: can the
 * rule see new objects?
 */
export function doubtsIn(text: string, { added, keys = NO_KEYS }: Known): Fault[] {
  const result = ifEngine().compile(text)
  if (!result.ok) return []
  const found = new Map<number, Fault>()
  walk(result.program.tree, (node) => {
    const doubt =
      comparisonDoubt(node, text) ??
      accessDoubt(node, text, keys) ??
      (added ? oldDoubt(node, text) : undefined)
    if (!doubt) return
    const { message, hint, at = node } = doubt
    const offset = at.start
    if (!found.has(offset))
      found.set(offset, { path: ['if'], message, hint, offset, length: at.end - at.start })
  })
  return onceEach([...found.values()])
}

/** One that is told of many places is told of the first. */
function onceEach(faults: readonly Fault[]): Fault[] {
  const messages = new Set<string>()
  return faults.filter(({ message, hint }) => {
    const said = `${message}\n${hint}`
    return !messages.has(said) && messages.add(said)
  })
}

const COMPARING = ['==', '!=', '<', '<=', '>', '>=', 'in']

function comparisonDoubt({ op, args }: CelNode, text: string): Doubt | undefined {
  if (!COMPARING.includes(op) && !ARITHMETIC.includes(op)) return undefined
  const [left, right] = args as [CelNode, CelNode]
  const written = (node: CelNode) => text.slice(node.start, node.end)
  for (const [one, other] of [
    [left, right],
    [right, left],
  ] as const) {
    const doubt = ARITHMETIC.includes(op)
      ? (timeDoubt(one, other, written) ?? doubleDoubt(one, other, written))
      : (fixedDoubt(one, other) ??
        listDoubt(op, one, other, text) ??
        booleanDoubt(op, one, other, text) ??
        timeDoubt(one, other, written) ??
        (op === 'in' && one === right ? undefined : wordDoubt(op, one, other, text)) ??
        textDoubt(op, one, other, text))
    if (doubt) return doubt
  }
  return undefined
}

const ARITHMETIC = ['+', '-', '*', '/']

/** Times in objects are texts. */
function timeDoubt(one: CelNode, other: CelNode, written: (node: CelNode) => string): Doubt | undefined {
  const isTime = other.checkedType?.name === 'google.protobuf.Timestamp'
  if (!isTime || !isInObject(one) || !/(Time|Timestamp|At)$/.test(lastKey(one))) return undefined
  return {
    message: 'times in objects are texts, and a text and a timestamp end in an error',
    hint: `write timestamp(${written(one)})`,
    at: one,
  }
}

/** Whole numbers of objects are ints, and CEL computes with ints and doubles never together. */
function doubleDoubt(one: CelNode, other: CelNode, written: (node: CelNode) => string): Doubt | undefined {
  if (other.checkedType?.name !== 'double' || !isInObject(one)) return undefined
  return {
    message: 'a whole number is an int here, and an int with a double ends in an error',
    hint: `write double(${written(one)})`,
    at: one,
  }
}

/** A field of what is a list; a label that not everything has. */
function accessDoubt(node: CelNode, text: string, keys: NonNullable<Known['keys']>): Doubt | undefined {
  const { op, args } = node
  if (op !== '.' && op !== '[]') return undefined
  const [base, step] = args as [CelNode, CelNode | string]
  const map = text.slice(base.start, base.end)
  const key = typeof step === 'string' ? step : step.op === 'value' ? step.args : undefined
  if (typeof key !== 'string') return undefined
  const { list, message } = listAccess(node, text) ?? {}
  if (message !== undefined)
    return {
      message,
      hint: /^(length|size|count|len)$/.test(key)
        ? `write ${list}.size()`
        : `write ${list}.exists(it, …) with it.${key} in it, or ${list}[0].${key} of the first alone`,
    }
  const isAsked = text.includes(`in ${map}`) || text.includes(`has(${map}.${key})`)
  if (!/^event\.(namespaceLabels|regarding\.labels)$/.test(map) || isAsked) return undefined
  if (key === OF_EACH_NAMESPACE || keys[map]?.includes(key)) return undefined
  return {
    message: 'not all have this label, and without it the rule ends in an error',
    hint: `write ${map}${op === '.' ? `.?${key}` : `[?"${key}"]`}.orValue("")`,
  }
}

/** Fields of the object before the change, where nothing asks whether there is one. */
function oldDoubt(node: CelNode, text: string): Doubt | undefined {
  if (node.op !== '.' || ASKS_FOR_OLD.test(text)) return undefined
  const [base] = node.args as [CelNode]
  if (base.op !== 'id' || base.args !== 'oldObject') return undefined
  return {
    message: 'an ADDED has no oldObject, and the rule ends in an error',
    hint: 'write oldObject != null && …, or when: { type: MODIFIED }',
    at: base,
  }
}

/** The API server gives it to each. */
const OF_EACH_NAMESPACE = 'kubernetes.io/metadata.name'

const ASKS_FOR_OLD =
  /oldObject\s*[!=]=\s*null|null\s*[!=]=\s*oldObject\b|type\(\s*oldObject\s*\)|has\(\s*oldObject|event\.type\b/
