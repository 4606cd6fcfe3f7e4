import { randomBytes } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { type Logger, silentLog } from '../observe/log.ts'
import { createMetrics, type Metrics, startAtZero } from '../observe/metrics.ts'
import type { Vitals } from '../observe/server/health.ts'
import { startServer } from '../observe/server/http.ts'
import { startTracing } from '../observe/tracing/tracing.ts'
import type { SinkType } from '../sink/index.ts'
import { builtInSinks, sinkLoader } from '../sink-types.ts'
import { createCommitConnection } from '../store/commit/commit-connection.ts'
import { startRemovedState } from '../store/commit/removed-state.ts'
import { type Keys, keysOf } from '../store/keys.ts'
import type { Lanes } from '../store/lanes/lanes.ts'
import { LiveProcesses } from '../store/lanes/live-processes.ts'
import { openRedis } from '../store/redis/connection.ts'
import { storeOf } from '../store/redis/layout.ts'
import { createTroubles, type Troubles } from '../store/redis/redis-fault.ts'
import {
  type RedisSettings,
  type RedisTarget,
  renewCredentials,
  rotateCredentials,
} from '../store/redis/redis-target.ts'
import { boundsBeyond, waitForRedis } from '../store/redis/requirements.ts'
import { version } from '../version.ts'
import type { ClusterClient } from '../watch/client/cluster-client.ts'
import type { WatchManager } from '../watch/reflector/manager.ts'
import { ConfigSnapshots, createConfigSnapshot } from './config-snapshot.ts'
import { startDeadLetters } from './dead-letter-archive.ts'
import { startEnrichment } from './metadata-informers.ts'
import { startNotifier } from './notify/notifier.ts'
import { type LaneEvents, startPipeline } from './pipeline.ts'
import { boundsOf, type Connections, disconnect, openConnections, startRedisUpkeep } from './redis.ts'
import { apply, createReloadState, type Differences, letGo, type ReloadState } from './reload.ts'
import { closeAll, type Stages, stagesOf } from './shutdown.ts'
import { followSilences } from './silences.ts'
import { createSinkActions } from './sink-set/actions.ts'
import { forgetOldGauges, sinkContexts } from './sink-set/contexts.ts'
import { createSinkSet } from './sink-set/set.ts'
import { siteOnRequest } from './site-on-request.ts'
import { createRuleErrors, STARTING, startStatusReporting } from './status-reporting.ts'

export type Role = 'all' | 'watch' | 'deliver'

interface AppOptions {
  config: Config
  /** Where the configured port is taken, it listens on another one. */
  orAnyPort?: boolean
  /** The cluster's name: it is part of every key. */
  cluster: string
  role: Role
  redis: RedisTarget
  /** Connected already; not needed for role `deliver`. */
  client?: ClusterClient
  /** Namespace of the kubeconfig's context: the default for Leases. */
  namespace?: string
  log: Logger
  /** Digest of the configuration's file, as in `ConfigStatus`. */
  digest?: string | undefined
  /** Called once when a newer version converted the keys: this process can no longer write and should end. */
  onLayoutChanged?(error: Error): void
  /** For benches and plug-ins: additional sink types. */
  sinkTypes?: Readonly<Record<string, SinkType>>
  /** Ends a start that waits for Redis: the promise rejects. */
  signal?: AbortSignal
}

export interface App {
  /** The address of the page, the API, probes and metrics; undefined when the server is switched off. */
  url: string | undefined
  /** `7.0.15`, or with the name of another product, `Valkey 8.0.1`. */
  redisVersion: string
  metrics: Metrics
  watches: WatchManager | undefined
  lanes: Lanes
  /** State of the configuration's reloads. */
  reloads: ReloadState
  /**
   * Applies another configuration, except for keys that need a restart; returns the differences. If it throws, for example
   * an `OpenError` of a sink, nothing has changed.
   */
  apply(config: Config): Promise<Differences>
  /** Uses the passwords and certificates of Redis for new connections. */
  renewRedis(settings: RedisSettings): void
  /** Uses other values of those that are in use; adds none and takes none away. */
  rotateRedis(settings: RedisSettings): void
  /** Stops watching, finishes the commit, finishes or releases deliveries in flight; returns the number of waiting deliveries. */
  stop(): Promise<{ pending: number }>
}

const CLOCK = { now: () => Date.now() }

