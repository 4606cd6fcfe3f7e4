import { createHash } from 'node:crypto'
import type { DryRun, Sent } from '../../app/dry-run/dry-run.ts'
import { isUncertainName, watchedBy } from '../../app/dry-run/match-report.ts'
import { shownValue } from '../../app/dry-run/rule-texts.ts'
import type { ClusterEvent, Resource } from '../../model/event.ts'
import { eventIdOf } from '../../store/history/history-target.ts'
import { printable } from '../../text/printable.ts'
import type { Paint, Style } from '../output/colour.ts'
import { previewLines } from './terminal-text.ts'

/** `more`: only the second sends it; `less`: only the first; `other`: both, with another content or target. */
type DifferenceKind = 'more' | 'less' | 'other'

interface Difference {
  kind: DifferenceKind
  sink: string
  /** Rule that sends it; for `other`, that of the second configuration. */
  rule: string
  atMs: number
  title: string
  /** For `other`: the title from the first configuration. */
  before?: string
}

interface SentCounts {
  sink: string
  rule: string
  before: number
  after: number
}

interface Comparison {
  events: number
  firstMs: number | undefined
  lastMs: number | undefined
  /** The events that neither `watch` selects, by kind. */
  unwatched: Readonly<Record<string, number>>
  /** The kinds of custom resources that no entry of either `watch` is for, but one that selects nothing may be in a cluster. */
  uncertain: readonly string[]
  counts: readonly SentCounts[]
  total: Readonly<Record<DifferenceKind, number>>
  /** The first ones of each sink, rule and kind, ordered by time. */
  examples: readonly Difference[]
}

interface CompareOptions {
  /** For each sink, rule and kind. */
  examples: number
  /** Timers run until this time after the last event. */
  untilMs: number
  onProgress?(events: number, atMs: number): void
}

/**
 * Evaluates the same events with two configurations, each those that its `watch` selects, and compares the deliveries to each sink,
 * including digests and resolve notifications. Keeps no objects, only a line for each delivery without a counterpart.
 */
export async function compareRuns(
  before: DryRun,
  after: DryRun,
  events: AsyncIterable<ClusterEvent>,
  options: CompareOptions,
): Promise<Comparison> {
  const tally = new Tally()
  const unwatched = new Map<string, number>()
  const unnamed = new Map<string, Resource>()
  const usedEntries = new Set<string>()
  const sides = Object.entries({ before, after }) as [Side, DryRun][]
  let count = 0
  let firstMs: number | undefined
  let lastMs: number | undefined
  const advance = (toMs: number) => {
    for (const [side, run] of sides)
      for (const { sent } of run.advance(toMs)) for (const it of sent) tally.add(side, run, it)
  }
  for await (const event of events) {
    count++
    // With several watches, times of a journal may decrease a little; those of a run must not.
    const atMs: number = Math.max(lastMs ?? Number.NEGATIVE_INFINITY, Date.parse(event.time))
    firstMs ??= atMs
    lastMs = atMs
    advance(atMs)
    let [isSeen, isNamed] = [false, false]
    for (const [side, run] of sides) {
      const { watch } = run.snapshot.config
      const watched = watchedBy(watch, event)
      const entries = watched.entry === undefined ? watched.kinds.map(({ entry }) => entry) : [watched.entry]
      for (const entry of entries) usedEntries.add(watch[entry]?.kind ?? '')
      isNamed ||= entries.length > 0
      if (watched.entry === undefined) continue
      isSeen = true
      for (const it of run.evaluate(event, atMs).sent) tally.add(side, run, it)
    }
    if (!isSeen) unwatched.set(event.kind, (unwatched.get(event.kind) ?? 0) + 1)
    if (!isNamed) unnamed.set(event.kind, event.resource)
    options.onProgress?.(count, atMs)
  }
  if (lastMs !== undefined) advance(Math.max(lastMs, options.untilMs))
  const counts = Object.fromEntries(unwatched)
  const unused = sides.flatMap(([, run]) =>
    run.snapshot.config.watch.filter(({ kind }) => !usedEntries.has(kind)),
  )
  const uncertain = [...unnamed].flatMap(([kind, resource]) =>
    unused.some((it) => isUncertainName(it.kind, resource)) ? [kind] : [],
  )
  const compared = tally.result(options.examples)
  return { events: count, firstMs, lastMs, unwatched: counts, uncertain, ...compared }
}

const SIDES = ['before', 'after'] as const
type Side = (typeof SIDES)[number]

interface Line extends Omit<Difference, 'kind' | 'before'> {
  /** A hash of target and content. */
  hash: string
  /** Its sink and its event, whichever rule it is from. */
  eventKey: string
}

class Tally {
  readonly #counts = new Map<string, SentCounts>()
  /** Deliveries without a counterpart so far. */
  readonly #unpaired = { before: new Map<string, Line[]>(), after: new Map<string, Line[]>() }
  readonly #others: Difference[] = []

