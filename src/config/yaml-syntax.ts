import { type Document, isScalar, visit, type YAMLError } from 'yaml'
import { maskLine } from './mask-line.ts'
import { keyOutOfLine, tabInIndent } from './yaml-columns.ts'
import { blockInLine, mapInLine, starAlone, textBehindQuote } from './yaml-maps.ts'
import { flowStart, keyBefore, lineOf, type Piece, quoted, textFrom } from './yaml-text.ts'

/** A fault, as offsets into the file's text. */
export interface SyntaxFault {
  start: number
  end: number
  message: string
  hint?: string
}

interface Found extends SyntaxFault {
  /** For the hint, where the file's text is not to be shown. */
  plainHint?: string
  /** Up to here, lines that are not in line are told with it. */
  until?: number
}

/** Nobody reads more of them at once. */
const MAX_FAULTS = 50

/** What the YAML parser found, in words that say what to do; not what only follows from an error before it. */
export function syntaxFaults(document: Document.Parsed, text: string): SyntaxFault[] {
  const tags = document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')
  const lines = new Set<number>()
  let until = -1
  return withoutSequels(document.errors.slice(0, MAX_FAULTS), text)
    .concat(tags.slice(0, MAX_FAULTS))
    .flatMap((error) => {
      if (error.pos[0] <= until && isOutOfLine(error)) return []
      const found = faultOf(error, text, document)
      until = Math.max(until, found.until ?? -1)
      return [shown(found, text)]
    })
    .filter(({ start }) => {
      const lineStart = lineOf(text, start).start
      const isFirst = !lines.has(lineStart)
      lines.add(lineStart)
      return isFirst
    })
}

/** A hint quotes no secret. */
function shown({ plainHint, until: _, ...fault }: Found, text: string): SyntaxFault {
  const { start, end, hint } = fault
  if (hint === undefined || plainHint === undefined) return fault
  const line = lineOf(text, start)
  const lines = text.slice(0, line.end).split(/\r?\n/)
  const masked = maskLine(lines, lines.length - 1)
  const isOpen = masked.slice(start - line.start, end - line.start) === text.slice(start, end)
  return { ...fault, hint: isOpen ? hint : plainHint }
}

/** Behind a bracket or quote that was not meant, nobody knows what is what. */
function withoutSequels(errors: readonly YAMLError[], text: string): YAMLError[] {
  const end = errors.findIndex((error) => isOpenQuote(error) || isBracketInText(error, text))
  return errors
    .slice(0, end === -1 ? undefined : end + 1)
    .filter(({ message }, index) => index === 0 || !message.includes(' in YAML stream'))
    .filter(({ code, pos }, i, all) => code !== 'MULTILINE_IMPLICIT_KEY' || all[i - 1]?.pos[0] !== pos[0])
}

function faultOf(error: YAMLError, text: string, document: Document.Parsed): Found {
  const quote = isOpenQuote(error) ? openQuote(document, text, error.pos[0]) : undefined
  if (quote)
    return { ...quote, message: 'this quote is never closed', hint: `end the text with ${text[quote.start]}` }
  return bangOf(error, text) ?? slipOf(error, text, document) ?? plainFault(error, text)
}

/** The slips that many make, with what to write. */
function slipOf(
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

function plainFault(error: YAMLError, text: string): Found {
  const [start, end] = error.pos
  const line = lineOf(text, start)
  const hint = hintOf(error, text.slice(line.start, line.end), text)
  return { start, end, message: sentenceOf(error.code, error.message), ...(hint !== undefined && { hint }) }
}

/** Text that begins with "!": YAML makes a tag of its first word. */
function bangOf({ code, message, pos }: YAMLError, text: string): Found | undefined {
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

function sentenceOf(code: YAMLError['code'], message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here: a configuration is one document'
  if (code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'BLOCK_IN_FLOW') return '": " begins a map here'
  if (code === 'TAB_AS_INDENT') return 'a tab stands here: YAML takes only spaces'
  if (message === 'Unexpected scalar at node end') return 'the text before this has ended already'
  const closing = /^Unexpected flow-(?:map|seq)-end token.*"([\]}])"$/.exec(message)?.[1]
  if (closing !== undefined) return `this "${closing}" closes nothing`
  const bracket = /^Flow .* end with an? ([\]}])$/.exec(message)?.[1]
  if (bracket !== undefined) return `a "${bracket}" is missing before this`
  return `this is no valid YAML: ${message[0]?.toLowerCase()}${message.slice(1)}`
}

function hintOf({ code, message, pos }: YAMLError, line: string, text: string): string | undefined {
  const place = text.slice(...pos)
  if (code === 'TAB_AS_INDENT') return 'write a space in its place'
  if (code === 'BLOCK_IN_FLOW' || code === 'BLOCK_AS_IMPLICIT_KEY')
    return /^\s*(?:- )?if:/.test(line)
      ? 'write "if: |", and all of the expression in the lines below, indented'
      : 'a map begins in the next line, or has braces: { key: value }; text with ": " in it needs quotes'
  if (message.startsWith('Sequence item without - indicator'))
    return 'the keys of one entry begin in the same column: below the first letter behind its "- "'
  if (code === 'BAD_DQ_ESCAPE') return 'write \\\\ for a backslash, or use single quotes'
  if (line.includes('${') && /[[{]/.test(line)) return `inside { } and [ ], text with \${…} needs quotes`
  if (code === 'BAD_INDENT' && /[\]}]/.test(place))
    return 'if this is part of a text: text with [ ] { } , needs quotes'
  if (code === 'BAD_INDENT') return 'is a bracket, quote or indentation missing in a line above?'
  return undefined
}

function isOutOfLine({ code, message }: Pick<YAMLError, 'code' | 'message'>): boolean {
  return (
    message.startsWith('Sequence item without - indicator') ||
    (code === 'BAD_INDENT' && message.startsWith('All mapping items must start'))
  )
}

/** A bracket that opens right behind text, as in `{ name: /web-[0-9]/ }`. */
function isBracketInText({ code, pos: [start] }: Pick<YAMLError, 'code' | 'pos'>, text: string): boolean {
  if (code !== 'UNEXPECTED_TOKEN' && code !== 'MISSING_CHAR') return false
  return /[[{]/.test(text[start] ?? '') && /[^\s,:[\]{}"']/.test(text[start - 1] ?? ' ')
}

function isOpenQuote({ code, message }: YAMLError): boolean {
  return code === 'MISSING_CHAR' && /closing ["']quote/.test(message)
}

/** The quote before a place that opens a text which nothing closes. */
function openQuote(document: Document.Parsed, text: string, before: number): Piece | undefined {
  let found: Piece | undefined
  visit(document, (_, node) => {
    if (!isScalar(node) || !node.range || !node.type?.startsWith('QUOTE')) return
    const [start, end] = node.range
    const isClosed = end - start > 1 && text[end - 1] === text[start]
    if (start < before && !isClosed) found = { start, end: start + 1 }
  })
  return found
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
