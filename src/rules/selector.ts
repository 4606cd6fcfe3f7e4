import * as z from 'zod'
import { hasAtMost, LONGEST_SELECTOR, MOST_KEYS, tooMany } from '../text/bounds.ts'
import { type Compiled, compiled, type Fault, under } from './fault.ts'
import { compilePatterns, exactTexts, listOf, Patterns, type Test } from './pattern.ts'

/** A Kubernetes selector, or keys with patterns for their values. */
export const KeyValues = z.union([
  z.string().max(LONGEST_SELECTOR, `is longer than ${LONGEST_SELECTOR.toLocaleString('en')} characters`),
  z.record(z.string(), Patterns).refine(hasAtMost(MOST_KEYS), tooMany(MOST_KEYS, 'keys')),
])
export type KeyValues = z.infer<typeof KeyValues>

export type Values = Readonly<Record<string, string | undefined>>

const EXAMPLE = 'a selector looks like this: team in (shop, pay), tier!=test, !legacy'

type Operator = 'exists' | 'absent' | 'in' | 'notin' | '<' | '>'
type Requirement = { key: string; operator: Operator; values: readonly string[] }

/**
 * Compiles a Kubernetes selector, such as `team in (shop, pay), tier!=test, !legacy`, with the syntax and meaning of apimachinery's
 * `labels.Parse`; the empty selector is a fault. `anyValue` allows values that only annotations can have.
 */
export function compileSelector(
  text: string,
  { anyValue = false }: { anyValue?: boolean } = {},
): Compiled<(values: Values) => boolean> {
  const reader = new TokenReader(text)
  const requirements = parseSelector(reader, anyValue ? () => undefined : labelValueFault)
  if (reader.fault) return { ok: false, faults: [colonFault(text) ?? { ...reader.fault, hint: EXAMPLE }] }
  return compiled((values) => requirements.every((requirement) => holds(requirement, values)))
}

/** Returns the predicate of a checked selector. Throws if it has faults. */
export function matcherOfSelector(text: string): (values: Values) => boolean {
  const result = compileSelector(text)
  if (!result.ok) throw new Error(`the selector ${text} was not checked: ${result.faults[0]?.message}`)
  return result.value
}

/** Finds `team: shop`, the syntax of a YAML map. */
function colonFault(text: string): Fault | undefined {
  const mended = text.replaceAll(/:\s*/g, '=')
  if (mended === text || parsed(mended).fault) return undefined
  const isPlain = /^[\w./=-]+$/.test(mended)
  return {
    path: [],
    message: `"${text}" is not a selector: that has "=" and not ":"`,
    hint: `write ${isPlain ? mended : JSON.stringify(mended)}`,
    ...(isPlain && { offset: 0, length: text.length }),
  }
}

function parsed(text: string): TokenReader {
  const reader = new TokenReader(text)
  parseSelector(reader, labelValueFault)
  return reader
}

/** Returns the requirements of a checked selector, with sorted values. */
export function requirementsOf(text: string): readonly Requirement[] {
  const requirements = parseSelector(new TokenReader(text), () => undefined)
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
    reader.fail(`"${token.text}" is not a key: a selector has "=" and not ":"`, token)
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

/** Parses the value after `=`, which can be empty. */
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

/** Parses an element of a set, which can be empty. */
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

/** Like Go's ParseInt(text, 10, 64). */
function toInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?[0-9]{1,40}$/.test(text)) return undefined
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : undefined
}

/** A token of a selector and its offset in the text; `in` and `notin` are names, too. */
interface Token {
  kind: 'word' | '(' | ')' | ',' | '!' | '=' | '==' | '!=' | '<' | '>' | 'end'
  text: string
  offset: number
}

const SIGN = /==|!=|[()!,=<>]/y
const SPACE = /[ \t\r\n]*/y
const WORD = /[^ \t\r\n()!,=<>]+/y

/** Reads tokens. After the first failure there are no more tokens. */
class TokenReader {
  readonly #tokens: readonly Token[]
  #at = 0
  fault: Fault | undefined

  constructor(text: string) {
    this.#tokens = tokensOf(text)
  }

