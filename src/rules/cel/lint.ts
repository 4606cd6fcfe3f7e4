import type { Fault } from '../fault.ts'
import { builtInKinds } from '../kind.ts'
import { ifEngine } from './check.ts'
import { hasQuantityUnit } from './kubernetes-functions.ts'
import { type CelCall, type CelNode, childrenOf, pathOf, walk } from './syntax-tree.ts'

/** A valid expression that never holds as written (`doubtful-expression`), or fails for some objects (`missing-field`). */
interface Finding extends Omit<Fault, 'code'> {
  code: 'doubtful-expression' | 'missing-field'
}

/** What is known of the rule. */
interface RuleContext {
  /** It can match new objects, which have no previous one. */
  matchesAdded: boolean
  /** Keys that conditions of `when` require, by the map that has them, such as `event.namespaceLabels`. */
  requiredKeys: Readonly<Record<string, readonly string[]>>
  /** An error counts as a match, so that missing fields are intended. */
  matchesErrors: boolean
}

/** Returns what is suspicious in an expression, each message once; nothing if the expression has faults. */
export function lintExpression(text: string, context: RuleContext): Finding[] {
  const result = ifEngine().compile(text)
  if (!result.ok) return []
  const expression = { text, context, tested: testedIn(result.program.tree, text) }
  const byPlace = new Map<number, Finding>()
  walk(result.program.tree, (node) => {
    const found = comparisonFinding(node, expression) ?? accessFinding(node, expression)
    const { code = 'doubtful-expression', message, hint, at = node } = found ?? { message: '', hint: '' }
    if (!found || byPlace.has(at.start) || (code === 'missing-field' && context.matchesErrors)) return
    byPlace.set(at.start, { code, path: ['if'], message, hint, offset: at.start, length: at.end - at.start })
  })
  const byMessage = new Map<string, Finding>()
  for (const it of byPlace.values()) if (!byMessage.has(it.message)) byMessage.set(it.message, it)
  return [...byMessage.values()]
}

interface Expression {
  text: string
  context: RuleContext
  /** The paths whose existence the expression tests, by `has()`, `in` or a comparison with null. */
  tested: ReadonlySet<string>
}

interface Suspicion {
  code?: Finding['code']
  message: string
  hint: string
  /** The part that is underlined; default: the node itself. */
  at?: CelNode
}

/** One side of a comparison is a field, the other what it is compared with. */
interface Comparison {
  op: string
  field: CelNode
  /** `object.status.phase` */
  path: string
  /** `phase` */
  key: string
  other: CelNode
  /** The constant on the other side; of a list, each of its constants. */
  values: readonly unknown[]
}

const COMPARISONS = [eventField, listField, conditionStatus, nullTest, numberText, quantityText, glob]
const OPERATORS = ['==', '!=', '<', '<=', '>', '>=', 'in', '-', '+']

function comparisonFinding({ op, args }: CelNode, expression: Expression): Suspicion | undefined {
  if (!OPERATORS.includes(op)) return undefined
  const [left, right] = args as [CelNode, CelNode]
  const sides = op === 'in' ? [[left, right] as const] : [[left, right] as const, [right, left] as const]
  for (const [field, other] of sides) {
    const key = String(pathOf(field)?.keys.at(-1) ?? '')
    if (key === '') continue
    const values = constantsIn(other)
    const it = { op, field, path: textOf(field, expression), key, other, values }
    const lints = op === '-' || op === '+' ? [timestamp] : [timestamp, ...COMPARISONS]
    for (const lint of lints) {
      const found = lint(it, expression)
      if (found) return found
    }
  }
  return undefined
}

function constantsIn({ op, args }: CelNode): unknown[] {
  if (op === 'list') return (args as CelNode[]).flatMap(constantsIn)
  return op === 'value' ? [args] : []
}

const CHANGES = ['ADDED', 'MODIFIED', 'DELETED']

/** `event.type == "Warning"`, `event.kind == "pods"` */
function eventField({ path, other, values, field }: Comparison): Suspicion | undefined {
  const texts = values.filter((it) => typeof it === 'string')
  if (path === 'event.type') {
    const wrong = texts.find((it) => !CHANGES.includes(it))
    if (wrong === undefined) return undefined
    const isEventType = /^(Normal|Warning)$/.test(wrong)
    const hint = isEventType ? 'Normal and Warning are event.eventType' : `it is ${CHANGES.join(', ')}`
    return { message: `event.type is never "${wrong}"`, hint, at: isEventType ? field : other }
  }
  if (path === 'event.eventType' && texts.some((it) => CHANGES.includes(it)))
    return {
      message: `event.eventType is Normal or Warning`,
      hint: `${CHANGES.join(', ')} are event.type`,
      at: field,
    }
  if (path !== 'event.kind') return undefined
  for (const text of texts) {
    const names = ({ kind, plural }: (typeof builtInKinds)[number]) => [kind.toLowerCase(), plural]
    const known = builtInKinds.find((it) => names(it).includes(text.toLowerCase()))
    if (known && !builtInKinds.some(({ kind }) => kind === text))
      return { message: `no built-in kind is called "${text}"`, hint: `write "${known.kind}"`, at: other }
  }
  return undefined
}

