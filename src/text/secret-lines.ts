import { BETWEEN, LIST, LIST_NAMES, NO_SECRET, QUOTED, SECRET_NAME, TEXT_NAMES } from './secret-forms.ts'

/** A part of a text, from the first index to the second, without this one. */
type Range = readonly [start: number, end: number]

/** Returns a text with other values below names of secrets, as YAML has them. Takes linear time. */
export function redactBelow(text: string, by: string): string {
  return replaced(text, valuesBelow(text), ` ${by}`)
}

/** Returns a text with other values in records that have the name of a secret: `{"value":"…","name":"DB_PASSWORD"}`. Takes linear time. */
export function redactRecords(text: string, by: string): string {
  return replaced(text, valuesOfRecords(text), by)
}

function replaced(text: string, ranges: Iterable<Range>, by: string): string {
  let kept = ''
  let done = 0
  for (const [start, end] of ranges) {
    kept += text.slice(done, start) + by
    done = end
  }
  return kept + text.slice(done)
}

/** The end of a line whose value is in the lines below it: `password: |`, `tokens:`. */
const ABOVE = new RegExp(
  String.raw`(?<name>(?:(?<list>${LIST_NAMES})|${TEXT_NAMES})["']?[ \t]{0,64}:)(?:[ \t]{1,64}[!&]\S{1,40})?(?<block>[ \t]{1,64}[|>][-+\d]{0,2})?(?:[ \t]{1,64}#[^\n]*)?[ \t]{0,64}$`,
  'gim',
)
/** What is before a key that begins its line. */
const BEFORE_KEY = /^ *(?:- +)*(?=["']?[\w.-]*$)/
/** The first line of a map, a list on several lines, or a stack. */
const NO_VALUE = /^ *(?:- +)*(?:(?:"[^"\n]*"|'[^'\n]*'|<<|[\w.$/-]+)[ \t]*:(?:[ \t]|$)|[{}[\]]|\? |at )/
const EMPTY = /^[ \t]*$/
const EMPTY_OR_COMMENT = /^[ \t]*(?:#|$)/

/** Block scalars with any text before the name; lists and indented texts only of a key that begins its line. */
function* valuesBelow(text: string): Generator<Range> {
  let done = 0
  for (const above of text.matchAll(ABOVE)) {
    if (above.index < done) continue
    const { name, list, block } = above.groups as { name: string; list?: string; block?: string }
    const before = text.slice(text.lastIndexOf('\n', above.index) + 1, above.index)
    const column = BEFORE_KEY.exec(before)?.[0].length
    const lineEnd = above.index + above[0].length
    if (block)
      done = endOfLines(text, lineEnd, EMPTY, (line) => indentOf(line) > (column ?? indentOf(before)))
    else if (column !== undefined) done = endOfValue(text, lineEnd, column, list !== undefined)
    if (done > lineEnd) yield [above.index + name.length, done]
  }
}

/** Returns the end of the value below a key, which begins in a column; that of the key's line if there is none. */
function endOfValue(text: string, lineEnd: number, column: number, isList: boolean): number {
  let first = ''
  for (let end = lineEnd; end < text.length && EMPTY_OR_COMMENT.test(first); ) {
    const start = end + 1
    end = endOfLine(text, start)
    first = text.slice(start, end)
  }
  const indent = indentOf(first)
  if (NO_VALUE.test(first)) return lineEnd
  const rest = (belongs: (line: string) => boolean) => endOfLines(text, lineEnd, EMPTY_OR_COMMENT, belongs)
  if (isItem(first) && indent >= column)
    return rest((line) => indentOf(line) >= indent + (isItem(line) ? 0 : 1))
  return !isList && indent > column ? rest((line) => indentOf(line) > column) : lineEnd
}

/** A name or a value of a record. In YAML a value without quotes is the rest of its line. */
const PAIR = new RegExp(
  String.raw`(?<![\w.-])(?<key>name|key|field|value)${BETWEEN}${NO_SECRET}(?<text>${QUOTED}|${LIST}|(?<=^[ -]{0,64}value: {1,64})(?![|>][-+\d]{0,2}$)[^\n]+|[^\s,;&"'{}<>]+)`,
  'gim',
)
const QUOTED_TEXT = /"[^"\n]*"|'[^'\n]*'/g
const INNER_MAP = /\{[^{}]*\}/g
const NEW_RECORD = /[{}<>]|\n *(?:- |\n)/
const LINE_START = /(?:^|[{([])[\s"'\\-]*$/
const BLOCK = /^[|>][-+\d]{0,2}$/
/** Longer texts are no names. */
const MAX_NAME = 200

function* valuesOfRecords(text: string): Generator<Range> {
  let values: Range[] = []
  let isSecret = false
  let beginsLine = true
  let lineStart = 0
  let done = 0
  for (const pair of text.matchAll(PAIR)) {
    if (pair.index < done) continue
    const { key, text: found } = pair.groups as { key: string; text: string }
    const gap = text.slice(done, pair.index)
    let isNew = NEW_RECORD.test(gap.replace(QUOTED_TEXT, '').replace(INNER_MAP, ''))
    if (done === 0 || gap.includes('\n')) {
      lineStart = done + gap.lastIndexOf('\n') + 1
      const wasAtStart = beginsLine
      beginsLine = LINE_START.test(text.slice(lineStart, pair.index))
      isNew ||= !wasAtStart || !beginsLine
    }
    if (isNew) {
      if (isSecret) yield* values
      values = []
      isSecret = false
    }
    done = pair.index + pair[0].length
    if (key.toLowerCase() !== 'value') {
      isSecret ||= found.length <= MAX_NAME && SECRET_NAME.test(found.replace(/(?<![\\"'])[\\"']+$/, ''))
      continue
    }
    const start = done - found.length
    const column = pair.index - lineStart
    if (BLOCK.test(found)) done = endOfLines(text, done, EMPTY, (line) => indentOf(line) > column)
    values.push([start, done])
  }
  if (isSecret) yield* values
}

function isItem(line: string): boolean {
  return /^ *- /.test(line)
}

function indentOf(line: string): number {
  return line.search(/[^ ]|$/)
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start)
  return end === -1 ? text.length : end
}

/** Returns the end of the last line that belongs to the one which ends at an index. Those that are skipped do, if one follows. */
function endOfLines(
  text: string,
  lineEnd: number,
  skipped: RegExp,
  belongs: (line: string) => boolean,
): number {
  let last = lineEnd
  for (let end = lineEnd; end < text.length; ) {
    const start = end + 1
    end = endOfLine(text, start)
    const line = text.slice(start, end)
    if (skipped.test(line)) continue
    if (!belongs(line)) break
    last = end
  }
  return last
}
