import { randomBytes } from 'node:crypto'
import { builtInSinks } from '../sinks/index.ts'
import { apply, letGo } from './apply.ts'
import type { Config } from './config/schema.ts'
import { createGeneration } from './generation.ts'
import { Generations } from './generations.ts'
import { type Logger, silentLog } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { connectHops } from './pipeline.ts'
import { createCommitLine } from './queue/commit-line.ts'
import { openRedis } from './queue/connection.ts'
import { keepContact } from './queue/contact.ts'
import { readReports, startReporting } from './queue/instances.ts'
import { keysOf } from './queue/keys.ts'
import { watchLanes } from './queue/lane-gauges.ts'
import { createLanes, type Lanes } from './queue/lanes.ts'
import { createMemoryGate } from './queue/memory-gate.ts'
import { watchPositions } from './queue/position-gauges.ts'
import { countReconnects } from './queue/reconnects.ts'
import { type RedisSettings, type RedisTarget, renewCredentials } from './queue/redis-target.ts'
import { keepSalt, readSalt, storeOf } from './queue/salt.ts'
import { watchSchema } from './queue/schema-watch.ts'
import { createSourceStore } from './queue/source-store.ts'
import type { Differences } from './reload/differences.ts'
import { createReloadState, type ReloadState } from './reload/state.ts'
import { compilePattern } from './rules/pattern.ts'
import type { Vitals } from './server/health.ts'
import { type HealthServer, startServer } from './server/http.ts'
import { startAtZero } from './server/samples.ts'
import type { SinkType } from './sink/index.ts'
import { sinkContexts } from './sink-contexts.ts'
import { watchSinkHealth } from './sink-set/health.ts'
import { createSinkSet } from './sink-set/set.ts'
import { startTracing } from './tracing/tracing.ts'
import { version } from './version.ts'
import type { ClusterClient } from './watch/cluster-client.ts'
import { countRequests } from './watch/counted-client.ts'
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
  redis: RedisTarget
  /** Connected already; not needed for role `deliver`. */
  client?: ClusterClient
  /** Of the kubeconfig's context: Leases lie there when nothing else says where. */
  namespace?: string
  log: Logger
  /** Of the configuration's file, as `ConfigStatus` has it. */
  digest?: string | undefined
  /** Called once when a newer version converted the keys: nothing is written any more, so it is time to end. */
  onLayoutChanged?(error: Error): void
  /** For benches and plug-ins: types beside the built-in ones. */
  sinkTypes?: Readonly<Record<string, SinkType>>
}

export interface App {
  /** The address of /livez, /readyz and /metrics; undefined when it is turned off. */
  url: string | undefined
  metrics: Metrics
  watches: WatchManager | undefined
  lanes: Lanes
  /** What became of the configuration's reloads. */
  reloads: ReloadState
  /**
   * Puts another configuration in force, but for keys that are read at the start only; gives what changed. When it throws, as
   * an `OpenError` of a sink, all is as it was.
   */
  apply(config: Config): Promise<Differences>
  /** Takes over the passwords and certificates of Redis for connections that come from now on. */
  renewRedis(settings: RedisSettings): void
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
  const { config, cluster, role, client, log } = options
  const keys = keysOf(cluster)
  const instance = randomBytes(6).toString('hex')
  const metrics = createMetrics()
  startAtZero(metrics, config)
  const reloads = createReloadState({ metrics, clock: CLOCK }, options.digest)
  let stopping = false
  let vitals = (): Vitals => STARTING
  // First, because it can fail: a taken port ends the start before anything else has begun.
  const server = await serve(options, metrics, () => vitals())
  opened.defer(() => server?.close())
  // All lose and find Redis together: one of them tells.
  const connect = (purpose: 'commit' | 'work', teller = silentLog) =>
    openRedis(options.redis, purpose, teller)
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
  const tracing = await startTracing({ env: process.env, version, instance, log })
  opened.defer(() => tracing?.close())
  countReconnects(connections, metrics)
  const schema = watchSchema({ redis: connections.report, keys }, (error) => {
    log.error(
      { error: error.message },
      'the keys in Redis are of another version; nothing is written any more',
    )
    options.onLayoutChanged?.(error)
  })
  opened.defer(() => schema.close())
  const salt = await readSalt(connections.lanes, keys)
  const kept = keepSalt(connections.report, keys, salt)
  opened.defer(() => kept.close())
  const contact = keepContact(connections.report, keys)
  opened.defer(() => contact.close())
  const gate = createMemoryGate({ redis: connections.report, keys, metrics, log })
  opened.defer(() => gate.close())
  const generationParts = {
    load: sinkLoader(options.sinkTypes),
    onMatch: metrics.ruleMatches.inc,
    onRuleError(rule: string, error: unknown) {
      metrics.ruleErrors.inc({ rule })
      log.debug({ rule, error }, 'a rule failed')
    },
  }
  const first = await createGeneration(config, generationParts)
  const generations = new Generations(first)
  const contextOf = sinkContexts({
    cluster,
    log,
    metrics,
    redis: connections.report,
    keys,
    clock: CLOCK,
  })
  const sinkSet = createSinkSet({ contextOf, log })
  opened.defer(() => sinkSet.close())
  const delivers = role !== 'watch'
  const prepared = await sinkSet.prepare(delivers ? config.sinks : [], first.choices.typeOf)
  prepared.use()
  const line = createCommitLine({
    redis: connections.commit,
    room: gate.room,
    onOutOfMemory: gate.onOutOfMemory,
    log,
  })

