import type { SinkStatus, WatchStatus } from '../../model/status.ts'
import type { StatusReport } from '../../store/ledger.ts'
import { sinkView } from '../../store/status-views.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { printable } from '../../text/printable.ts'
import { duration, relative } from '../../text/quantities.ts'

/** A sink as it is shown. */
interface ShownSink {
  sink: string
  /**
   * `ok`; `ok but N`: N of its objects or targets fail; `failing`; `draining`: no configuration has it any more; `not in use`: no process has it;
   * `stopped`: no process delivers.
   */
  health: string
  counts: StatusReport['ledger']['sinks'][string]
  /** The report with the error to show. */
  lastError: SinkStatus | undefined
}

/** Returns the sinks that had a delivery. */
export function shownSinks({ instances, ledger }: Pick<StatusReport, 'instances' | 'ledger'>): ShownSink[] {
  const unused = instances.some(({ role }) => role !== 'watch') ? 'not in use' : 'stopped'
  return Object.entries(ledger.sinks).map(([sink, counts]) => {
    const { health, quarantined, failingTargets, lastError } = sinkView({ instances }, sink)
    const partly = `ok but ${quarantined + failingTargets}`
    const shown = health === 'unused' ? unused : health === 'partly' ? partly : health
    return { sink, health: shown, counts, lastError }
  })
}

/** `3 min ago HTTP 503`; '' without an error. */
export function lastErrorOf(view: SinkStatus | undefined, nowMs: number): string {
  if (view?.lastError === undefined) return ''
  return `${relative(view.lastErrorMs ?? nowMs, nowMs)} ${short(friendlyError(view.lastError))}`
}

/** Shorter than this is usual: the API server ends each watch after a few minutes, and a probe asks where it is. */
const SHOWN_BEHIND_MS = 60_000

export function phaseOf({ phase, behind }: WatchStatus): string {
  if (!behind || behind.ms < SHOWN_BEHIND_MS) return phase
  return `${phase}, behind for ${duration(behind.ms)}${behind.waitsFor === 'redis' ? ' (Redis)' : ''}`
}

/** When the API server last said something: `2 s ago`. */
export function contact(watch: WatchStatus, now: number): string {
  return watch.lastContactMs === 0 ? '-' : relative(watch.lastContactMs, now)
}

/** `2, last 5 min ago: expired`, with the cause of the metric; `-` without any. */
export function relistsOf({ relists }: WatchStatus, nowMs: number): string {
  if (!relists) return '-'
  return `${relists.count}, last ${relative(relists.atMs, nowMs)}: ${short(relists.cause, 20)}`
}

/** Text on one line, safe on a terminal. */
export function short(text: string | undefined, most = 100): string {
  if (!text) return ''
  const line = printable(text)
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}
