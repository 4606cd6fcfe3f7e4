import type { Config } from '../config/schema.ts'
import type { IndexReader, SourceStore } from '../model/change.ts'
import type { Silences } from '../model/control.ts'
import { managerToShow } from '../model/event.ts'
import { journalContents } from '../model/journal-record.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { PipelineTracer } from '../observe/trace.ts'
import { compilePattern } from '../rules/pattern.ts'
import { matcherOfSelector } from '../rules/selector.ts'
import type { QueueBounds } from '../store/bounds/queue-bounds.ts'
import type { CommitConnection } from '../store/commit/commit-connection.ts'
import { indexReader } from '../store/commit/index-entries.ts'
import { createSourceStore } from '../store/commit/source-store.ts'
import type { CommitStages } from '../store/commit/transact.ts'
import { createLogStore } from '../store/container-logs.ts'
import { type History, type HistoryBounds, startHistory } from '../store/history/history.ts'
import { Lanes, type LanesParts } from '../store/lanes/lanes.ts'
import type { LiveProcesses } from '../store/lanes/live-processes.ts'
import { startLimits } from '../store/limits/limit-timers.ts'
import type { MemoryGate } from '../store/redis/memory-gate.ts'
import { type ClusterClient, countRequests } from '../watch/client/cluster-client.ts'
import { objectJsonOf } from '../watch/decode/trim.ts'
import { openLeases } from '../watch/leases/source-leases.ts'
import { LogReader } from '../watch/logs/log-reader.ts'
import { createWatchManager, type WatchManager } from '../watch/reflector/manager.ts'
import { DEFAULT_TIMING } from '../watch/reflector/timing.ts'
import type { ConfigSnapshots } from './config-snapshot.ts'
import { ContainerLogs } from './container-logs.ts'
import { type EvaluatorParts, evaluatorOf, normaliserOf } from './evaluation.ts'
import type { Enrichment } from './metadata-informers.ts'
import { type Connections, usableMemory } from './redis.ts'
import type { Stages } from './shutdown.ts'
import type { SinkSet } from './sink-set/set.ts'

interface PipelineParts
  extends EvaluatorParts,
    Pick<LanesParts, 'keys' | 'metrics' | 'log' | 'clock' | 'troubles'> {
  laneEvents: Readonly<LaneEvents>
  /** The name of this process. */
  instance: string
  processes: LiveProcesses
  commitConnection: CommitConnection
  connections: Connections
  gate: MemoryGate
  snapshots: ConfigSnapshots
  sinkSet: SinkSet
  enrichment: Pick<Enrichment, 'awaitMetadata' | 'surroundings'> | undefined
  traceAttempt: PipelineTracer['attempt'] | undefined
  /** The silences in force. */
  silences?(): Silences | undefined
  /** Undefined in a process that only delivers. */
  watch: WatchesParts | undefined
}

/** What lanes report; each is assigned when the part that follows it has started. */
export type LaneEvents = Required<Pick<LanesParts, 'onDrained' | 'onGivenUp'>>

interface Pipeline {
  watches: WatchManager | undefined
  lanes: Lanes
}

/** For deliveries in flight when the process stops. */
const GRACE_MS = 5_000

/**
 * The order of the work:
 *
 *   watch ─▶ enrich ─▶ commit { diff ─▶ normalise ─▶ match ─▶ limit ─▶ write } ═▶ lane ─▶ render ─▶ deliver ─▶ acknowledge
 *                                                                      Redis
 *
 * Everything before the write can be repeated from the stored position, everything after it from the lane. The parts are
 * started from the end, because each one needs the next. An Event is followed from `IndexSession.commit` downwards.
 */
