import { nearest } from '../nearest.ts'

const SECRET =
  'secret|token?|bearer|routing[-_]?key|password|passwort|passwd|pass|pwd|[-_]auth|passphrase|api[-_]?key|private[-_]?key|authorization|cookie|credential'
const SECRET_KEY = new RegExp(`(${SECRET})s?$`, 'i')
/** A key with a typing error holds the secret all the same, and is the very one that a message shows. */
const SECRET_NAMES = [
  ...['token', 'password', 'passphrase', 'secret', 'authorization', 'credential', 'credentials'],
  ...['apikey', 'routingkey', 'privatekey'],
]
const URL_KEY = /(url|uri|dsn|endpoint|server|redis)$/i

const BEFORE_KEY = `(?<=^\\s*(?:[-?] +)*|[{,[]\\s*(?:\\? +)?|[^\\s:]: +)`
/** Behind a key in quotes, JSON needs no blank. */
const KEY = `${BEFORE_KEY}(?:(?:"[^"]*"|'[^']*')\\s*[:=]|[^\\s"'{}[\\],:#][^\\s"'{}[\\],:]*\\s*[:=](?=[\\s"'[{]|$))`
/** An anchor or a tag of what has quotes or brackets. */
const MARK = `[&!][^\\s,[\\]{}"']*(?=\\s+[[{"'])`
/** The quote that ends a text stands before something that may follow it: others were meant to be part of it. */
const QUOTED = `(?<quote>["'])(?:\\\\.|[^\\\\])*?(?:\\k<quote>(?=\\s*(?:[,}\\]:#]|$))|$)`
/** Words, up to a comma, a bracket or a comment. */
const PLAIN = `(?=[^\\s"'{}[\\],#])(?:\\S*[^\\s,}\\]] +(?![#"'}\\]\\s]))*\\S+`
/** As JSON has them. */
const LITERAL = `(?:true|false|null|-?\\d[\\d.eE+-]*)(?=\\s*[,}\\]])`
const PIECE = new RegExp(
  `\\s+|[-?](?=\\s)|(?<mark>${MARK})|(?<key>${KEY})|(?<text>${QUOTED}|${LITERAL}|${PLAIN})|[^]`,
  'g',
)

/**
 * Stars over passwords and the like that were written into a line, as wide as they were: all that stands below a key of
 * theirs, in whatever brackets and lines. It reads no YAML: the line may be shown because it is none. When in doubt it
 * hides too much.
 */
export function maskLine(lines: readonly string[], index: number): string {
  return scan(lines[index] ?? '', before(lines, index)).masked
}

interface Before {
  /** What the line goes on with. */
  key: string
  /** Is it all below a key that hides? */
  isHidden: boolean
}

/** A line with its stars, and what it leaves open for those below. */
function scan(line: string, { key: first, isHidden }: Before): Before & { masked: string } {
  let key = first
  let depth = 0
  let hiddenFrom: number | undefined
  let hasEnded = false
  let hasOwnKey = false
  const close = (marks: string) => {
    for (const mark of marks) {
      if (mark !== ',' && hiddenFrom === depth) {
        hiddenFrom = undefined
        key = ''
      }
      if (mark !== ',' && depth > 0) depth--
    }
    hasEnded ||= marks !== ''
  }
  const masked = line.replace(PIECE, (piece, ...rest) => {
    const found = rest.at(-1) as { key?: string; text?: string; mark?: string }
    const isBelow = isHidden || hiddenFrom !== undefined
    if (/^[[{]$/.test(piece)) {
      depth++
      if (isSecretKey(key) && !hasEnded) hiddenFrom ??= depth
    } else if (/^[\]},]$/.test(piece)) close(piece)
    else if (found.key !== undefined) {
      const isValue = hasOwnKey && isSecretKey(key) && !hasEnded
      if (isBelow || isValue) return piece.replace(/[^"'\s:=]+/g, starred)
      key = nameIn(piece)
      hasOwnKey = true
      hasEnded = false
    } else if (found.mark !== undefined) return isBelow || isSecretKey(key) ? starred(piece) : piece
    else if (found.text !== undefined) {
      const shown = isBelow || isSecretKey(key) ? starredWithin(piece) : maskText(piece, URL_KEY.test(key))
      close(/(?<![,}\]])[,}\]]*$/.exec(piece)?.[0] ?? '')
      return shown
    }
    return piece
  })
  return {
    masked,
    key,
    isHidden: isHidden || hiddenFrom !== undefined || (isSecretKey(key) && !hasEnded),
  }
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
function before(lines: readonly string[], index: number): Before {
  let below = lines[index] ?? ''
  let key: string | undefined
  for (let i = index - 1; i >= 0; i--) {
    const line = lines[i] ?? ''
    const depth = indentOf(below)
    const isEntry = /^\s*-\s/.test(below)
    const isOpen =
      indentOf(line) === depth &&
      (isEntry || !BEGINS_WITH_KEY.test(below) ? /[[{,:]\s*$/ : /[[{,]\s*$/).test(line)
    if (indentOf(line) >= depth && !isOpen) continue
    if (![...line.matchAll(PIECE)].some(({ groups }) => groups?.['key'] !== undefined)) continue
    const isBeside = /^\s*(?:- +)+(?![[{-])/.exec(line)?.[0].length === depth && BEGINS_WITH_KEY.test(below)
    if (!isBeside || isOpen) {
      const found = scan(line, { key: '', isHidden: false })
      if (found.isHidden) return { key: found.key, isHidden: true }
      key ??= found.key
    }
    below = line
  }
  return { key: key ?? '', isHidden: false }
}

const BEGINS_WITH_KEY = /^\s*(?:"[^"]*"|'[^']*'|[^\s"'{}[\],:#]+)\s*:(?:\s|$)/

function indentOf(line: string): number {
  return line.search(/\S|$/)
}

function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) || isMisspelt(key.replace(/[-_]/g, '')) || isMisspelt(lastWord(key))
}

function isMisspelt(name: string): boolean {
  return name.length >= 4 && nearest(name, SECRET_NAMES, name.length > 6 ? 2 : 1) !== undefined
}

/** `slackTokn` and `slack_tokn`: `tokn`. */
function lastWord(key: string): string {
  return /[A-Z]?[^-_A-Z]*$/.exec(key)?.[0] ?? ''
}

function nameIn(key: string): string {
  return key.replace(/["'\s:=]/g, '')
}

const SECRET_SHAPES = [
  // `Cookie: a=b; c=d` as one text
  new RegExp(`(?<=(?:${SECRET})s?: )[^"',}]+`, 'gi'),
  // `password:x` without the blank that would make it a key, `?token=x`
  new RegExp(`(?<=(?:${SECRET})s?["']?[:=]["']?)[^\\s&"',}]+`, 'gi'),
  /(?<=whsec_)[^\s"',}\]]+/g,
  /(?=[\w.~+/=-]{6})(?<=\b(?:Bearer|Basic) +)[\w.~+/=-]+/gi,
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
  const [open = ''] = /^["']?/.exec(piece) ?? []
  const rest = piece.slice(open.length)
  const [close = ''] = /["']?(?<![,}\]])[,}\]]*$/.exec(rest) ?? []
  return open + starred(rest.slice(0, rest.length - close.length)) + close
}

/** References are no secrets, and one of them may be what is wrong; nor is the word before a token. */
function starred(text: string): string {
  return text
    .split(/(\$\{[^}\s"']*\}?|^(?:Bearer|Basic) +)/i)
    .map((it, i) => (i % 2 === 1 ? it : '*'.repeat(it.length)))
    .join('')
}