const LISTS = ['containers', 'initContainers', 'containerStatuses', 'conditions', 'ownerReferences']

/** `object.spec.containers.image == "nginx"` */
function listField({ field }: Comparison): Suspicion | undefined {
  return fieldOfList(field)
}

function fieldOfList(field: CelNode): Suspicion | undefined {
  const path = isInObject(field) && field.op === '.' ? pathOf(field)?.keys : undefined
  const [list, key] = (path ?? []).slice(-2).map(String)
  if (list === undefined || key === undefined || !LISTS.includes(list)) return undefined
  const hint = /^(length|size|count)$/.test(key)
    ? 'write list.size()'
    : `write list.exists(it, it.${key} == "…")`
  return { message: `${list} is a list, and has no field "${key}"`, hint }
}

/** `c.status == true` of an item of `conditions` */
function conditionStatus({ field, key, values: [value], other }: Comparison): Suspicion | undefined {
  const { variable, keys } = pathOf(field) ?? { variable: '', keys: [] }
  const isItem = keys.length === 1 && !/^(object|oldObject|event)$/.test(variable)
  if (typeof value !== 'boolean' || key !== 'status' || !(isItem || keys.includes('conditions')))
    return undefined
  return {
    message: 'the status of a condition is a text',
    hint: 'write "True", "False" or "Unknown" in quotes',
    at: other,
  }
}

/** `object.spec.nodeName == null` */
function nullTest({ op, field, path, values }: Comparison, { text }: Expression): Suspicion | undefined {
  if (values[0] !== null || !/^[!=]=$/.test(op) || !isInObject(field) || text.includes(`has(${path})`))
    return undefined
  return {
    code: 'missing-field',
    message: 'a field that is missing is not null: the rule ends in an error',
    hint: `write ${op === '==' ? '!' : ''}${field.op === '[]' ? 'map[?"key"].hasValue()' : `has(${optionalMap(path)})`}`,
  }
}

/** `object.metadata` may have no `labels` at all. */
function optionalMap(path: string): string {
  return path.replace(/(?<=\.metadata)\.(?=(?:labels|annotations)\.)/, '.?')
}

const COUNTED = /^(replicas|\w+Replicas|restartCount|(observedG|g)eneration|exitCode|containerPort)$/

/** `object.spec.replicas == "3"`, `object.spec.rank > "3"` */
function numberText({ op, field, key, values: [value], other }: Comparison): Suspicion | undefined {
  if (typeof value !== 'string' || !/^-?\d+$/.test(value) || !isInObject(field)) return undefined
  const isFreeText = /^(data|stringData)$/.test(String(pathOf(field)?.keys[0]))
  const isOrder = /^[<>]/.test(op)
  if (isFreeText || !(isOrder || COUNTED.test(key))) return undefined
  const message = `"${value}" is a text, and no number`
  return { message, hint: `write ${value} without quotes; int(x) converts a text`, at: other }
}

/** `object.spec.limits.memory > "1Gi"` */
function quantityText({ op, field, values: [value] }: Comparison): Suspicion | undefined {
  if (typeof value !== 'string' || !/^[<>]/.test(op) || !isInObject(field) || !hasQuantityUnit(value))
    return undefined
  const hint = `write quantity(x).isGreaterThan(quantity("${value}")), or isLessThan`
  return { message: `"${value}" is compared as a text, letter by letter`, hint }
}

/** Not the `*.example.com` of an Ingress, the `pods/*` of a Role, the `/api/.*` of a path: objects have these as they are. */
const GLOB = /^(?!.*\/\.\*$)(?:\*[\w:@-][\w.:/@-]*\*?|[\w.:/@-]*[\w.:@-]\*)$/

/** `object.metadata.name == "web-*"` */
function glob({ op, field, values, other }: Comparison): Suspicion | undefined {
  const { variable, keys } = pathOf(field) ?? { variable: '', keys: [] }
  const isFreeText = /^(data|stringData|binaryData)$/.test(String(keys[0])) || keys.at(-2) === 'annotations'
  const isName = isInObject(field) || (variable === 'event' && field.checkedType?.name === 'string')
  const isList = other.op === 'list' && op !== 'in'
  const found = values.find((it) => typeof it === 'string' && GLOB.test(it))
  if (found === undefined || isFreeText || !isName || isList || !/^([!=]=|in)$/.test(op)) return undefined
  return {
    message: `"${found}" is compared literally: "${op}" has no globs`,
    hint: 'write x.startsWith("…"), x.endsWith("…") or x.contains("…")',
  }
}

