import { lineOf } from './text.ts'

/** A key in a line, with the column in which it begins, counted from 1. */
interface Key {
  name: string
  column: number
  start: number
  /** Where the "- " in front of it begins. */
  dash?: number
}

export interface ColumnFault {
  start: number
  end: number
  message: string
  hint: string
  /** Up to here, the same is wrong with the lines below. */
  until: number
}

/** How far up a key's neighbours are looked for. */
const MAX_LINES = 1_000

/** A key that begins in a column in which no other does; undefined when this line begins with none. */
export function keyOutOfLine(text: string, at: number): ColumnFault | undefined {
  const key = keyIn(text, at)
  if (!key || key.dash !== undefined) return undefined
  const neighbour = nearestOf(neighboursOf(text, key.start), key)
  if (!neighbour || neighbour.column === key.column) return undefined
  const { names, until } = sameColumn(text, key)
  const what = names.length === 1 ? 'it' : inWords(names)
  return {
    start: key.start,
    end: key.start + key.name.length,
    message: `"${key.name}" is not in line with "${neighbour.name}" above`,
    hint: `begin ${what} in column ${neighbour.column}`,
    until,
  }
}

/** A line that begins with a tab. */
export function tabInIndent(text: string, at: number): ColumnFault | undefined {
  const line = lineOf(text, at)
  const [indent = ''] = /^[ \t]+/.exec(text.slice(line.start, line.end)) ?? []
  if (!indent.includes('\t') || line.start + indent.length < at) return undefined
  const start = line.start + indent.indexOf('\t')
  const key = keyIn(text.replaceAll('\t', ' '), at)
  const width = neighbourWidth(text, line.start)
  return {
    start,
    end: line.start + indent.length,
    message: `${key ? `"${key.name}"` : 'this line'} stands behind a tab: YAML takes only spaces here`,
    hint: width === undefined ? 'indent it with spaces' : `begin the line with ${width} spaces`,
    until: line.end,
  }
}

/** How many spaces a line has that belongs to what stands above it. */
function neighbourWidth(text: string, lineStart: number): number | undefined {
  if (lineStart === 0) return undefined
  const above = lineOf(text, lineStart - 1)
  const key = keyIn(text, above.start)
  if (!key) return undefined
  const isOpen = text.slice(key.start + key.name.length, above.end).trim() === ':'
  return key.column - 1 + (isOpen ? 2 : 0)
}

/** The keys above that a line may be meant to stand in line with, from the next one up. */
function neighboursOf(text: string, start: number): Key[] {
  const found: Key[] = []
  let at = lineOf(text, start).start
  for (let i = 0; i < MAX_LINES && at > 0; i++) {
    const line = lineOf(text, at - 1)
    at = line.start
    const key = keyIn(text, line.start)
    const least = found.at(-1)
    if (key && (!least || (least.dash ?? least.column) > key.column)) found.push(key)
    if (key && (key.dash ?? key.column) === 1) break
  }
  return found
}

const AT_THE_TOP =
  /^(watch|sinks|rules|redis|vars|defaults|include|tests|kubernetes|server|cluster|journal|deadLetters|plugins|x-.*)$/

/** Of two that are equally far, that which is further in. */
function nearestOf(keys: readonly Key[], { name, column }: Key): Key | undefined {
  const inner = keys.filter((key) => (key.column === 1) === AT_THE_TOP.test(name))
  const distance = (key: Key) => Math.abs(key.column - column)
  return (inner.length > 0 ? inner : keys).toSorted((a, b) => distance(a) - distance(b))[0]
}

/** This key and those below it in the same column. */
function sameColumn(text: string, { name, column, start }: Key): { names: string[]; until: number } {
  const names = [name]
  let until = lineOf(text, start).end
  for (let i = 0; i < MAX_LINES && until < text.length; i++) {
    const line = lineOf(text, until + 1)
    const content = text.slice(line.start, line.end)
    const indent = content.search(/\S|$/)
    if (content.trim() !== '' && indent < column - 1) break
    const key = keyIn(text, line.start)
    if (indent === column - 1 && content.trim() !== '') {
      if (!key || key.dash !== undefined) break
      names.push(key.name)
    }
    until = line.end
  }
  return { names, until }
}

function inWords(names: readonly string[]): string {
  const shown = names.slice(0, 4).map((name) => `"${name}"`)
  const rest = names.length > 4 ? ['those below'] : []
  const all = [...shown, ...rest]
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
}

/** The key at the beginning of the line that holds this place. */
function keyIn(text: string, at: number): Key | undefined {
  const line = lineOf(text, at)
  const content = text.slice(line.start, Math.min(line.end, line.start + 500))
  const [, indent, dashes = '', name] = /^( *)((?:-[ \t]+)*)([\w./-]+):(?=\s|$)/.exec(content) ?? []
  if (indent === undefined || name === undefined) return undefined
  const column = indent.length + dashes.length + 1
  const dash = dashes === '' ? {} : { dash: indent.length + 1 }
  return { name, column, start: line.start + column - 1, ...dash }
}
