import type { Enrichment } from './enrichment.ts'
import type { Generations } from './generations.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { CommitLine } from './queue/commit-line.ts'
import { type InstanceReport, startReporting } from './queue/instances.ts'
import type { Keys } from './queue/keys.ts'
import { watchLanes } from './queue/lane-gauges.ts'
import type { Lanes } from './queue/lanes.ts'
import type { MemoryGate } from './queue/memory-gate.ts'
import { watchPositions } from './queue/position-gauges.ts'
import type { Troubles } from './queue/troubles.ts'
import type { Connections } from './redis-connections.ts'
import type { ReloadState } from './reload/state.ts'
import type { RuleErrors } from './rule-errors.ts'
import type { Vitals } from './server/health.ts'
import { type SinkHealth, watchSinkHealth } from './sink-set/health.ts'
import type { SinkSet } from './sink-set/set.ts'
import type { QueueStatus } from './status.ts'
import type { WatchManager } from './watch/manager.ts'

export interface StatusReportingParts {
  instance: string
  role: InstanceReport['role']
  connections: Connections
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  generations: Generations
  ruleErrors: RuleErrors
  reloads: ReloadState
  watches: WatchManager | undefined
  enrichment: Pick<Enrichment, 'statuses'> | undefined
  lanes: Lanes
  sinkSet: SinkSet
  /** How much room dead letters take; undefined for a process that delivers nothing. */
  deadLetters(): QueueStatus | undefined
  line: CommitLine
  gate: MemoryGate
  troubles: Troubles
}

/** What this process tells of itself and of the queue: to probes, to `kubeherald status`, to Prometheus. */
export interface StatusReporting {
  vitals(): Vitals
  health: SinkHealth
  /** Not ready any more, and no sink is asked how it is. */
  stopping(): void
  /** Counts a last time, and takes the report back; gives how many deliveries wait. */
  close(): Promise<number>
}

/** Before there is anything to tell. */
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
    generations,
    reloads,
    lanes,
    sinkSet,
    line,
    gate,
    troubles,
  } = parts
  const redis = connections.report
  let stopping = false
  const watches = () => parts.watches?.statuses() ?? []
  const metadata = () => parts.enrichment?.statuses() ?? []
  const health = watchSinkHealth(sinkSet.sinks, { log, clock, statuses: lanes.statuses })
  const sinks = () => health.merge(lanes.statuses())
  const configured = () => generations.current.config.sinks.map(({ name }) => name)
  const rules = () => generations.current.ruleNames
  const laneGauges = watchLanes({ redis, keys, metrics, clock, configured, rules })
  const positionGauges = watchPositions({ redis, keys, troubles, metrics, watches })
  const redisTrouble = () => line.trouble() ?? troubles.first()
  const view = () => {
    const trouble = redisTrouble()
    const deadLetters = parts.deadLetters()
    metrics.redisTrouble.set(trouble === undefined ? 0 : 1)
    return {
      config: reloads.status(),
      watches: watches(),
      metadata: metadata(),
      sinks: sinks(),
      rules: parts.ruleErrors.statuses(generations.current.config.rules),
      ...(deadLetters && { deadLetters }),
      ...(gate.isClosed() && { backPressure: true as const }),
      ...(trouble !== undefined && { redisTrouble: trouble }),
    }
  }
  const report = startReporting({ redis, keys, clock, id: parts.instance }, parts.role, view, troubles)
  return {
    health,
    vitals: () => ({
      nowMs: clock.now(),
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
