import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import { type Logger, silentLog } from '../observe/log.ts'
import { createMetrics, type Metrics, startAtZero } from '../observe/metrics.ts'
import type { Vitals } from '../observe/server/health.ts'
import { type HealthServer, startServer } from '../observe/server/http.ts'
import { startTracing } from '../observe/tracing/tracing.ts'
import type { SinkType } from '../sink/index.ts'
import { builtInSinks, sinkLoader } from '../sink-types.ts'
import { createDeadLetterBounds, type DeadLetterBounds } from '../store/bounds/dead-letter-bounds.ts'
import { deadLetterBytes } from '../store/bounds/queue-bounds.ts'
import { createCommitConnection } from '../store/commit/commit-connection.ts'
import { startRemovedState } from '../store/commit/removed-state.ts'
import { keysOf } from '../store/keys.ts'
import type { Lanes } from '../store/lanes/lanes.ts'
import { LiveProcesses } from '../store/lanes/live-processes.ts'
import { openRedis } from '../store/redis/connection.ts'
import { storeOf } from '../store/redis/layout.ts'
import { createTroubles } from '../store/redis/redis-fault.ts'
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
import { deadLetterArchive } from './dead-letter-archive.ts'
import { startEnrichment } from './metadata-informers.ts'
import { startNotifier } from './notify/notifier.ts'
import { startPipeline } from './pipeline.ts'
import { boundsOf, disconnect, openConnections, startRedisUpkeep, usableMemory } from './redis.ts'
import { apply, createReloadState, type Differences, letGo, type ReloadState } from './reload.ts'
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
const GRACE_MS = 5_000
const ARCHIVE_GRACE_MS = 1_000
/** Default retention of dead letters. */
const DEAD_LETTERS_MS = 7 * 86_400_000

