/** Nobody mends longer ones by a hint. */
const MAX_LINE = 2_000

/** A piece of a text. */
export interface Piece {
  start: number
  end: number
}

/** As YAML takes it for text. */
export function quoted(text: string): string {
  return /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text}"`
}

/** The same without quotes, where it needs none behind its key in a line of its own. */
export function asText(text: string): string {
  const isPlain = /^(?![-?:] )[^\s,[\]{}#&*!|>'"%@`]/.test(text) && !/: | #|:$/.test(text)
  return isPlain ? text : quoted(text)
}

/** `a: b` as a map in one line, and `a: b: c`, too. */
export function braced(text: string): string {
  const pairs = text.split(/, (?=[\w./-]+: )/).map((pair) => {
    const [, key = '', value = ''] = /^(.+?): +(.*)$/s.exec(pair) ?? []
    return `${withinBraces(key)}: ${/^[^\s"'[{]+: /.test(value) ? braced(value) : withinBraces(value)}`
  })
  return `{ ${pairs.join(', ')} }`
}

function withinBraces(text: string): string {
  const isFlow = /^["'[{](?!\{)/.test(text)
  return isFlow || !/[[\]{},]|: | #/.test(text) ? text : quoted(text)
}

export function lineOf(text: string, at: number): Piece {
  const end = text.indexOf('\n', at)
  return { start: text.lastIndexOf('\n', at - 1) + 1, end: end === -1 ? text.length : end }
}

const KEY = /(?:^[ \t]*(?:- +)*|[{,]\s*)("[^"]*"|'[^']*'|[^\s"'{}[\],:#-][^\s"'{}[\],:#]*):[ \t]+$/

/** The key whose value begins here, in the same line. */
export function keyBefore(text: string, at: number): string | undefined {
  return KEY.exec(text.slice(Math.max(lineOf(text, at).start, at - MAX_LINE), at))?.[1]
}

/** Does a value that begins here go to the end of its line: is it within no brackets? */
export function isInBlock(text: string, at: number): boolean {
  const before = text.slice(lineOf(text, at).start, at)
  return before.length < MAX_LINE && /^\s*(?:- +)*(?:["']?[\w./-]+["']?: +)?$/.test(before)
}

/** What stands from here on was meant as one text, up to where its line or its brackets go on; undefined when it goes on below. */
export function textFrom(text: string, start: number): Piece | undefined {
  const line = lineOf(text, start)
  if (line.end - line.start > MAX_LINE) return undefined
  if (!isInBlock(text, start)) return { start, end: start + flowText(text.slice(start, line.end)).length }
  const [, next = ''] = /^\s*\n( *)\S/.exec(text.slice(line.end)) ?? []
  const [, dashes = '', key] = /^( *(?:- +)*)([^\s"'{[])?/.exec(text.slice(line.start, start)) ?? []
  const column = key === undefined ? dashes.lastIndexOf('-') : dashes.length
  if (next.length > column) return undefined
  return { start, end: start + withoutComment(text.slice(start, line.end), marksOf(text, start)).length }
}

/** What quotes a text: in prose, a single one is an apostrophe. */
function marksOf(text: string, start: number): RegExp {
  return keyBefore(text, start) === 'if' ? /"[^"]*("|$)|'[^']*('|$)/g : /"[^"]*("|$)/g
}

/** A " #" within quotes was meant as a part of them. */
function withoutComment(text: string, marks: RegExp): string {
  const quotes = [...text.matchAll(marks)]
  for (const { index } of text.matchAll(/\s#/g)) {
    const isQuoted = quotes.some((it) => it.index < index && index < it.index + it[0].length)
    if (!isQuoted) return text.slice(0, index).trimEnd()
  }
  return text.trimEnd()
}

const CLOSERS: Readonly<Record<string, string>> = { '[': ']', '{': '}', '(': ')' }

/** The text at the beginning of what stands within brackets; brackets that it opens itself belong to it. */
function flowText(text: string): string {
  return (flowEnd(text, true) ?? flowEnd(text, false) ?? text).trimEnd()
}

function flowEnd(text: string, isNested: boolean): string | undefined {
  const open: string[] = []
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    const quote = char === '"' && isNested ? text.indexOf('"', at + 1) : -1
    if (quote !== -1) at = quote
    else if (isNested && char in CLOSERS) open.push(CLOSERS[char] as string)
    else if (open.length > 0 && /[\])}]/.test(char)) {
      if (open.pop() !== char) return undefined
    } else if (open.length === 0 && (/[,\]}]/.test(char) || text.startsWith(' #', at)))
      return text.slice(0, at)
  }
  return open.length > 0 ? undefined : text
}

/** Where the text within brackets begins that this place is part of. */
export function flowStart(text: string, at: number): number {
  const { start } = lineOf(text, at)
  const before = text.slice(start, at)
  const marks = [',', '[', '{', ': '].map((mark) => before.lastIndexOf(mark) + mark.length)
  const from = Math.max(...marks.filter((mark, i) => mark > (i === 3 ? 1 : 0)), 0)
  return start + from + before.slice(from).search(/\S|$/)
}
