import { randomBytes } from 'node:crypto'
import { builtInSinks } from '../sinks/index.ts'
import type { Config } from './config/schema.ts'
import type { Delivery } from './delivery.ts'
import { type Logger, silentLog } from './log.ts'
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
import { contentOfWords } from './render/content.ts'
import { createRender, type Render } from './render/message.ts'
import { compileRules } from './rules/compile.ts'
import { keepsOld } from './rules/keeps-old.ts'
import { compilePattern } from './rules/pattern.ts'
import type { Vitals } from './server/health.ts'
import { type HealthServer, startServer } from './server/http.ts'
import { startAtZero } from './server/samples.ts'
import { laneByObject, type Sink, type SinkContext, type SinkType } from './sink/index.ts'
import { createSinkMetrics } from './sink-metrics.ts'
import { userAgent } from './version.ts'
import type { ClusterClient } from './watch/cluster-client.ts'
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
  log: Logger
  /** For benches and plug-ins: types beside the built-in ones. */
  sinkTypes?: Record<string, SinkType>
}

export interface App {
  /** The address of /livez, /readyz and /metrics; undefined when it is turned off. */
  url: string | undefined
  metrics: Metrics
  watches: WatchManager | undefined
  lanes: Lanes
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
  const render = createRender({ routeOf: () => ({}), contentOf: ({ words }) => contentOfWords(words) })
  const contextOf = (name: string, type: string): SinkContext => ({
    name,
    cluster,
    log,
    metrics: createSinkMetrics(metrics.registry, type, name),
    store: createKeyValueStore(connections.report, keys, name),
    userAgent,
    clock: CLOCK,
  })
  const sinks = role === 'watch' ? new Map<string, Sink>() : await openSinks(options, contextOf)
  const laneOf = await laneChooser(options, render)
  const tellers = await sinksThatTellChanges(options)
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
      const manager = createWatchManager({
        client,
        store,
        metrics,
        log,
        clock: CLOCK,
        random: Math.random,
        timing,
        matcherOf: compilePattern,
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
        laneOf,
        onEnqueued,
        old: {
          keeps: keepsOld(config.rules, ({ to = [] }) => to.some((sink) => tellers.has(sink))),
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
        sinks,
        render,
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

  vitals = () => ({
    nowMs: CLOCK.now(),
    watches: watches?.statuses() ?? [],
    sinks: lanes.statuses(),
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
      sinks: lanes.statuses(),
      ...(gate.isClosed() && { backPressure: true as const }),
    }),
  )

  return {
    url: server?.url,
    metrics,
    watches,
    lanes,
    async stop() {
      stopping = true
      await watches?.close()
      await lanes.close(GRACE_MS)
      const pending = await gauges.close()
      await reporter.close()
      gate.close()
      await Promise.all([...sinks.values()].map((sink) => sink.close()))
      await client?.close()
      await server?.close()
      for (const connection of Object.values(connections)) connection.disconnect()
      return { pending }
    },
  }
}

function sinkTypeOf(type: string, { sinkTypes = {} }: AppOptions): Promise<SinkType> {
  const own = sinkTypes[type]
  return own ? Promise.resolve(own) : builtInSinks[type as keyof typeof builtInSinks]()
}

async function openSinks(
  options: AppOptions,
  contextOf: (name: string, type: string) => SinkContext,
): Promise<Map<string, Sink>> {
  const sinks = new Map<string, Sink>()
  for (const { name, type, options: own } of options.config.sinks) {
    const sinkType = await sinkTypeOf(type, options)
    sinks.set(name, await sinkType.open(own, contextOf(name, type)))
  }
  return sinks
}

/** `<sink>/<lane>`: the sink's own choice, or one of a few by the object's uid. */
async function laneChooser(options: AppOptions, render: Render): Promise<(delivery: Delivery) => string> {
  const choosers = new Map<string, (delivery: Delivery) => string>()
  for (const { name, type, options: own } of options.config.sinks) {
    const { lane } = await sinkTypeOf(type, options)
    choosers.set(
      name,
      (delivery) => `${name}/${lane ? lane(render(delivery, 0), own) : laneByObject(delivery.event)}`,
    )
  }
  return (delivery) =>
    choosers.get(delivery.sink)?.(delivery) ?? `${delivery.sink}/${laneByObject(delivery.event)}`
}

/** The names of those that show people what changed. */
async function sinksThatTellChanges(options: AppOptions): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (const { name, type } of options.config.sinks)
    if ((await sinkTypeOf(type, options)).tellsChanges) names.add(name)
  return names
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
