import { nearest } from '../../text/closest-match.ts'
import type { CelEngine, CelFault } from './engine.ts'
import { fieldsOf, VARIABLES } from './event-fields.ts'

/** A fault of an expression for users; the range is set where it is better than the library's. */
interface FaultText {
  message: string
  hint?: string | undefined
  start?: number
  end?: number
  code?: 'open-text'
}

/** Returns the message of a fault, with what to write instead where that is certain. */
export function faultText(fault: CelFault, text: string, functions: CelEngine['functions']): FaultText {
  const written = text.slice(fault.start, fault.end)
  const type = /'(.*)'/.exec(fault.message)?.[1] ?? 'none'
  switch (fault.code) {
    case 'unknown_variable':
      return unknownVariable(fault, text)
    case 'no_such_key':
      return unknownField(fault, text)
    case 'no_matching_overload':
      return unknownFunction(fault, text, functions)
    case 'no_such_overload':
      return wrongTypes(fault, written)
    case 'cannot_index_type':
      return { message: `${typeName(type)} has no field "${written}"`, hint: synonymHint(written) }
    case 'invalid_logical_operand':
      return {
        message: `"&&" and "||" take true or false, and one side is ${typeName(type)}`,
        hint:
          type === 'string'
            ? 'compare each side: x == "a" || x == "b", or x in ["a", "b"]'
            : conditionHint(type),
      }
    case 'invalid_condition_type':
      return {
        message: `must be true or false, and is ${typeName(type)}: ${written}`,
        hint: conditionHint(type),
      }
    case 'heterogeneous_list_element':
      return { message: lowerFirst(fault.message), hint: 'write texts in quotes, all of them, or none' }
    case 'invalid_macro_argument':
      return fault.message.startsWith('has()')
        ? { message: '"has()" takes a field', hint: 'write has(object.spec.replicas), without quotes' }
        : { message: 'begins with no name for the items', hint: 'write list.exists(it, it.name == "…")' }
    case 'limit_exceeded':
      return { message: limitMessage(fault.message), hint: 'split the rule, or test names with "when"' }
    default:
      return syntaxFault(fault, text)
  }
}

/** Number of characters before and after a fault that are searched: the work stays linear. */
const MAX_LOOK = 400

