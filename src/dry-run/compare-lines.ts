import { printable } from '../printable.ts'
import type { DifferenceKind, SentCounts, SentDifference, TextComparison } from './compare-texts.ts'
import type { Paint, Style } from './paint.ts'
import { shownValue } from './shown-value.ts'

const SIGNS: Readonly<Record<DifferenceKind, readonly [sign: string, style: Style, words: string]>> = {
  more: ['+', 'good', 'would be sent now'],
  less: ['-', 'bad', 'would no longer be sent'],
  other: ['~', 'warn', 'would read otherwise'],
}
const KINDS = Object.keys(SIGNS) as DifferenceKind[]

/** What two configurations send, side by side, then examples of what differs; safe on a terminal. */
export function comparisonLines(it: TextComparison, paint: Paint): string[] {
  const { more, less, other } = it.total
  if (more + less + other === 0) return [...table(it.counts, paint), '', 'Nothing that is sent differs.']
  const totals = KINDS.filter((kind) => it.total[kind] > 0).map((kind) => {
    const [sign, style, words] = SIGNS[kind]
    return paint(style, `${sign} ${it.total[kind].toLocaleString('en-US')} ${words}`)
  })
  return [...table(it.counts, paint), '', ...totals, '', ...exampleLines(it.examples, paint)]
}

function exampleLines(examples: readonly SentDifference[], paint: Paint): string[] {
  return [...Map.groupBy(examples, ({ sink, rule }) => `${sink} [${rule}]`)].flatMap(([name, some]) => [
    paint('bold', printable(name)),
    ...some.flatMap(({ kind, atMs, title, before }) => {
      const [sign, style] = SIGNS[kind]
      const time = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')
      const line = `  ${paint(style, sign)} ${paint('dim', time)}  ${shownValue(title, 160)}`
      if (before === undefined) return [line]
      return before === title
        ? [`${line} ${paint('dim', '(what follows the title)')}`]
        : [line, `    ${paint('dim', `was: ${shownValue(before, 160)}`)}`]
    }),
  ])
}

function table(counts: readonly SentCounts[], paint: Paint): string[] {
  if (counts.length === 0) return ['Neither sends anything.']
  const rows = [
    ['sink', 'rule', 'now', 'new', ''],
    ...counts.map(({ sink, rule, before, after }) => [
      printable(sink),
      printable(rule),
      String(before),
      String(after),
      after === before ? '' : after > before ? `+${after - before}` : String(after - before),
    ]),
  ]
  const widths = [0, 1, 2, 3, 4].map((i) => Math.max(...rows.map((row) => (row[i] as string).length)))
  return rows.map((row, n) => {
    const [sink, rule, ...numbers] = row.map((cell, i) =>
      i < 2 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number),
    )
    const line = [sink, rule, ...numbers].join('  ').trimEnd()
    return n === 0 ? paint('dim', line) : line
  })
}