/**
 * Constructs and connects all parts. Waits for Redis, and throws the errors that waiting cannot solve
 * (`waitForRedis`). If the start fails, everything that was opened is closed.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const opened = new AsyncDisposableStack()
  try {
    return await buildApp(options, opened)
  } catch (error) {
    // The error that ended the start is reported, not those of closing what it leaves.
    await closeAll(opened).catch(() => {})
    throw error
  }
}

async function buildApp(options: AppOptions, opened: AsyncDisposableStack): Promise<App> {
  const { config, cluster, role, client, log } = options
  const stages = stagesOf(opened)
  const common: Common = {
    keys: keysOf(cluster),
    metrics: createMetrics(),
    log,
    clock: CLOCK,
    cluster,
    instance: randomBytes(6).toString('hex'),
    troubles: createTroubles(log),
  }
  const { keys, metrics } = common
  await startAtZero(metrics, config)
  const reloads = createReloadState(common, options.digest)
  // First, because it can fail: a port in use ends the start before anything else has begun.
  const server = await openServer(options, common, stages)
  const { version: redisVersion } = await waitForRedis({
    target: options.redis,
    keys,
    log,
    signal: options.signal,
    bounds: boundsOf(config),
    onWaiting: (redisTrouble) => server.show(() => ({ ...STARTING, redisTrouble })),
  })
  server.show(() => STARTING)
  const connections = openConnections(options.redis, log, metrics)
  stages.connections.defer(() => disconnect(connections))
  stages.base.defer(() => client?.close())
  const tracing = await startTracing({ env: process.env, version, instance: common.instance, log })
  stages.reports.defer(() => tracing?.close())
  const { snapshots, snapshotParts, ruleErrors } = await useConfiguration(options, common)

  const { onLayoutChanged } = options
  const share = () => snapshots.current.config.redis.share ?? 1
  const upkeep = await startRedisUpkeep({ ...common, connections, share, onLayoutChanged })
  stages.base.defer(() => upkeep.close())
  const { salt, silentMs, gate } = upkeep
  const { sinkSet, contextOf, delivers } = await openSinks(options, common, connections, snapshots, stages)
  const commitConnection = createCommitConnection({
    redis: connections.commit,
    room: gate.room,
    onOutOfMemory: gate.onOutOfMemory,
    log,
  })

  const watchClient = role === 'deliver' ? undefined : client
  const enrichment =
    watchClient && startEnrichment({ ...common, client: watchClient, isHeldUp: commitConnection.isHeldUp })
  stages.sources.defer(() => enrichment?.close())
  enrichment?.use(snapshots.current.needs, config.enrich?.maxObjects)
  // Before the first commit.
  const silences =
    watchClient && (await followSilences({ ...common, redis: connections.report, signal: options.signal }))
  stages.sources.defer(() => silences?.close())
  const laneEvents: LaneEvents = { onDrained() {}, onGivenUp() {} }
  const { watches, lanes } = startPipeline(
    {
      ...common,
      processes: new LiveProcesses(common.instance),
      commitConnection,
      connections,
      gate,
      snapshots,
      sinkSet,
      enrichment,
      salt,
      onMalformed(source, transition, error) {
        const watch = source.title
        metrics.malformed.inc({ watch })
        log.error({ watch, name: transition.name, error }, 'an object cannot be read; it is skipped')
      },
      trace: tracing?.commit,
      traceAttempt: tracing?.attempt,
      silences: () => silences?.current(),
      laneEvents,
      watch: watchClient && {
        ...common,
        config,
        client: watchClient,
        namespace: options.namespace,
        redis: { store: storeOf(salt), silentMs },
      },
    },
    stages,
  )

  const archived = { load: builtInSinks.file, contextOf, lanes }
  const deadLetterParts = { ...common, connections, snapshots, gate, ...archived }
  const deadLetters = delivers ? startDeadLetters(deadLetterParts, stages) : undefined
  if (deadLetters) laneEvents.onGivenUp = deadLetters.added

  const reporting = startStatusReporting({
    ...common,
    role,
    connections,
    snapshots,
    ruleErrors,
    reloads,
    watches,
    enrichment,
    lanes,
    sinkSet,
    commitConnection,
    gate,
    deadLetters: () => deadLetters?.status(),
  })
  let pending = 0
  stages.reports.defer(async () => {
    pending = await reporting.close()
  })
  stages.readiness.defer(() => reporting.stopping())
  server.show(reporting.vitals)
  const sinkNames = () => snapshots.current.config.sinks.map(({ name }) => name)
  const notifier = startNotifier({
    ...common,
    redis: connections.report,
    line: commitConnection,
    namespace: process.env['POD_NAMESPACE'] ?? options.namespace ?? 'default',
    settings: () => snapshots.current.config.notify,
    sinkNames,
    watches: () => watches?.statuses() ?? [],
    metadata: () => enrichment?.statuses() ?? [],
    sinks: () => reporting.vitals().sinks,
    config: reloads.status,
    laneOf: (delivery) => snapshots.current.laneOf(delivery),
    enqueued: (entries) => lanes.enqueued(entries),
  })
  stages.sources.defer(() => notifier.close())
  const removedState =
    watches &&
    startRemovedState({
      ...common,
      redis: connections.report,
      watches: watches.statuses,
      kinds: () => snapshots.current.config.watch.map(({ kind }) => kind),
      sinks: sinkNames,
    })
  stages.sources.defer(() => removedState?.close())
  const inUse = { snapshots, snapshotParts, sinkSet, delivers, lanes, watches, enrichment }
  const applyParts = { ...inUse, health: reporting.health, metrics, log }
  laneEvents.onDrained = (sink) => void letGo(applyParts, sink)

  server.web.begin({
    keys,
    cluster,
    salt,
    log,
    load: snapshotParts.load,
    openRedis: () => openRedis(options.redis, 'commit', silentLog),
    config: () => snapshots.current.config,
    countRefusal: (reason) => metrics.requestsRefused.inc({ reason }),
  })
  stages.site.defer(() => server.web.close())

  return {
    url: server.url,
    redisVersion,
    metrics,
    watches,
    lanes,
    reloads,
    async apply(config) {
      const [beyond] = boundsBeyond(boundsOf(config), gate.maxmemory() ?? 0)
      if (beyond !== undefined) throw new Error(beyond)
      return apply(applyParts, config)
    },
    renewRedis: (settings) => renewCredentials(options.redis, settings),
    rotateRedis: (settings) => rotateCredentials(options.redis, settings),
    async stop() {
      await closeAll(opened)
      return { pending }
    },
  }
}

/** What nearly all parts need. */
interface Common {
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: typeof CLOCK
  cluster: string
  /** The name of this process. */
  instance: string
  troubles: Troubles
}

