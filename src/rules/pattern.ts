import { RE2JS } from 're2js'
import * as z from 'zod'
import { MOST_PATTERNS, tooMany } from '../text/bounds.ts'
import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'

const LONGEST = 1_000

/** Exact text, a glob, `/RE2/`, each with `!` for not; or a list of them. */
export const Patterns = z.union([
  z.string(),
  z
    .array(z.string())
    .min(1, 'is an empty list, which matches nothing')
    .max(MOST_PATTERNS, tooMany(MOST_PATTERNS, 'patterns')),
])
export type Patterns = z.infer<typeof Patterns>

export function listOf(patterns: Patterns): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}

/** One pattern, without its `!`. */
export interface Pattern {
  negated: boolean
  form: 'literal' | 'glob' | 'regex'
  /** The text of a literal, or the glob or regular expression. */
  text: string
  /** Whether the value matches, without `negated`. */
  test(value: string): boolean
}

/** Tests a value; an absent value (undefined) passes only `!` patterns. */
export type Test = (value: string | undefined) => boolean

/** Parses `text`, `gl*b` or `/RE2/`, negated by a leading `!`; `\` escapes a special character. */
export function parsePattern(text: string): Compiled<Pattern> {
  const negated = text.startsWith('!')
  const start = negated ? 1 : 0
  const body = text.slice(start)
  if (negated && body === '') return faulty('nothing follows the "!"', { hint: 'write "!*" for "has none"' })
  if (text.length > LONGEST)
    return faulty(`is longer than ${LONGEST} characters`, { hint: 'write a list of shorter ones' })
  if (isRegex(body)) return parseRegex(body, negated)
  if (/^\/.+\/[gimsuy]{1,3}$/.test(body)) {
    return faulty('a regular expression must end with "/"', {
      hint: 'write flags inside: /(?i)text/',
      offset: start,
    })
  }
  if (hasWildcard(body)) return compiled({ negated, form: 'glob', text: body, test: compileGlob(body) })
  const literal = unescapeGlob(body)
  return compiled({ negated, form: 'literal', text: literal, test: (value) => value === literal })
}

/** A value passes if no `!` pattern matches and, if there are others, one of them matches. */
export function compilePatterns(patterns: Patterns): Compiled<Test> {
  const parsed = parsePatterns(patterns)
  return parsed.ok ? compiled(testOf(parsed.value)) : parsed
}

/** Returns the test of checked patterns. Throws if one is faulty. */
export function compilePattern(patterns: string | readonly string[]): (value: string) => boolean {
  const result = compilePatterns(typeof patterns === 'string' ? patterns : [...patterns])
  if (result.ok) return result.value
  throw new Error(`a pattern was not checked: ${result.faults[0]?.message}`)
}

/** Parses a pattern or a list of them, or returns all faults. */
export function parsePatterns(patterns: Patterns): Compiled<readonly Pattern[]> {
  const faults: Fault[] = []
  const parsed: Pattern[] = []
  for (const [index, text] of listOf(patterns).entries()) {
    const result = parsePattern(text)
    if (result.ok) parsed.push(result.value)
    else if (typeof patterns === 'string') faults.push(...result.faults)
    else faults.push(...under([index], result.faults))
  }
  if (faults.length > 0) return { ok: false, faults }
  return contradiction(parsed) ?? compiled(parsed)
}

/** Returns the only values that can match, if all patterns are exact. They can include values that `!` patterns exclude. */
export function exactTexts(patterns: Patterns): readonly string[] | undefined {
  const parsed = parsePatterns(patterns)
  if (!parsed.ok) return undefined
  const positive = parsed.value.filter(({ negated }) => !negated)
  const isExact = positive.length > 0 && positive.every(({ form }) => form === 'literal')
  return isExact ? [...new Set(positive.map(({ text }) => text))] : undefined
}

