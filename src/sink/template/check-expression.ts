import type { Token as AnyToken, Tokenizer } from 'liquidjs'
import { nearest } from '../../text/closest-match.ts'
import { isTimeZone } from '../../text/timezone.ts'
import { dottedHint, fieldHint, filterHint, operatorHint, variableHint } from './aliases.ts'
import type { TemplateProblem } from './fault.ts'
import { FILTERS, type LiquidLibrary } from './filters.ts'
import { NAMES, relatedDepth } from './view.ts'

interface FilterToken extends Token {
  name: string
  args: readonly (Token | readonly [string, Token | undefined])[]
}

/**
 * Checks `value operator value | filter: argument` to the end of the tokenizer's input. Returns the filters' names.
 */
export function checkExpression(at: Checking, tokenizer: Tokenizer): string[] {
  const filters: string[] = []
  try {
    const { length } = checkOperands(at, tokenizer)
    if (length === 0) {
      at.report(nothingHere(at, tokenizer))
      return filters
    }
    for (let filter = nextFilter(at, tokenizer); filter; filter = nextFilter(at, tokenizer)) {
      filters.push(filter.name)
      checkFilter(at, filter)
    }
  } catch (error) {
    at.report(syntaxProblem(at, error, tokenizer.N))
  }
  return filters
}

function checkOperands(at: Checking, tokenizer: Tokenizer): readonly Token[] {
  const { OPERATOR } = kindsOf(at)
  const tokens: Token[] = []
  let last: Token | undefined
  for (const token of tokenizer.readExpressionTokens() as Iterable<AnyToken & Token>) {
    const isOperator = token.kind === OPERATOR
    const wantsOperand = last === undefined || last.kind === OPERATOR
    if (!isOperator) checkNames(at, token)
    if (isOperator && wantsOperand && token.operator !== 'not')
      at.report({ ...spanOf(token), message: `a value is missing in front of "${textAt(at, token)}"` })
    else if (!isOperator && !wantsOperand) {
      const message = `there is nothing between "${textAt(at, last as Token)}" and "${textAt(at, token)}"`
      const hint = 'texts stand outside of {{ }}; filters follow "|"'
      at.report({ ...spanOf(token), message, hint })
    }
    tokens.push(token)
    last = token
  }
  if (last?.kind === OPERATOR)
    at.report({ ...spanOf(last), message: `a value is missing behind "${textAt(at, last)}"` })
  if (last) checkRest(at, tokenizer, last)
  return tokens
}

/** Checks text after a value that is neither operator nor filter. */
function checkRest(at: Checking, tokenizer: Tokenizer, last: Token): void {
  tokenizer.skipBlank()
  if (tokenizer.end() || tokenizer.peek() === '|') {
    if (tokenizer.peek() !== '|' || tokenizer.peek(1) !== '|') return
  }
  const rest = tokenizer.remaining()
  const offset = tokenizer.p
  tokenizer.p = tokenizer.N
  const [key] = /^\/[\w./-]*/.exec(rest) ?? ['']
  const labels = key === '' ? undefined : keyHint(at, last, offset + key.length)
  if (labels !== undefined)
    return at.report({
      message: 'a key with "." or "/" needs brackets and quotes',
      offset: last.begin,
      length: offset + key.length - last.begin,
      hint: labels,
    })
  const hint = operatorHint(rest)
  const [word = rest] = /^\S+/.exec(rest) ?? []
  at.report({
    message: `"${word}" cannot stand here`,
    offset,
    length: word.length,
    ...(hint !== undefined && { hint }),
  })
}

