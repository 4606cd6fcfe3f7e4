import { printable } from '../printable.ts'
import { hiddenWords, maskLine } from './mask-line.ts'

/** Something that is wrong with a configuration, and where. Lines and columns count from 1. */
export interface Problem {
  file: string
  line: number
  column: number
  /** How many characters are wrong, for the carets; they end with the line. */
  length: number
  message: string
  /** What to write instead, when that can be told. */
  hint?: string
  severity: 'error' | 'warning'
  /** What the place refers to is not here. */
  absent?: true
}

const MAX_WIDTH = 120

/** Nobody writes longer lines; to look for secrets in them takes its time. */
const MAX_LINE = 20_000

/** Of such a line, the part that a message may quote. */
const MAX_AROUND = 2_000

/** Who mends so many asks again. */
const MAX_SHOWN = 100

const MAX_MESSAGE = 1_000

/** What a problem says may quote the file, in which a word can be as long as the file. */
export function withShortWords<It extends Problem>(problem: It): It {
  const { message, hint } = problem
  return { ...problem, message: shortened(message), ...(hint !== undefined && { hint: shortened(hint) }) }
}

function shortened(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE).toWellFormed()}…` : text
}

/** The same, where it quotes what is hidden when its line is shown. */
export function withoutSecrets<It extends Problem>(problem: It, lines: readonly string[]): It {
  const line = lines[problem.line - 1] ?? ''
  const isEndless = line.length > MAX_LINE
  const around = line.slice(Math.max(0, problem.column - MAX_AROUND), problem.column + MAX_AROUND)
  const words = isEndless
    ? hiddenWords(around, maskLine([around], 0))
    : hiddenWords(line, maskLine(lines, problem.line - 1))
  const hide = (text: string) =>
    words.reduce((shown, word) => shown.replaceAll(word, '*'.repeat(word.length)), text)
  const { message, hint } = problem
  return { ...problem, message: hide(message), ...(hint !== undefined && { hint: hide(hint) }) }
}

/** For each problem, in the order of the files in `text`, `file:line:column: message`, the line with carets under the place, and what to write instead. Of very many the first errors. */
export function formatProblems(
  problems: readonly Problem[],
  text: string | ReadonlyMap<string, string>,
  { colour = false }: { colour?: boolean } = {},
): string {
  const files = new Map<string, string[]>()
  const linesOf = (file: string) => {
    const found = files.get(file) ?? (typeof text === 'string' ? text : (text.get(file) ?? '')).split(/\r?\n/)
    files.set(file, found)
    return found
  }
  const masked = new Map<string, string>()
  const lineOf = ({ file, line }: Problem) => {
    const key = `${line} ${file}`
    const lines = linesOf(file)
    const isEndless = (lines[line - 1] ?? '').length > MAX_LINE
    const found =
      masked.get(key) ?? (isEndless ? '…' : printable(maskLine(lines, line - 1).replaceAll('\t', '→')))
    masked.set(key, found)
    return found
  }
  const order = typeof text === 'string' ? [] : [...text.keys()]
  const place = ({ file }: Problem) => order.indexOf(file)
  const paint = (code: number, it: string) => (colour ? `\u001b[${code}m${it}\u001b[0m` : it)
  const byPlace = (a: Problem, b: Problem) => place(a) - place(b) || a.line - b.line || a.column - b.column
  const sorted = problems.toSorted(byPlace)
  const errors = sorted.filter(({ severity }) => severity === 'error')
  const warnings = sorted.filter(({ severity }) => severity === 'warning')
  const first = new Set([...errors, ...warnings].slice(0, MAX_SHOWN))
  const left = sorted.length - first.size
  const shown = sorted
    .filter((it) => first.has(it))
    .map((it) => {
      const problem = withShortWords(withoutSecrets(it, linesOf(it.file)))
      const { line, column, hint, severity } = problem
      const [file, message] = [problem.file, problem.message].map(printable)
      const word = severity === 'warning' ? paint(33, 'warning: ') : ''
      const excerpt = excerptOf(problem, lineOf(problem))
      return [
        `${paint(1, `${file}:${line}:${column}:`)} ${word}${message}`,
        `${String(line).padStart(5)} | ${excerpt.line}`,
        `${' '.repeat(5)} | ${' '.repeat(excerpt.indent)}${paint(severity === 'warning' ? 33 : 31, excerpt.carets)}`,
        ...(hint === undefined ? [] : [`${' '.repeat(5)} = ${printable(hint)}`]),
        '',
      ].join('\n')
    })
  return [...shown, ...(left > 0 ? [`… and ${left} more\n`] : [])].join('\n')
}

/** The part of a line around the place: it is not endless. */
function excerptOf(
  { column, length }: Problem,
  line: string,
): { line: string; indent: number; carets: string } {
  const at = Math.min(column - 1, line.length)
  const from = at > MAX_WIDTH - 20 ? at - MAX_WIDTH / 2 : 0
  const head = from > 0 ? '…' : ''
  const tail = line.length > from + MAX_WIDTH ? '…' : ''
  const shown = head + line.slice(from + head.length, from + MAX_WIDTH) + tail
  const width = Math.max(1, Math.min(length, shown.length - (at - from)))
  return { line: shown.trimEnd(), indent: at - from, carets: '^'.repeat(width) }
}
