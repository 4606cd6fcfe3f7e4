import { printable } from '../text/printable.ts'
import type { ProblemCode } from './problem-codes.ts'

/** An error or a warning about a configuration. Lines and columns count from 1. */
export interface Problem {
  code: ProblemCode
  file: string
  line: number
  column: number
  /** The number of characters to underline, none beyond the end of its line. */
  length: number
  message: string
  /** What to write instead, where that is certain. */
  hint?: string
  severity: 'error' | 'warning'
  /** The place refers to something that does not exist here. */
  absent?: true
  /** The name that the problem is about, where another problem may explain it. */
  about?: string
}

const MAX_SHOWN = 100
const MAX_MESSAGE = 1_000

/**
 * Returns each problem as `file:line:column: message`, with its line where that may be printed, and its hint. They are in the
 * order of the files in `text`; of more than 100, errors come first.
 */
export function formatProblems(
  problems: readonly Problem[],
  text: string | ReadonlyMap<string, string>,
  { colour = false }: { colour?: boolean } = {},
): string {
  const order = typeof text === 'string' ? [] : [...text.keys()]
  const place = ({ file }: Problem) => order.indexOf(file)
  const byPlace = (a: Problem, b: Problem) => place(a) - place(b) || a.line - b.line || a.column - b.column
  const sorted = problems.toSorted(byPlace)
  const bySeverity = Map.groupBy(sorted, ({ severity }) => severity)
  const first = [...(bySeverity.get('error') ?? []), ...(bySeverity.get('warning') ?? [])].slice(0, MAX_SHOWN)
  const excerpts = new Map<string, ReturnType<typeof excerptsOf>>()
  const excerptOf = (problem: Problem) => {
    const { file } = problem
    const found = excerpts.get(file) ?? excerptsOf(typeof text === 'string' ? text : (text.get(file) ?? ''))
    excerpts.set(file, found)
    return found(problem)
  }
  const shown = first.toSorted(byPlace).map((problem) => format(problem, excerptOf(problem), colour))
  const left = sorted.length - first.length
  return [...shown, ...(left > 0 ? [`… and ${left} more\n`] : [])].join('\n')
}

function format(
  problem: Problem,
  excerpt: ReturnType<ReturnType<typeof excerptsOf>>,
  colour: boolean,
): string {
  const { file, line, column, message, hint, severity } = shortened(problem)
  const paint = (code: number, it: string) => (colour ? `\u001b[${code}m${it}\u001b[0m` : it)
  const word = severity === 'warning' ? paint(33, 'warning: ') : ''
  const carets = excerpt && paint(severity === 'warning' ? 33 : 31, excerpt.carets)
  return [
    `${paint(1, `${printable(file)}:${line}:${column}:`)} ${word}${printable(message)}`,
    ...(excerpt
      ? [`${String(line).padStart(5)} | ${excerpt.line}`, `      | ${excerpt.indent}${carets}`]
      : []),
    ...(hint === undefined ? [] : [`      = ${printable(hint)}`]),
    '',
  ].join('\n')
}

/** Returns a problem with at most 1,000 characters of message and hint: they may quote a word that is as long as the file. */
export function shortened<It extends Problem>(problem: It): It {
  const cut = (text: string) =>
    text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE).toWellFormed()}…` : text
  const { message, hint } = problem
  return { ...problem, message: cut(message), ...(hint !== undefined && { hint: cut(hint) }) }
}

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
function excerptsOf(
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
