import { randomBytes } from 'node:crypto'
import { builtInSinks } from '../sinks/index.ts'
import type { Config, SinkConfig } from './config/schema.ts'
import { type Logger, silentLog, withFields } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { connectHops } from './pipeline.ts'
import { createCommitLine } from './queue/commit-line.ts'
import { openRedis } from './queue/connection.ts'
import { readReports, startReporting } from './queue/instances.ts'
import { keysOf } from './queue/keys.ts'
import { createKeyValueStore } from './queue/kv-store.ts'
import { watchLanes } from './queue/lane-gauges.ts'
import { createLanes, type Lanes } from './queue/lanes.ts'
import { createMemoryGate } from './queue/memory-gate.ts'
import { readSalt } from './queue/salt.ts'
import { createSourceStore } from './queue/source-store.ts'
import { compileRules } from './rules/compile.ts'
import { keepsOld } from './rules/keeps-old.ts'
import { compilePattern } from './rules/pattern.ts'
import type { Vitals } from './server/health.ts'
import { type HealthServer, startServer } from './server/http.ts'
import { startAtZero } from './server/samples.ts'
import type { SinkContext, SinkType } from './sink/index.ts'
import { chooseSinks } from './sink-set/choices.ts'
import { watchSinkHealth } from './sink-set/health.ts'
import { createSinkMetrics } from './sink-set/metrics.ts'
import { openSinkSet } from './sink-set/set.ts'
import { userAgent } from './version.ts'
import type { ClusterClient } from './watch/cluster-client.ts'
import { openLeases } from './watch/leases/open.ts'
import { createWatchManager, type WatchManager } from './watch/manager.ts'
import { normalise, objectJsonOf } from './watch/normalise.ts'
import { DEFAULT_TIMING } from './watch/timing.ts'

export type Role = 'all' | 'watch' | 'deliver'

export interface AppOptions {
  config: Config
  /** The cluster's name: it is part of every key. */
  cluster: string
  role: Role
  redisUrl: string
  /** Connected already; not needed for role `deliver`. */
  client?: ClusterClient
  /** Of the kubeconfig's context: Leases lie there when nothing else says where. */
  namespace?: string
  log: Logger
  /** For benches and plug-ins: types beside the built-in ones. */
  sinkTypes?: Readonly<Record<string, SinkType>>
}

export interface App {
  /** The address of /livez, /readyz and /metrics; undefined when it is turned off. */
  url: string | undefined
  metrics: Metrics
  watches: WatchManager | undefined
  lanes: Lanes
  /** Opens sinks anew whose options are others now; their lanes are tried at once. */
  reopenSinks(configs: readonly SinkConfig[]): Promise<void>
  /** Stops reading, finishes the commit, finishes or gives back what is in flight; gives how many deliveries still wait. */
  stop(): Promise<{ pending: number }>
}

/** Before there is anything to tell. */
const STARTING: Vitals = {
  nowMs: 0,
  watches: [],
  sinks: [],
  redisTrouble: 'no answer yet; the process is starting',
  redisFull: false,
  stopping: false,
}
const CLOCK = { now: () => Date.now() }
const DELIVER_TIMEOUT_MS = 60_000
const TURN_BUDGET_MS = 1_000
const MAX_AGE_MS = 86_400_000
const MAX_TRIES = 5
const GRACE_MS = 5_000

/**
 * Builds the parts of the configuration and joins them; the only file that knows the built-in sinks. What was opened is
 * closed again when the start fails.
 */
export async function startApp(options: AppOptions): Promise<App> {
  await using opened = new AsyncDisposableStack()
  const app = await buildApp(options, opened)
  opened.move()
  return app
}

