import { RE2JS } from 're2js'

/** What a word of a rule means, as a predicate. */
export type Test = (text: string) => boolean

/** A pattern that cannot be read; `offset` points into it. */
export class PatternError extends Error {
  override name = 'PatternError'
  readonly offset: number

  constructor(message: string, offset = 0) {
    super(message)
    this.offset = offset
  }
}

/**
 * Compiles one value or a list: exact words, globs (`*`, `?`), `/RE2/`, and `!` in front for not. It matches when no
 * negative pattern does, and one positive does (or there is none).
 */
export function compilePattern(patterns: string | readonly string[]): Test {
  const all = typeof patterns === 'string' ? [patterns] : patterns
  const negative = all.filter((it) => it.startsWith('!')).map((it) => compileOne(it.slice(1), 1))
  const positive = all.filter((it) => !it.startsWith('!')).map((it) => compileOne(it, 0))
  if (negative.length === 0 && positive.length === 1) return positive[0] as Test
  return (text) =>
    !negative.some((test) => test(text)) && (positive.length === 0 || positive.some((test) => test(text)))
}

/** The words of a pattern that name something exactly; undefined if any of it is a glob, an expression or negative. */
export function literalsOf(patterns: string | readonly string[]): string[] | undefined {
  const all = typeof patterns === 'string' ? [patterns] : [...patterns]
  return all.some((it) => /[*?]/.test(it) || it.startsWith('!') || it.startsWith('/')) ? undefined : all
}

function compileOne(pattern: string, offset: number): Test {
  if (pattern === '') throw new PatternError('a pattern is empty', offset)
  if (pattern.startsWith('/')) return compileExpression(pattern, offset)
  if (!/[*?]/.test(pattern)) return (text) => text === pattern
  return compileGlob(pattern)
}

/** RE2 has no backtracking: no expression can stall the process. */
function compileExpression(pattern: string, offset: number): Test {
  if (pattern.length < 3 || !pattern.endsWith('/')) {
    throw new PatternError(`an expression stands between two slashes: ${pattern}/`, offset)
  }
  try {
    const compiled = RE2JS.compile(pattern.slice(1, -1))
    return (text) => compiled.matcher(text).find()
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '')
    throw new PatternError(`no RE2 expression: ${reason}`, offset + 1)
  }
}

/** Anchored; `*` is any run of characters, `?` any one. Linear: it never goes back further than the last star. */
function compileGlob(pattern: string): Test {
  return (text) => {
    let at = 0
    let p = 0
    let star = -1
    let starAt = 0
    while (at < text.length) {
      if (pattern[p] === '*') {
        star = p++
        starAt = at
      } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[at])) {
        p++
        at++
      } else if (star !== -1) {
        p = star + 1
        at = ++starAt
      } else return false
    }
    while (pattern[p] === '*') p++
    return p === pattern.length
  }
}