/** Returns the test of parsed patterns. */
export function testOf(patterns: readonly Pattern[]): Test {
  const literals = new Set(patterns.filter(isPositiveLiteral).map(({ text }) => text))
  const positive = patterns.filter((it) => !it.negated && it.form !== 'literal')
  const negative = patterns.filter((it) => it.negated)
  const open = literals.size === 0 && positive.length === 0
  return (value) => {
    if (value === undefined) return open
    if (negative.some((it) => it.test(value))) return false
    return open || literals.has(value) || positive.some((it) => it.test(value))
  }
}

/** `[shop, "!shop"]` matches nothing. */
function contradiction(patterns: readonly Pattern[]): ReturnType<typeof faulty> | undefined {
  const positive = patterns.filter((it) => !it.negated)
  const negative = patterns.filter((it) => it.negated)
  const excluded = (it: Pattern) => it.form === 'literal' && negative.some((not) => not.test(it.text))
  if (positive.length === 0 || !positive.every(excluded)) return undefined
  return faulty('matches nothing: what it names it also excludes with "!"')
}

function isPositiveLiteral({ negated, form }: Pattern): boolean {
  return !negated && form === 'literal'
}

function isRegex(body: string): boolean {
  return body.length >= 2 && body.startsWith('/') && body.endsWith('/')
}

function parseRegex(body: string, negated: boolean): Compiled<Pattern> {
  const start = negated ? 2 : 1
  const source = body.slice(1, -1)
  if (source === '') return faulty('is an empty expression, which matches everything', { offset: start - 1 })
  const result = compileRegex(source)
  if (result.ok) return compiled({ negated, form: 'regex', text: source, test: result.value })
  return {
    ok: false,
    faults: result.faults.map(({ offset = 0, ...it }) => ({ ...it, offset: start + offset })),
  }
}

type Token = { char: string } | '?' | '*'

/** Maximum product of the lengths of glob and value: about 20 ms at worst. */
const MOST_STEPS = 5_000_000

/** Whether the text has an unescaped `*` or `?`. */
function hasWildcard(text: string): boolean {
  return /[*?]/.test(text) && tokensOf(text).some((token) => typeof token === 'string')
}

/** Returns the literal text of a glob without wildcards: `\*` is a `*`. */
function unescapeGlob(text: string): string {
  if (!text.includes('\\')) return text
  return tokensOf(text)
    .map((token) => (typeof token === 'string' ? token : token.char))
    .join('')
}

/** Compiles a glob for the whole value. Its test takes at most glob × value steps, and throws for a longer value. */
function compileGlob(glob: string): (value: string) => boolean {
  const tokens = tokensOf(glob)
  const stars = tokens.filter((token) => token === '*').length
  const rest = tokens.filter((token) => token !== '*')
  if (stars === 1 && !rest.includes('?')) return betweenTest(tokens)
  const longest = Math.floor(MOST_STEPS / tokens.length)
  return (value) => {
    if (value.length > longest) throw new RangeError(tooLong(value, glob))
    return matches(tokens, isAstral(value) ? Array.from(value) : value)
  }
}

/** `\` escapes `*`, `?`, `!`, `/` and `\`; before other characters it is literal. */
function tokensOf(glob: string): Token[] {
  const chars = Array.from(glob)
  const tokens: Token[] = []
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] as string
    const next = chars[i + 1]
    if (char === '\\' && next !== undefined && '*?!/\\'.includes(next)) {
      tokens.push({ char: next })
      i++
    } else if (char === '*' || char === '?') tokens.push(char)
    else tokens.push({ char })
  }
  return tokens
}

/** The usual case: one star and no `?`. */
function betweenTest(tokens: readonly Token[]): (value: string) => boolean {
  const star = tokens.indexOf('*')
  const text = (part: readonly Token[]) => part.map((token) => (token as { char: string }).char).join('')
  const head = text(tokens.slice(0, star))
  const tail = text(tokens.slice(star + 1))
  return (value) =>
    value.length >= head.length + tail.length && value.startsWith(head) && value.endsWith(tail)
}