  add(side: Side, run: DryRun, { delivery, message, atMs }: Sent): void {
    const { sink, rule, event, notice } = delivery
    const key = JSON.stringify([sink, rule])
    const counts = this.#counts.get(key) ?? { sink, rule, before: 0, after: 0 }
    counts[side]++
    this.#counts.set(key, counts)
    const { target, lines, fault } = previewLines(run, message, sink, 'whole')
    const title = fault === undefined ? titleOf(message) : `cannot be rendered: ${fault}`
    const keyOf = (of: string) => JSON.stringify([sink, notice?.kind, notice ? event.uid : of])
    const eventKey = keyOf(eventIdOf(event.id))
    const line = { sink, rule, atMs, title, hash: hashOf([target, lines, fault]), eventKey }
    this.#pair(side, keyOf(event.id), line)
  }

  #pair(side: Side, key: string, line: Line): void {
    const otherSide = this.#unpaired[side === 'before' ? 'after' : 'before']
    const [other, ...rest] = otherSide.get(key) ?? []
    if (!other) {
      this.#unpaired[side].set(key, [...(this.#unpaired[side].get(key) ?? []), line])
      return
    }
    if (rest.length > 0) otherSide.set(key, rest)
    else otherSide.delete(key)
    if (other.hash === line.hash) return
    const [before, after] = side === 'after' ? [other, line] : [line, other]
    this.#others.push(differenceOf('other', after, before.title))
  }

  /**
   * Pairs the remaining lines by their event, those with equal content first. The id of an event that waited for `for` names its rule,
   * so that a rule with another name, or without `for`, sends the event with another id.
   */
  #pairByEvent(): void {
    this.#pairLeft(({ eventKey, hash }) => JSON.stringify([eventKey, hash]))
    this.#pairLeft(({ eventKey }) => eventKey)
  }

  #pairLeft(keyOf: (line: Line) => string): void {
    const left = SIDES.map((side) => [side, [...this.#unpaired[side].values()].flat()] as const)
    for (const side of SIDES) this.#unpaired[side].clear()
    for (const [side, lines] of left) for (const line of lines) this.#pair(side, keyOf(line), line)
  }

  result(maxExamples: number): Pick<Comparison, 'counts' | 'total' | 'examples'> {
    this.#pairByEvent()
    const unpaired = (side: Side, kind: DifferenceKind) =>
      [...this.#unpaired[side].values()].flat().map((line) => differenceOf(kind, line))
    const [more, less] = [unpaired('after', 'more'), unpaired('before', 'less')]
    const all = [...more, ...less, ...this.#others].toSorted((a, b) => a.atMs - b.atMs)
    const groups = Map.groupBy(all, ({ kind, sink, rule }) => JSON.stringify([kind, sink, rule]))
    return {
      counts: [...this.#counts.values()].toSorted(
        (a, b) => a.sink.localeCompare(b.sink) || a.rule.localeCompare(b.rule),
      ),
      total: { more: more.length, less: less.length, other: this.#others.length },
      examples: [...groups.values()].flatMap((some) => some.slice(0, maxExamples)),
    }
  }
}

function differenceOf(
  kind: DifferenceKind,
  { hash: _, eventKey: _key, ...line }: Line,
  before?: string,
): Difference {
  return { kind, ...line, ...(before !== undefined && { before }) }
}

/** A sink for programs may work where the readable content cannot be rendered. */
function titleOf(message: Sent['message']): string {
  try {
    return message.content.title
  } catch {
    return message.summary.title
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64')
}

const SIGNS: Readonly<Record<DifferenceKind, readonly [sign: string, style: Style, text: string]>> = {
  more: ['+', 'good', 'would be sent now'],
  less: ['-', 'bad', 'would no longer be sent'],
  other: ['~', 'warn', 'would read otherwise'],
}
const KINDS = Object.keys(SIGNS) as DifferenceKind[]

/** The counts of both configurations, then examples of differences; safe on a terminal. */
export function comparisonLines({ counts, total, examples }: Comparison, paint: Paint): string[] {
  const totals = KINDS.filter((kind) => total[kind] > 0).map((kind) => {
    const [sign, style, text] = SIGNS[kind]
    return paint(style, `${sign} ${total[kind].toLocaleString('en-US')} ${text}`)
  })
  if (totals.length === 0) return [...table(counts, paint), '', 'Nothing that is sent differs.']
  const groups = Map.groupBy(examples, ({ sink, rule }) => `${sink} [${rule}]`)
  const exampleLines = [...groups].flatMap(([name, some]) => [
    paint('bold', printable(name)),
    ...some.flatMap((it) => differenceLines(it, paint)),
  ])
  return [...table(counts, paint), '', ...totals, '', ...exampleLines]
}

function differenceLines({ kind, atMs, title, before }: Difference, paint: Paint): string[] {
  const [sign, style] = SIGNS[kind]
  const time = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')
  const line = `  ${paint(style, sign)} ${paint('dim', time)}  ${shownValue(title, 160)}`
  if (before === undefined) return [line]
  return before === title
    ? [`${line} ${paint('dim', '(what follows the title)')}`]
    : [line, `    ${paint('dim', `was: ${shownValue(before, 160)}`)}`]
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
    const cells = row.map((cell, i) =>
      i < 2 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number),
    )
    const line = cells.join('  ').trimEnd()
    return n === 0 ? paint('dim', line) : line
  })
}
