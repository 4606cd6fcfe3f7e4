import type { SinkStatus, WatchStatus } from '../../model/status.ts'
import type { StatusReport } from '../../store/ledger.ts'
import type { InstanceReport } from '../../store/process-reports.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { printable } from '../../text/printable.ts'
import { duration } from '../output/table.ts'

/** A sink as its processes and its ledger show it. */
export interface SinkView {
  sink: string
  /**
   * `ok`; `ok but N`: N of its objects or targets fail; `failing`; `draining`: no configuration has it any more; `not in use`: no process has it;
   * `stopped`: no process delivers.
   */
  health: string
  counts: StatusReport['ledger']['sinks'][string]
  /** The process that failed, else the one with the last error. */
  lastError: SinkStatus | undefined
}

/** Returns the sinks that had a delivery. */
export function sinkViews({ instances, ledger }: Pick<StatusReport, 'instances' | 'ledger'>): SinkView[] {
  const delivering = instances.some(({ role }) => role !== 'watch')
  return Object.entries(ledger.sinks).map(([sink, counts]) => {
    const views = instances.flatMap((instance) => instance.sinks.filter((it) => it.sink === sink))
    const failing = views.find(({ healthy }) => !healthy)
    const unseen = delivering ? 'not in use' : 'stopped'
    const aside = views.reduce((sum, view) => sum + view.aside, 0)
    const partly = aside + Math.max(0, ...views.map((view) => view.failingTargets ?? 0))
    const well = partly === 0 ? 'ok' : `ok but ${partly}`
    const removed = views.length > 0 && views.every((view) => view.removed)
    const health = views.length === 0 ? unseen : failing ? 'failing' : removed ? 'draining' : well
    const latest = views.toSorted((a, b) => (b.lastErrorMs ?? 0) - (a.lastErrorMs ?? 0))[0]
    return { sink, health, counts, lastError: failing ?? latest }
  })
}

/** `3 min ago HTTP 503`; '' without an error. */
export function lastErrorOf(view: SinkStatus | undefined, nowMs: number): string {
  if (view?.lastError === undefined) return ''
  return `${duration(nowMs - (view.lastErrorMs ?? nowMs))} ago ${short(friendlyError(view.lastError))}`
}

/** A watch as the process sees it that works on it. */
export interface WatchView {
  instance: InstanceReport
  watch: WatchStatus
}

/**
 * Returns one view of each watch: of the process that works on it, or of a standby when none does. Just after it
 * moved, the last report of the former holder still claims it: the newest report is right.
 */
export function watchViews({ instances }: Pick<StatusReport, 'instances'>): WatchView[] {
  const chosen = new Map<string, WatchView>()
  for (const instance of instances) {
    if (instance.role === 'deliver') continue
    for (const watch of instance.watches) {
      const known = chosen.get(watch.key)
      if (!known || isRather({ instance, watch }, known)) chosen.set(watch.key, { instance, watch })
    }
  }
  return [...chosen.values()]
}

function isRather(view: WatchView, known: WatchView): boolean {
  if (isStandby(view.watch) !== isStandby(known.watch)) return isStandby(known.watch)
  return !isStandby(view.watch) && view.instance.atMs > known.instance.atMs
}

function isStandby({ phase }: WatchStatus): boolean {
  return phase === 'standby'
}

/** Shorter than this is usual: the API server ends each watch after a few minutes, and a probe asks where it is. */
const SHOWN_BEHIND_MS = 60_000

export function phaseOf({ phase, behind }: WatchStatus): string {
  if (!behind || behind.ms < SHOWN_BEHIND_MS) return phase
  return `${phase}, behind for ${duration(behind.ms)}${behind.waitsFor === 'redis' ? ' (Redis)' : ''}`
}

/** When the API server last said something: `2 s ago`. */
export function contact(watch: WatchStatus, now: number): string {
  return watch.lastContactMs === 0 ? '-' : `${duration(now - watch.lastContactMs)} ago`
}

/** Text on one line, safe on a terminal. */
export function short(text: string | undefined, most = 100): string {
  if (!text) return ''
  const line = printable(text)
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}
