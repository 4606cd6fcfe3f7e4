import { randomBytes } from 'node:crypto'
import { apply, letGo } from './apply.ts'
import type { Source, Transition } from './change.ts'
import { startCommits } from './commits.ts'
import type { Config } from './config/schema.ts'
import { deadLetterArchive } from './dead-letter-archive.ts'
import { startDeliveries } from './deliveries.ts'
import { startEnrichment } from './enrichment.ts'
import { createGeneration } from './generation.ts'
import { Generations } from './generations.ts'
import type { Logger } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { connectHops } from './pipeline.ts'
import { createCommitLine } from './queue/commit-line.ts'
import { createDeadLetterBounds, type DeadLetterBounds } from './queue/dead-letter-bounds.ts'
import { keysOf } from './queue/keys.ts'
import type { Lanes } from './queue/lanes.ts'
import { startLimits } from './queue/limits.ts'
import { LiveProcesses } from './queue/live-processes.ts'
import { deadLetterBytes } from './queue/queue-bounds.ts'
import { type RedisSettings, type RedisTarget, renewCredentials } from './queue/redis-target.ts'
import { startRemovedState } from './queue/removed-state.ts'
import { boundsBeyond } from './queue/requirements.ts'
import { storeOf } from './queue/salt.ts'
import { createTroubles } from './queue/troubles.ts'
import { waitForRedis } from './queue/wait-for-redis.ts'
import { boundsOf } from './queue-settings.ts'
import { disconnect, openConnections } from './redis-connections.ts'
import { startRedisUpkeep } from './redis-upkeep.ts'
import type { Differences } from './reload/differences.ts'
import { createReloadState, type ReloadState } from './reload/state.ts'
import { createRuleErrors } from './rule-errors.ts'
import type { Vitals } from './server/health.ts'
import { type HealthServer, startServer } from './server/http.ts'
import { startAtZero } from './server/samples.ts'
import type { SinkType } from './sink/index.ts'
import { sinkContexts } from './sink-contexts.ts'
import { createSinkSet } from './sink-set/set.ts'
import { builtInSinks, sinkLoader } from './sink-types.ts'
import { STARTING, startStatusReporting } from './status-reporting.ts'
import { startTracing } from './tracing/tracing.ts'
import { version } from './version.ts'
import type { ClusterClient } from './watch/cluster-client.ts'
import type { WatchManager } from './watch/manager.ts'
import { normalise } from './watch/normalise.ts'
import { startWatches } from './watches.ts'

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
  /** Ends a start that waits for Redis: the promise rejects. */
  signal?: AbortSignal
}

export interface App {
  /** The address of /livez, /readyz and /metrics; undefined when it is turned off. */
  url: string | undefined
  /** `7.0.15`; of another make with its name, `Valkey 8.0.1`. */
  redisVersion: string
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

const CLOCK = { now: () => Date.now() }
const GRACE_MS = 5_000
/** How long dead letters are kept, where the configuration does not tell. */
const DEAD_LETTERS_MS = 7 * 86_400_000

/**
 * Builds the parts of the configuration and joins them. Waits for Redis, and throws what waiting would not help against
 * (`waitForRedis`). What was opened is closed again when the start fails.
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
  // First, because it can fail: a taken port ends the start before anything else has begun.
  const server = await serve(options, metrics, () => vitals())
  opened.defer(() => server?.close())
  const { version: redisVersion } = await waitForRedis({
    ...{ target: options.redis, keys, log, signal: options.signal, bounds: boundsOf(config) },
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
  const upkeep = await startRedisUpkeep({ ...common, connections, troubles, onLayoutChanged })
  opened.defer(() => upkeep.close())
  const { salt, silentMs, gate } = upkeep
  const ruleErrors = createRuleErrors()
  const generationParts = {
    load: sinkLoader(options.sinkTypes),
    onMatch: metrics.ruleMatches.inc,
    onRuleError(rule: string, error: unknown) {
      metrics.ruleErrors.inc({ rule })
      ruleErrors.note(rule, error)
      log.debug({ rule, error }, 'a rule failed')
    },
  }
  const first = await createGeneration(config, generationParts)
  const generations = new Generations(first)
  const contextOf = sinkContexts({ ...common, cluster, redis: connections.report })
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

  const enrichment = role === 'deliver' || !client ? undefined : startEnrichment({ ...common, client })
  opened.defer(() => enrichment?.close())
  enrichment?.use(first.needs, config.enrich?.maxObjects)

  const toEvent = (source: Source, transition: Transition) => {
    const { needs, named } = generations.current
    const surroundings = enrichment?.surroundings
    const owners = needs.owners || needs.regardingOwners
    return normalise(source, transition, { cluster, salt, surroundings, owners, named })
  }

  let deadLetterBounds: DeadLetterBounds | undefined
  const { watches, lanes, limits } = connectHops({
    watch: (store) => {
      if (role === 'deliver' || !client) return undefined
      const { namespace } = options
      const redis = { store: storeOf(salt), silentMs }
      return startWatches({ ...common, config, client, cluster, namespace, redis }, store)
    },
    limit: (watches, { store, routing, onEnqueued }) =>
      watches &&
      startLimits({
        ...{ ...common, line, instance, store, routing, generations },
        onEnqueued,
        redis: connections.report,
        watches: watches.statuses,
      }),
    enrich: async (source, changes, signal) => enrichment?.known(source, changes, signal),
    normalise: toEvent,
    routing: () => generations.current,
    commit: (routing, onEnqueued) =>
      startCommits(
        { ...common, line, instance, processes, generations, normalise: toEvent, salt },
        routing,
        onEnqueued,
      ),
    deliver: () =>
      startDeliveries({
        ...common,
        connections,
        processes,
        sinkSet,
        generations,
        onDrained: (sink) => void letGo(applyParts, sink),
        gate,
        onGivenUp: (bytes) => deadLetterBounds?.added(bytes),
        troubles,
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

  const archive = deadLetterArchive({ generations, load: builtInSinks.file, contextOf, lanes })
  opened.defer(() => archive.close())
  if (delivers) {
    deadLetterBounds = createDeadLetterBounds({
      ...common,
      ...{ redis: connections.report, id: instance, archive: archive.current },
      bounds() {
        const { maxAge = DEAD_LETTERS_MS, maxBytes } = generations.current.config.deadLetters ?? {}
        const maxmemory = gate.maxmemory()
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
    generations,
    ruleErrors,
    reloads,
    watches,
    enrichment,
    lanes,
    sinkSet,
    deadLetters: () => deadLetterBounds?.status(),
    line,
    gate,
    troubles,
  })
  vitals = reporting.vitals
  const removedState =
    watches &&
    startRemovedState({
      ...common,
      redis: connections.report,
      watches: watches.statuses,
      kinds: () => generations.current.config.watch.map(({ kind }) => kind),
      sinks: () => generations.current.config.sinks.map(({ name }) => name),
    })
  const applyParts = {
    generations,
    generation: generationParts,
    sinkSet,
    delivers,
    lanes,
    watches,
    enrichment,
    health: reporting.health,
    metrics,
    log,
  }

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
    async stop() {
      reporting.stopping()
      await Promise.all([watches?.close(), limits?.close(), removedState?.close(), enrichment?.close()])
      await lanes.close(GRACE_MS)
      await deadLetterBounds?.close()
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
  { config }: AppOptions,
  metrics: Metrics,
  vitals: Parameters<typeof startServer>[0]['vitals'],
): Promise<HealthServer | undefined> {
  if (config.server === false) return undefined
  return startServer({ ...config.server, metrics, vitals })
}