/** `now - object.metadata.creationTimestamp` */
function timestamp({ field, path, key, other }: Comparison): Suspicion | undefined {
  const isTime = other.checkedType?.name === 'google.protobuf.Timestamp'
  if (!isTime || !isInObject(field) || !/(Time|Timestamp|At)$/.test(key)) return undefined
  return {
    message: 'times in objects are texts, and a text and a timestamp end in an error',
    hint: `write timestamp(${path})`,
    at: field,
  }
}

/** The API server omits these while they are 0. */
const COUNTER =
  /^(readyReplicas|availableReplicas|updatedReplicas|unavailableReplicas|numberAvailable|numberUnavailable|updatedNumberScheduled)$/
const LABELS =
  /^(?:(?:object|oldObject)\.metadata\.(?:labels|annotations)|event\.(?:namespaceLabels|regarding\.labels))$/

/** Fields that an object may not have. */
function accessFinding(node: CelNode, expression: Expression): Suspicion | undefined {
  const { text, context, tested } = expression
  if (node.op === 'call' && (node.args as CelCall)[0] === 'has') return hasOfLabel(node, expression)
  if (node.op !== '.' && node.op !== '[]') return undefined
  const ofList = fieldOfList(node)
  if (ofList) return ofList
  const [base, step] = node.args as [CelNode, CelNode | string]
  const map = textOf(base, expression)
  const key = typeof step === 'string' ? step : step.op === 'value' ? step.args : undefined
  if (base.op === 'id' && map === 'oldObject' && context.matchesAdded && !TESTS_OLD.test(text))
    return {
      message: 'an ADDED has no oldObject, and the rule ends in an error',
      hint: 'write oldObject != null && …, or when: { type: MODIFIED }',
      at: base,
    }
  if (typeof key !== 'string' || tested.has(textOf(node, expression)) || tested.has(map)) return undefined
  if (map === 'object.status' && COUNTER.test(key))
    return {
      code: 'missing-field',
      message: `while it is 0, the object has no "${key}", and the rule ends in an error`,
      hint: `write object.status.?${key}.orValue(0)`,
    }
  if (!LABELS.test(map) || key === OF_EACH_NAMESPACE || context.requiredKeys[map]?.includes(key))
    return undefined
  const optional = map.replace('metadata.', 'metadata.?')
  return {
    code: 'missing-field',
    message: 'not every object has this key, and without it the rule ends in an error',
    hint: `write ${optional}${node.op === '.' ? `.?${key}` : `[?"${key}"]`}.orValue("")`,
  }
}

/** `has(object.metadata.labels.team)` of an object without any labels. */
function hasOfLabel(node: CelNode, expression: Expression): Suspicion | undefined {
  const [argument] = childrenOf(node)
  const [base] = argument?.op === '.' ? (argument.args as [CelNode]) : []
  const map = base && textOf(base, expression)
  if (
    !argument ||
    !map ||
    !/^object\.metadata\.(labels|annotations)$/.test(map) ||
    expression.tested.has(map)
  )
    return undefined
  return {
    code: 'missing-field',
    message: `not every object has ${map.slice('object.metadata.'.length)}, and without them the rule ends in an error`,
    hint: `write has(${optionalMap(textOf(argument, expression))})`,
    at: argument,
  }
}

/** The API server gives it to each namespace. */
const OF_EACH_NAMESPACE = 'kubernetes.io/metadata.name'

const TESTS_OLD =
  /oldObject\s*[!=]=\s*null|null\s*[!=]=\s*oldObject\b|type\(\s*oldObject\s*\)|has\(\s*oldObject|event\.type\b/

function testedIn(tree: CelNode, text: string): Set<string> {
  const tested = new Set<string>()
  const add = (node: CelNode | undefined) => node && tested.add(text.slice(node.start, node.end))
  walk(tree, (node) => {
    const [left, right] = childrenOf(node)
    if (node.op === 'call' && (node.args as CelCall)[0] === 'has') add(left)
    if (node.op === 'in') add(right)
    if (node.op === 'in' && left?.op === 'value' && right)
      tested.add(`${text.slice(right.start, right.end)}.${left.args}`)
    if (/^[!=]=$/.test(node.op) && right?.op === 'value' && right.args === null) add(left)
  })
  return tested
}

function textOf({ start, end }: CelNode, { text }: Expression): string {
  return text.slice(start, end)
}

/** Returns whether it is a field of `object` or `oldObject`, or of an item of a list in them. */
function isInObject(node: CelNode): boolean {
  const path = pathOf(node)
  return !!path && path.keys.length > 0 && path.variable !== 'event' && node.checkedType?.kind === 'dyn'
}
