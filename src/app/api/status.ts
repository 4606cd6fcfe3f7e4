import { describeRestart, TOO_FAR_BEHIND_MS, type WatchStatus } from '../../model/status.ts'
import { titleIn } from '../../store/commit/stored-json.ts'
import type { StatusReport, WatchCounts } from '../../store/ledger.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import type { Overview, Sink, Watch } from './contract.ts'

const NO_COUNTS: WatchCounts = { observed: 0, unmatched: 0, dropped: 0, matched: 0, limited: 0 }

interface View {
  instance: Omit<StatusReport['instances'][number], 'rules'>
  watch: WatchStatus
}

/** Returns the watches, as the processes that work on them report them; without such a process, those that are stored. */
export function watchesOf(
  { instances, ledger }: StatusReport,
  sources: ReadonlyMap<string, string>,
): Watch[] {
  const watching = instances.filter(({ role }) => role !== 'deliver')
  if (watching.length === 0)
    return Object.entries(ledger.watches).map(([key, counts]) => ({
      ...{ title: titleIn(sources.get(key) ?? '') ?? key, key, phase: 'stopped', ready: false },
      counts,
    }))
  const views = watching.flatMap((instance) => instance.watches.map((watch): View => ({ instance, watch })))
  return [...Map.groupBy(views, ({ watch }) => watch.key).values()].map((own) => {
    const { instance, watch } = own.toSorted(byClaim)[0] as View
    const { behind, verified, lastError, holder } = watch
    return {
      ...{ title: watch.title, key: watch.key, phase: watch.phase, ready: watch.ready },
      process: holder || `${instance.host} ${instance.pid}`,
      ...(watch.resourceVersion !== '' && { resourceVersion: watch.resourceVersion }),
      ...(watch.lastContactMs > 0 && { lastContactMs: Math.round(watch.lastContactMs) }),
      ...(behind && { behindMs: Math.max(0, Math.round(behind.ms)) }),
      ...(lastError !== undefined && { lastError: friendlyError(lastError) }),
      ...(verified && { differences: verified.differences }),
      counts: ledger.watches[watch.key] ?? NO_COUNTS,
    }
  })
}

/** The process that works on it, before standbys. Just after a watch moved its former holder still claims it: the newest report is right. */
function byClaim(a: View, b: View): number {
  const [ofA, ofB] = [a, b].map(({ watch }) => Number(watch.phase === 'standby')) as [number, number]
  return ofA - ofB || b.instance.atMs - a.instance.atMs
}

/** Returns the sinks of the configuration and of the ledger. */
export function sinksOf(
  { instances, ledger }: StatusReport,
  configured: readonly { name: string; type: string }[],
): Sink[] {
  const types = new Map(configured.map(({ name, type }) => [name, type]))
  const names = [...new Set([...types.keys(), ...Object.keys(ledger.sinks)])]
  return names.map((name) => {
    const counts = ledger.sinks[name]
    const type = types.get(name)
    const views = instances.flatMap(({ sinks }) => sinks.filter(({ sink }) => sink === name))
    const failing = views.find(({ healthy }) => !healthy)
    const quarantined = views.reduce((sum, { aside }) => sum + aside, 0)
    const failingTargets = Math.max(0, ...views.map((it) => it.failingTargets ?? 0))
    const isRemoved = views.length > 0 && views.every(({ removed }) => removed)
    const isPartly = quarantined + failingTargets > 0
    const latest = failing ?? views.toSorted((a, b) => (b.lastErrorMs ?? 0) - (a.lastErrorMs ?? 0))[0]
    const queue = views.find((it) => it.queue)?.queue
    const lastDeliveredMs = Math.max(0, ...views.map((it) => it.lastDeliveredMs ?? 0))
    return {
      name,
      ...(type !== undefined && { type }),
      health:
        views.length === 0
          ? 'not in use'
          : failing
            ? 'failing'
            : isRemoved
              ? 'draining'
              : isPartly
                ? 'partly'
                : 'ok',
      pending: Math.max(0, counts?.pending ?? 0),
      ...(counts?.oldestMs !== undefined && { oldestMs: counts.oldestMs }),
      enqueued: counts?.enqueued ?? 0,
      delivered: counts?.delivered ?? 0,
      dead: Math.max(0, counts?.dead ?? 0),
      ...(queue && { queueBytes: Math.round(queue.bytes), queueMaxBytes: Math.round(queue.maxBytes) }),
      ...(queue?.reachedMs !== undefined && { fullInMs: Math.round(queue.reachedMs) }),
      quarantined,
      failingTargets,
      ...(lastDeliveredMs > 0 && { lastDeliveredMs: Math.round(lastDeliveredMs) }),
      ...(latest?.lastError !== undefined && { lastError: friendlyError(latest.lastError) }),
      ...(latest?.lastErrorMs !== undefined && { lastErrorMs: Math.round(latest.lastErrorMs) }),
    }
  })
}