/** Serves probes and metrics; `show` replaces the state that they show. */
async function openServer({ config, orAnyPort = false }: AppOptions, { metrics }: Common, { base }: Stages) {
  const web = siteOnRequest()
  let vitals = (): Vitals => STARTING
  const show = (next: () => Vitals) => {
    vitals = next
  }
  if (config.server === false) return { url: undefined, web, show }
  const { host, port } = config.server
  const server = await startServer({
    ...{ host, port, orAnyPort, metrics },
    vitals: () => vitals(),
    site: web.site,
  })
  base.defer(() => server.close())
  return { url: server.url, web, show }
}

/** Compiles the configuration of the start; reloads exchange its snapshot. */
async function useConfiguration({ config, sinkTypes }: AppOptions, { metrics, log }: Common) {
  const ruleErrors = createRuleErrors()
  const snapshotParts = {
    load: sinkLoader(sinkTypes),
    onMatch: metrics.ruleMatches.inc,
    onRuleError(rule: string, error: unknown) {
      metrics.ruleErrors.inc({ rule })
      ruleErrors.note(rule, error)
      log.debug({ rule, error }, 'a rule failed')
    },
  }
  const snapshots = new ConfigSnapshots(await createConfigSnapshot(config, snapshotParts))
  return { snapshots, snapshotParts, ruleErrors }
}

async function openSinks(
  { config, role }: AppOptions,
  common: Common,
  { report: redis }: Connections,
  snapshots: ConfigSnapshots,
  { base }: Stages,
) {
  const { metrics, log } = common
  const actions = createSinkActions({ ...common, redis, rules: () => snapshots.current.config.rules })
  const contextOf = sinkContexts({ ...common, redis, actions })
  const onReplaced = (sink: string) => forgetOldGauges(metrics.registry, sink)
  const sinkSet = createSinkSet({ contextOf, log, onReplaced })
  base.defer(() => sinkSet.close())
  const delivers = role !== 'watch'
  const prepared = await sinkSet.prepare(delivers ? config.sinks : [], snapshots.current.choices.typeOf)
  prepared.use()
  return { sinkSet, contextOf, delivers }
}
