import {
  describeRestart,
  evaluates,
  isFailing,
  metadataTitle,
  TOO_FAR_BEHIND_MS,
  type WatchStatus,
} from '../../model/status.ts'
import { titleIn } from '../../store/commit/stored-json.ts'
import type { StatusReport, WatchCounts } from '../../store/ledger.ts'
import { sinkView, watchViews } from '../../store/status-views.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import type { Overview, Sink, Watch } from './contract.ts'

const NO_COUNTS: WatchCounts = { observed: 0, unmatched: 0, dropped: 0, matched: 0, limited: 0 }

/** Returns the watches, as the processes that work on them report them; without such a process, those that are stored. */
export function watchesOf(
  { instances, ledger }: StatusReport,
  sources: ReadonlyMap<string, string>,
): Watch[] {
  if (instances.every(({ role }) => role === 'deliver'))
    return Object.entries(ledger.watches).map(([key, counts]) => ({
      title: titleIn(sources.get(key) ?? '') ?? key,
      key,
      phase: 'stopped',
      ready: false,
      counts,
    }))
  return watchViews({ instances }).map(({ instance, watch }) => {
    const { behind, verified, lastError, holder, relists } = watch
    return {
      title: watch.title,
      key: watch.key,
      phase: watch.phase,
      ready: watch.ready,
      process: holder || `${instance.host} ${instance.pid}`,
      ...(watch.resourceVersion !== '' && { resourceVersion: watch.resourceVersion }),
      ...(watch.lastContactMs > 0 && { lastContactMs: Math.round(watch.lastContactMs) }),
      ...(behind && { behindMs: Math.max(0, Math.round(behind.ms)) }),
      ...(relists && { relists: { ...relists, atMs: Math.round(relists.atMs) } }),
      ...(lastError !== undefined && { lastError: friendlyError(lastError) }),
      ...(verified && { differences: verified.differences }),
      counts: ledger.watches[watch.key] ?? NO_COUNTS,
    }
  })
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
    const { health, lastError, ...view } = sinkView({ instances }, name)
    const { quarantined, failingTargets, queue, lastDeliveredMs, warnings } = view
    return {
      name,
      ...(type !== undefined && { type }),
      health: health === 'unused' ? 'not in use' : health,
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
      ...(lastError?.lastError !== undefined && { lastError: friendlyError(lastError.lastError) }),
      ...(lastError?.lastErrorMs !== undefined && { lastErrorMs: Math.round(lastError.lastErrorMs) }),
      ...(warnings.length > 0 && { warnings: [...warnings] }),
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
    cluster,
    version,
    atMs: report.atMs,
    ...(started.length > 0 && { startedMs: Math.min(...started) }),
    access,
    ...(report.history && { historyFromMs: report.history.oldestMs }),
    ...(report.journal && { journalFromMs: report.journal.oldestMs }),
    processes: instances.map(({ id, host, pid, role, version: ofIt, startedMs, config }) => ({
      id,
      host,
      pid,
      role,
      version: ofIt,
      startedMs,
      ...(config?.digest !== undefined && { config: config.digest }),
    })),
    troubles: troublesOf(report, watches, sinks),
    watches: {
      total: watches.length,
      failing: watches.filter(isFailing).length,
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
  const lasting = (ms: number) =>
    ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1_000))} s` : `${Math.floor(ms / 60_000)} min`
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
      if (isFailing(it)) return [`watch ${it.title} fails${why}`]
      return isBehind(it) ? [`watch ${it.title} is behind for ${lasting(it.behindMs ?? 0)}${why}`] : []
    }),
    // Each process has its own watches of metadata.
    ...new Set(
      instances.flatMap((it) => (evaluates(it.watches) ? (it.metadata ?? []).flatMap(metadataTrouble) : [])),
    ),
    ...sinks.flatMap(({ name, health, lastError, oldestMs, pending, quarantined, failingTargets }) => {
      const why = lastError === undefined ? '' : `: ${lastError}`
      const since = oldestMs === undefined ? '' : `, the oldest for ${lasting(report.atMs - oldestMs)}`
      if (health === 'failing')
        return [
          `sink ${name} fails, ${pending.toLocaleString('en')} ${pending === 1 ? 'delivery waits' : 'deliveries wait'}${since}${why}`,
        ]
      if (health !== 'partly') return []
      return [`sink ${name}: ${quarantined} objects and ${failingTargets} targets fail${why}`]
    }),
    ...sinks.flatMap(({ name, warnings = [] }) => warnings.map((it) => `sink ${name}: ${it}`)),
  ]
}

function metadataTrouble(watch: WatchStatus): string[] {
  const { lastError, behind } = watch
  const why = lastError === undefined ? '' : `: ${friendlyError(lastError)}`
  if (isFailing(watch))
    return [`${metadataTitle(watch)} cannot be read, and rules that ask for it do not match${why}`]
  if (behind === undefined || behind.ms <= TOO_FAR_BEHIND_MS) return []
  return [`${metadataTitle(watch)} is behind, and rules that ask for it match by what was known before${why}`]
}
