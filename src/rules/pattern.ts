import { type Compiled, compiled, type Fault, faulty, under } from './fault.ts'
import { compileGlob, hasWildcard, unescapeGlob } from './glob.ts'
import { compileRegex } from './regex.ts'
import { listOf, type Patterns } from './schema.ts'

const LONGEST = 1_000

/** One pattern, without its `!`. */
export interface Pattern {
  negated: boolean
  form: 'literal' | 'glob' | 'regex'
  /** A literal's text; else the glob or the expression as written. */
  text: string
  /** Is this value meant, apart from `negated`? */
  test(value: string): boolean
}

/** Tests a value; undefined is a value that is not there, which only `!` patterns let pass. */
export type Test = (value: string | undefined) => boolean

/** Reads `text`, `gl*b` or `/RE2/`, with `!` in front for not; `\` makes a special character ordinary. */
export function parsePattern(text: string): Compiled<Pattern> {
  const negated = text.startsWith('!')
  const start = negated ? 1 : 0
  const body = text.slice(start)
  if (negated && body === '') return faulty('nothing follows the "!"', { hint: 'write "!*" for "has none"' })
  if (text.length > LONGEST)
    return faulty(`is longer than ${LONGEST} characters`, { hint: 'write a list of shorter ones' })
  if (isRegex(body)) return parseRegex(body, negated)
  if (/^\/.+\/[gimsuy]{1,3}$/.test(body)) {
    return faulty('an expression ends with its "/"', {
      hint: 'flags stand inside: /(?i)text/',
      offset: start,
    })
  }
  if (hasWildcard(body)) return compiled({ negated, form: 'glob', text: body, test: compileGlob(body) })
  const literal = unescapeGlob(body)
  return compiled({ negated, form: 'literal', text: literal, test: (value) => value === literal })
}

/** A value passes when no `!` pattern means it and, if there are others, one of those does. */
export function compilePatterns(patterns: Patterns): Compiled<Test> {
  const parsed = parsePatterns(patterns)
  return parsed.ok ? compiled(testOf(parsed.value)) : parsed
}

/** The test of patterns that were checked before. Throws when one cannot be read. */
export function compilePattern(patterns: string | readonly string[]): (value: string) => boolean {
  const result = compilePatterns(typeof patterns === 'string' ? patterns : [...patterns])
  if (result.ok) return result.value
  throw new Error(`a pattern was not checked: ${result.faults[0]?.message}`)
}

/** All patterns of a text or list, or what is wrong with each. */
export function parsePatterns(patterns: Patterns): Compiled<readonly Pattern[]> {
  const faults: Fault[] = []
  const parsed: Pattern[] = []
  for (const [index, text] of listOf(patterns).entries()) {
    const result = parsePattern(text)
    if (result.ok) parsed.push(result.value)
    else if (typeof patterns === 'string') faults.push(...result.faults)
    else faults.push(...under([index], result.faults.map(asEntry)))
  }
  if (faults.length > 0) return { ok: false, faults }
  return contradiction(parsed) ?? compiled(parsed)
}

/** A list that is offered for a text is more entries of a list. */
function asEntry({ hint, ...fault }: Fault): Fault {
  return { ...fault, ...(hint !== undefined && { hint: hint.replace(/^write \[(.*)\]$/s, 'write $1') }) }
}

function testOf(patterns: readonly Pattern[]): Test {
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
  const hint = negated ? undefined : withoutLookAhead(source)
  return {
    ok: false,
    faults: result.faults.map(({ offset = 0, length, ...it }) =>
      hint === undefined
        ? { ...it, offset: start + offset, ...(length !== undefined && { length }) }
        : { ...it, hint },
    ),
  }
}

/** `^web-(?!test)` as two patterns; undefined for what globs cannot say. */
function withoutLookAhead(source: string): string | undefined {
  const [, start, before = '', not, end] =
    /^(\^?)((?:[\w-]|\\[.-])*)\(\?!((?:[\w-]|\\[.-])+)(?:\.\*)?(\$?)\)(?:\.\*\$?)?$/.exec(source) ?? []
  if (not === undefined) return undefined
  const head = (start ? '' : '*') + before.replaceAll('\\', '')
  const excluded = `"!${head}${not.replaceAll('\\', '')}${end ? '' : '*'}"`
  return head === '' || head === '*' ? `write ${excluded}` : `write ["${head}*", ${excluded}]`
}
