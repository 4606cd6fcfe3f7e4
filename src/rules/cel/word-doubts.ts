import { builtInKinds } from '../built-in-kinds.ts'
import { FLIPPED, hasOf, quantityAsked } from './operands.ts'
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
  // A list compared with "==" is a list's value.
  if (other.op === 'list' && op !== 'in') return undefined
  const isTextOfWords = ['==', '!=', 'in'].includes(op) && isText(one) && !isFreeText(one)
  for (const word of wordsIn(other)) {
    const said = String(word.args)
    const problem = isTextOfWords ? textProblem(op, one, said) : undefined
    const doubt =
      problem === undefined
        ? fieldDoubt(field, one, said)
        : { message: problem, hint: `write ${joined(op, askedOf(one, other, text))}` }
    if (doubt) return doubt.at === 'word' ? { ...doubt, at: word } : (doubt as Doubt)
  }
  return undefined
}

type WordDoubt = Omit<Doubt, 'at'> & { at?: CelNode | 'word' }

/** What a comparison with lists and globs in texts was meant to ask, all of its words in it. */
function askedOf(one: CelNode, other: CelNode, text: string): string[] {
  const written = text.slice(one.start, one.end)
  const parts = other.op === 'list' ? childrenOf(other) : [other]
  const exact = parts.flatMap((part) => {
    const said = part.op === 'value' && typeof part.args === 'string' ? part.args : undefined
    if (said === undefined) return [text.slice(part.start, part.end)]
    if (GLOB.test(said)) return []
    return isSeveral(one, said)
      ? said.split(',').map((it) => JSON.stringify(it.trim()))
      : [JSON.stringify(said)]
  })
  const globs = parts.flatMap(({ op, args }) =>
    op === 'value' && GLOB.test(String(args)) ? [String(args)] : [],
  )
  const equal = exact.length > 1 ? `${written} in [${exact.join(', ')}]` : `${written} == ${exact[0]}`
  return [...(exact.length === 0 ? [] : [equal]), ...globs.map((glob) => globAsked(written, glob))]
}

function fieldDoubt(field: unknown, one: CelNode, said: string): WordDoubt | undefined {
  if (field === 'type' && EVENT_TYPES.includes(said))
    return {
      message: `event.type is never "${said}"`,
      hint: 'Normal and Warning are event.eventType',
      at: one,
    }
  if (field === 'type' && !CHANGES.includes(said))
    return { message: `event.type is never "${said}"`, hint: `it is ${CHANGES.join(', ')}`, at: 'word' }
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
  return (
    meant && {
      message: `no built-in kind is called "${said}"`,
      hint: `write "${meant.kind}"`,
      at: 'word',
    }
  )
}

const WORD_FIELDS = /^(kind|name|namespace|phase|reason|status|type|eventType)$/
const SEVERAL = /^[\w.-]+(?: *, *[\w.-]+)+$/

/** `in ["BackOff, Failed"]`, `== "BackOff, Failed"`, `== "web-*"`. */
function textProblem(op: string, one: CelNode, said: string): string | undefined {
  if (isSeveral(one, said)) return `"${said}" is one text`
  return GLOB.test(said) ? `"${said}" is compared as it stands: "${op}" knows no globs` : undefined
}

function isSeveral(one: CelNode, said: string): boolean {
  return WORD_FIELDS.test(lastKey(one)) && SEVERAL.test(said)
}

// Not the "*.example.com" of an Ingress, the "*/5" of a schedule, the "pods/*" of a Role, the "/api/.*" of a path: objects hold these as they are.
const GLOB = /^(?!.*\/\.\*$)(?:\*[\w:@-][\w.:/@-]*\*?|[\w.:/@-]*[\w.:@-]\*)$/

function globAsked(written: string, glob: string): string {
  const [first, last] = [glob.startsWith('*'), glob.endsWith('*')]
  const method = first && last ? 'contains' : first ? 'endsWith' : 'startsWith'
  return `${written}.${method}("${glob.replaceAll('*', '')}")`
}

