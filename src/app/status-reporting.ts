import type { QueueStatus, RuleStatus } from '../model/status.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Vitals } from '../observe/server/health.ts'
import type { CommitConnection } from '../store/commit/commit-connection.ts'
import { watchCheckpoints, watchLanes } from '../store/gauges.ts'
import type { Keys } from '../store/keys.ts'
import type { Lanes } from '../store/lanes/lanes.ts'
import { type InstanceReport, startReporting } from '../store/process-reports.ts'
import type { MemoryGate } from '../store/redis/memory-gate.ts'
import type { Troubles } from '../store/redis/redis-fault.ts'
import type { WatchManager } from '../watch/reflector/manager.ts'
import type { ConfigSnapshots } from './config-snapshot.ts'
import type { Enrichment } from './metadata-informers.ts'
import type { Connections } from './redis.ts'
import type { ReloadState } from './reload.ts'
import { type SinkHealth, watchSinkHealth } from './sink-set/health.ts'
import type { SinkSet } from './sink-set/set.ts'

interface StatusReportingParts {
  instance: string
  role: InstanceReport['role']
  connections: Connections
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  snapshots: ConfigSnapshots
  ruleErrors: RuleErrors
  reloads: ReloadState
  watches: WatchManager | undefined
  enrichment: Pick<Enrichment, 'statuses'> | undefined
  lanes: Lanes
  sinkSet: SinkSet
  /** Size of the dead letters; undefined for a process that does not deliver. */
  deadLetters(): QueueStatus | undefined
  commitConnection: CommitConnection
  gate: MemoryGate
  troubles: Troubles
}

/** Reports the state of this process and of the queue to probes, `kubeherald status` and Prometheus. */
interface StatusReporting {
  vitals(): Vitals
  health: SinkHealth
  /** The process stops: not ready, and no more health checks of sinks. */
  stopping(): void
  /** Updates the counters, deletes the report, and returns the number of waiting deliveries. */
  close(): Promise<number>
}

/** The state before the first report. */
export const STARTING: Vitals = {
  nowMs: 0,
  watches: [],
  sinks: [],
  redisTrouble: 'no answer yet; the process is starting',
  redisFull: false,
  stopping: false,
}

export function startStatusReporting(parts: StatusReportingParts): StatusReporting {
  const {
    connections,
    keys,
    metrics,
    log,
    clock,
    snapshots,
    reloads,
    lanes,
    sinkSet,
    commitConnection,
    gate,
    troubles,
  } = parts
  const redis = connections.report
  let stopping = false
  const watches = () => parts.watches?.statuses() ?? []
  const metadata = () => parts.enrichment?.statuses() ?? []
  const health = watchSinkHealth(sinkSet.sinks, { log, clock, statuses: () => lanes.statuses() })
  const sinks = () => health.merge(lanes.statuses())
  const configured = () => snapshots.current.config.sinks.map(({ name }) => name)
  const rules = () => snapshots.current.ruleNames
  const laneGauges = watchLanes({ redis, keys, metrics, clock, configured, rules })
  const positionGauges = watchCheckpoints({ redis, keys, troubles, metrics, watches })
  const redisTrouble = () => commitConnection.trouble() ?? troubles.first()
  const view = () => {
    const trouble = redisTrouble()
    const deadLetters = parts.deadLetters()
    metrics.redisTrouble.set(commitConnection.isRefused() || troubles.first() !== undefined ? 1 : 0)
    return {
      config: reloads.status(),
      watches: watches(),
      metadata: metadata(),
      sinks: sinks(),
      rules: parts.ruleErrors.statuses(snapshots.current.config.rules),
      ...(deadLetters && { deadLetters }),
      ...(gate.isClosed() && { backPressure: true as const }),
      ...(trouble !== undefined && { redisTrouble: trouble }),
    }
  }
  const report = startReporting({ redis, keys, clock, id: parts.instance }, parts.role, view, troubles)
  return {
    health,
    vitals: () => ({
      nowMs: performance.now(),
      config: reloads.status(),
      watches: watches(),
      metadata: metadata(),
      sinks: sinks(),
      redisTrouble: redisTrouble() ?? (connections.commit.status === 'ready' ? undefined : 'no connection'),
      redisFull: gate.isClosed(),
      stopping,
    }),
    stopping() {
      stopping = true
      health.close()
    },
    async close() {
      positionGauges.close()
      const pending = await laneGauges.close()
      await report.close()
      return pending
    },
  }
}

/** Counts run-time errors of rules since the start, with the last error of each. */
interface RuleErrors {
  note(rule: string, error: unknown): void
  /** Returns the errors of these rules, in their order, and forgets those of others. */
  statuses(rules: readonly { name: string }[]): RuleStatus[]
}

const MOST_CHARACTERS = 300

export function createRuleErrors(): RuleErrors {
  const known = new Map<string, { errors: number; lastError: string }>()
  return {
    note(rule, error) {
      const message = error instanceof Error ? error.message : String(error)
      const errors = (known.get(rule)?.errors ?? 0) + 1
      known.set(rule, { errors, lastError: message.slice(0, MOST_CHARACTERS) })
    },
    statuses(rules) {
      if (known.size > 0) {
        const names = new Set(rules.map(({ name }) => name))
        for (const rule of known.keys()) if (!names.has(rule)) known.delete(rule)
      }
      return rules.map(({ name }) => ({ rule: name, ...known.get(name) }))
    },
  }
}