export function startPipeline(
  parts: PipelineParts,
  stages: Pick<Stages, 'lanes' | 'logs' | 'sources'>,
): Pipeline {
  const { snapshots, salt, enrichment, watch, connections, gate } = parts
  const { commitConnection, keys, instance, processes, metrics, log, clock } = parts
  const common = { commitConnection, keys, instance, metrics, clock }
  const logs = stages.logs.adopt(startLogs(parts), (it) => it.close())
  const history = startHistory({
    redis: connections.report,
    keys,
    troubles: parts.troubles,
    log,
    clock,
    bounds: () => historyBounds(snapshots.current.config, usableMemory(gate, snapshots.current.config) ?? 0),
    isFull: gate.isClosed,
  })
  stages.logs.defer(() => history.close())
  const lanes = stages.lanes.adopt(startDeliveries(parts, logs, history), (it) => it.close(GRACE_MS))
  const keepsUp = (lane: string) => lanes.keepsUp(lane)
  const commitStages: CommitStages = {
    evaluator() {
      return { ...evaluatorOf(snapshots.current, parts, parts.silences?.()), keepsUp }
    },
    enqueued(entries) {
      logs.committed(entries)
      lanes.enqueued(entries)
    },
  }
  const store = createSourceStore({
    ...common,
    processes,
    stages: commitStages,
    history,
    ...(enrichment && { enrich: enrichment.awaitMetadata }),
    previous: {
      stores: (resource) => snapshots.current.keepsPrevious(resource),
      jsonOf: (resource, object) => objectJsonOf(resource, object, salt),
      hasRoom: gate.hasRoomForPrevious,
    },
    journal: {
      bounds() {
        const { journal } = snapshots.current.config
        return journal && { keepMs: journal.keep, maxBytes: journal.max }
      },
      contentsOf(source, transition) {
        const snapshot = snapshots.current
        const event = normaliserOf(snapshot, parts)(source, transition)
        // Where no rule uses related metadata, none is looked up.
        const isAlone = snapshot.needs.metadata.length === 0
        if (!isAlone) return journalContents(event)
        const manager = managerToShow(event)
        return { objectJson: event.objectJson, ...(manager && { around: { manager } }) }
      },
    },
  })
  if (!watch) return { lanes, watches: undefined }
  const watches = startWatches(watch, store, (source) => indexReader(connections.report, keys, source))
  stages.sources.defer(() => watches.close())
  const limits = startLimits({
    ...common,
    snapshots,
    store,
    stages: commitStages,
    history,
    log,
    redis: connections.report,
    watches: watches.statuses,
  })
  stages.sources.defer(() => limits.close())
  return { lanes, watches }
}

interface WatchesParts {
  config: Pick<Config, 'watch' | 'leases' | 'kubernetes'>
  client: ClusterClient
  /** The cluster's name. */
  cluster: string
  /** Namespace of the kubeconfig's context: the default for Leases. */
  namespace: string | undefined
  /** The Redis of this process: a name for its data, and how long it has not answered. */
  redis: { store: string; silentMs(): number }
  metrics: Metrics
  log: Logger
  clock: { now(): number }
}

/** Starts the watches of a configuration, which commit into `store`; with `leases` they are shared with other processes. */
export function startWatches(
  parts: WatchesParts,
  store: SourceStore,
  indexOf?: (source: string) => IndexReader,
): WatchManager {
  const { config, cluster, namespace, redis, metrics, log, clock } = parts
  const { leases } = config
  const { maxObjectSize: maxObjectBytes } = config.kubernetes
  const client = countRequests(parts.client, metrics)
  const manager = createWatchManager({
    client,
    store,
    metrics,
    log,
    clock,
    random: Math.random,
    timing: DEFAULT_TIMING,
    ...(indexOf && { indexOf }),
    matcherOf: compilePattern,
    selectorOf: matcherOfSelector,
    ...(maxObjectBytes !== undefined && { maxObjectBytes }),
    ...(leases && {
      leases: openLeases(leases, {
        client,
        group: { cluster, store: redis.store },
        silentMs: redis.silentMs,
        metrics,
        log,
        contextNamespace: namespace,
      }),
    }),
  })
  manager.apply(config.watch)
  return manager
}

