import { printable } from '../text/printable.ts'

/** The sections that hold no secrets. */
const PRINTED = /^(["']?)(?:rules|watch|tests|include)\1\s*:(?:\s|$)/
const NOT_PRINTED = /\b(?:redis|sinks|vars|kubernetes)["']?\s*:|\$\{/

const MAX_WIDTH = 120

/** A part of a line, with carets under the place of a problem. */
interface Excerpt {
  line: string
  indent: string
  carets: string
}

/**
 * Returns a function that gives the excerpt for a place in a file; undefined for a line that may hold a secret. Only lines of
 * `rules`, `watch`, `tests` and `include` are printed, and none with a reference. It does not need valid YAML.
 */
export function excerptsOf(
  text: string,
): (place: { line: number; column: number; length: number }) => Excerpt | undefined {
  const lines = text.split(/\r?\n/)
  const printed = printedLines(lines)
  return ({ line, column, length }) =>
    printed[line - 1] ? excerptOf(lines[line - 1] ?? '', column, length) : undefined
}

function printedLines(lines: readonly string[]): readonly boolean[] {
  const first = lines.find((line) => /^\s*[^\s#%]/.test(line) && !/^---\s*$/.test(line))
  // Otherwise the root is not a block map, and the section of a line is unknown.
  if (!first || !/^(["']?)[\w.-]+\1\s*:(?:\s|$)/.test(first)) return []
  let isOpen = false
  const printed = lines.map((line) => {
    if (/^(?:[^\s#-]|---)/.test(line)) isOpen = PRINTED.test(line)
    return isOpen && !NOT_PRINTED.test(line)
  })
  const aliases = new Set(lines.flatMap((line, i) => (printed[i] ? [] : namesIn(line, '*'))))
  const hasShared = lines.some((line, i) => printed[i] && namesIn(line, '&').some((it) => aliases.has(it)))
  return hasShared ? [] : printed
}

function namesIn(line: string, mark: '*' | '&'): string[] {
  return line.includes(mark) ? [...line.matchAll(/[*&]([^\s,[\]{}]+)/g)].map(([, name = '']) => name) : []
}

/** The part of a line around the place; a line can be as long as the file. */
function excerptOf(line: string, column: number, length: number): Excerpt {
  const at = Math.min(column - 1, line.length)
  const from = at > MAX_WIDTH - 20 ? at - MAX_WIDTH / 2 : 0
  const head = from > 0 ? '…' : ''
  const tail = line.length > from + MAX_WIDTH ? '…' : ''
  const shown = head + line.slice(from + head.length, from + MAX_WIDTH) + tail
  return {
    line: printable(shown.replaceAll('\t', '→').trimEnd()),
    indent: ' '.repeat(at - from),
    carets: '^'.repeat(Math.max(1, Math.min(length, shown.length - (at - from)))),
  }
}
