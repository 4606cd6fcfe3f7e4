import { type Document, isScalar, visit, type YAMLError } from 'yaml'
import { maskLine } from '../mask-line.ts'
import { bangOf, type Found, isBracketInText, isOutOfLine, type SyntaxFault, slipOf } from './slips.ts'
import { lineOf, type Piece } from './text.ts'

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

function plainFault(error: YAMLError, text: string): Found {
  const [start, end] = error.pos
  const line = lineOf(text, start)
  const hint = hintOf(error, text.slice(line.start, line.end), text)
  return { start, end, message: sentenceOf(error.code, error.message), ...(hint !== undefined && { hint }) }
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
