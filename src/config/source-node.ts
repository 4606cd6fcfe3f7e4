import { LineCounter } from 'yaml'

/** One file of a configuration. */
export interface SourceFile {
  /** Its name in problems. */
  name: string
  text: string
  lines: LineCounter
}

export function sourceFile(name: string, text: string): SourceFile {
  const lines = new LineCounter()
  for (let at = 0; at !== 0 || lines.lineStarts.length === 0; at = text.indexOf('\n', at) + 1)
    lines.addNewLine(at)
  return { name, text, lines }
}

/** Returns line and column of an offset, counted from 1. */
export function positionAt({ lines }: SourceFile, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

/** A range of a file, as offsets into its text. */
export interface Span {
  file: SourceFile
  start: number
  end: number
}

/** A value of the file with its source position. */
export interface Located extends Span {
  /** Plain data; maps have no prototype. */
  value: unknown
  entries?: ReadonlyMap<string, Entry>
  items?: readonly Located[]
  /** Maps an offset in the text to an offset in the file; missing for a text with `${…}`. */
  placeOf?: (offset: number) => number | undefined
  /** A number or boolean as written. */
  source?: string
  /** A text with `${…}` as written in the file. */
  written?: string
  /** The values of `${env:…}` and `${file:…}` in it and its children: never print them. */
  secrets: readonly string[]
  /** The number of values in it, with aliases expanded. */
  size: number
}

export interface Entry {
  key: Span
  value: Located
}

/** A few kilobytes of aliases to aliases can expand to billions of values. */
export const MAX_SIZE = 100_000

/** Returns a node for a value without children and without references. */
export function leaf({ file, start, end }: Span, value: unknown): Located {
  return { file, start, end, value, secrets: NONE, size: 1 }
}

/** Returns a node for a list. */
export function listOf(span: Span, items: readonly Located[]): Located {
  const { file, start, end } = span
  return { file, start, end, items, value: items.map(({ value }) => value), ...sumOf(items) }
}

/** Returns a node for a map. */
export function mapOf(span: Span, entries: ReadonlyMap<string, Entry>): Located {
  const value = Object.create(null) as Record<string, unknown>
  for (const [name, entry] of entries) value[name] = entry.value.value
  const { file, start, end } = span
  return { file, start, end, entries, value, ...sumOf([...entries.values()].map((entry) => entry.value)) }
}

const NONE: readonly string[] = []

function sumOf(parts: readonly Located[]): { size: number; secrets: readonly string[] } {
  const size = parts.reduce((sum, part) => sum + part.size, 1)
  const isOpen = size > MAX_SIZE || parts.every((part) => part.secrets.length === 0)
  return { size, secrets: isOpen ? NONE : parts.flatMap((part) => part.secrets) }
}