const LISTS = ['containers', 'initContainers', 'containerStatuses', 'conditions', 'ownerReferences']

/** A field of what is a list, compared with one value. */
export function listDoubt(op: string, one: CelNode, other: CelNode, text: string): Doubt | undefined {
  const found = listAccess(one, text)
  if (!found || !['==', '!='].includes(op) || other.op !== 'value') return undefined
  const { list, key, message } = found
  const value = other.args
  const isGlob = typeof value === 'string' && GLOB.test(value)
  const literal = text.slice(other.start, other.end)
  const asked = isGlob ? globAsked(`it.${key}`, value) : `it.${key} == ${literal}`
  return { message, hint: `write ${op === '!=' ? '!' : ''}${list}.exists(it, ${asked})` }
}

/** `object.spec.containers.image` */
export function listAccess(node: CelNode, text: string) {
  if (node.op !== '.') return undefined
  const [base, key] = node.args as [CelNode, CelNode | string]
  if (typeof key !== 'string' || !isInObject(base) || !LISTS.includes(lastKey(base))) return undefined
  const list = text.slice(base.start, base.end)
  return { list, key, message: `${lastKey(base)} is a list, and has no field "${key}"` }
}

/** `labels.team != has(…)`, `memory > quantity(…).isGreaterThan(…)` */
export function booleanDoubt(op: string, one: CelNode, other: CelNode, text: string): Doubt | undefined {
  if (other.checkedType?.name !== 'bool' || other.op === 'value' || !isInObject(one)) return undefined
  const isLabel = /\.(labels|annotations)\b/.test(text.slice(one.start, one.end))
  if (!ORDERING.includes(op) && !isLabel) return undefined
  const asked = text.slice(other.start, other.end)
  return {
    message: 'a text or number is compared with true or false here',
    hint: `write ${asked.length > 200 ? 'the condition' : asked} alone`,
  }
}

function joined(op: string, asked: readonly string[]): string {
  const [first = ''] = asked
  if (op !== '!=') return asked.length > 1 ? `(${asked.join(' || ')})` : first
  return / in /.test(first) ? `!(${first})` : `!${first}`
}

/** Texts of a user's own: the files of a ConfigMap, annotations. */
function isFreeText(node: CelNode): boolean {
  const keys = pathOf(node)?.keys ?? []
  return /^(data|stringData|binaryData)$/.test(String(keys[0])) || keys.at(-2) === 'annotations'
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
  if (typeof value === 'boolean' && isOfCondition(one))
    return {
      message: 'the status of a condition is a text, and never equal to true or false',
      hint: 'write "True", "False" or "Unknown" in quotes',
      at: other,
    }
  if (value === null && !text.includes(`has(${path})`))
    return {
      message: 'a field that is not there is no null: the rule ends in an error',
      hint: `write ${op === '==' ? '!' : ''}${hasOf(path)}`,
    }
  if (typeof value !== 'string') return undefined
  const isAlwaysText = isFreeText(one) || pathOf(one)?.keys.at(-2) === 'labels'
  if (/^-?\d+$/.test(value) && isAlwaysText)
    return ORDERING.includes(op)
      ? {
          message: `"${value}" is a text: texts are compared letter by letter`,
          hint: `write int(${path}), and ${value} without quotes`,
          at: other,
        }
      : undefined
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
      hint: `write ${quantityAsked(path, one.start < other.start ? op : FLIPPED[op], value)}`,
    }
  return undefined
}

/** `{type: Ready, status: "True"}`, in a loop or by its place. */
function isOfCondition(node: CelNode): boolean {
  const { variable, keys } = pathOf(node) ?? { variable: '', keys: [] }
  const isItem = keys.length === 1 && !/^(object|oldObject)$/.test(variable)
  return keys.at(-1) === 'status' && (isItem || keys.includes('conditions'))
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