const EQUAL = 'write "==" to compare, "!=" for not'
/** Habits from other languages, as patterns of the text around the fault (`‸`), and what to write. */
const HABITS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/[=!]=‸=/, EQUAL],
  [/=‸~|‸=?~/, 'write x.matches("…")'],
  [/\?\s*‸\?/, 'write object.spec.?replicas.orValue(1)'],
  [/\?\s*‸\./, 'write x.?field.orValue("…"): "?" precedes the field'],
  [/\.\s*\?\s*‸\w+\.(?:exists|exists_one|all|map|filter)\b/, 'write .orValue([]) in front of .exists(…)'],
  [/(?<![\w.])\d+‸(?:ms|s|h|d)\b/, 'write a duration: duration("5m")'],
  [/(?<![\w.])\d+‸m\b/, 'write a duration: duration("5m"); of CPU: quantity("500m")'],
  [/(?<![\w.])\d+‸(?:[KMGTPE]i?|k)\b/, 'write quantity(x).isGreaterThan(quantity("1Gi"))'],
  [/(?<=[(,]\s*\(?\s*\w+\s*\)?\s*)‸=>/, 'write list.exists(it, it.name == "…")'],
  [/‸=>/, 'write ">=" for "at least"'],
  [/‸=<|=‸</, 'write "<=" for "at most"'],
  [/‸=/, EQUAL],
  [/‸&|‸and\b/i, 'write "&&"'],
  [/‸\||‸or\b/i, 'write "||"'],
  [/‸not\s+in\b/i, 'write !(x in list)'],
  [/\bnot\s*‸|‸not\b/i, 'write "!" in front'],
  [/‸is\b/i, 'write "=="'],
  [/‸(?:contains|matches|starts_?with|ends_?with)\b/i, 'write it as a method: x.contains("…")'],
  [/‸[“”‘’„`]/, 'write plain quotes: "…"'],
  [/‸\$/, 'variables have no "$": write object, event'],
  [/‸\//, 'write a regular expression as text: x.matches("…")'],
  [/‸[)\]]/, 'it closes nothing'],
  [/‸[%}]?\}/, 'write the expression without {{ }}'],
]

/** Faults of texts by the library's codes. */
const TEXT_FAULTS: readonly (readonly [code: RegExp, text: FaultText])[] = [
  [
    /^unterminated_/,
    { message: 'has a text without its closing quote', hint: 'close it', code: 'open-text' },
  ],
  [/^newline_/, { message: 'has a text with a line break', hint: 'close the quote, or join texts with "+"' }],
  [
    /escape|surrogate/,
    { message: 'has a text with an unknown escape', hint: 'write "\\\\" for a backslash' },
  ],
]

/** Returns what is wrong with how an expression is written. */
function syntaxFault({ code, message, start, end }: CelFault, text: string): FaultText {
  if (code === 'reserved_identifier') {
    const name = nameIn(message)
    const hint = name === 'namespace' ? 'write event.namespace' : undefined
    return { message: `"${name}" is a reserved word`, hint }
  }
  const ofText = TEXT_FAULTS.find(([pattern]) => pattern.test(code))?.[1]
  if (ofText) return { ...ofText, ...(ofText.code && { end: start + 1 }) }
  const last = text.trimEnd().length
  if (start >= last) return { ...tooShort(text), start: Math.max(last - 1, 0), end: last }
  const from = Math.max(0, start - MAX_LOOK)
  const around = `${text.slice(from, start)}‸${text.slice(start, start + MAX_LOOK)}`
  for (const [pattern, hint] of HABITS) {
    const found = pattern.exec(around)
    if (!found) continue
    const shown = found[0].replace('‸', '').trim()
    const first = from + found.index
    return { message: `"${shown}" is not allowed here`, hint, start: first, end: first + shown.length }
  }
  const word = /^(?:[\w.]+|["'][^"']{0,40}["']?|.)/su.exec(text.slice(start))?.[0] ?? ''
  const isOperand = /^[A-Za-z_"'\d]/.test(word)
  return {
    message: `${JSON.stringify(word).replaceAll('\\"', "'")} is not allowed here`,
    hint: isOperand ? 'is an operator missing before it, such as "&&" or "=="?' : undefined,
    end: Math.max(start + word.length, Math.min(end, start + word.length)),
  }
}

function tooShort(text: string): FaultText {
  const count = (char: string) => text.split(char).length
  const open = ['()', '[]', '{}'].find(([one = '', other = '']) => count(one) > count(other))
  if (!open) return { message: 'ends too early', hint: 'a value is missing at the end' }
  return { message: 'ends too early', hint: `a "${open[1]}" is missing` }
}

const OF_OBJECT = ['metadata', 'spec', 'status', 'data']
const OF_METADATA = ['labels', 'annotations', 'ownerReferences', 'finalizers']
/** Names of variables and constants in other places that use CEL or a similar language, and ours. */
const ALIASES: readonly (readonly [names: RegExp, ours: string])[] = [
  [/^(self|obj|resource)$/, 'object'],
  [/^(old|oldSelf|oldObj)$/, 'oldObject'],
  [/^evt$/, 'event'],
  [/^(about|involvedObject)$/, 'event.regarding'],
  [/^(True|False)$/, 'true or false'],
  [/^(undefined|nil|None|NULL|Null)$/, '!has(object.field)'],
  [/^namespaceObject$/, 'event.namespaceLabels'],
]
const DASHED_KEY = /[\w.?]*(?:[lL]abels|annotations|data)\.[A-Za-z_][\w./-]*[/-]$/

function unknownVariable({ message: said, start }: CelFault, text: string): FaultText {
  const name = nameIn(said)
  const end = start + name.length
  const before = text.slice(Math.max(0, start - MAX_LOOK), start)
  const [key] = DASHED_KEY.exec(before) ?? []
  if (key !== undefined)
    return {
      message: 'a key with "-", "." or "/" needs brackets and quotes',
      hint: 'write object.metadata.?labels[?"app.kubernetes.io/name"].orValue("")',
      start: start - key.length,
      end: start + (/^[\w./-]*/.exec(text.slice(start))?.[0].length ?? 0),
    }
  const [call = '', method = ''] = /(?<=\.)(\w+)\s*\(\s*$/.exec(before) ?? []
  const synonym = method === '' ? undefined : synonymHint(method)
  if (synonym !== undefined) {
    const from = start - call.length
    return {
      message: `there is no method "${method}"`,
      hint: synonym,
      start: from,
      end: from + method.length,
    }
  }
  return { message: `there is no variable "${name}"`, hint: variableHint(name, text.slice(end)), end }
}

function variableHint(name: string, after: string): string {
  const alias = ALIASES.find(([names]) => names.test(name))?.[1]
  if (alias !== undefined) return `write ${alias}`
  if (OF_OBJECT.includes(name)) return `write object.${name}`
  if (OF_METADATA.includes(name)) return `write object.metadata.${name}`
  if (fieldsOf(VARIABLES.event).includes(name)) return `write event.${name}`
  const near = nearest(name, Object.keys(VARIABLES))
  if (near) return `did you mean "${near}"?`
  const known = `the variables are ${Object.keys(VARIABLES).join(', ')}`
  return /^\s*[.[]/.test(after) ? known : `write a text in quotes: "${name}"; ${known}`
}

/** A field that `event`, an owner or the regarded object does not have. */
function unknownField({ message: said, start }: CelFault, text: string): FaultText {
  const name = nameIn(said)
  const before = text.slice(Math.max(0, start - MAX_LOOK), start)
  const owner = /(\w+)\s*\.\s*$/.exec(before)?.[1] ?? 'event'
  const isReference = owner === 'regarding' || owner === 'owner'
  const fields = fieldsOf(
    isReference ? `kubeherald.${owner === 'owner' ? 'Owner' : 'Regarding'}` : VARIABLES.event,
  )
  const message = `${owner} has no field "${name}"`
  if (owner === 'event' && OF_OBJECT.includes(name)) return { message, hint: `write object.${name}` }
  if (owner === 'event' && OF_METADATA.includes(name))
    return { message, hint: `write object.metadata.${name}` }
  const near = nearest(name, fields)
  return { message, hint: near ? `did you mean "${near}"?` : `it has ${fields.join(', ')}` }
}

/** Functions of other languages: names, and what to write. */
const SYNONYMS: readonly (readonly [names: RegExp, hint: string])[] = [
  [/^(len|length|count|size)$/i, 'write size(x)'],
  [/^includes$/, 'write x.contains("…"), or "…" in list'],
  [/^has$/, 'write has(object.field)'],
  [/^(some|any|find|exist)$/, 'write list.exists(it, …)'],
  [/^(every|forall)$/i, 'write list.all(it, …)'],
  [/^(to)?lower(case)?$/i, 'write x.lowerAscii()'],
  [/^(to)?upper(case)?$/i, 'write x.upperAscii()'],
  [/^(test|match|regex)$/, 'write x.matches("…")'],
  [/^(toString|str)$/, 'write string(x)'],
  [/^(parseInt|Number)$/, 'write int(x), or double(x)'],
  [/^strip$/, 'write x.trim()'],
]

function synonymHint(name: string): string | undefined {
  return SYNONYMS.find(([names]) => names.test(name))?.[1]
}

/** Longer messages quote more of the expression than is needed. */
const MAX_MESSAGE = 500

/** A function or method that does not exist, or not with such arguments. */
function unknownFunction(
  { message: said, start, end }: CelFault,
  text: string,
  functions: CelEngine['functions'],
): FaultText {
  const [, receiver, name = '', args = ''] =
    /'(?:(.+)\.)?(\w+)\((.*)\)'/.exec(said.slice(0, MAX_MESSAGE)) ?? []
  const isMethod = receiver !== undefined
  const at = text.slice(start, end).search(new RegExp(`\\b${name}\\s*\\(`))
  const range = at === -1 ? {} : { start: start + at, end: start + at + name.length }
  const same = functions.filter((it) => it.name === name)
  const forms = [...new Set(same.filter((it) => it.isMethod === isMethod).map((it) => it.signature))]
  if (forms.length > 0) {
    const message = `there is no ${name}(${plainTypes(args)})${isMethod ? ` of ${typeName(receiver)}` : ''}`
    const isMissing = [receiver ?? '', ...args.split(', ')].some(isOptional)
    const hint = isMissing ? OPTIONAL : `there is ${forms.slice(0, 4).map(form).join(', ')}`
    return { message, hint, ...range }
  }
  const message = `there is no ${isMethod ? 'method' : 'function'} "${name}"`
  const near = nearest(name, new Set(functions.map((it) => it.name)))
  const similar = same[0] ?? functions.find((it) => it.name === near)
  return {
    message,
    hint: synonymHint(name) ?? (similar && `did you mean ${form(similar.signature)}?`),
    ...range,
  }
}

const ANY = /^/
/** The types of two operands that an operator does not take, in any order, and what to write. */
const CONVERSIONS: readonly (readonly [one: RegExp, other: RegExp, hint: string])[] = [
  [/^optional/, ANY, 'write .orValue(…) behind the field that may be missing, or test it with .hasValue()'],
  [/^kubeherald\.Owner/, ANY, 'write event.owner.kind == "…" && event.owner.name == "…"'],
  [/^kubeherald\.Regarding/, ANY, 'write event.regarding.kind == "…" && event.regarding.name == "…"'],
  [/^type$/, ANY, 'the change is event.type; Normal or Warning is event.eventType'],
  [
    /^string/,
    /^list|^string/,
    'write x in ["a", "b"] for one of several, x.contains("…") for a part of a text',
  ],
  [/^int/, /^string/, 'write the number without quotes; string(x) and int(x) convert'],
  [/^int/, /^double/, 'double(x) converts an int to a double'],
  [/Timestamp/, /^string/, 'write timestamp("2026-01-01T00:00:00Z")'],
  [/Duration/, ANY, 'write duration("5m"); the difference of two timestamps is a duration'],
  [/Quantity/, ANY, 'write a.isGreaterThan(b), a.isLessThan(b) or a.compareTo(b) == 0, with quantity("1Gi")'],
]

/** An operator whose operands have the wrong types. */
function wrongTypes({ message: said, start }: CelFault, written: string): FaultText {
  const [, left = '', operator = '', right = ''] = /: (.*?) (\S+) (.*)$/.exec(said) ?? []
  if (operator === '') {
    const type = /: [!-](.*)$/.exec(said)?.[1] ?? ''
    return { message: `"${written[0]}" does not work on ${typeName(type)}`, hint: conditionHint(type) }
  }
  const verb = /^([<>]=?|[!=]=)$/.test(operator) ? 'be compared' : 'be used'
  const message = `${typeName(left)} and ${typeName(right)} cannot ${verb} with "${operator}"`
  const found = CONVERSIONS.find(
    ([a, b]) => (a.test(left) && b.test(right)) || (a.test(right) && b.test(left)),
  )
  const hint = found?.[2]
  const number = left === 'int' || right === 'int' ? /["']-?\d+["']/.exec(written) : null
  if (!number) return { message, hint }
  return { message, hint, start: start + number.index, end: start + number.index + number[0].length }
}

const OPTIONAL = 'write .orValue(…) after the field that may be missing: object.spec.?replicas.orValue(1)'

/** Returns what to write where true or false is needed. */
export function conditionHint(type: string): string {
  if (isOptional(type)) return OPTIONAL
  return `compare it, such as x ${/^(int|uint|double)$/.test(type) ? '> 3' : '== "…"'}`
}

/** Returns the type for users: `a timestamp`, `an int`. */
export function typeName(type: string): string {
  if (type === 'google.protobuf.Timestamp') return 'a timestamp'
  if (type === 'google.protobuf.Duration') return 'a duration'
  if (isOptional(type)) return 'a value that may be missing'
  const plain = plainTypes(type.replace(/^dyn<(.*)>$/, '$1'))
  return `${/^[aeiouAEIOU]/.test(plain) ? 'an' : 'a'} ${plain}`
}

function isOptional(type: string): boolean {
  return /^optional\b/.test(type)
}

function plainTypes(types: string): string {
  return types.replaceAll(/\b(kubernetes|net|kubeherald|google\.protobuf)\./g, '')
}

/** `string.contains(string): bool` → `string.contains(string)`. */
function form(signature: string): string {
  return plainTypes(signature.replace(/\): .*$/, ')').replaceAll('ast', '…'))
}

function limitMessage(said: string): string {
  if (said.includes('maxDepth')) return 'is nested too deeply: at most 50 levels'
  if (said.includes('maxAstNodes')) return 'is too long: at most 2,000 operators, values and calls'
  if (said.includes('maxLength')) return 'is too long: at most 20,000 characters'
  if (said.includes('maxCall')) return 'has a call with more than 16 arguments'
  return 'has a list or map of more than 500 members'
}

function nameIn(message: string): string {
  return /: (.*)$/.exec(message)?.[1] ?? ''
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}
