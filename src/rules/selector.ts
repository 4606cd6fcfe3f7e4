import { type Compiled, compiled, type Fault } from './fault.ts'
import { keyFault, labelValueFault } from './label-syntax.ts'
import { readTokens, type Token, type TokenReader, titleOf } from './selector-lexer.ts'

export type Values = Readonly<Record<string, string | undefined>>

const EXAMPLE = 'a selector looks like this: team in (shop, pay), tier!=test, !legacy'

type Operator = 'exists' | 'absent' | 'in' | 'notin' | '<' | '>'
export type Requirement = { key: string; operator: Operator; values: readonly string[] }

/**
 * Compiles a Kubernetes selector, such as `team in (shop, pay), tier!=test, !legacy`. Accepts and means what
 * apimachinery's `labels.Parse` does, but refuses the empty one. `anyValue` allows what a label cannot have, for annotations.
 */
export function compileSelector(
  text: string,
  { anyValue = false }: { anyValue?: boolean } = {},
): Compiled<(values: Values) => boolean> {
  const reader = readTokens(text)
  const requirements = parseSelector(reader, anyValue ? () => undefined : labelValueFault)
  if (reader.fault)
    return { ok: false, faults: [colonFault(text, reader.fault) ?? { ...reader.fault, hint: EXAMPLE }] }
  return compiled((values) => requirements.every((requirement) => holds(requirement, values)))
}

/** The predicate of a selector that was checked. Throws when it has faults. */
export function matcherOfSelector(text: string): (values: Values) => boolean {
  const result = compileSelector(text)
  if (!result.ok) throw new Error(`the selector ${text} was not checked: ${result.faults[0]?.message}`)
  return result.value
}

const WITH_COLON = /(?=[A-Za-z0-9])(?<=^\s*|,\s*)([A-Za-z0-9][\w./-]*):\s*([A-Za-z0-9][\w.-]*)/g

/** `team: shop`, as in a map of YAML. */
function colonFault(text: string, { offset }: Fault): Fault | undefined {
  const found = [...text.matchAll(WITH_COLON)].find(({ index }) => index === offset)
  if (!found) return undefined
  const meant = text.replaceAll(WITH_COLON, '$1=$2')
  const isWhole = !parsed(meant).fault
  const isPlain = /^[\w./=-]+$/.test(meant)
  const whole = isPlain ? { offset: 0, length: text.length } : {}
  return {
    path: [],
    message: `"${isWhole ? text : found[0]}" is no selector: that has "=" and not ":"`,
    hint: isWhole ? `write ${isPlain ? meant : JSON.stringify(meant)}` : EXAMPLE,
    ...(isWhole ? whole : { offset: found.index, length: found[0].length }),
  }
}

function parsed(text: string): TokenReader {
  const reader = readTokens(text)
  parseSelector(reader, labelValueFault)
  return reader
}

/** What a selector that was checked asks, its values in one order. */
export function requirementsOf(text: string): readonly Requirement[] {
  const requirements = parseSelector(readTokens(text), () => undefined)
  return requirements.map((it) => ({ ...it, values: [...it.values].sort() }))
}

type ValueCheck = (value: string) => string | undefined

function parseSelector(reader: TokenReader, check: ValueCheck): Requirement[] {
  const requirements = [parseRequirement(reader, check)]
  while (reader.accept(',')) requirements.push(parseRequirement(reader, check))
  const rest = reader.peek()
  if (rest.kind !== 'end')
    reader.fail(`${titleOf(rest)} is not expected here: a "," comes before the next condition`, rest)
  return requirements
}

function parseRequirement(reader: TokenReader, check: ValueCheck): Requirement {
  const negated = reader.accept('!')
  const key = parseKey(reader)
  if (negated) return { key, operator: 'absent', values: [] }
  const { kind } = reader.peek()
  if (kind === 'end' || kind === ',') return { key, operator: 'exists', values: [] }
  return parseComparison(reader, key, check)
}

function parseKey(reader: TokenReader): string {
  const token = reader.take()
  if (token.kind !== 'word') {
    reader.fail(`expected a key, found ${titleOf(token)}`, token)
    return ''
  }
  if (token.text.endsWith(':')) {
    reader.fail(`"${token.text}" is no key: a selector has "=" and not ":"`, token)
    return token.text
  }
  const fault = keyFault(token.text)
  if (fault) reader.fail(`"${token.text}": ${fault}`, token)
  return token.text
}

function parseComparison(reader: TokenReader, key: string, check: ValueCheck): Requirement {
  const token = reader.take()
  switch (token.text) {
    case '=':
    case '==':
      return { key, operator: 'in', values: [parseValue(reader, check)] }
    case '!=':
      return { key, operator: 'notin', values: [parseValue(reader, check)] }
    case 'in':
    case 'notin':
      return { key, operator: token.text, values: parseSet(reader, check) }
    case '<':
    case '>':
      return { key, operator: token.text, values: [parseWhole(reader)] }
  }
  reader.fail(`expected =, !=, in or notin, found ${titleOf(token)}`, token)
  return { key, operator: 'exists', values: [] }
}

/** The value after `=`; nothing stands for the empty one. */
function parseValue(reader: TokenReader, check: ValueCheck): string {
  const { kind } = reader.peek()
  if (kind === 'end' || kind === ',') return ''
  return takeValue(reader, check)
}

function takeValue(reader: TokenReader, check: ValueCheck): string {
  const token = reader.take()
  const fault = token.kind === 'word' ? check(token.text) : `expected a value, found ${titleOf(token)}`
  if (fault) reader.fail(token.kind === 'word' ? `"${token.text}": ${fault}` : fault, token)
  return token.text
}

function parseSet(reader: TokenReader, check: ValueCheck): string[] {
  const open = reader.take()
  if (open.kind !== '(') reader.fail(`expected "(" and values, found ${titleOf(open)}`, open)
  const close = reader.peek()
  if (close.kind === ')') reader.fail('there is no value between "(" and ")"', close)
  const values = [parseElement(reader, check)]
  while (reader.accept(',')) values.push(parseElement(reader, check))
  const end = reader.take()
  if (end.kind !== ')') reader.fail(endOfSetMessage(end), end)
  return values
}

/** An element of a set; nothing between commas stands for the empty value. */
function parseElement(reader: TokenReader, check: ValueCheck): string {
  const { kind } = reader.peek()
  return kind === ',' || kind === ')' ? '' : takeValue(reader, check)
}

function endOfSetMessage(token: Token): string {
  return token.kind === 'end' ? 'the ")" is missing' : `expected "," or ")", found ${titleOf(token)}`
}

function parseWhole(reader: TokenReader): string {
  const token = reader.take()
  if (toInt64(token.text) === undefined)
    reader.fail(`expected a whole number, found ${titleOf(token)}`, token)
  return token.text
}

function holds({ key, operator, values }: Requirement, map: Values): boolean {
  const value = Object.hasOwn(map, key) ? map[key] : undefined
  switch (operator) {
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
    case 'in':
      return value !== undefined && values.includes(value)
    case 'notin':
      return value === undefined || !values.includes(value)
    default:
      return compare(value, operator, values[0])
  }
}

function compare(value: string | undefined, operator: '<' | '>', bound: string | undefined): boolean {
  const left = toInt64(value)
  const right = toInt64(bound)
  if (left === undefined || right === undefined) return false
  return operator === '<' ? left < right : left > right
}

/** As Go's ParseInt(text, 10, 64). */
function toInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?[0-9]{1,40}$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}