const LOGS_PER_SECOND = 5

/** Reads logs of containers where rules ask for them; a process without access to the cluster takes those that others read. */
function startLogs({ watch, snapshots, connections, keys, gate, metrics, log, clock }: PipelineParts) {
  const reader =
    watch &&
    new LogReader({
      client: countRequests(watch.client, metrics),
      rate: watch.config.kubernetes.logsPerSecond ?? LOGS_PER_SECOND,
      onRead: (outcome) => metrics.logReads.inc({ outcome }),
    })
  return new ContainerLogs({
    settingsOf: ({ sink, rule }) => snapshots.of(sink).logsOf(rule),
    reader,
    store: createLogStore({
      redis: connections.report,
      keys,
      maxmemory: () => usableMemory(gate, snapshots.current.config),
      clock,
    }),
    log,
    clock,
  })
}

const DELIVER_TIMEOUT_MS = 60_000
const MAX_AGE_MS = 86_400_000
const MAX_TRIES = 5
const MIN_FAILING_MS = 300_000
const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 300_000

const HISTORY_MS = 604_800_000
const HISTORY_BYTES = 16e6
/** Share of `maxmemory`: less than what the other bounds leave. */
const HISTORY_SHARE = 0.04

/** `maxmemory` is 0 if there is no limit. */
function historyBounds({ history = {} }: Config, maxmemory: number): HistoryBounds | undefined {
  if (history === false) return undefined
  const most = maxmemory === 0 ? HISTORY_BYTES : Math.min(HISTORY_BYTES, maxmemory * HISTORY_SHARE)
  const { keep = HISTORY_MS, maxBytes = most } = history
  return { keepMs: keep, maxBytes }
}

/** Starts to deliver from the lanes to the sinks of this process, with the current configuration. */
function startDeliveries(parts: PipelineParts, logs: ContainerLogs, history: History): Lanes {
  const { connections, snapshots, sinkSet, gate, traceAttempt } = parts
  const { keys, processes, troubles, metrics, log, clock, laneEvents } = parts
  const typeOf = (sink: string) => snapshots.of(sink).choices.typeOf(sink)
  return new Lanes({
    keys,
    processes,
    troubles,
    metrics,
    log,
    clock,
    onDrained: (sink) => laneEvents.onDrained(sink),
    onGivenUp: (bytes) => laneEvents.onGivenUp(bytes),
    trace: traceAttempt,
    logs,
    history,
    redis: connections.lanes,
    queueConnection: connections.queue,
    workerConnection: connections.worker,
    sinks: sinkSet.sinks,
    maxBatchOf: (sink) => typeOf(sink).maxBatch,
    namesLanes: (sink) => typeOf(sink).lane !== undefined,
    joins: (sink) => snapshots.of(sink).choices.batches(sink),
    render: (delivery, attempt) => snapshots.render(delivery, attempt),
    policy: {
      maxAgeMs: MAX_AGE_MS,
      maxTries: MAX_TRIES,
      minFailingMs: MIN_FAILING_MS,
      firstPauseMs: FIRST_PAUSE_MS,
      maxPauseMs: MAX_PAUSE_MS,
    },
    deliverTimeoutMs: DELIVER_TIMEOUT_MS,
    random: Math.random,
    onOutOfMemory: gate.onOutOfMemory,
    maxmemory: () => usableMemory(gate, snapshots.current.config),
    boundsOf: (sink) => queueOf(snapshots.of(sink).config, sink),
  })
}

/** Returns the configured bounds of a sink's queue. */
function queueOf({ sinks }: Config, sink: string): Partial<QueueBounds> {
  const { maxAge, maxBytes } = sinks.find(({ name }) => name === sink)?.queue ?? {}
  return { ...(maxAge !== undefined && { maxAgeMs: maxAge }), ...(maxBytes !== undefined && { maxBytes }) }
}