interface OverviewParts {
  report: StatusReport
  watches: readonly Watch[]
  sinks: readonly Sink[]
  cluster: string
  version: string
  access: Overview['access']
  silences: number
}

export function overviewOf(parts: OverviewParts): Overview {
  const { report, watches, sinks, cluster, version, access, silences } = parts
  const { instances, ledger } = report
  const started = instances.map(({ startedMs }) => startedMs)
  return {
    ...{ cluster, version, atMs: report.atMs },
    ...(started.length > 0 && { startedMs: Math.min(...started) }),
    access,
    ...(report.history && { historyFromMs: report.history.oldestMs }),
    ...(report.journal && { journalFromMs: report.journal.oldestMs }),
    processes: instances.map(({ id, host, pid, role, version: ofIt, startedMs, config }) => ({
      ...{ id, host, pid, role, version: ofIt, startedMs },
      ...(config?.digest !== undefined && { config: config.digest }),
    })),
    troubles: troublesOf(report, watches, sinks),
    watches: {
      total: watches.length,
      failing: watches.filter(({ phase }) => phase === 'failing').length,
      behind: watches.filter(isBehind).length,
    },
    sinks: { total: sinks.length, failing: sinks.filter(({ health }) => health === 'failing').length },
    deadLetters: report.deadLetters,
    pending: sinks.reduce((sum, { pending }) => sum + pending, 0),
    silences,
    balanced: ledger.balanced,
  }
}

function isBehind({ behindMs = 0 }: Watch): boolean {
  return behindMs > TOO_FAR_BEHIND_MS
}

/** The worst first: what stops everything, then watches, then sinks. */
function troublesOf(report: StatusReport, watches: readonly Watch[], sinks: readonly Sink[]): string[] {
  const { instances, redisRefuses, ledger } = report
  const who = ({ host, pid }: { host: string; pid: number }) => `${host} ${pid}`
  const minutes = (ms: number) => `${Math.floor(ms / 60_000)} min`
  const digests = new Set(instances.flatMap(({ config }) => config?.digest ?? []))
  return [
    ...(redisRefuses === undefined ? [] : [`Redis refuses writes: ${redisRefuses}`]),
    ...instances.flatMap((it) =>
      it.redisTrouble === undefined ? [] : [`Redis, as ${who(it)} reports: ${it.redisTrouble}`],
    ),
    ...(instances.some((it) => it.backPressure)
      ? ['Redis is nearly full: watches pause until deliveries make room']
      : []),
    ...(ledger.balanced ? [] : ['the ledger does not balance']),
    ...(instances.some(({ role }) => role !== 'deliver') ? [] : ['no process watches']),
    ...(instances.some(({ role }) => role !== 'watch') ? [] : ['no process delivers']),
    ...instances.flatMap((it) => {
      const { rejected, restart = [] } = it.config ?? {}
      return [
        ...(rejected
          ? [`the configuration of ${who(it)} is rejected: ${rejected.problem.slice(0, 300)}`]
          : []),
        ...(restart.length > 0 ? [`the configuration of ${who(it)}: ${describeRestart(restart)}`] : []),
      ]
    }),
    ...(digests.size > 1 ? ['the processes do not all use the same configuration'] : []),
    ...watches.flatMap((it) => {
      const why = it.lastError === undefined ? '' : `: ${it.lastError}`
      if (it.phase === 'failing') return [`watch ${it.title} fails${why}`]
      return isBehind(it) ? [`watch ${it.title} is behind for ${minutes(it.behindMs ?? 0)}${why}`] : []
    }),
    ...sinks.flatMap(({ name, health, lastError, oldestMs, pending, quarantined, failingTargets }) => {
      const why = lastError === undefined ? '' : `: ${lastError}`
      const since = oldestMs === undefined ? '' : `, the oldest for ${minutes(report.atMs - oldestMs)}`
      if (health === 'failing') return [`sink ${name} fails, ${pending} deliveries wait${since}${why}`]
      if (health !== 'partly') return []
      return [`sink ${name}: ${quarantined} objects and ${failingTargets} targets fail${why}`]
    }),
  ]
}