  peek(): Token {
    const end = this.#tokens.at(-1) as Token
    return this.fault ? end : (this.#tokens[this.#at] ?? end)
  }

  take(): Token {
    const token = this.peek()
    this.#at++
    return token
  }

  /** Takes the next token if it is of this kind. */
  accept(kind: Token['kind']): boolean {
    if (this.peek().kind !== kind) return false
    this.#at++
    return true
  }

  fail(message: string, { kind, text, offset }: Token): void {
    this.fault ??= { path: [], message, offset, length: kind === 'end' ? 1 : text.length }
  }
}

/** Returns the token for a message. */
function titleOf({ kind, text }: Token): string {
  return kind === 'end' ? 'the end' : `"${text}"`
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let offset = skipSpace(text, 0)
  while (offset < text.length) {
    const sign = readAt(SIGN, text, offset)
    const found = sign ?? readAt(WORD, text, offset) ?? ''
    tokens.push({ kind: sign === undefined ? 'word' : (sign as Token['kind']), text: found, offset })
    offset = skipSpace(text, offset + found.length)
  }
  tokens.push({ kind: 'end', text: '', offset: text.length })
  return tokens
}

function readAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(text)?.[0]
}

function skipSpace(text: string, offset: number): number {
  return offset + (readAt(SPACE, text, offset) ?? '').length
}

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/**
 * Returns the fault of a label's or annotation's key, or undefined. A key is a name of up to 63 characters, optionally after a DNS
 * name and "/" (apimachinery `IsQualifiedName`).
 */
function keyFault(key: string): string | undefined {
  const parts = key.split('/')
  const name = parts.at(-1) ?? ''
  const prefix = parts.length > 1 ? parts[0] : undefined
  if (parts.length > 2) return 'a key has one "/" at most'
  if (name === '') return 'a key needs a name'
  if (name.length > 63) return "a key's name has 63 characters at most"
  if (!NAME.test(name))
    return 'a key is letters, digits, "-", "_" and ".", and begins and ends with a letter or digit'
  if (prefix === undefined) return undefined
  const isPrefix = prefix.length <= 253 && PREFIX.test(prefix)
  return isPrefix ? undefined : 'the part before "/" in a key is a DNS name, such as example.com'
}

/** Returns the fault of a label's value, or undefined: up to 63 letters, digits, "-", "_" and ".", or empty. */
function labelValueFault(value: string): string | undefined {
  if (value === '') return undefined
  if (value.length > 63) return "a label's value has 63 characters at most"
  if (NAME.test(value)) return undefined
  return 'a label\'s value is letters, digits, "-", "_" and ".", and begins and ends with a letter or digit'
}

/**
 * Compiles `labels` or `annotations`: a selector, or a map whose keys must all pass. An absent key passes only `!` patterns, as with
 * `notin`.
 */
export function compileKeyValues(
  wanted: KeyValues,
  options: { anyValue?: boolean } = {},
): Compiled<(values: Values) => boolean> {
  if (typeof wanted === 'string') return compileSelector(wanted, options)
  const faults: Fault[] = []
  const tests: { key: string; test: Test }[] = []
  for (const [key, patterns] of Object.entries(wanted)) {
    const fault = keyFault(key)
    if (fault) faults.push({ path: [key], message: `"${key}": ${fault}`, atKey: true })
    const test = compilePatterns(patterns)
    if (test.ok) tests.push({ key, test: test.value })
    else faults.push(...under([key], test.faults))
  }
  if (faults.length > 0) return { ok: false, faults }
  return compiled((values) =>
    tests.every(({ key, test }) => test(Object.hasOwn(values, key) ? values[key] : undefined)),
  )
}

/** Returns the keys that must exist for a checked selector or map of patterns to match. */
export function askedKeys(asked: KeyValues | undefined): string[] {
  if (asked === undefined) return []
  if (typeof asked === 'string')
    return requirementsOf(asked)
      .filter(({ operator }) => operator !== 'absent' && operator !== 'notin')
      .map(({ key }) => key)
  return Object.entries(asked).flatMap(([key, patterns]) =>
    listOf(patterns).some((it) => !it.startsWith('!')) ? [key] : [],
  )
}

/** Returns the key with the fewest exact values, if there is one. */
export function exactKey(wanted: KeyValues): { key: string; values: readonly string[] } | undefined {
  const keys =
    typeof wanted === 'string'
      ? requirementsOf(wanted).flatMap(({ key, operator, values }) =>
          operator === 'in' ? { key, values: [...new Set(values)] } : [],
        )
      : Object.entries(wanted).flatMap(([key, patterns]) => {
          const values = exactTexts(patterns)
          return values ? { key, values } : []
        })
  return keys.reduce<(typeof keys)[number] | undefined>(
    (best, it) => (best && best.values.length <= it.values.length ? best : it),
    undefined,
  )
}

/** Returns the keys of a selector or map. */
export function keysOf(wanted: KeyValues): readonly string[] {
  if (typeof wanted !== 'string') return Object.keys(wanted)
  return [...new Set(requirementsOf(wanted).map(({ key }) => key))]
}
