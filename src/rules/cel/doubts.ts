import { builtInKinds } from '../built-in-kinds.ts'
import type { Fault } from '../fault.ts'
import { checkedProgram } from './check.ts'
import { hasQuantityUnit } from './quantity.ts'
import { type CelNode, childrenOf, pathOf, walk } from './syntax-tree.ts'

/**
 * What an expression asks that is legal and hardly meant: comparisons that never hold, and what ends in an error. `added`: can the
 * rule see new objects?
 */
export function doubtsIn(text: string, { added }: { added: boolean }): Fault[] {
  const result = checkedProgram(text)
  if (!result.ok) return []
  const found = new Map<number, Fault>()
  walk(result.value.tree, (node) => {
    const doubt =
      comparisonDoubt(node, text) ?? accessDoubt(node, text) ?? (added ? oldDoubt(node, text) : undefined)
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

interface Doubt {
  message: string
  hint: string
  at?: CelNode
}

const COMPARING = ['==', '!=', '<', '<=', '>', '>=', 'in']
const ORDERING = ['<', '<=', '>', '>=']

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
      : (timeDoubt(one, other, written) ??
        (op === 'in' && one === right ? undefined : wordDoubt(one, other)) ??
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

const CHANGES = ['ADDED', 'MODIFIED', 'DELETED']
const EVENT_TYPES = ['Normal', 'Warning']

/** Words of `event` that it never has. */
function wordDoubt(one: CelNode, other: CelNode): Doubt | undefined {
  const path = pathOf(one)
  if (path?.variable !== 'event' || path.keys.length !== 1) return undefined
  for (const word of wordsIn(other)) {
    const said = String(word.args)
    if (path.keys[0] === 'type' && !CHANGES.includes(said))
      return EVENT_TYPES.includes(said)
        ? {
            message: `event.type is never "${said}"`,
            hint: 'Normal and Warning are event.eventType',
            at: word,
          }
        : { message: `event.type is never "${said}"`, hint: `it is ${CHANGES.join(', ')}`, at: word }
    if (path.keys[0] === 'eventType' && CHANGES.includes(said))
      return {
        message: `event.eventType is never "${said}"`,
        hint: `${CHANGES.join(', ')} are event.type`,
        at: word,
      }
    if (path.keys[0] === 'kind') {
      const meant = builtInKinds.find(
        ({ kind, plural }) => kind !== said && [kind.toLowerCase(), plural].includes(said.toLowerCase()),
      )
      if (meant && !builtInKinds.some(({ kind }) => kind === said))
        return { message: `no built-in kind is called "${said}"`, hint: `write "${meant.kind}"`, at: word }
    }
  }
  return undefined
}

/** The texts that a comparison names: one, or those of a list. */
function wordsIn(node: CelNode): CelNode[] {
  if (node.op === 'list') return childrenOf(node).flatMap(wordsIn)
  return node.op === 'value' && typeof node.args === 'string' ? [node] : []
}

const COUNTED =
  /^(replicas|\w+Replicas|restartCount|generation|observedGeneration|exitCode|containerPort|succeeded|failed|active)$/
const GLOB = /^(?:\*[\w.-]+|[\w.-]+\*)$/

function textDoubt(op: string, one: CelNode, other: CelNode, text: string): Doubt | undefined {
  if (!isInObject(one) || other.op !== 'value') return undefined
  const value = other.args
  const path = text.slice(one.start, one.end)
  if (typeof value === 'boolean' && /(^|\.)status$/.test(path))
    return {
      message: 'the status of a condition is a text, and never equal to true or false',
      hint: 'write "True", "False" or "Unknown" in quotes',
      at: other,
    }
  if (value === null && !text.includes(`has(${path})`))
    return {
      message: 'a field that is not there is no null: the rule ends in an error',
      hint: `write ${op === '==' ? '!' : ''}has(${path})`,
    }
  if (typeof value !== 'string') return undefined
  if (/^-?\d+$/.test(value) && COUNTED.test(lastKey(one)))
    return {
      message: `"${value}" is a text, and the field a number`,
      hint: `write ${value} without quotes`,
      at: other,
    }
  if (/^-?\d+$/.test(value) && ORDERING.includes(op))
    return {
      message: `"${value}" is a text: texts are compared letter by letter, and a number with a text ends in an error`,
      hint: `write ${value} without quotes; where the field is a text, too, int(${path})`,
      at: other,
    }
  if (ORDERING.includes(op) && hasQuantityUnit(value))
    return {
      message: `"${value}" is compared as a text, letter by letter`,
      hint: `write quantity(${path}).${/</.test(op) === (one.start < other.start) ? 'isLessThan' : 'isGreaterThan'}(quantity("${value}"))`,
    }
  if ((op === '==' || op === '!=') && GLOB.test(value)) {
    const test = value.endsWith('*') ? `startsWith("${value.slice(0, -1)}")` : `endsWith("${value.slice(1)}")`
    return {
      message: `"${value}" is compared as it stands: "${op}" knows no globs`,
      hint: `write ${op === '!=' ? '!' : ''}${path}.${test}`,
      at: other,
    }
  }
  return undefined
}

const LISTS = ['containers', 'initContainers', 'containerStatuses', 'conditions', 'ownerReferences']

/** A field of what is a list; a label that not everything has. */
function accessDoubt({ op, args }: CelNode, text: string): Doubt | undefined {
  if (op !== '.' && op !== '[]') return undefined
  const [base, step] = args as [CelNode, CelNode | string]
  const map = text.slice(base.start, base.end)
  const key = typeof step === 'string' ? step : step.args
  if (typeof key !== 'string') return undefined
  if (op === '.' && isInObject(base) && LISTS.includes(lastKey(base)))
    return {
      message: `${lastKey(base)} is a list, and has no field "${key}"`,
      hint: `write ${map}.exists(it, it.${key} == …), or ${map}[0].${key}`,
    }
  const isAsked = text.includes(`in ${map}`) || text.includes(`has(${map}.${key})`)
  if (!/^event\.(namespaceLabels|regarding\.labels)$/.test(map) || isAsked) return undefined
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

const ASKS_FOR_OLD = /oldObject\s*[!=]=\s*null|has\(\s*oldObject|event\.type\b/

/** A field of `object` or `oldObject`, or of an item of a list of theirs. */
function isInObject(node: CelNode): boolean {
  const path = pathOf(node)
  return (
    path !== undefined &&
    path.keys.length > 0 &&
    path.variable !== 'event' &&
    node.checkedType?.kind === 'dyn'
  )
}

function lastKey(node: CelNode): string {
  return String(pathOf(node)?.keys.at(-1) ?? '')
}
