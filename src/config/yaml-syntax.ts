import { type Document, isScalar, visit, type YAMLError } from 'yaml'

type Place = Pick<SyntaxFault, 'start' | 'end'>

/** A fault, as offsets into the file's text. */
export interface SyntaxFault {
  start: number
  end: number
  message: string
  hint?: string
}

/** Nobody reads more of them at once. */
const MAX_FAULTS = 50

/** What the YAML parser found, in words that say what to do; not what only follows from an error before it. */
export function syntaxFaults(document: Document.Parsed, text: string): SyntaxFault[] {
  const tags = document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')
  const lines = new Set<number>()
  return withoutSequels(document.errors.slice(0, MAX_FAULTS), text)
    .concat(tags.slice(0, MAX_FAULTS))
    .map((error) => faultOf(error, text, document))
    .filter(({ start }) => {
      const lineStart = text.lastIndexOf('\n', start - 1)
      const isFirst = !lines.has(lineStart)
      lines.add(lineStart)
      return isFirst
    })
}

/** Behind a bracket or quote that was not meant, nobody knows what is what. */
function withoutSequels(errors: readonly YAMLError[], text: string): YAMLError[] {
  const end = errors.findIndex((error) => isOpenQuote(error) || isBracketInText(error, text))
  return errors
    .slice(0, end === -1 ? undefined : end + 1)
    .filter(({ message }, index) => index === 0 || !message.includes(' in YAML stream'))
}

function faultOf(error: YAMLError, text: string, document: Document.Parsed): SyntaxFault {
  const { code, message } = error
  const quote = isOpenQuote(error) ? openQuote(document, text, error.pos[0]) : undefined
  if (quote)
    return { ...quote, message: 'this quote is never closed', hint: `end the text with ${text[quote.start]}` }
  const bang = bangOf(error, text)
  if (bang) return bang
  const [start, end] = error.pos
  const line = text.slice(text.lastIndexOf('\n', start - 1) + 1, text.indexOf('\n', start) + 1 || undefined)
  const block = /^Block scalar header includes extra characters: ([>|])/.exec(message)?.[1]
  if (block !== undefined) {
    const at = text.lastIndexOf(block, start)
    return {
      start: at,
      end: at + 1,
      message: `"${block}" begins a text of several lines here, and what follows it is not in the next line`,
      hint: `text that begins with "${block}" needs quotes`,
    }
  }
  const hint = hintOf(error, line, text)
  const sentence = isBracketInText(error, text)
    ? `"${text[start]}" ends the text before it: inside { } and [ ] it is part of YAML`
    : sentenceOf(code, message)
  return { start, end, message: sentence, ...(hint !== undefined && { hint }) }
}