function nextFilter(at: Checking, tokenizer: Tokenizer): FilterToken | undefined {
  tokenizer.skipBlank()
  if (tokenizer.end()) return undefined
  if (tokenizer.peek() !== '|') {
    at.report(unexpected(tokenizer))
    return undefined
  }
  const begin = tokenizer.p
  const [, name] = /^\|\s*([\w-]+)[ \t]+(?=["'\w.])/.exec(tokenizer.remaining()) ?? []
  if (name !== undefined) {
    const [text] = /^\|[^|]*/.exec(tokenizer.remaining()) as RegExpExecArray
    const argument = text.slice(text.indexOf(name) + name.length).trim()
    tokenizer.p += text.length
    const hint = `what a filter takes follows a colon: | ${name}: ${argument}`
    at.report({ message: `"${name}" lacks its colon`, offset: begin, length: text.trimEnd().length, hint })
    return nextFilter(at, tokenizer)
  }
  const filter = tokenizer.readFilter() as unknown as FilterToken | null
  if (filter) return filter
  at.report({ message: 'a filter is missing behind "|"', offset: begin, length: 1 })
  return undefined
}

function checkFilter(at: Checking, filter: FilterToken): void {
  const { name, begin, args } = filter
  for (const arg of args) {
    const value = Array.isArray(arg) ? (arg as readonly [string, Token | undefined])[1] : (arg as Token)
    if (value) checkNames(at, value)
  }
  if (FILTERS.includes(name)) return checkArguments(at, filter)
  const near = nearest(name, FILTERS)
  const hint =
    filterHint(name) ??
    (near === undefined ? 'docs/configuration.md lists the filters' : `did you mean "${near}"?`)
  at.report({ message: `there is no filter "${name}"`, offset: begin, length: name.length, hint })
}

/** Reports arguments with which a filter fails for every message. */
function checkArguments(at: Checking, { name, begin, args }: FilterToken): void {
  if (/^(?:append|prepend)$/.test(name) && args.length === 0)
    return at.report({
      message: `"${name}" lacks its text`,
      offset: begin,
      length: name.length,
      hint: `write | ${name}: "…"`,
    })
  const zone = name === 'date' && !Array.isArray(args[1]) ? (args[1] as Token | undefined) : undefined
  const [, , text] = (zone && /^(["'])(.*)\1$/s.exec(textAt(at, zone))) ?? []
  if (!zone || text === undefined || isTimeZone(text)) return
  const hint = 'such as "Europe/Berlin" or "+01:00"'
  at.report({ ...spanOf(zone), message: `"${text}" is not a time zone`, hint })
}

/** Reports unreadable text. */
function nothingHere(at: Checking, tokenizer: Tokenizer): TemplateProblem {
  const rest = at.source.slice(tokenizer.p, tokenizer.N)
  if (rest.trim() === '') return { message: 'a value is missing here', offset: tokenizer.p, length: 1 }
  return unexpected(tokenizer)
}

function unexpected(tokenizer: Tokenizer): TemplateProblem {
  const rest = tokenizer.remaining()
  const [word = rest] = /^\S+/.exec(rest) ?? []
  const hint = operatorHint(rest)
  return {
    message: `"${word}" cannot stand here`,
    offset: tokenizer.p,
    length: word.length,
    ...(hint !== undefined && { hint }),
  }
}

/** Returns the tokenizer's error with its position. */
export function syntaxProblem({ source, library }: Checking, error: unknown, end: number): TemplateProblem {
  if (!library.LiquidError.is(error)) throw error
  const { token, message } = error as unknown as { token: Token; message: string }
  const offset = Math.min(token.begin, end)
  const length = Math.max(1, end - offset)
  const plain = message.replace(/, line:\d+, col:\d+$/, '')
  const messages: readonly (readonly [RegExp, string])[] = [
    [/^\[ not closed/, 'a "[" is not closed'],
    [/invalid range syntax|unbalanced/, 'brackets group nothing here but ranges, such as (1..3)'],
    [/value expected|invalid value expression/, 'a value is missing here'],
    [/unexpected character/, `"${source.slice(offset, end).trim()}" cannot stand here`],
  ]
  return { message: messages.find(([pattern]) => pattern.test(plain))?.[1] ?? plain, offset, length }
}

function kindsOf({ library }: Checking): { OPERATOR: number } {
  return { OPERATOR: library.TokenKind.Operator }
}

/** Checks the names in a value. */
export function checkNames(at: Checking, token: Token): void {
  if (token.lhs) checkNames(at, token.lhs)
  if (token.rhs) checkNames(at, token.rhs)
  if (!token.props) return
  for (const prop of token.props) if (prop.props) checkNames(at, prop)
  if (token.variable) return checkNames(at, token.variable)
  const [root, ...steps] = token.props
  if (typeof root?.content !== 'string') return
  const name = root.content
  if (at.source[token.begin] === '.') {
    const hint = dottedHint(textAt(at, token))
    return at.report({ ...spanOf(token), message: 'a name cannot begin with a dot', hint })
  }
  if (at.locals.has(name)) return
  if (!Object.hasOwn(NAMES, name)) return at.report(unknownName(at, root, name))
  const labels = keyHint(at, token, token.end)
  if (labels !== undefined)
    return at.report({
      ...spanOf(token),
      message: 'a key with "." or "/" needs brackets and quotes',
      hint: labels,
    })
  const path = [name, ...steps.map(({ content, props }) => (props ? '' : String(content)))]
  const depth = relatedDepth(path)
  if (depth > 0 && !isKeyWritten(textAt(at, token)))
    return at.report({
      ...spanOf(token),
      message: `${path.slice(0, depth).join('.')} needs a key, because notifications carry only what templates name`,
      hint: `such as ${path.slice(0, depth).join('.')}["team"]`,
    })
  checkInner(at, name, steps)
}

/** Whether the key is written in the one form that is accepted: keys are read from the text of the configuration, before templates are compiled. */
function isKeyWritten(text: string): boolean {
  return /^(event\.)?(namespace(Labels|Annotations)|regarding\.(labels|annotations))(\.[A-Za-z_][\w-]*|\[\s*("[^"'}]+"|'[^"'}]+')\s*\])$/.test(
    text,
  )
}

const EVERYWHERE = ['size', 'first', 'last']

/** Checks properties of a name where they are known. */
function checkInner(at: Checking, name: string, steps: readonly Token[]): void {
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined
  const [step] = steps
  if (!known || typeof step?.content !== 'string') return
  const inner = step.content
  if (known.includes(inner) || EVERYWHERE.includes(inner)) return
  const near = nearest(inner, known)
  const hint = near === undefined ? fieldHint(name, inner) : `did you mean "${near}"?`
  const choice = known.length > 0 ? `it has ${known.join(', ')}` : `${name} is a single value`
  at.report({ ...spanOf(step), message: `"${name}" has no "${inner}"`, hint: hint ?? choice })
}

function unknownName({ locals }: Checking, root: Token, name: string): TemplateProblem {
  const message = `there is no "${name}"`
  const near = name.length < 3 ? undefined : nearest(name, [...Object.keys(NAMES), ...locals])
  const hint = near === undefined ? `there are ${Object.keys(NAMES).join(', ')}` : `did you mean "${near}"?`
  return { ...spanOf(root), message, hint: variableHint(name) ?? hint }
}

const FLAT = [
  'labels',
  'annotations',
  'namespaceLabels',
  'namespaceAnnotations',
  'matchLabels',
  'nodeSelector',
]

/** Labels and annotations are flat maps: a dotted or slashed path below them is one key. */
function keyHint({ source }: Checking, token: Token, end: number): string | undefined {
  const props = token.props ?? []
  const at = props.findIndex(
    ({ content }, i) =>
      FLAT.includes(String(content)) && (i === 0 || i === props.length - 1 || isParent(props[i - 1])),
  )
  const [first, ...deeper] = at === -1 ? [] : props.slice(at + 1)
  if (!first || typeof first.content !== 'string' || source[first.begin - 1] !== '.') return undefined
  const isLonger = end > token.end
  if (!isLonger && (deeper.length === 0 || EVERYWHERE.includes(String(deeper.at(-1)?.content))))
    return undefined
  return `write ${source.slice(token.begin, first.begin - 1)}["${source.slice(first.begin, end)}"]`
}

function isParent(token: Token | undefined): boolean {
  return ['metadata', 'selector', 'spec'].includes(String(token?.content))
}

/** The input of the checks, and the receiver of problems. */
export interface Checking {
  library: LiquidLibrary
  source: string
  /** Names that the template defines. */
  locals: ReadonlySet<string>
  report(problem: TemplateProblem): void
}

/** A token of the engine, with the properties that the checks read. */
interface Token {
  kind: number
  begin: number
  end: number
  content?: unknown
  operator?: string
  variable?: Token | undefined
  props?: readonly Token[]
  lhs?: Token
  rhs?: Token
}

export function spanOf({ begin, end }: { begin: number; end: number }): { offset: number; length: number } {
  return { offset: begin, length: Math.max(1, end - begin) }
}

function textAt({ source }: Checking, { begin, end }: Token): string {
  return source.slice(begin, end)
}
