import type { SourceFile } from './source-file.ts'

/** A piece of a file, as offsets into its text. */
export interface Span {
  file: SourceFile
  start: number
  end: number
}

/** A value of the file, with where it stands. */
export interface Located extends Span {
  /** Plain data; maps have no prototype. */
  value: unknown
  entries?: ReadonlyMap<string, Entry>
  items?: readonly Located[]
  /** Where a character of the text stands in the file, and that behind the last one; not for what has `${…}`. */
  placeOf?: (offset: number) => number | undefined
  /** How a number or a word such as `true` is written. */
  source?: string
  /** A text's form in the file, when it has `${…}`. */
  written?: string
  /** What `${…}` stood for, here and further in: never to be shown. */
  secrets: readonly string[]
  /** How many values this is once aliases are followed. */
  size: number
}

export interface Entry {
  key: Span
  value: Located
}

/** A few kilobytes of aliases to aliases can stand for billions of values. */
export const MAX_SIZE = 100_000

/** A value without others in it, and without variables. */
export function leaf({ file, start, end }: Span, value: unknown): Located {
  return { file, start, end, value, secrets: NONE, size: 1 }
}

/** A list of such values. */
export function listOf(span: Span, items: readonly Located[]): Located {
  const { file, start, end } = span
  return { file, start, end, items, value: items.map(({ value }) => value), ...sumOf(items) }
}

/** A map of such values. */
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