/** On a mismatch the last star takes one more character; earlier stars need no backtracking. */
function matches(tokens: readonly Token[], chars: string | readonly string[]): boolean {
  let t = 0
  let c = 0
  let star = -1
  let starFrom = 0
  while (c < chars.length) {
    const token = tokens[t]
    if (token === '*') {
      star = t++
      starFrom = c
    } else if (token === '?' || (token !== undefined && token.char === chars[c])) {
      t++
      c++
    } else if (star !== -1) {
      t = star + 1
      c = ++starFrom
    } else return false
  }
  while (tokens[t] === '*') t++
  return t === tokens.length
}

function isAstral(value: string): boolean {
  return /[\ud800-\udfff]/.test(value)
}

/** Syntax of regular expressions that names of objects and values of labels never contain. */
const IN_NAMES = /^[/^]|\$$|^\.\*|[-_]\.\*|\.\+|[|[\](){}]|\\[dwsbDWSB.]/

/** A reason has no dots. */
const IN_REASONS = new RegExp(`${IN_NAMES.source}|\\.\\*`)

/** A message can contain most of them, and begin with a file's path. Where a `*` has no dot before it, the text is a glob. */
const IN_MESSAGES = /^\/?\^|[^ ]\$$|^\.\*|^\(\?[a-z]+\)|^(?:[^*]*\w\.\*)+\w[^*]*$|\\[dwsbDWSB]/

const SYNTAX = { name: IN_NAMES, reason: IN_REASONS, message: IN_MESSAGES } as const

/** The kind of values that patterns match, for `expressionHint`. */
export type Matched = keyof typeof SYNTAX

const WORD = /^[A-Za-z0-9 _-]+$/

