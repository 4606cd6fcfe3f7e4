import type { StatusReport } from '../../store/ledger.ts'
import { watchViews } from '../../store/status-views.ts'
import { lastErrorOf, phaseOf, short, shownSinks } from '../queue/status-views.ts'

/** What `kubeherald top` shows. Rates are per second since the refresh before, null in the first one. */
export interface TopFigures {
  at: string
  processes: number
  balanced: boolean
  deadLetters: number
  /** Why Redis refuses writes, or processes cannot use it. */
  trouble?: string
  total: { observedPerSecond: Rate; deliveredPerSecond: Rate; pending: number }
  /** Those that fail first, then those for which most waits. */
  sinks: readonly SinkFigures[]
  /** Those that do not watch first. */
  watches: readonly WatchFigures[]
  /** The busiest first. */
  rules: readonly RuleFigures[]
}

type Rate = number | null

interface SinkFigures {
  sink: string
  health: string
  enqueuedPerSecond: Rate
  deliveredPerSecond: Rate
  pending: number
  /** How long the oldest pending delivery has waited. */
  oldestMs: number | null
  dead: number
  lastError: string
}

interface WatchFigures {
  watch: string
  phase: string
  observedPerSecond: Rate
  matchedPerSecond: Rate
  lastContactMs: number | null
  lastError: string
}

interface RuleFigures {
  rule: string
  matchedPerSecond: Rate
  sentPerSecond: Rate
  suppressedPerSecond: Rate
  lastMatchMs: number | null
}

/** Returns the figures of a report; `before` is the report of the refresh before. */
export function figuresOf(report: StatusReport, before: StatusReport | undefined): TopFigures {
  const { instances, ledger, atMs, deadLetters } = report
  const seconds = before && (atMs - before.atMs) / 1_000
  // A counter falls when a dead letter is retried, or Redis goes back to an older state.
  const rate = (now = 0, then = 0): Rate =>
    seconds === undefined || seconds <= 0 ? null : Math.max(0, now - then) / seconds
  const former = before?.ledger

  const sinks = shownSinks(report).map(({ sink, health, counts, lastError }): SinkFigures => {
    const then = former?.sinks[sink]
    return {
      sink,
      health,
      enqueuedPerSecond: rate(counts.enqueued, then?.enqueued),
      deliveredPerSecond: rate(counts.delivered, then?.delivered),
      pending: counts.pending,
      oldestMs: counts.oldestMs === undefined ? null : Math.max(0, atMs - counts.oldestMs),
      dead: counts.dead - counts.discarded,
      lastError: lastErrorOf(lastError, atMs),
    }
  })
  const watches = watchViews(report).map(({ watch }): WatchFigures => {
    const [now, then] = [ledger.watches[watch.key], former?.watches[watch.key]]
    return {
      watch: watch.title,
      phase: phaseOf(watch),
      observedPerSecond: rate(now?.observed, then?.observed),
      matchedPerSecond: rate(now?.matched, then?.matched),
      lastContactMs: watch.lastContactMs === 0 ? null : Math.max(0, atMs - watch.lastContactMs),
      lastError: short(watch.lastError),
    }
  })
  const suppressedOf = (counts: { suppressed: Readonly<Record<string, number>> } | undefined) =>
    Object.values(counts?.suppressed ?? {}).reduce((sum, count) => sum + count, 0)
  const rules = Object.entries(ledger.rules).map(([rule, counts]): RuleFigures => {
    const then = former?.rules[rule]
    return {
      rule,
      matchedPerSecond: rate(counts.matched, then?.matched),
      sentPerSecond: rate(counts.sent + counts.digested, (then?.sent ?? 0) + (then?.digested ?? 0)),
      suppressedPerSecond: rate(suppressedOf(counts), suppressedOf(then)),
      lastMatchMs: counts.lastMatchMs === 0 ? null : Math.max(0, atMs - counts.lastMatchMs),
    }
  })
  const trouble = report.redisRefuses ?? instances.find(({ redisTrouble }) => redisTrouble)?.redisTrouble
  const sum = (rates: readonly Rate[]) =>
    rates.reduce<Rate>((all, it) => (it === null ? all : (all ?? 0) + it), null)
  return {
    at: new Date(atMs).toISOString(),
    processes: instances.length,
    balanced: ledger.balanced,
    deadLetters,
    ...(trouble !== undefined && { trouble: short(trouble, 400) }),
    total: {
      observedPerSecond: sum(watches.map((it) => it.observedPerSecond)),
      deliveredPerSecond: sum(sinks.map((it) => it.deliveredPerSecond)),
      pending: sinks.reduce((all, { pending }) => all + pending, 0),
    },
    sinks: sinks.toSorted(
      (a, b) =>
        Number(b.health === 'failing') - Number(a.health === 'failing') ||
        b.pending - a.pending ||
        a.sink.localeCompare(b.sink),
    ),
    watches: watches.toSorted(
      (a, b) =>
        Number(a.phase === 'watching') - Number(b.phase === 'watching') || a.watch.localeCompare(b.watch),
    ),
    rules: rules.toSorted(
      (a, b) =>
        (b.matchedPerSecond ?? 0) - (a.matchedPerSecond ?? 0) ||
        (a.lastMatchMs ?? Infinity) - (b.lastMatchMs ?? Infinity) ||
        a.rule.localeCompare(b.rule),
    ),
  }
}
