import { tooLong } from './regex.ts'

/** A part of a glob: a character, any one character, or any run of them. */
type Token = { char: string } | '?' | '*'

/** Characters of the glob times characters of the value that may be compared: some 20 ms at worst. */
const MOST_STEPS = 5_000_000

/** Does the text have an unescaped `*` or `?`? */
export function hasWildcard(text: string): boolean {
  return /[*?]/.test(text) && tokensOf(text).some((token) => typeof token === 'string')
}

/** The text that a glob without wildcards stands for: `\*` is a `*`. */
export function unescapeGlob(text: string): string {
  if (!text.includes('\\')) return text
  return tokensOf(text)
    .map((token) => (typeof token === 'string' ? token : token.char))
    .join('')
}

/** Compiles a glob that must match the whole value; time grows with text × value at worst, and what is too long throws. */
export function compileGlob(glob: string): (value: string) => boolean {
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

/** `\` makes the next `*`, `?`, `!`, `/` or `\` an ordinary character; before others it is one itself. */
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

/** One star and no `?`, the usual case. */
function betweenTest(tokens: readonly Token[]): (value: string) => boolean {
  const star = tokens.indexOf('*')
  const text = (part: readonly Token[]) => part.map((token) => (token as { char: string }).char).join('')
  const head = text(tokens.slice(0, star))
  const tail = text(tokens.slice(star + 1))
  return (value) =>
    value.length >= head.length + tail.length && value.startsWith(head) && value.endsWith(tail)
}

/** On a mismatch the last star takes one character more; earlier stars need no second thought. */
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
