import { type Document, isScalar, visit, type YAMLError } from 'yaml'
import { keyOutOfLine, tabInIndent } from './columns.ts'
import { blockInLine, mapInLine, starAlone, textBehindQuote } from './maps.ts'
import { flowStart, keyBefore, lineOf, type Piece, quoted, textFrom } from './text.ts'

/** A fault, as offsets into the file's text. */
export interface SyntaxFault {
  start: number
  end: number
  message: string
  hint?: string
}

export interface Found extends SyntaxFault {
  /** For the hint, where the file's text is not to be shown. */
  plainHint?: string
  /** Up to here, lines that are not in line are told with it. */
  until?: number
}

/** The slips that many make, with what to write. */
export function slipOf(
  { code, message, pos }: YAMLError,
  text: string,
  document: Document.Parsed,
): Found | undefined {
  const [start] = pos
  const line = lineOf(text, start)
  if (code === 'TAB_AS_INDENT') return tabInIndent(text, start)
  if (isOutOfLine({ code, message })) {
    const found = keyOutOfLine(text, start)
    if (found) return found
  }
  const isMarked = /^(?:Block scalar header includes extra characters|Not a YAML token): /.test(message)
  const mark = isMarked ? /[>|][+-]?\d?\s*$/.exec(text.slice(line.start, start)) : null
  if (mark)
    return {
      ...blockInLine(text, line.start + mark.index),
      plainHint: `text that begins with "${mark[0][0]}" needs quotes`,
    }
  const braces = /(?<=(?:[:,[{]|- ) *)\{\{/.exec(
    text.slice(line.start, Math.min(line.end, line.start + 2_000)),
  )
  if (braces) {
    const at = line.start + braces.index
    const outer = OUTER_KEY.exec(text.slice(line.start, at))?.[0]
    if (outer !== undefined)
      return {
        plainHint: 'text with ": " in it needs quotes',
        ...mapInLine(text, line.start + outer.length),
      } as Found
    const piece = textFrom(text, at)
    const plainHint = 'text that begins with "{{" needs quotes'
    const whole = piece && `${plainHint}: ${quoted(text.slice(at, piece.end))}`
    return {
      ...(piece ?? { start: at, end: at + 2 }),
      message: 'YAML takes "{{" for two maps',
      hint: whole ?? plainHint,
      plainHint,
    }
  }
  if (code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'BLOCK_IN_FLOW') {
    const goesOn = /:(?=\s)/.test(text.slice(start, line.end + 1))
    const found = goesOn ? mapInLine(text, start) : keyOutOfLine(text, line.end + 1)
    return found && { plainHint: 'a map in one line has braces; text with ": " in it needs quotes', ...found }
  }
  if (message === 'Unexpected scalar at node end') {
    const first = quotedBefore(document, text, start)
    const plainHint = 'put all of it in quotes of the other kind, or in the next lines, below "|"'
    return first && { ...textBehindQuote(text, first), plainHint }
  }
  if (message.startsWith('Alias cannot be an empty string'))
    return { ...starAlone(text, start), plainHint: 'put it in quotes' }
  if (code === 'BAD_SCALAR_START') return withQuotes(text, start)
  if (isBracketInText({ code, pos }, text)) return bracketInText(text, start)
  if (/^Flow .* end with an? [\]}]$/.test(message)) return commentInFlow(text, start)
  return undefined
}

/** `message: failed: {{ name }}` */
const OUTER_KEY = /^\s*(?:- +)*[\w./-]+: +(?=[\w./-][^:"'[\]{}]*: +$)/

/** Text that begins with a mark of YAML. */
function withQuotes(text: string, start: number): Found {
  const piece = textFrom(text, start)
  const key = keyBefore(text, start)
  const message = `text that begins with "${text[start]}" needs quotes`
  const written = piece && `${key === undefined ? '' : `${key}: `}${quoted(text.slice(start, piece.end))}`
  if (written === undefined) return { start, end: start + 1, message }
  return {
    start,
    end: piece?.end ?? start + 1,
    message,
    hint: `write ${written}`,
    plainHint: 'put it in quotes',
  }
}

function bracketInText(text: string, bracket: number): Found {
  const start = flowStart(text, bracket)
  const piece = textFrom(text, start) ?? { start, end: bracket + 1 }
  const end = start + text.slice(start, piece.end).replace(/:\s.*$/s, '').length
  const what = text[bracket] === '[' ? 'list' : 'map'
  return {
    start,
    end: Math.max(end, bracket + 1),
    message: `inside { } and [ ], the "${text[bracket]}" in this text begins a ${what}`,
    hint: `write ${quoted(text.slice(start, end))}`,
    plainHint: 'text with [ ] { } , needs quotes',
  }
}

/** `{ message: /issue #12/ }`: the comment takes the bracket with it. */
function commentInFlow(text: string, at: number): Found | undefined {
  const above = lineOf(text, Math.max(text.slice(0, at).trimEnd().length - 1, 0))
  const line = text.slice(above.start, Math.min(above.end, above.start + 2_000))
  const hash = line.search(/\s#(?=\S)/) + 1
  if (hash === 0 || !/[\]}]\s*$/.test(line)) return undefined
  const begin = flowStart(text, above.start + hash)
  if (/["']/.test(text[begin] ?? '')) return undefined
  const rest = /^[^,\]}]*/.exec(line.slice(hash))?.[0] ?? ''
  const whole = text.slice(begin, above.start + hash) + rest.trimEnd()
  return {
    start: begin,
    end: begin + whole.length,
    message: 'YAML ends this text at " #", where a comment begins',
    hint: `write ${quoted(whole)}`,
    plainHint: 'text with " #" needs quotes',
  }
}

/** Text that begins with "!": YAML makes a tag of its first word. */
export function bangOf({ code, message, pos }: YAMLError, text: string): Found | undefined {
  const lineStart = text.lastIndexOf('\n', pos[0] - 1) + 1
  const isCut = message.startsWith('Tags and anchors must be separated')
  const inLine = text.slice(lineStart, pos[0]).search(/(?<=(?:^|[:,[{-])\s+)!\S*$/)
  if (isCut ? inLine === -1 : code !== 'TAG_RESOLVE_FAILED') return undefined
  const start = isCut ? lineStart + inLine : pos[0]
  const tag = text.slice(start, isCut ? pos[0] : pos[1])
  const isWhole = /^\s*(?:- +)*(?:[\w.-]+: +)?$/.test(text.slice(lineStart, start))
  const end = isWhole
    ? (textFrom(text, start)?.end ?? start + text.slice(start, lineOf(text, start).end).trimEnd().length)
    : start + tag.length
  const plainHint = 'text that begins with "!" needs quotes'
  return {
    start,
    end,
    message: `YAML takes this for a tag: ${tag}`,
    hint: `${plainHint}${isWhole || !isCut ? `: ${quoted(text.slice(start, end))}` : ''}`,
    plainHint,
  }
}

export function isOutOfLine({ code, message }: Pick<YAMLError, 'code' | 'message'>): boolean {
  return (
    message.startsWith('Sequence item without - indicator') ||
    (code === 'BAD_INDENT' && message.startsWith('All mapping items must start'))
  )
}

/** A bracket that opens right behind text, as in `{ name: /web-[0-9]/ }`. */
export function isBracketInText(
  { code, pos: [start] }: Pick<YAMLError, 'code' | 'pos'>,
  text: string,
): boolean {
  if (code !== 'UNEXPECTED_TOKEN' && code !== 'MISSING_CHAR') return false
  return /[[{]/.test(text[start] ?? '') && /[^\s,:[\]{}"']/.test(text[start - 1] ?? ' ')
}

/** The text in quotes that ends right before a place. */
function quotedBefore(document: Document.Parsed, text: string, before: number): Piece | undefined {
  const end = text.slice(0, before).trimEnd().length
  if (!/["']/.test(text[end - 1] ?? '')) return undefined
  let found: Piece | undefined
  visit(document, (_, node) => {
    if (isScalar(node) && node.type?.startsWith('QUOTE') && node.range?.[1] === end)
      found = { start: node.range[0], end }
  })
  return found
}
