import type { QueueStatus, SinkStatus, WatchStatus } from '../model/status.ts'
import type { StatusReport } from './ledger.ts'

type Instance = StatusReport['instances'][number]

/** A sink as all processes together report it. */
export interface SinkView {
  /** `partly`: some of its objects or targets fail; `draining`: no configuration has it any more; `unused`: no process has it. */
  health: 'ok' | 'partly' | 'failing' | 'draining' | 'unused'
  /** How many of its objects are in quarantine. */
  quarantined: number
  failingTargets: number
  queue: QueueStatus | undefined
  /** Unix milliseconds; 0 before the first delivery. */
  lastDeliveredMs: number
  /** The report of the process that fails, else of the one with the last error. */
  lastError: SinkStatus | undefined
  /** What does not work although it delivers, each once. */
  warnings: readonly string[]
}

export function sinkView({ instances }: Pick<StatusReport, 'instances'>, sink: string): SinkView {
  const views = instances.flatMap((instance) => instance.sinks.filter((it) => it.sink === sink))
  const failing = views.find(({ healthy }) => !healthy)
  const quarantined = views.reduce((sum, it) => sum + it.quarantined, 0)
  const failingTargets = Math.max(0, ...views.map((it) => it.failingTargets ?? 0))
  return {
    health: healthOf(views, quarantined + failingTargets),
    quarantined,
    failingTargets,
    queue: views.find((it) => it.queue)?.queue,
    lastDeliveredMs: Math.max(0, ...views.map((it) => it.lastDeliveredMs ?? 0)),
    lastError: failing ?? views.toSorted((a, b) => (b.lastErrorMs ?? 0) - (a.lastErrorMs ?? 0))[0],
    // Another process may count the same minutes from another moment.
    warnings: views.find((it) => it.warnings)?.warnings ?? [],
  }
}

function healthOf(views: readonly SinkStatus[], failingParts: number): SinkView['health'] {
  if (views.length === 0) return 'unused'
  if (views.some(({ healthy }) => !healthy)) return 'failing'
  if (views.every(({ removed }) => removed)) return 'draining'
  return failingParts > 0 ? 'partly' : 'ok'
}

/** A watch as the process reports it that works on it. */
export interface WatchView {
  instance: Instance
  watch: WatchStatus
}

/**
 * Returns one view of each watch: of the process that works on it, or of a standby when none does. Just after it
 * moved, the last report of the former holder still claims it: the newest report is right.
 */
export function watchViews({ instances }: Pick<StatusReport, 'instances'>): WatchView[] {
  const views = instances
    .filter(({ role }) => role !== 'deliver')
    .flatMap((instance) => instance.watches.map((watch): WatchView => ({ instance, watch })))
  return [...Map.groupBy(views, ({ watch }) => watch.key).values()].map(claimOf)
}

/** Standbys stay in their order, so that what is shown does not change with each report. */
function claimOf(own: readonly WatchView[]): WatchView {
  const claims = own.filter(({ watch }) => watch.phase !== 'standby')
  // With leases, a process that does not reach the API server does not know who works on the watch.
  const working = claims.filter(({ watch }) => watch.phase === 'watching' || watch.phase === 'listing')
  const [newest] = (working.length > 0 ? working : claims).toSorted(
    (a, b) => b.instance.atMs - a.instance.atMs,
  )
  return newest ?? (own[0] as WatchView)
}