async function buildApp(options: AppOptions, opened: AsyncDisposableStack): Promise<App> {
  const { config, cluster, role, redisUrl, client, log } = options
  const keys = keysOf(cluster)
  const instance = randomBytes(6).toString('hex')
  const metrics = createMetrics()
  startAtZero(metrics, config)
  let stopping = false
  let vitals = (): Vitals => STARTING
  // First, because it can fail: a taken port ends the start before anything else has begun.
  const server = await serve(options, metrics, () => vitals())
  opened.defer(() => server?.close())
  // All lose and find Redis together: one of them tells.
  const connect = (purpose: 'commit' | 'work', teller = silentLog) => openRedis(redisUrl, purpose, teller)
  const connections = {
    commit: connect('commit', log),
    lanes: connect('work'),
    queue: connect('work'),
    worker: connect('work'),
    report: connect('commit'),
  }
  opened.defer(() => {
    for (const connection of Object.values(connections)) connection.disconnect()
  })
  const salt = await readSalt(connections.lanes, keys)
  const gate = createMemoryGate({ redis: connections.report, keys, metrics, log })
  opened.defer(() => gate.close())
  const choices = await chooseSinks(config, sinkLoader(options.sinkTypes))
  const contextOf = (name: string): SinkContext => ({
    name,
    cluster,
    log: withFields(log, { sink: name }),
    metrics: createSinkMetrics(metrics.registry, choices.typeOf(name).type, name),
    store: createKeyValueStore(connections.report, keys, name),
    userAgent,
    clock: CLOCK,
  })
  const delivered = role === 'watch' ? [] : config.sinks
  const sinkSet = await openSinkSet(delivered, { typeOf: choices.typeOf, contextOf, log })
  opened.defer(() => sinkSet.close())
  const line = createCommitLine({
    redis: connections.commit,
    room: gate.room,
    onOutOfMemory: gate.onOutOfMemory,
    log,
  })
  const match = compileRules(config.rules, {
    onError(rule, error) {
      metrics.ruleErrors.inc({ rule })
      log.debug({ rule, error }, 'a rule failed')
    },
  })

  const { watches, lanes } = connectHops({
    watch(store) {
      if (role === 'deliver' || !client) return undefined
      const timing = DEFAULT_TIMING
      const { leases } = config
      const manager = createWatchManager({
        client,
        store,
        metrics,
        log,
        clock: CLOCK,
        random: Math.random,
        timing,
        matcherOf: compilePattern,
        ...(leases && {
          leases: openLeases(leases, { client, cluster, metrics, log, contextNamespace: options.namespace }),
        }),
      })
      manager.apply(config.watch)
      return manager
    },
    normalise: (source, transition) => normalise(source, transition, { cluster, salt }),
    match,
    commit: (decide, onEnqueued) =>
      createSourceStore({
        line,
        instance,
        keys,
        decide,
        laneOf: choices.laneOf,
        onEnqueued,
        old: {
          keeps: keepsOld(config.rules, ({ to = [] }) => to.some(choices.tellsChanges)),
          jsonOf: (resource, object) => objectJsonOf(resource, object, salt),
        },
        metrics,
        clock: CLOCK,
      }),
    deliver: () =>
      createLanes({
        redis: connections.lanes,
        queueConnection: connections.queue,
        workerConnection: connections.worker,
        keys,
        sinks: sinkSet.sinks,
        maxBatchOf: (sink) => choices.typeOf(sink).maxBatch,
        render: choices.render,
        policy: { maxAgeMs: MAX_AGE_MS, maxTries: MAX_TRIES },
        deliverTimeoutMs: DELIVER_TIMEOUT_MS,
        budgetMs: TURN_BUDGET_MS,
        metrics,
        log,
        clock: CLOCK,
        random: Math.random,
        onOutOfMemory: gate.onOutOfMemory,
        deliverers: async () =>
          (await readReports(connections.report, keys)).filter((it) => it.role !== 'watch').length,
      }),
    onMalformed(source, transition, error) {
      metrics.malformed.inc({ watch: source.title })
      log.error(
        { watch: source.title, name: transition.name, error },
        'an object cannot be read; it is passed over',
      )
    },
  })

  const health = watchSinkHealth(sinkSet.sinks, { log, clock: CLOCK, statuses: lanes.statuses })
  opened.defer(() => health.close())
  const sinkStatuses = () => health.merge(lanes.statuses())
  vitals = () => ({
    nowMs: CLOCK.now(),
    watches: watches?.statuses() ?? [],
    sinks: sinkStatuses(),
    redisTrouble: line.trouble() ?? (connections.commit.status === 'ready' ? undefined : 'no connection'),
    redisFull: gate.isClosed(),
    stopping,
  })
  const gauges = watchLanes({ redis: connections.report, keys, metrics, clock: CLOCK })
  const reporter = startReporting(
    { redis: connections.report, keys, clock: CLOCK, id: instance },
    role,
    () => ({
      watches: watches?.statuses() ?? [],
      sinks: sinkStatuses(),
      ...(gate.isClosed() && { backPressure: true as const }),
    }),
  )

  return {
    url: server?.url,
    metrics,
    watches,
    lanes,
    async reopenSinks(configs) {
      const reopened = await sinkSet.reopen(configs)
      if (reopened.length === 0) return
      lanes.tryNow(reopened)
      health.ask(reopened)
    },
    async stop() {
      stopping = true
      health.close()
      await watches?.close()
      await lanes.close(GRACE_MS)
      const pending = await gauges.close()
      await reporter.close()
      gate.close()
      await sinkSet.close()
      await client?.close()
      await server?.close()
      for (const connection of Object.values(connections)) connection.disconnect()
      return { pending }
    },
  }
}

/** Loads a sink type: one of the plug-ins, else a built-in one. */
export function sinkLoader(
  sinkTypes: Readonly<Record<string, SinkType>> = {},
): (type: string) => Promise<SinkType> {
  return async (type) => sinkTypes[type] ?? builtInSinks[type as keyof typeof builtInSinks]()
}

async function serve(
  { config }: AppOptions,
  metrics: Metrics,
  vitals: Parameters<typeof startServer>[0]['vitals'],
): Promise<HealthServer | undefined> {
  if (config.server === false) return undefined
  return startServer({ ...config.server, metrics, vitals })
}

export { builtInSinks }
