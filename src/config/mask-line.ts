const SECRET =
  'secret|token|bearer|routing[-_]?key|password|passwd|passphrase|api[-_]?key|private[-_]?key|authorization|cookie|credential'
const SECRET_KEY = new RegExp(`(${SECRET})s?$`, 'i')
const URL_KEY = /(url|uri|dsn|endpoint|server|redis)$/i

const KEY = `(?<=^\\s*(?:- +)*|[{,[]\\s*)(?:"[^"]*"|'[^']*'|[^\\s"'{}[\\],:#][^\\s"'{}[\\],:]*)\\s*[:=](?=[\\s"'[{]|$)`
/** The quote that ends a text stands before something that may follow it: others were meant to be part of it. */
const QUOTED = `(?<quote>["'])(?:\\\\.|[^\\\\])*?(?:\\k<quote>(?=\\s*(?:[,}\\]:#]|$))|$)`
/** Words, up to a comma, a bracket or a comment. */
const PLAIN = `(?=[^\\s"'{}[\\],#])(?:\\S*[^\\s,}\\]] +(?![#"'}\\]\\s]))*\\S+`
const PIECE = new RegExp(`\\s+|-(?=\\s)|(?<key>${KEY})|(?<text>${QUOTED}|${PLAIN})|[^]`, 'g')

/**
 * Stars over passwords and the like that were written into a line, as wide as they were. It reads no YAML: the line may be
 * shown because it is none. When in doubt it hides too much.
 */
export function maskLine(lines: readonly string[], index: number): string {
  let key = enclosingKey(lines, index)
  return (lines[index] ?? '').replace(PIECE, (piece, ...rest) => {
    const found = rest.at(-1) as { key?: string; text?: string }
    if (found.key !== undefined) key = nameIn(piece)
    if (found.text === undefined) return piece
    return SECRET_KEY.test(key) ? starredWithin(piece) : maskText(piece, URL_KEY.test(key))
  })
}

/** What `maskLine` hides of a line: all of each text, and its words. */
export function hiddenWords(line: string, masked: string): string[] {
  const found = new Set<string>()
  for (const { index, 0: stars } of masked.matchAll(/\*+/g)) {
    const hidden = line.slice(index, index + stars.length)
    if (hidden !== stars) for (const word of [hidden, ...hidden.split(/\s+/)]) found.add(word)
  }
  return [...found].filter((word) => word.length >= MIN_HIDDEN).toSorted((a, b) => b.length - a.length)
}

/** Shorter ones are parts of any sentence. */
const MIN_HIDDEN = 4

/** A list's entries and the lines of a long text stand below the key that says what they are. */
function enclosingKey(lines: readonly string[], index: number): string {
  const depth = indentOf(lines[index] ?? '')
  for (let i = index - 1; i >= 0; i--) {
    const line = lines[i] ?? ''
    const goesOn = indentOf(line) < depth || (indentOf(line) === depth && /[[{,:]\s*$/.test(line))
    const key = goesOn && [...line.matchAll(PIECE)].findLast(({ groups }) => groups?.['key'] !== undefined)
    if (key) return nameIn(key[0])
  }
  return ''
}

function indentOf(line: string): number {
  return line.search(/\S|$/)
}

function nameIn(key: string): string {
  return key.replace(/["'\s:=]/g, '')
}

const SECRET_SHAPES = [
  // `password:x` without the blank that would make it a key, `?token=x`
  new RegExp(`(?<=(?:${SECRET})s?[:=])[^\\s&"',}]+`, 'gi'),
  /(?<=whsec_)[^\s"',}\]]+/g,
  /(?<=\b(?:Bearer|Basic) +)(?!\$\{)[\w.~+/=-]{6,}/gi,
]
const SECRET_SHAPES_IN_URL = [
  /(?<=[?&](?:[^=&\s"']*=)?)[^=&\s"',}\]]+(?=[&\s"',}\]]|$)/g,
  /(?<=[^/:]\/)(?=[^/?]*[\dA-Z])[\w~.%-]{16,}(?![\w~.%-])/g,
]

function maskText(text: string, isUrl: boolean): string {
  const shapes = /:\/\//.test(text) ? [...SECRET_SHAPES, ...SECRET_SHAPES_IN_URL] : SECRET_SHAPES
  return shapes.reduce((masked, shape) => masked.replace(shape, starred), maskUser(text, isUrl))
}

/** What stands before the last `@`: slashes that were not escaped, or a scheme with a slip, hide no password. */
function maskUser(text: string, isUrl: boolean): string {
  const at = text.lastIndexOf('@')
  const [start = '', scheme] = /^["']?([a-z][\w+.-]*:\/*|\/+)?/i.exec(text) ?? []
  if (at < start.length || (scheme === undefined && !isUrl)) return text
  const colon = text.slice(start.length, at).indexOf(':')
  const from = start.length + colon + 1
  return text.slice(0, from) + starred(text.slice(from, at)) + text.slice(at)
}

/** All but the quotes, and the bracket or comma that ends it. */
function starredWithin(piece: string): string {
  const [, open = '', inner = '', close = ''] = /^(["']?)(.*?)(["']?[,}\]]*)$/s.exec(piece) ?? []
  return open + starred(inner) + close
}

/** References are no secrets, and one of them may be what is wrong; nor is the word before a token. */
function starred(text: string): string {
  return text
    .split(/(\$\{[^}\s"']*\}?|^(?:Bearer|Basic) +)/i)
    .map((it, i) => (i % 2 === 1 ? it : '*'.repeat(it.length)))
    .join('')
}
