import { type Document, type Scalar, visit, type YAMLError } from 'yaml'
import type { ProblemCode } from '../problem-codes.ts'

/** A fault, as offsets into the file's text. Its message and hint never quote the file: a secret may be there. */
interface SyntaxFault {
  code: ProblemCode
  start: number
  end: number
  message: string
  hint?: string
}

type Advice = readonly [code: ProblemCode, message: string, hint?: string]

const MAX_FAULTS = 50

/** Returns the faults that the YAML parser found, without those that only follow from an earlier one. */
export function syntaxFaults(document: Document.Parsed, text: string): SyntaxFault[] {
  const tags = document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED').slice(0, MAX_FAULTS)
  const taken = new Set<number>()
  return [...tags, ...withoutSequels(document.errors.slice(0, MAX_FAULTS), text)]
    .map((error) => faultOf(error, text, document))
    .filter(({ start }) => {
      const line = lineOf(text, start).start
      const isFirst = !taken.has(line)
      taken.add(line)
      return isFirst
    })
    .toSorted((a, b) => a.start - b.start)
}

/** Returns start and end of a line, without its line break, by an offset in it. */
export function lineOf(text: string, at: number): { start: number; end: number } {
  const end = text.indexOf('\n', at)
  return { start: text.lastIndexOf('\n', at - 1) + 1, end: end === -1 ? text.length : end }
}

/** After an open quote or a bracket within text, the parser reads the rest wrong. */
function withoutSequels(errors: readonly YAMLError[], text: string): YAMLError[] {
  const end = errors.findIndex((error) => isOpenQuote(error) || isBracketInText(error, text))
  return errors
    .slice(0, end === -1 ? undefined : end + 1)
    .filter(({ message }, index) => index === 0 || !message.includes(' in YAML stream'))
    .filter(({ code, pos }, i, all) => code !== 'MULTILINE_IMPLICIT_KEY' || all[i - 1]?.pos[0] !== pos[0])
}

function faultOf(error: YAMLError, text: string, document: Document.Parsed): SyntaxFault {
  const lacking = missingBlank(error, text)
  if (lacking) return lacking
  const [code, message, hint] = adviceOn(error, text)
  const [start, end] = placeOf(error, text, document)
  return { code, start, end: Math.max(end, start + 1), message, ...(hint !== undefined && { hint }) }
}

const WITHOUT_VALUE = 'Implicit map keys need to be followed by map values'
const SECOND_TEXT = 'Unexpected scalar at node end'
export const BLANK_HINT = 'write a blank behind the ":"'
export const DASH_HINT = 'write "- ", with a blank, in front of each entry'

/** `-Event` and `type:stdout`: for YAML, text that goes on in the next line. A line that is not aligned may follow from the one above. */
function missingBlank(error: YAMLError, text: string): SyntaxFault | undefined {
  const isOpen = error.code === 'MULTILINE_IMPLICIT_KEY' || error.message.startsWith(WITHOUT_VALUE)
  if (!isOpen && error.message !== SECOND_TEXT && !isNotAligned(error, text)) return undefined
  const own = lineOf(text, error.pos[0])
  const above = lineOf(text, Math.max(own.start - 1, 0))
  for (const { start, end } of isOpen ? [own] : [own, above]) {
    const line = text.slice(start, Math.min(end, start + 2_000))
    // A text of several lines may begin one with a dash.
    if (start !== own.start && !/^ *-[A-Za-z_][\w-]*:\s/.test(line)) continue
    const [, indent = '', dash, key] =
      /^([ ]*(?:- +)*)(?:(-)(?=[^\s-])|([A-Za-z_][\w.-]*:)(?=[^\s/]))/.exec(line) ?? []
    const at = start + indent.length
    if (dash)
      return {
        code: 'invalid-yaml',
        ...{ start: at, end },
        message: 'a "-" begins an entry of a list only with a blank behind it',
        hint: DASH_HINT,
      }
    if (key && isOpen)
      return {
        code: 'invalid-yaml',
        ...{ start: at, end: at + key.length },
        message: `"${key}" is not a key without a blank behind it`,
        hint: BLANK_HINT,
      }
  }
  return undefined
}

