import { nearest } from '../../nearest.ts'
import type { CelEngine, CelFault } from './engine.ts'
import { optionalArgumentHint, optionalConditionHint, optionalHint } from './optional-words.ts'
import { syntaxWords } from './syntax-words.ts'
import { fieldsOf, VARIABLES } from './variables.ts'

/** A fault in words for people; its range where that is better than the library's. */
export interface FaultWords {
  message: string
  hint?: string | undefined
  start?: number
  end?: number
}

/** What is wrong with an expression, and what to write instead. */
export function faultWords(fault: CelFault, text: string, functions: CelEngine['functions']): FaultWords {
  switch (fault.code) {
    case 'unknown_variable':
      return unknownVariable(fault, text)
    case 'no_such_key':
      return unknownField(fault, text)
    case 'no_matching_overload':
      return unknownFunction(fault, text, functions)
    case 'no_such_overload':
      return wrongTypes(fault, text)
    case 'cannot_index_type':
      return {
        message: `${writtenAt(fault, text)}: ${typeIn(fault)} has no fields`,
        hint: /^(length|size|count|len)$/.test(writtenAt(fault, text)) ? 'write size(x)' : undefined,
      }
    case 'invalid_logical_operand':
      return {
        message: `"&&" and "||" take true or false, and one side is ${typeIn(fault)}`,
        hint: logicalHint(fault, text),
      }
    case 'invalid_condition_type':
      return {
        message: `must be true or false, and is ${typeIn(fault)}: ${writtenAt(fault, text)}`,
        hint: optionalConditionHint(rawTypeIn(fault), text.slice(0, fault.end)),
      }
    case 'heterogeneous_list_element':
      return { message: lowerFirst(fault.message), hint: 'write texts in quotes, all of them, or none' }
    case 'invalid_macro_argument':
      return macroArgument(fault, text)
    case 'limit_exceeded':
      return { message: limitWords(fault.message), hint: 'split the rule, or test names with "when"' }
    default:
      return syntaxWords(fault, text)
  }
}

function logicalHint(fault: CelFault, text: string): string {
  const type = rawTypeIn(fault)
  if (type === 'string' && /==/.test(text))
    return 'compare each side: x == "a" || x == "b"; or one with several: x in ["a", "b"]'
  return optionalConditionHint(type, writtenAt(fault, text)) ?? 'compare it with something'
}

const OF_OBJECT = ['metadata', 'spec', 'status', 'data']
const OF_METADATA = ['labels', 'annotations', 'ownerReferences', 'finalizers']
/** What other places that speak CEL have. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  self: 'object',
  old: 'oldObject',
  oldSelf: 'oldObject',
  None: 'null',
  nil: 'null',
  undefined: '!has(object.field), or has(object.field)',
  True: 'true',
  False: 'false',
  namespaceObject: 'event.namespaceLabels',
}

function unknownVariable(fault: CelFault, text: string): FaultWords {
  const loop = /\.\s*(\w+)\s*\(\s*$/.exec(text.slice(0, fault.start))
  const synonym = loop && Object.hasOwn(SYNONYMS, loop[1] as string) ? SYNONYMS[loop[1] as string] : undefined
  if (loop && synonym) {
    const start = loop.index + loop[0].indexOf(loop[1] as string)
    return {
      message: `there is no method "${loop[1]}"`,
      hint: `write ${synonym}`,
      start,
      end: start + (loop[1] as string).length,
    }
  }
  const name = /: (.*)$/.exec(fault.message)?.[1] ?? ''
  const message = `there is no variable "${name}"`
  const end = fault.start + name.length
  const key = keyBefore(text, fault.start)
  if (key)
    return {
      message: 'a key with "-", "." or "/" stands in brackets and quotes',
      hint: `write ${key.map}["${key.name}"]`,
      ...key.range,
    }
  const dashed = /^[\w.]+(?:-[\w.]+)+/.exec(text.slice(fault.start))?.[0]
  if (dashed !== undefined && /[=!]=\s*$/.test(text.slice(0, fault.start)))
    return { message, hint: `a text stands in quotes: "${dashed}"`, end: fault.start + dashed.length }
  const field = fieldsOf(VARIABLES.event).find((it) => it === name)
  if (Object.hasOwn(ELSEWHERE, name)) return { message, hint: `write ${ELSEWHERE[name]}`, end }
  if (OF_OBJECT.includes(name)) return { message, hint: `write object.${name}`, end }
  if (OF_METADATA.includes(name)) return { message, hint: `write object.metadata.${name}`, end }
  if (field) return { message, hint: `write event.${field}`, end }
  if (/^[A-Z]/.test(name)) return { message, hint: `a text stands in quotes: "${name}"`, end }
  const near = nearest(name, Object.keys(VARIABLES))
  if (near) return { message, hint: `did you mean "${near}"?`, end }
  return {
    message,
    hint: `there are ${Object.keys(VARIABLES).join(', ')}; a text stands in quotes: "${name}"`,
    end,
  }
}

const MAX_KEY = 400

/** `labels.app.kubernetes.io/name`, `labels.my-app`: what stands behind the "/" or "-" was taken for a variable. */
function keyBefore(text: string, start: number) {
  const before = /([\w.?]*(?:[lL]abels|annotations|data|matchLabels))\.([A-Za-z_][\w./-]*[/-])$/.exec(
    text.slice(Math.max(0, start - MAX_KEY), start),
  )
  const after = /^[\w./-]*/.exec(text.slice(start))?.[0] ?? ''
  if (!before) return undefined
  const [whole, map, name] = before as unknown as [string, string, string]
  return { map, name: name + after, range: { start: start - whole.length, end: start + after.length } }
}

