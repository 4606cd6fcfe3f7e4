import { printable } from '../../text/printable.ts'
import { counted, duration } from '../../text/quantities.ts'
import type { Paint } from '../output/colour.ts'
import type { TopFigures } from './figures.ts'

interface Layout {
  cluster: string
  /** Undefined: as wide and as long as it gets. */
  size: { columns: number; rows: number } | undefined
  paint: Paint
  /** Shown in the last line. */
  footer?: string
}

interface Column<T> {
  title: string
  cell(row: T): string
  isNumber?: true
  /** Takes the rest of the row, and is cut first. */
  isLast?: true
}

const SINKS: readonly Column<TopFigures['sinks'][number]>[] = [
  { title: 'SINK', cell: ({ sink }) => sink },
  { title: 'HEALTH', cell: ({ health }) => health },
  { title: 'IN/S', cell: ({ enqueuedPerSecond }) => rateText(enqueuedPerSecond), isNumber: true },
  { title: 'OUT/S', cell: ({ deliveredPerSecond }) => rateText(deliveredPerSecond), isNumber: true },
  { title: 'PENDING', cell: ({ pending }) => numberText(pending), isNumber: true },
  { title: 'OLDEST', cell: ({ oldestMs }) => age(oldestMs), isNumber: true },
  { title: 'DEAD', cell: ({ dead }) => numberText(dead), isNumber: true },
  { title: 'LAST ERROR', cell: ({ lastError }) => lastError, isLast: true },
]

const WATCHES: readonly Column<TopFigures['watches'][number]>[] = [
  { title: 'WATCH', cell: ({ watch }) => watch },
  { title: 'PHASE', cell: ({ phase }) => phase },
  { title: 'EVENTS/S', cell: ({ observedPerSecond }) => rateText(observedPerSecond), isNumber: true },
  { title: 'MATCHED/S', cell: ({ matchedPerSecond }) => rateText(matchedPerSecond), isNumber: true },
  { title: 'CONTACT', cell: ({ lastContactMs }) => age(lastContactMs), isNumber: true },
  { title: 'LAST ERROR', cell: ({ lastError }) => lastError, isLast: true },
]

const RULES: readonly Column<TopFigures['rules'][number]>[] = [
  { title: 'RULE', cell: ({ rule }) => rule },
  { title: 'MATCHED/S', cell: ({ matchedPerSecond }) => rateText(matchedPerSecond), isNumber: true },
  { title: 'SENT/S', cell: ({ sentPerSecond }) => rateText(sentPerSecond), isNumber: true },
  { title: 'SUPPRESSED/S', cell: ({ suppressedPerSecond }) => rateText(suppressedPerSecond), isNumber: true },
  { title: 'LAST MATCH', cell: ({ lastMatchMs }) => age(lastMatchMs), isNumber: true },
]

/** Returns the lines of one refresh. With a size, none is longer and there are no more. */
export function layOut(figures: TopFigures, { cluster, size, paint, footer }: Layout): string[] {
  const { sinks, watches, rules } = figures
  const inLine = (text: string) => (size ? cut(text, size.columns) : text)
  const head = headLines(figures, cluster).map(({ text, isBad }, i) =>
    paint(isBad ? 'bad' : i === 0 ? 'bold' : 'dim', inLine(printable(text))),
  )
  const wanted = [sinks.length, watches.length, rules.length]
  // A blank line and a header for each table.
  const room = size && size.rows - head.length - 2 * wanted.filter((it) => it > 0).length - (footer ? 1 : 0)
  const [ofSinks = 0, ofWatches = 0, ofRules = 0] = room === undefined ? wanted : shares(wanted, room)
  const columns = size?.columns
  const isBad = (health: string) => health === 'failing' || health.startsWith('ok but')
  const lines = [
    ...head,
    ...tableLines(SINKS, sinks, { most: ofSinks, columns, paint, isBad: (it) => isBad(it.health) }),
    ...tableLines(WATCHES, watches, {
      most: ofWatches,
      columns,
      paint,
      isBad: ({ phase }) => phase === 'failing' || phase.includes('behind'),
    }),
    ...tableLines(RULES, rules, { most: ofRules, columns, paint, isBad: () => false }),
  ]
  if (!size) return lines
  const shown = lines.slice(0, footer === undefined ? size.rows : size.rows - 1)
  return footer === undefined ? shown : [...shown, paint('dim', inLine(footer))]
}