/**
 * Constructs and connects all parts. Waits for Redis, and throws the errors that waiting cannot solve
 * (`waitForRedis`). If the start fails, everything that was opened is closed.
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
  const troubles = createTroubles(log)
  const processes = new LiveProcesses(instance)
  const common = { keys, metrics, log, clock: CLOCK }
  await startAtZero(metrics, config)
  const reloads = createReloadState(common, options.digest)
  let vitals = (): Vitals => STARTING
  // First, because it can fail: a port in use ends the start before anything else has begun.
  const web = siteOnRequest()
  const server = await serve(options, metrics, { vitals: () => vitals(), site: web.site })
  opened.defer(() => server?.close())
  const { version: redisVersion } = await waitForRedis({
    target: options.redis,
    keys,
    log,
    signal: options.signal,
    bounds: boundsOf(config),
    onWaiting(redisTrouble) {
      vitals = () => ({ ...STARTING, redisTrouble })
    },
  })
  vitals = () => STARTING
  const connections = openConnections(options.redis, log, metrics)
  opened.defer(() => disconnect(connections))
  const tracing = await startTracing({ env: process.env, version, instance, log })
  opened.defer(() => tracing?.close())
  const { onLayoutChanged } = options
  let inForce = () => config
  const share = () => inForce().redis.share ?? 1
  const upkeep = await startRedisUpkeep({ ...common, connections, troubles, share, onLayoutChanged })
  opened.defer(() => upkeep.close())
  const { salt, silentMs, gate } = upkeep
  const ruleErrors = createRuleErrors()
  const snapshotParts = {
    load: sinkLoader(options.sinkTypes),
    onMatch: metrics.ruleMatches.inc,
    onRuleError(rule: string, error: unknown) {
      metrics.ruleErrors.inc({ rule })
      ruleErrors.note(rule, error)
      log.debug({ rule, error }, 'a rule failed')
    },
  }
  const first = await createConfigSnapshot(config, snapshotParts)
  const snapshots = new ConfigSnapshots(first)
  inForce = () => snapshots.current.config
  const { report } = connections
  const rules = () => snapshots.current.config.rules
  const actions = createSinkActions({ ...common, redis: report, rules })
  const contextOf = sinkContexts({ ...common, cluster, redis: report, actions })
  const onReplaced = (sink: string) => forgetOldGauges(common.metrics.registry, sink)
  const sinkSet = createSinkSet({ contextOf, log, onReplaced })
  opened.defer(() => sinkSet.close())
  const delivers = role !== 'watch'
  const prepared = await sinkSet.prepare(delivers ? config.sinks : [], first.choices.typeOf)
  prepared.use()
  const commitConnection = createCommitConnection({
    redis: connections.commit,
    room: gate.room,
    onOutOfMemory: gate.onOutOfMemory,
    log,
  })

  const watchClient = role === 'deliver' ? undefined : client
  const enrichment =
    watchClient && startEnrichment({ ...common, client: watchClient, isHeldUp: commitConnection.isHeldUp })
  opened.defer(() => enrichment?.close())
  enrichment?.use(first.needs, config.enrich?.maxObjects)

  // Before the first commit.
  const silences =
    watchClient && (await followSilences({ ...common, redis: connections.report, signal: options.signal }))
  opened.defer(() => silences?.close())
  let deadLetterBounds: DeadLetterBounds | undefined
  const { watches, lanes, logs, history, limits } = startPipeline({
    ...common,
    instance,
    processes,
    commitConnection,
    connections,
    gate,
    troubles,
    snapshots,
    sinkSet,
    enrichment,
    cluster,
    salt,
    onMalformed(source, transition, error) {
      const watch = source.title
      metrics.malformed.inc({ watch })
      log.error({ watch, name: transition.name, error }, 'an object cannot be read; it is skipped')
    },
    trace: tracing?.commit,
    traceAttempt: tracing?.attempt,
    silences: () => silences?.current(),
    onDrained: (sink) => void letGo(applyParts, sink),
    onGivenUp: (bytes) => deadLetterBounds?.added(bytes),
    watch: watchClient && {
      ...common,
      config,
      client: watchClient,
      cluster,
      namespace: options.namespace,
      redis: { store: storeOf(salt), silentMs },
    },
  })

  const archive = deadLetterArchive({ snapshots, load: builtInSinks.file, contextOf, lanes })
  opened.defer(() => archive.close())
  if (delivers) {
    deadLetterBounds = createDeadLetterBounds({
      ...common,
      redis: connections.report,
      id: instance,
      archive: archive.current,
      bounds() {
        const { maxAge = DEAD_LETTERS_MS, maxBytes } = snapshots.current.config.deadLetters ?? {}
        const maxmemory = usableMemory(gate, snapshots.current.config)
        if (maxmemory === undefined) return undefined
        return { maxAgeMs: maxAge, maxBytes: deadLetterBytes(maxmemory, maxBytes) }
      },
    })
    opened.defer(() => deadLetterBounds?.close())
  }

  const reporting = startStatusReporting({
    ...common,
    instance,
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
    troubles,
    deadLetters: () => deadLetterBounds?.status(),
  })
  vitals = reporting.vitals
  const notifier = startNotifier({
    ...common,
    redis: connections.report,
    line: commitConnection,
    cluster,
    namespace: process.env['POD_NAMESPACE'] ?? options.namespace ?? 'default',
    settings: () => snapshots.current.config.notify,
    sinkNames: () => snapshots.current.config.sinks.map(({ name }) => name),
    watches: () => watches?.statuses() ?? [],
    metadata: () => enrichment?.statuses() ?? [],
    sinks: () => reporting.vitals().sinks,
    config: reloads.status,
    laneOf: (delivery) => snapshots.current.laneOf(delivery),
    enqueued: (entries) => lanes.enqueued(entries),
  })
  opened.defer(() => notifier.close())
  const removedState =
    watches &&
    startRemovedState({
      ...common,
      redis: connections.report,
      watches: watches.statuses,
      kinds: () => snapshots.current.config.watch.map(({ kind }) => kind),
      sinks: () => snapshots.current.config.sinks.map(({ name }) => name),
    })
  const applyParts = {
    snapshots,
    snapshotParts,
    sinkSet,
    delivers,
    lanes,
    watches,
    enrichment,
    health: reporting.health,
    metrics,
    log,
  }

  web.begin({
    keys,
    cluster,
    salt,
    log,
    load: snapshotParts.load,
    openRedis: () => openRedis(options.redis, 'commit', silentLog),
    config: () => snapshots.current.config,
    countRefusal: (reason) => metrics.requestsRefused.inc({ reason }),
  })
  opened.defer(() => web.close())

  return {
    url: server?.url,
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
      reporting.stopping()
      await web.close()
      await Promise.all([
        notifier.close(),
        watches?.close(),
        limits?.close(),
        silences?.close(),
        removedState?.close(),
        enrichment?.close(),
      ])
      logs.close()
      history.close()
      await lanes.close(GRACE_MS)
      // A disk that hangs holds up a write of the archive: its close ends that.
      await Promise.race([deadLetterBounds?.close(), pause(ARCHIVE_GRACE_MS, undefined, { ref: false })])
      await archive.close()
      const traced = tracing?.close()
      const pending = await reporting.close()
      upkeep.close()
      await sinkSet.close()
      await traced
      await client?.close()
      await server?.close()
      disconnect(connections)
      return { pending }
    },
  }
}

async function serve(
  { config, orAnyPort = false }: AppOptions,
  metrics: Metrics,
  parts: Pick<Parameters<typeof startServer>[0], 'vitals' | 'site'>,
): Promise<HealthServer | undefined> {
  if (config.server === false) return undefined
  const { host, port } = config.server
  return startServer({ host, port, orAnyPort, metrics, ...parts })
}