function unknownField(fault: CelFault, text: string): FaultWords {
  const name = /: (.*)$/.exec(fault.message)?.[1] ?? ''
  const before = text.slice(0, fault.start).replace(/\.\s*$/, '')
  const owner = /(?:[A-Za-z_]\w*\s*\.\s*)*[A-Za-z_]\w*$/.exec(before)?.[0]?.replaceAll(/\s/g, '') ?? 'event'
  const last = owner.split('.').at(-1)
  const type =
    last === 'regarding' ? 'kubeherald.Regarding' : last === 'owner' ? 'kubeherald.Owner' : VARIABLES.event
  const fields = fieldsOf(type)
  const near = nearest(name, fields)
  const isOfObject = type === VARIABLES.event && [...OF_OBJECT, ...OF_METADATA].includes(name)
  const path = OF_OBJECT.includes(name) ? `object.${name}` : `object.metadata.${name}`
  const hint = isOfObject ? `write ${path}` : near ? `did you mean "${near}"?` : `it has ${fields.join(', ')}`
  return { message: `${owner} has no field "${name}"`, hint }
}

/** What other languages call it. */
const SYNONYMS: Readonly<Record<string, string>> = {
  len: 'size(x)',
  length: 'x.size()',
  count: 'x.size()',
  includes: 'x.contains("…"), or "…" in list',
  has: 'has(object.field)',
  some: 'list.exists(it, …)',
  any: 'list.exists(it, …)',
  every: 'list.all(it, …)',
  forall: 'list.all(it, …)',
  toLowerCase: 'x.lowerAscii()',
  lower: 'x.lowerAscii()',
  toUpperCase: 'x.upperAscii()',
  upper: 'x.upperAscii()',
  test: 'x.matches("…")',
  match: 'x.matches("…")',
  regex: 'x.matches("…")',
  toString: 'string(x)',
  str: 'string(x)',
  parseInt: 'int(x)',
  Number: 'int(x), or double(x)',
  strip: 'x.trim()',
  exist: 'list.exists(it, …), or has(object.field)',
  date: 'timestamp("2026-01-01T00:00:00Z")',
}

function unknownFunction(fault: CelFault, text: string, functions: CelEngine['functions']): FaultWords {
  const [, receiver, name = '', args = ''] = /'(?:(.+)\.)?(\w+)\((.*)\)'/.exec(fault.message) ?? []
  const isMethod = receiver !== undefined
  const at = nameAt(fault, text, name)
  const same = functions.filter((it) => it.name === name && it.isMethod === isMethod)
  if (same.length > 0) {
    const forms = [...new Set(same.map(({ signature }) => signature))]
    const given = isMethod
      ? `${name}(${plainTypes(args)}) of ${typeName(receiver)}`
      : `${name}(${plainTypes(args)})`
    const hint = optionalArgumentHint(receiver, args, writtenAt(fault, text)) ?? quantityHint(args, same)
    if (hint !== undefined) return { message: `there is no ${given}`, hint, ...at }
    return {
      message: `there is no ${given}`,
      hint: `there is ${forms.slice(0, 4).map(form).join(', ')}`,
      ...at,
    }
  }
  const message = `there is no ${isMethod ? 'method' : 'function'} "${name}"`
  const other = functions.find((it) => it.name === name)
  if (other) return { message, hint: `write it as ${form(other.signature)}`, ...at }
  const known = [...new Set(functions.filter((it) => it.isMethod === isMethod).map((it) => it.name))]
  const near = nearest(name, known)
  const synonym = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined
  const all = nearest(name, new Set(functions.map((it) => it.name)))
  const hint = synonym
    ? `write ${synonym}`
    : near
      ? `did you mean "${near}"?`
      : all
        ? `there is ${form(functions.find((it) => it.name === all)?.signature ?? all)}`
        : undefined
  return { message, hint, ...at }
}

/** A text where a quantity is taken. */
function quantityHint(args: string, forms: readonly { signature: string }[]): string | undefined {
  const takes = forms.some(({ signature }) => /\([^)]*Quantity/.test(signature))
  return takes && args === 'string' ? 'quantity("1Gi") makes a quantity of a text' : undefined
}

function nameAt(
  { start, end }: CelFault,
  text: string,
  name: string,
): { start: number; end: number } | object {
  const at = text.slice(start, end).search(new RegExp(`\\b${name}\\s*\\(`))
  return at === -1 ? {} : { start: start + at, end: start + at + name.length }
}

