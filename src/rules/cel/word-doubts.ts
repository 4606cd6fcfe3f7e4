import { builtInKinds } from '../built-in-kinds.ts'
import { hasQuantityUnit } from './quantity.ts'
import { type CelNode, childrenOf, pathOf } from './syntax-tree.ts'

/** What is hardly meant, at `at`, else at the whole comparison. */
export interface Doubt {
  message: string
  hint: string
  at?: CelNode
}

const CHANGES = ['ADDED', 'MODIFIED', 'DELETED']
const ORDERING = ['<', '<=', '>', '>=']
const EVENT_TYPES = ['Normal', 'Warning']

/** `"object.status.phase" == "Failed"` is never true. */
export function fixedDoubt(one: CelNode, other: CelNode): Doubt | undefined {
  const isFixed = [one, other].every(({ op, args }) => op === 'value' && typeof args === 'string')
  const path = String(one.args)
  if (!isFixed || !/^(object|oldObject|event)\.[\w.]+$/.test(path)) return undefined
  return { message: `"${path}" is a text, and not the field`, hint: `write ${path} without quotes`, at: one }
}

/** Words that a field of `event` never has, globs, and several words in one text. */
export function wordDoubt(op: string, one: CelNode, other: CelNode, text: string): Doubt | undefined {
  const path = pathOf(one)
  if (path === undefined || path.keys.length === 0) return undefined
  const field = path.variable === 'event' && path.keys.length === 1 ? path.keys[0] : undefined
  const written = text.slice(one.start, one.end)
  for (const word of wordsIn(other)) {
    const said = String(word.args)
    const doubt =
      listDoubt(op, one, written, said) ?? fieldDoubt(field, one, said) ?? globDoubt(op, one, written, said)
    if (doubt) return { at: word, ...doubt }
  }
  return undefined
}

function fieldDoubt(field: unknown, one: CelNode, said: string): Doubt | undefined {
  if (field === 'type' && EVENT_TYPES.includes(said))
    return {
      message: `event.type is never "${said}"`,
      hint: 'Normal and Warning are event.eventType',
      at: one,
    }
  if (field === 'type' && !CHANGES.includes(said))
    return { message: `event.type is never "${said}"`, hint: `it is ${CHANGES.join(', ')}` }
  if (field === 'eventType' && CHANGES.includes(said))
    return {
      message: `event.eventType is never "${said}"`,
      hint: `${CHANGES.join(', ')} are event.type`,
      at: one,
    }
  if (field !== 'kind' || builtInKinds.some(({ kind }) => kind === said)) return undefined
  const meant = builtInKinds.find(({ kind, plural }) =>
    [kind.toLowerCase(), plural].includes(said.toLowerCase()),
  )
  return meant && { message: `no built-in kind is called "${said}"`, hint: `write "${meant.kind}"` }
}

const WORD_FIELDS = /^(kind|name|namespace|phase|reason|status|type|eventType)$/
const SEVERAL = /^[\w.-]+(?: *, *[\w.-]+)+$/

/** `in ["BackOff, Failed"]`, `== "BackOff, Failed"`. */
function listDoubt(op: string, one: CelNode, written: string, said: string): Doubt | undefined {
  if (!['==', '!=', 'in'].includes(op) || !isText(one)) return undefined
  if (!WORD_FIELDS.test(lastKey(one)) || !SEVERAL.test(said)) return undefined
  const words = said.split(/ *, */).map((word) => JSON.stringify(word))
  const asked = `${written} in [${words.join(', ')}]`
  return { message: `"${said}" is one text`, hint: `write ${op === '!=' ? `!(${asked})` : asked}` }
}

// Not the "*.example.com" of an Ingress, the "*/5" of a schedule, the "pods/*" of a Role: objects hold these as they are.
const GLOB = /^(?:\*[\w:@-][\w.:/@-]*\*?|[\w.:/@-]*[\w.:@-]\*)$/

function globDoubt(op: string, one: CelNode, written: string, said: string): Doubt | undefined {
  if (!['==', '!=', 'in'].includes(op) || !isText(one) || !GLOB.test(said)) return undefined
  const [first, last] = [said.startsWith('*'), said.endsWith('*')]
  const method = first && last ? 'contains' : first ? 'endsWith' : 'startsWith'
  const asked = `${written}.${method}("${said.replaceAll('*', '')}")`
  return {
    message: `"${said}" is compared as it stands: "${op}" knows no globs`,
    hint: `write ${op === '!=' ? '!' : ''}${asked}`,
  }
}

/** The texts that a comparison names: one, or those of a list. */
function wordsIn(node: CelNode): CelNode[] {
  if (node.op === 'list') return childrenOf(node).flatMap(wordsIn)
  return node.op === 'value' && typeof node.args === 'string' ? [node] : []
}

const COUNTED =
  /^(replicas|\w+Replicas|restartCount|generation|observedGeneration|exitCode|containerPort|succeeded|failed|active)$/

export function textDoubt(op: string, one: CelNode, other: CelNode, text: string): Doubt | undefined {
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
  return undefined
}

/** A field whose value is a text, or may be one. */
function isText(node: CelNode): boolean {
  return isInObject(node) || (pathOf(node)?.variable === 'event' && node.checkedType?.name === 'string')
}

/** A field of `object` or `oldObject`, or of an item of a list of theirs. */
export function isInObject(node: CelNode): boolean {
  const path = pathOf(node)
  return (
    path !== undefined &&
    path.keys.length > 0 &&
    path.variable !== 'event' &&
    node.checkedType?.kind === 'dyn'
  )
}

export function lastKey(node: CelNode): string {
  return String(pathOf(node)?.keys.at(-1) ?? '')
}