function headLines(figures: TopFigures, cluster: string): { text: string; isBad?: boolean }[] {
  const { at, processes, balanced, deadLetters, total, trouble } = figures
  const running = processes === 0 ? 'no process runs' : counted(processes, 'process', 'processes')
  const ledger = balanced ? 'ledger balanced' : 'ledger NOT BALANCED'
  const rates = `${rateText(total.observedPerSecond)} events/s   ${rateText(total.deliveredPerSecond)} delivered/s`
  return [
    { text: `kubeherald ${cluster}   ${at.slice(11, 19)} UTC   ${running}   ${ledger}`, isBad: !balanced },
    { text: `${rates}   ${numberText(total.pending)} pending   ${counted(deadLetters, 'dead letter')}` },
    ...(trouble === undefined ? [] : [{ text: `redis: ${trouble}`, isBad: true }]),
  ]
}

/** Gives each table its rows while there is room: small tables whole, the others equal parts. */
export function shares(wanted: readonly number[], room: number): number[] {
  const given = wanted.map(() => 0)
  let left = Math.max(0, room)
  for (;;) {
    const open = wanted.flatMap((want, i) => (want > (given[i] ?? 0) ? [i] : []))
    if (left <= 0 || open.length === 0) return given
    const each = Math.max(1, Math.floor(left / open.length))
    for (const i of open) {
      const more = Math.min(each, left, (wanted[i] ?? 0) - (given[i] ?? 0))
      given[i] = (given[i] ?? 0) + more
      left -= more
    }
  }
}

interface TableOptions<T> {
  most: number
  columns: number | undefined
  paint: Paint
  isBad(row: T): boolean
}

const GAP = '  '
/** Numbers of this length move no column when they change. */
const USUAL_NUMBER = 6
/** Minimum width of a column of names, in characters. */
const LEAST_NAME = 12

function tableLines<T>(
  table: readonly Column<T>[],
  rows: readonly T[],
  { most, columns, paint, isBad }: TableOptions<T>,
): string[] {
  if (rows.length === 0) return []
  const isCut = rows.length > most
  const shown = rows.slice(0, isCut ? Math.max(0, most - 1) : most)
  const cells = shown.map((row) => table.map(({ cell }) => printable(cell(row))))
  const widths = table.map(({ title, isNumber, isLast }, i) =>
    isLast
      ? 0
      : Math.max(title.length, isNumber ? USUAL_NUMBER : 0, ...cells.map((it) => it[i]?.length ?? 0)),
  )
  const needed = widths.reduce((sum, width) => sum + width + GAP.length, 0) - GAP.length
  // Names give way to numbers, which do not get shorter.
  if (columns !== undefined && needed > columns)
    widths[0] = Math.max(LEAST_NAME, (widths[0] ?? 0) - (needed - columns))
  const line = (texts: readonly string[]) => {
    const parts = table.map(({ isNumber, isLast }, i) => {
      const width = widths[i] ?? 0
      const text = isLast ? (texts[i] ?? '') : cut(texts[i] ?? '', width)
      return isLast ? text : isNumber ? text.padStart(width) : text.padEnd(width)
    })
    const all = parts.join(GAP).trimEnd()
    return columns === undefined ? all : cut(all, columns)
  }
  return [
    '',
    paint('bold', line(table.map(({ title }) => title))),
    ...cells.map((texts, i) => (isBad(shown[i] as T) ? paint('bad', line(texts)) : line(texts))),
    ...(isCut && most > 0 ? [paint('dim', `… ${rows.length - shown.length} more`)] : []),
  ]
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, Math.max(0, most - 1)).toWellFormed()}…` : text
}

function rateText(rate: number | null): string {
  if (rate === null) return '-'
  if (rate === 0) return '0'
  return rate < 9.95 ? rate.toFixed(1) : numberText(Math.round(rate))
}

const numberText = (value: number) => value.toLocaleString('en-US')
const age = (ms: number | null) => (ms === null ? '-' : duration(ms))