const BRACES = /(?<=(?:[:,[{]|- ) *)\{\{/
const BLOCK_HEADER = /[>|][+-]?\d?\s*$/
const IN_BRACKETS = 'inside { } and [ ], text with [ ] { } , or # needs quotes'

/** What is wrong, and what to write: most often, text that needs quotes. */
function adviceOn(error: YAMLError, text: string): Advice {
  const { code, message, pos } = error
  if (code === 'RESOURCE_EXHAUSTION') return ['too-large', 'this nests too deep']
  if (code === 'TAG_RESOLVE_FAILED')
    return ['yaml-bang', 'YAML takes this for a tag', 'text that begins with "!" needs quotes']
  if (code === 'TAB_AS_INDENT')
    return ['yaml-tab', 'YAML takes only spaces for indentation, and this is a tab', 'indent with spaces']
  if (code === 'BAD_ALIAS')
    return ['yaml-star', 'YAML takes this for an alias', 'text that begins with "*" needs quotes']
  if (bracesIn(text, pos[0]) !== undefined)
    return ['yaml-braces', 'YAML takes "{{" for two maps', 'text that begins with "{{" needs quotes']
  if (isOpenQuote(error))
    return ['invalid-yaml', 'this quote is never closed', 'close it at the end of the text']
  if (isBracketInText(error, text))
    return ['invalid-yaml', 'inside { } and [ ], a bracket within text begins a list or a map', IN_BRACKETS]
  if (hashBefore(error, text) !== undefined)
    return [
      'yaml-comment',
      'YAML ends the text at " #", where a comment begins',
      'text with " #" needs quotes',
    ]
  if (/^(Block scalar header|Not a YAML token)/.test(message))
    return [
      'invalid-yaml',
      'YAML takes ">" or "|" for a text of several lines',
      'text that begins so needs quotes',
    ]
  if (code === 'BAD_SCALAR_START')
    return ['invalid-yaml', 'text that begins with this character needs quotes']
  if (code === 'BAD_DQ_ESCAPE')
    return ['invalid-yaml', 'YAML has no such escape', 'write \\\\ for a backslash, or use single quotes']
  if (code === 'MULTIPLE_DOCS')
    return ['invalid-yaml', 'a second document begins here: a configuration is one']
  if (isNotAligned(error, text))
    return [
      'invalid-yaml',
      'this line is not aligned with those above',
      'begin keys of one map in the same column',
    ]
  if (code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'BLOCK_IN_FLOW')
    return [
      'invalid-yaml',
      'the ": " in this text begins a map',
      'a text with ": " needs quotes; a map in one line needs braces: { key: value }',
    ]
  if (message.startsWith(WITHOUT_VALUE))
    return ['invalid-yaml', 'this is not a key with a value', 'write key: value']
  if (message === SECOND_TEXT)
    return [
      'invalid-yaml',
      'YAML ends the text at its second quote',
      'put all of it in quotes of the other kind',
    ]
  const closing = /^Flow .* end with an? ([\]}])$/.exec(message)?.[1]
  if (closing !== undefined)
    return [
      'invalid-yaml',
      `a "${closing}" is missing before this`,
      'is a bracket, quote or indentation missing in a line above?',
    ]
  if (/^Unexpected flow-(map|seq)-end/.test(message)) return ['invalid-yaml', 'this bracket closes nothing']
  // What follows a colon quotes the file.
  return ['invalid-yaml', `this is not valid YAML: ${message.replace(/: .*/s, '').toLowerCase()}`]
}

/** Where the text begins that causes the fault; the parser often names only the place where it noticed. */
function placeOf(error: YAMLError, text: string, document: Document.Parsed): [start: number, end: number] {
  const [start, end] = error.pos
  const line = lineOf(text, start)
  const before = text.slice(line.start, start)
  if (isOpenQuote(error)) {
    const quote = lastQuoted(document, (it) => it.start < start && !isClosed(text, it))
    if (quote) return [quote.start, quote.start + 1]
  }
  if (error.code === 'TAG_RESOLVE_FAILED' || error.code === 'TAB_AS_INDENT') return [start, end]
  const braces = bracesIn(text, start)
  if (braces !== undefined) return [braces, braces + 2]
  if (isBracketInText(error, text)) return [start - (/[^\s,[\]{}"']*$/.exec(before)?.[0].length ?? 0), end]
  const hash = hashBefore(error, text)
  if (hash !== undefined) return [hash, lineOf(text, hash).end]
  const header = /^(Block scalar header|Not a YAML token)/.test(error.message) && BLOCK_HEADER.exec(before)
  if (header) return [line.start + header.index, end]
  if (error.message === SECOND_TEXT) {
    const quoted = lastQuoted(document, (it) => it.end === text.slice(0, start).trimEnd().length)
    if (quoted) return [quoted.start, quoted.end]
  }
  if (!isNotAligned(error, text)) return [start, end]
  const at = isBlockKey(error) ? line.end + 1 : start
  const first = at + text.slice(at).search(/[^ ]|$/)
  return [first, lineOf(text, first).end]
}

function bracesIn(text: string, at: number): number | undefined {
  const { start, end } = lineOf(text, at)
  const found = BRACES.exec(text.slice(start, Math.min(end, start + 2_000)))
  return found ? start + found.index : undefined
}

function isOpenQuote({ code, message }: YAMLError): boolean {
  return code === 'MISSING_CHAR' && /closing ["']quote/.test(message)
}

/** A bracket directly behind text, as in `{ name: /web-[0-9]/ }` and `{ url: ${env:URL} }`. */
function isBracketInText({ code, pos: [start] }: YAMLError, text: string): boolean {
  if (code !== 'UNEXPECTED_TOKEN' && code !== 'MISSING_CHAR') return false
  return /[[{]/.test(text[start] ?? '') && /[^\s,:[\]{}"']/.test(text[start - 1] ?? ' ')
}

/** `{ channel: #ops }`: the comment takes the bracket with it, and the parser notices in the next line. */
function hashBefore({ message, pos }: YAMLError, text: string): number | undefined {
  if (!/^Flow .* end with an? [\]}]$/.test(message)) return undefined
  const above = lineOf(text, Math.max(text.slice(0, pos[0]).trimEnd().length - 1, 0))
  const found = /\s#(?=\S)(?=.*[\]}]\s*$)/.exec(
    text.slice(above.start, Math.min(above.end, above.start + 2_000)),
  )
  return found ? above.start + found.index + 1 : undefined
}

function isBlockKey({ code }: YAMLError): boolean {
  return code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'BLOCK_IN_FLOW'
}

/** A line that begins in a column in which no other does; a deeper one goes on with the text above it. */
function isNotAligned(error: YAMLError, text: string): boolean {
  const { message, pos } = error
  if (isBlockKey(error)) return !/:\s/.test(text.slice(pos[0], lineOf(text, pos[0]).end + 1))
  return /^(Sequence item without - indicator|All mapping items must start)/.test(message)
}

function isClosed(text: string, { start, end }: { start: number; end: number }): boolean {
  return end - start > 1 && text[end - 1] === text[start]
}

/** The last text in quotes that passes a test. */
function lastQuoted(
  document: Document.Parsed,
  test: (place: { start: number; end: number }) => boolean,
): { start: number; end: number } | undefined {
  let found: { start: number; end: number } | undefined
  visit(document, {
    Scalar(_, { type, range }: Scalar) {
      const [start = 0, end = 0] = range ?? []
      if (type?.startsWith('QUOTE') && test({ start, end })) found = { start, end }
    },
  })
  return found
}
