import type { ClusterEvent } from '../event.ts'
import type { DryRun, Sent } from './dry-run.ts'

/** What one of two configurations sends, and the other does not. */
export interface Difference {
  /** `before`: only the first sends it. */
  only: 'before' | 'after'
  sent: Sent
}

export interface Comparison {
  events: number
  /** How many deliveries each makes, by sink. */
  before: ReadonlyMap<string, number>
  after: ReadonlyMap<string, number>
  /** In the order of time. */
  differences: readonly Difference[]
}

/**
 * Feeds two configurations with the same events and compares what they send: an event to a sink, a digest or notice of an
 * object to a sink. By which rule, and in which words, is not compared.
 */
export async function compareRuns(
  before: DryRun,
  after: DryRun,
  events: Iterable<ClusterEvent> | AsyncIterable<ClusterEvent>,
  untilMs?: number,
): Promise<Comparison> {
  const tally = new Tally()
  const sides = [
    ['before', before],
    ['after', after],
  ] as const
  let count = 0
  let lastMs = Number.NEGATIVE_INFINITY
  const pass = (toMs: number) => {
    for (const [side, run] of sides) for (const { sent } of run.advance(toMs)) tally.add(side, sent)
  }
  for await (const event of events) {
    count++
    // Times of journals may go back by a little; a run's must not.
    lastMs = Math.max(lastMs, Date.parse(event.time))
    pass(lastMs)
    for (const [side, run] of sides) tally.add(side, run.feed(event, lastMs).sent)
  }
  if (untilMs !== undefined) pass(untilMs)
  return { events: count, before: tally.counts.before, after: tally.counts.after, differences: tally.rest() }
}

type Side = Difference['only']

/** Forgets what both have sent, so that it holds no more than the differences. */
class Tally {
  readonly counts = { before: new Map<string, number>(), after: new Map<string, number>() }
  readonly #alone = { before: new Map<string, Sent[]>(), after: new Map<string, Sent[]>() }

  add(side: Side, sent: readonly Sent[]): void {
    for (const it of sent) {
      const { sink } = it.delivery
      this.counts[side].set(sink, (this.counts[side].get(sink) ?? 0) + 1)
      const key = keyOf(it)
      if (this.#take(side === 'before' ? 'after' : 'before', key)) continue
      const same = this.#alone[side].get(key)
      if (same) same.push(it)
      else this.#alone[side].set(key, [it])
    }
  }

  rest(): Difference[] {
    const of = (only: Side) => [...this.#alone[only].values()].flat().map((sent) => ({ only, sent }))
    return [...of('before'), ...of('after')].toSorted((a, b) => a.sent.atMs - b.sent.atMs)
  }

  #take(side: Side, key: string): boolean {
    const same = this.#alone[side].get(key)
    if (!same) return false
    same.shift()
    if (same.length === 0) this.#alone[side].delete(key)
    return true
  }
}

function keyOf({ delivery: { sink, event, notice } }: Sent): string {
  return notice ? `${sink} ${notice.kind} ${event.uid}` : `${sink} ${event.id}`
}