/** Text that begins with "!": YAML makes a tag of its first word. */
function bangOf({ code, message, pos }: YAMLError, text: string): SyntaxFault | undefined {
  const lineStart = text.lastIndexOf('\n', pos[0] - 1) + 1
  const isCut = message.startsWith('Tags and anchors must be separated')
  const inLine = text.slice(lineStart, pos[0]).search(/(?<=(?:^|[:,[{-])\s+)!\S*$/)
  if (isCut ? inLine === -1 : code !== 'TAG_RESOLVE_FAILED') return undefined
  const start = isCut ? lineStart + inLine : pos[0]
  const tag = text.slice(start, isCut ? pos[0] : pos[1])
  const isWhole = /^\s*(?:- +)*(?:[\w.-]+: +)?$/.test(text.slice(lineStart, start))
  const end = isWhole ? start + text.slice(start).search(/\s+#|\s*\r?\n|\s*$/) : start + tag.length
  return {
    start,
    end,
    message: `YAML takes this for a tag: ${tag}`,
    hint: `text that begins with "!" needs quotes${isWhole || !isCut ? `: ${quoted(text.slice(start, end))}` : ''}`,
  }
}

/** As YAML takes it for text. */
export function quoted(text: string): string {
  if (!/["\\]/.test(text)) return `"${text}"`
  return text.includes("'") ? 'put all of it below "|"' : `'${text}'`
}

function sentenceOf(code: YAMLError['code'], message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'a second document begins here: a configuration is one document'
  const closing = /^Unexpected flow-(?:map|seq)-end token.*"([\]}])"$/.exec(message)?.[1]
  if (closing !== undefined) return `this "${closing}" closes nothing`
  const bracket = /^Flow .* end with an? ([\]}])$/.exec(message)?.[1]
  if (bracket !== undefined) return `a "${bracket}" is missing before this`
  return `this is no valid YAML: ${message[0]?.toLowerCase()}${message.slice(1)}`
}

function hintOf(error: YAMLError, line: string, text: string): string | undefined {
  const { code, message, pos } = error
  const place = text.slice(...pos)
  if (code === 'TAB_AS_INDENT') return 'indent with spaces'
  if (code === 'BAD_SCALAR_START') return `text that begins with "${place}" needs quotes`
  if (code === 'BLOCK_IN_FLOW') return 'a map inside { } and [ ] has braces of its own: { key: value }'
  if (message === 'Unexpected scalar at node end' && isBehindQuote(text, pos[0]))
    return 'the text ended at its second quote: put all of it in quotes of the other kind, or below "|"'
  if (/(?:[:,[{]|- ) *\{\{/.test(line)) return 'text that begins with "{{" needs quotes'
  if (message.startsWith('Alias cannot be an empty string'))
    return 'text that begins with "*" needs quotes: "*"'
  if (message.startsWith('Sequence item without - indicator'))
    return 'the keys of one entry begin in the same column: below the first letter behind its "- "'
  if (code === 'BAD_DQ_ESCAPE') return 'write \\\\ for a backslash, or use single quotes'
  if (line.includes('${') && /[[{]/.test(line)) return `inside { } and [ ], text with \${…} needs quotes`
  if (isBracketInText(error, text)) return 'text with [ ] { } , needs quotes'
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /:.*: /.test(line)) return colonHint(line)
  if (code === 'BAD_INDENT' && /[\]}]/.test(place))
    return 'if this is part of a text: text with [ ] { } , needs quotes'
  if (code === 'BAD_INDENT') return 'is a bracket, quote or indentation missing in a line above?'
  return undefined
}

/** `to: screen: { … }` was meant as a map, `if: x.contains("a: b")` as a text. */
function colonHint(line: string): string {
  const [, key, inner] = /^\s*(?:- )?([\w-]+): +([a-z][\w.-]*): /.exec(line) ?? []
  if (/^\s*(?:- )?if:/.test(line))
    return 'text with ": " in it needs quotes: put all of the expression below "|"'
  return inner === undefined || key === 'name'
    ? 'text with ": " in it needs quotes'
    : `a map has braces: ${key}: { ${inner}: … }; text with ": " in it needs quotes`
}

function isBehindQuote(text: string, at: number): boolean {
  return /["']\s*$/.test(text.slice(0, at))
}

/** A bracket that opens right behind text, as in `{ name: /web-[0-9]/ }`. */
function isBracketInText({ code, pos: [start] }: YAMLError, text: string): boolean {
  if (code !== 'UNEXPECTED_TOKEN' && code !== 'MISSING_CHAR') return false
  return /[[{]/.test(text[start] ?? '') && /[^\s,:[\]{}"']/.test(text[start - 1] ?? ' ')
}

function isOpenQuote({ code, message }: YAMLError): boolean {
  return code === 'MISSING_CHAR' && /closing ["']quote/.test(message)
}

/** The quote before a place that opens a text which nothing closes. */
function openQuote(document: Document.Parsed, text: string, before: number): Place | undefined {
  let found: Place | undefined
  visit(document, (_, node) => {
    if (!isScalar(node) || !node.range || !node.type?.startsWith('QUOTE')) return
    const [start, end] = node.range
    const isClosed = end - start > 1 && text[end - 1] === text[start]
    if (start < before && !isClosed) found = { start, end: start + 1 }
  })
  return found
}
