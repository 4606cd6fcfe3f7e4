import type { Token as AnyToken, Tokenizer } from 'liquidjs'
import { nearest } from '../../nearest.ts'
import { checkNames, keyHint } from './check-names.ts'
import { type Checking, spanOf, type Token, textAt } from './checking.ts'
import type { TemplateProblem } from './fault.ts'
import { FILTERS } from './filters.ts'
import { filterHint, operatorHint } from './foreign.ts'

interface FilterToken extends Token {
  name: string
  args: readonly (Token | readonly [string, Token | undefined])[]
}

/** Checks `value operator value | filter: argument` up to the end of what the tokenizer reads; gives the filters' names. */
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

/** What follows a value and is neither operator nor filter. */
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
  if (FILTERS.includes(name)) return
  const near = nearest(name, FILTERS)
  const hint =
    filterHint(name) ??
    (near === undefined ? 'docs/configuration.md lists the filters' : `did you mean "${near}"?`)
  at.report({ message: `there is no filter "${name}"`, offset: begin, length: name.length, hint })
}

/** What cannot be read at all. */
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

/** What the engine's tokenizer says, with its place. */
export function syntaxProblem({ source, library }: Checking, error: unknown, end: number): TemplateProblem {
  if (!library.LiquidError.is(error)) throw error
  const { token, message } = error as unknown as { token: Token; message: string }
  const offset = Math.min(token.begin, end)
  const length = Math.max(1, end - offset)
  const plain = message.replace(/, line:\d+, col:\d+$/, '')
  const words: readonly (readonly [RegExp, string])[] = [
    [/^\[ not closed/, 'a "[" is not closed'],
    [/invalid range syntax|unbalanced/, 'brackets group nothing here but ranges, such as (1..3)'],
    [/value expected|invalid value expression/, 'a value is missing here'],
    [/unexpected character/, `"${source.slice(offset, end).trim()}" cannot stand here`],
  ]
  return { message: words.find(([pattern]) => pattern.test(plain))?.[1] ?? plain, offset, length }
}

function kindsOf({ library }: Checking): { OPERATOR: number } {
  return { OPERATOR: library.TokenKind.Operator }
}