function plainTypes(types: string): string {
  return types.replaceAll(/\b(kubernetes|net|kubeherald|google\.protobuf)\./g, '')
}

/** `string.contains(string): bool` → `string.contains(string)`. */
function form(signature: string): string {
  return signature
    .replace(/\): .*$/, ')')
    .replaceAll('ast', '…')
    .replaceAll(/\b(kubernetes|net|kubeherald)\./g, '')
}

function wrongTypes(fault: CelFault, text: string): FaultWords {
  const [, left = '', operator = '', right = ''] = /: (.*?) (\S+) (.*)$/.exec(fault.message) ?? []
  const written = text.slice(fault.start, fault.end)
  if (left === 'type' && /^type\b/.test(written))
    return {
      message: '"type" is the function type() here',
      hint: 'the change is event.type, Normal or Warning is event.eventType',
      end: fault.start + 4,
    }
  if (operator === '') {
    const type = /: [!-](.*)$/.exec(fault.message)?.[1] ?? ''
    return {
      message: `"${written[0]}" does not work on ${typeName(type)}`,
      hint:
        optionalConditionHint(type, written) ??
        (written.startsWith('!') ? 'compare it, such as x == "" or !has(x)' : undefined),
    }
  }
  const verb = COMPARING.has(operator) ? 'be compared' : 'be used'
  const message = `${typeName(left)} and ${typeName(right)} cannot ${verb} with "${operator}"`
  return { message, hint: conversionHint(left, right, written) }
}

const COMPARING = new Set(['==', '!=', '<', '<=', '>', '>='])

function conversionHint(left: string, right: string, written: string): string | undefined {
  const optional = optionalHint(left, right, written)
  if (optional) return optional
  const types = [left, right]
  for (const [type, name] of REFERENCES)
    if (types.includes(type)) return `write event.${name}.kind == "…" && event.${name}.name == "…"`
  if (left === 'string' && /^list</.test(right)) return 'write x in ["a", "b"] for one of several'
  const number = /["'](-?\d+)["']/.exec(written)?.[1]
  if (types.includes('int') && types.includes('string')) {
    if (number !== undefined) return `write ${number} without quotes`
    const plain = /[=<>+]\s*(\d+)\s*$/.exec(written)?.[1]
    return plain === undefined
      ? 'string(x) or int(x) makes one of the other'
      : `write "${plain}" in quotes, or int(x) before it`
  }
  if (left === 'string' && right === 'string')
    return 'write x in ["a", "b"] for one of several, x.contains("…") for a part of a text'
  if (types.includes('int') && types.includes('double')) return 'double(x) makes a double of an int'
  if (types.includes(TIMESTAMP) && types.includes('string'))
    return 'timestamp("2026-01-01T00:00:00Z") makes a time of a text'
  if (types.includes(DURATION))
    return 'duration("5m") is a span of time; a difference of two times is one, too'
  if (types.includes('kubernetes.Quantity'))
    return 'write a.isGreaterThan(b), a.isLessThan(b) or a.compareTo(b) == 0'
  return undefined
}

const REFERENCES = [
  ['kubeherald.Owner', 'owner'],
  ['kubeherald.Regarding', 'regarding'],
] as const
const TIMESTAMP = 'google.protobuf.Timestamp'
const DURATION = 'google.protobuf.Duration'

function typeName(type: string): string {
  if (type === TIMESTAMP) return 'a timestamp'
  if (type === DURATION) return 'a duration'
  const plain = type.replace(/^dyn<(.*)>$/, '$1').replace(/^(kubernetes|net|kubeherald)\./, '')
  return `${/^[aeiouAEIOU]/.test(plain) ? 'an' : 'a'} ${plain}`
}

function macroArgument(fault: CelFault, text: string): FaultWords {
  if (fault.message.startsWith('has()'))
    return {
      message: 'has() takes a field',
      hint: 'write has(object.spec.replicas); for a key: object.metadata.?labels[?"a/b"].hasValue()',
    }
  return {
    message: 'begins with no name for the items',
    hint: `write list.exists(it, it.name == "…"): ${writtenAt(fault, text)} is no name`,
  }
}

function limitWords(message: string): string {
  if (message.includes('maxDepth')) return 'is nested too deeply: at most 50 levels'
  if (message.includes('maxAstNodes')) return 'is too long: at most 2,000 operators, values and calls'
  if (message.includes('maxLength')) return 'is too long: at most 20,000 characters'
  if (message.includes('maxCall')) return 'has a call with more than 16 arguments'
  return 'has a list or map of more than 500 members'
}

function typeIn(fault: CelFault): string {
  return typeName(rawTypeIn(fault))
}

function rawTypeIn({ message }: CelFault): string {
  return /'(.*)'/.exec(message)?.[1] ?? 'none'
}

function writtenAt({ start, end }: CelFault, text: string): string {
  return text.slice(start, end)
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}