/** Returns the correction of a text or glob that looks like a regular expression without slashes. */
export function expressionHint(text: string, what: Matched = 'name'): string | undefined {
  const bare = text.replace(/^!/, '')
  const parsed = parsePattern(text)
  if (!parsed.ok || parsed.value.form === 'regex') return undefined
  if (!SYNTAX[what].test(bare)) return undefined
  const not = text === bare ? '' : '!'
  const names = bare.split('|')
  if (names.length > 1 && names.every((name) => /^[\w.-]+$/.test(name)))
    return `write a list: [${names.map((name) => quoted(not + name)).join(', ')}]`
  const source = bare.replace(/^\//, '')
  const core = source.replace(/^\.\*|\.\*$/g, '')
  if (what === 'message' && core !== source && WORD.test(core))
    return `write ${quoted(`${not}/${core}/`)} or ${quoted(`${not}*${core}*`)}`
  const expression = `${not}/${source}/`
  return parsePattern(expression).ok
    ? `write ${quoted(expression)}`
    : 'a regular expression is enclosed in slashes: /…/'
}

/** Quotes the text for YAML, also inside `{ }`. */
function quoted(text: string): string {
  if (/^[\w/^$.*+?() |-]+$/.test(text) && !text.startsWith('*')) return text
  return text.includes('\\') ? `'${text}'` : `"${text}"`
}

/** Whether the text contains several patterns; regular expressions can contain commas. */
export function isJoined({ form, text }: Pattern): boolean {
  return form !== 'regex' && text.includes(',')
}

/** Returns the text with commas as a list: `[shop, "!pay-*"]`. */
export function listHint(text: string): string {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
  return `write a list: [${parts.map((part) => (/^[\w.-]+$/.test(part) ? part : `"${part}"`)).join(', ')}]`
}

/** Maximum product of instructions and characters: about 30 ms at worst. */
const MOST_REGEX_STEPS = 600_000
const MOST_INSTRUCTIONS = 2_000

/**
 * Compiles an RE2 regular expression that matches anywhere in the value. RE2 takes linear time for any value, so the author of an
 * object cannot block the process; the test throws for a value that would take too long. Syntax: https://github.com/google/re2/wiki/Syntax
 */
export function compileRegex(source: string): Compiled<(value: string) => boolean> {
  const found = compiledBefore.get(source) ?? compileNew(source)
  if (compiledBefore.size >= MOST_KEPT) compiledBefore.clear()
  compiledBefore.set(source, found)
  return found
}

/** Several checks of a configuration compile the same expressions. */
const compiledBefore = new Map<string, Compiled<(value: string) => boolean>>()
const MOST_KEPT = 2_000

function compileNew(source: string): Compiled<(value: string) => boolean> {
  const tooLarge = () =>
    faulty('is too large an expression', {
      hint: 'repeat less, such as {1,100}, or use a list of patterns',
      offset: 0,
      length: source.length,
    })
  // To compile one of a million instructions takes most of a second.
  if (repetitionsIn(source) > 10 * MOST_INSTRUCTIONS) return tooLarge()
  try {
    const regex = RE2JS.compile(source)
    const size = regex.programSize()
    if (size > MOST_INSTRUCTIONS) return tooLarge()
    const longest = Math.floor(MOST_REGEX_STEPS / size)
    return compiled((value) => {
      if (value.length > longest) throw new RangeError(tooLong(value, `/${source}/`))
      return regex.test(value)
    })
  } catch (error) {
    const { error: reason = '', input = '' } = error as { error?: string; input?: string }
    const hint = /^\(\?<?!/.test(input ?? '')
      ? 'what it must not be is a pattern of its own: ["web-*", "!web-test*"]'
      : undefined
    return faulty(sentenceOf(reason, input ?? ''), {
      ...placeOf(source, reason, input ?? ''),
      ...(hint !== undefined && { hint }),
    })
  }
}

/** Returns about how many characters and groups an expression has when each `{n,m}` is written out. */
function repetitionsIn(source: string): number {
  const sums = [0]
  let last = 0
  let inClass = false
  for (const [part, least, most] of source.matchAll(
    /\\[\s\S]|\[\^?\]?|\{(\d{1,4})(?:,(\d{0,4}))?\}|[\s\S]/g,
  )) {
    // A class counts as one character, when it opens.
    if (inClass) {
      inClass = part.startsWith('\\') || !part.endsWith(']')
      continue
    }
    inClass = part.startsWith('[')
    if (part === '(') {
      sums.push(1)
      continue
    }
    const times = least === undefined ? 0 : Math.max(Number(least), Number(most || 0))
    if (times > 0) last *= times - 1
    else last = part === ')' && sums.length > 1 ? (sums.pop() ?? 0) : 1
    sums[sums.length - 1] = (sums.at(-1) ?? 0) + last
    // `(a{10}){10}`: what is repeated again is the whole of it.
    if (times > 0) last += last / Math.max(1, times - 1)
  }
  return sums.reduce((sum, it) => sum + it, 0)
}

/** Returns the error message for a value that is too long for a pattern. */
function tooLong(value: string, pattern: string): string {
  const shown = pattern.length > 60 ? `${pattern.slice(0, 60)}…` : pattern
  return `a value of ${value.length.toLocaleString('en-US')} characters is too long to be compared with ${shown}`
}

const NOT_IN_RE2 = ', which RE2 regular expressions do not have'

function sentenceOf(reason: string, input: string): string {
  if (/^\(\?<?[=!]/.test(input))
    return `has a ${input[2] === '<' ? 'look-behind' : 'look-ahead'} "${/^\(\?<?[=!]/.exec(input)?.[0]}"${NOT_IN_RE2}`
  if (/^\\[1-9]/.test(input)) return `has a back-reference "${input}"${NOT_IN_RE2}`
  return `has an expression that RE2 cannot read: ${reason || 'unknown error'}`
}

function placeOf(source: string, reason: string, input: string): { offset: number; length: number } {
  const open = reason.startsWith('missing closing )') ? unclosedParenthesis(source) : -1
  if (open !== -1) return { offset: open, length: 1 }
  const offset = input === '' ? -1 : source.indexOf(input)
  if (offset !== -1) return { offset, length: input.length }
  const last = Math.max(source.length - 1, 0)
  return reason.startsWith('trailing backslash')
    ? { offset: last, length: 1 }
    : { offset: 0, length: source.length }
}

function unclosedParenthesis(source: string): number {
  const open: number[] = []
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const char = source[i]
    if (char === '\\') i++
    else if (inClass) inClass = char !== ']'
    else if (char === '[') inClass = true
    else if (char === '(') open.push(i)
    else if (char === ')') open.pop()
  }
  return open.at(-1) ?? -1
}
