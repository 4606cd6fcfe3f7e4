import { createHash } from 'node:crypto'
import type { ClusterEvent } from '../event.ts'
import type { DryRun, Sent } from './dry-run.ts'
import { toldLines } from './told-lines.ts'

/** `more`: only the other sends it; `less`: only the first does; `other`: both do, in other words or to another place. */
export type DifferenceKind = 'more' | 'less' | 'other'

export interface SentDifference {
  kind: DifferenceKind
  sink: string
  /** Of the side that sends it; of `other` the second's. */
  rule: string
  atMs: number
  /** One line, as people would read it. */
  title: string
  /** Of `other`: how the first said it. */
  before?: string
}

export interface SentCounts {
  sink: string
  rule: string
  before: number
  after: number
}

export interface TextComparison {
  events: number
  firstMs: number | undefined
  lastMs: number | undefined
  counts: readonly SentCounts[]
  total: Readonly<Record<DifferenceKind, number>>
  /** The first ones of each sink, rule and kind, in the order of time. */
  examples: readonly SentDifference[]
}

export interface CompareOptions {
  /** Of each sink, rule and kind. */
  examples: number
  /** Up to when timers run after the last event. */
  untilMs: number
  onProgress?(events: number, atMs: number): void
}

/**
 * Feeds two configurations with the same events and compares what each sink gets: which events, digests and notices, and how
 * they are told. Holds no objects, only a line for each that has no counterpart yet.
 */
export async function compareTexts(
  before: DryRun,
  after: DryRun,
  events: AsyncIterable<ClusterEvent>,
  options: CompareOptions,
): Promise<TextComparison> {
  const tally = new TextTally()
  const sides = [
    ['before', before],
    ['after', after],
  ] as const
  let count = 0
  let firstMs: number | undefined
  let lastMs: number | undefined
  const pass = (toMs: number) => {
    for (const [side, run] of sides)
      for (const { sent } of run.advance(toMs)) for (const it of sent) tally.add(side, run, it)
  }
  for await (const event of events) {
    count++
    // Of several watches, times of a journal may go back by a little; a run's must not.
    const atMs: number = Math.max(lastMs ?? Number.NEGATIVE_INFINITY, Date.parse(event.time))
    firstMs ??= atMs
    lastMs = atMs
    pass(atMs)
    for (const [side, run] of sides) for (const it of run.feed(event, atMs).sent) tally.add(side, run, it)
    options.onProgress?.(count, atMs)
  }
  if (lastMs !== undefined) pass(Math.max(lastMs, options.untilMs))
  return { events: count, firstMs, lastMs, ...tally.result(options.examples) }
}

type Side = 'before' | 'after'

interface Line {
  sink: string
  rule: string
  atMs: number
  title: string
  /** A hash of all that is told, and of where to. */
  told: string
}

/** What programs get may be well where what people would read is not. */
function titleOf(message: Sent['message']): string {
  try {
    return message.content.title
  } catch {
    return message.words.title
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64')
}

class TextTally {
  readonly #counts = new Map<string, SentCounts>()
  readonly #alone = { before: new Map<string, Line[]>(), after: new Map<string, Line[]>() }
  readonly #others: SentDifference[] = []

  add(side: Side, run: DryRun, sent: Sent): void {
    const { delivery, message, atMs } = sent
    const { sink, rule, event, notice } = delivery
    this.#count(sink, rule)[side]++
    const { target, lines, fault } = toldLines(run, message, sink, true)
    const title = fault === undefined ? titleOf(message) : `cannot be rendered: ${fault}`
    const line = { sink, rule, atMs, title, told: hashOf([target, lines, fault]) }
    const key = JSON.stringify([sink, notice?.kind, notice ? event.uid : event.id])
    const other = this.#take(side === 'before' ? 'after' : 'before', key)
    if (other) this.#compare(...(side === 'after' ? ([other, line] as const) : ([line, other] as const)))
    else this.#alone[side].set(key, [...(this.#alone[side].get(key) ?? []), line])
  }

  result(most: number): Pick<TextComparison, 'counts' | 'total' | 'examples'> {
    const alone = (side: Side, kind: DifferenceKind) =>
      [...this.#alone[side].values()]
        .flat()
        .map(({ told: _, ...line }): SentDifference => ({ kind, ...line }))
    const all = [...alone('after', 'more'), ...alone('before', 'less'), ...this.#others]
    const groups = Map.groupBy(
      all.toSorted((a, b) => a.atMs - b.atMs),
      ({ kind, sink, rule }) => JSON.stringify([kind, sink, rule]),
    )
    const of = (kind: DifferenceKind) => all.filter((it) => it.kind === kind).length
    return {
      counts: [...this.#counts.values()].toSorted(
        (a, b) => a.sink.localeCompare(b.sink) || a.rule.localeCompare(b.rule),
      ),
      total: { more: of('more'), less: of('less'), other: of('other') },
      examples: [...groups.values()].flatMap((some) => some.slice(0, most)),
    }
  }

  #count(sink: string, rule: string): SentCounts {
    const key = JSON.stringify([sink, rule])
    const known = this.#counts.get(key) ?? { sink, rule, before: 0, after: 0 }
    this.#counts.set(key, known)
    return known
  }

  #take(side: Side, key: string): Line | undefined {
    const [first, ...rest] = this.#alone[side].get(key) ?? []
    if (rest.length > 0) this.#alone[side].set(key, rest)
    else this.#alone[side].delete(key)
    return first
  }

  #compare(before: Line, after: Line): void {
    if (before.told === after.told) return
    const { told: _, ...line } = after
    this.#others.push({ kind: 'other', ...line, before: before.title })
  }
}