  const { watches, lanes } = connectHops({
    watch(store) {
      if (role === 'deliver' || !client) return undefined
      const timing = DEFAULT_TIMING
      const { leases } = config
      const manager = createWatchManager({
        client: countRequests(client, metrics),
        store,
        metrics,
        log,
        clock: CLOCK,
        random: Math.random,
        timing,
        matcherOf: compilePattern,
        ...(leases && {
          leases: openLeases(leases, {
            client,
            group: { cluster, store: storeOf(salt) },
            metrics,
            log,
            contextNamespace: options.namespace,
            silentMs: contact.silentMs,
          }),
        }),
      })
      manager.apply(config.watch)
      return manager
    },
    normalise: (source, transition) => normalise(source, transition, { cluster, salt }),
    routing: () => generations.current,
    commit: (routing, onEnqueued) =>
      createSourceStore({
        line,
        instance,
        keys,
        routing,
        onEnqueued,
        old: {
          keeps: (resource) => generations.current.keepsOld(resource),
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
        maxBatchOf: (sink) => generations.of(sink).choices.typeOf(sink).maxBatch,
        render: (delivery, attempt) => generations.render(delivery, attempt),
        onDrained: (sink) => void letGo(applyParts, sink),
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
        trace: tracing?.attempt,
      }),
    onMalformed(source, transition, error) {
      metrics.malformed.inc({ watch: source.title })
      log.error(
        { watch: source.title, name: transition.name, error },
        'an object cannot be read; it is passed over',
      )
    },
    trace: tracing?.commit,
  })

  const health = watchSinkHealth(sinkSet.sinks, { log, clock: CLOCK, statuses: lanes.statuses })
  opened.defer(() => health.close())
  const sinkStatuses = () => health.merge(lanes.statuses())
  const applyParts = {
    generations,
    generation: generationParts,
    sinkSet,
    delivers,
    lanes,
    watches,
    health,
    metrics,
    log,
  }
  vitals = () => ({
    nowMs: CLOCK.now(),
    config: reloads.status(),
    watches: watches?.statuses() ?? [],
    sinks: sinkStatuses(),
    redisTrouble: line.trouble() ?? (connections.commit.status === 'ready' ? undefined : 'no connection'),
    redisFull: gate.isClosed(),
    stopping,
  })
  const configured = () => generations.current.config.sinks.map(({ name }) => name)
  const gauges = watchLanes({ redis: connections.report, keys, metrics, clock: CLOCK, configured })
  const statuses = () => watches?.statuses() ?? []
  const positions = watchPositions({ redis: connections.report, keys, metrics, watches: statuses })
  const reporter = startReporting(
    { redis: connections.report, keys, clock: CLOCK, id: instance },
    role,
    () => ({
      config: reloads.status(),
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
    reloads,
    apply: (config) => apply(applyParts, config),
    renewRedis: (settings) => renewCredentials(options.redis, settings),
    async stop() {
      stopping = true
      health.close()
      await watches?.close()
      await lanes.close(GRACE_MS)
      const traced = tracing?.close()
      positions.close()
      const pending = await gauges.close()
      await reporter.close()
      schema.close()
      kept.close()
      contact.close()
      gate.close()
      await sinkSet.close()
      await traced
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
