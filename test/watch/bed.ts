import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Evaluator, SourceStore } from '../../src/model/change.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { type Logger, silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { matcherOfSelector } from '../../src/rules/selector.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import { indexReader } from '../../src/store/commit/index-entries.ts'
import { createSourceStore } from '../../src/store/commit/source-store.ts'
import { decodeEntry } from '../../src/store/entry.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import type { SourceLeases } from '../../src/watch/leases/source-leases.ts'
import { createWatchManager } from '../../src/watch/reflector/manager.ts'
import { DEFAULT_TIMING, type Timing } from '../../src/watch/reflector/timing.ts'
import type { WatchEntry } from '../../src/watch/schema.ts'
import { CONFIRMS_WHAT_IS_WRITTEN, startRedis } from '../servers/redis.ts'
import { type ScriptedApi, type ScriptedApiOptions, startScriptedApi } from '../servers/scripted-api.ts'
import { sendAll } from '../store/objects.ts'
import { waitFor } from '../wait-for.ts'

export interface WatchBedOptions {
  entries?: WatchEntry[]
  timing?: Partial<Timing>
  /** The kubeconfig's user, and what its cluster has besides the address. */
  user?: object
  cluster?: object
  /** Where the watch finds the API server, if not at its own address. */
  serverAt?(api: ScriptedApi): string
  tls?: ScriptedApiOptions['tls']
  env?: NodeJS.ProcessEnv
  /** Names no kubeconfig: the environment has to. */
  inCluster?: true
  /** Another cluster's instead of the scripted one's. */
  kubeconfig?: string
  /** Stands between the watch and the API server. */
  client?(client: ClusterClient): ClusterClient
  random?(): number
  /** What is there at the beginning. */
  objects?: unknown[]
  /** Changes the server before the watch begins. */
  prepare?(api: ScriptedApi): void
  log?: Logger
  maxObjectBytes?: number
  /** Nothing is started but by the test. */
  idle?: true
  /** Stands between the watch and the store. */
  wrap?(store: SourceStore): SourceStore
  /** Default: all is sent. */
  routing?: Evaluator
}

/** One of several processes. */
export interface Replica {
  /** How wrong the clock on its wall is. */
  wallMs: number
  leases?(client: ClusterClient): SourceLeases
}

/** Pauses short enough for tests; nothing depends on how short. */
const QUICK: Partial<Timing> = {
  backoffFirstMs: 20,
  backoffMaxMs: 200,
  endPauseMs: 20,
  slowRetryMs: 100,
  fencedPauseMs: 50,
  standbyPatienceMs: 2_000,
  positionEveryMs: 0,
  identityFreshMs: 0,
  discoveryMs: 50,
}

/** The watch room on a scripted API server, with the real store on a real Redis. */
export async function startWatchBed(options: WatchBedOptions = {}) {
  const stack = new AsyncDisposableStack()
  const api = stack.use(await startScriptedApi({ tls: options.tls }))
  const server = stack.use(await startRedis({ args: CONFIRMS_WHAT_IS_WRITTEN }))
  const keys = keysOf('test')
  const metrics = createMetrics()
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-watch-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = options.kubeconfig ?? join(dir, 'kubeconfig')
  if (!options.kubeconfig)
    writeFileSync(
      kubeconfig,
      kubeconfigFor(options.serverAt?.(api) ?? api.url, options.user, options.cluster),
    )
  api.objects = options.objects ?? []
  options.prepare?.(api)

  function open(purpose: 'commit' | 'work') {
    const redis = openRedis(server.url, purpose, silentLog)
    stack.defer(() => redis.disconnect())
    return redis
  }

  const reader = open('work')
  const managers: ReturnType<typeof createWatchManager>[] = []

  /** Starts watching, as a process does; the position and index of an earlier one are there. */
  function start(entries = options.entries, replica?: Replica): ReturnType<typeof createWatchManager> {
    const redis = open('commit')
    const commitConnection = createCommitConnection({
      redis,
      room: async () => {},
      onOutOfMemory() {},
      log: silentLog,
    })
    const store = createSourceStore({
      commitConnection,
      keys,
      stages: {
        evaluator: () => options.routing ?? { evaluate: sendAll, laneOf: () => 'hook/0' },
        enqueued() {},
      },
      metrics,
      clock: Date,
    })
    const client = connectCluster({
      kubeconfig: options.inCluster ? undefined : kubeconfig,
      env: options.env ?? {},
      userAgent: 'test',
    })
    const manager = createWatchManager({
      client: options.client?.(client) ?? client,
      store: options.wrap?.(store) ?? store,
      metrics,
      log: options.log ?? silentLog,
      clock: replica ? { now: () => Date.now() + replica.wallMs } : Date,
      indexOf: (source) => indexReader(reader, keys, source),
      ...(replica?.leases && { leases: replica.leases(client) }),
      random: options.random ?? Math.random,
      ...(options.maxObjectBytes !== undefined && { maxObjectBytes: options.maxObjectBytes }),
      timing: { ...DEFAULT_TIMING, ...QUICK, ...options.timing },
      matcherOf: (patterns) => (namespace) => patterns.includes(namespace),
      selectorOf: matcherOfSelector,
    })
    manager.apply(entries ?? [{ kind: 'ConfigMap' }])
    managers.push(manager)
    return manager
  }

  async function stop(): Promise<void> {
    await Promise.all(managers.splice(0).map((manager) => manager.close()))
  }

  stack.defer(stop)
  if (!options.idle) start()

  async function deliveries(): Promise<Delivery[]> {
    const entries = await reader.xrangeBuffer(keys.lane('hook/0'), '-', '+')
    return entries.flatMap(([, fields]) => decodeEntry(fields[5] as Buffer))
  }

  /** What was enqueued, in order: `MODIFIED a@12`, with ` synthesized` behind it where it was. */
  const enqueued = async () =>
    (await deliveries()).map(
      ({ event }) =>
        `${event.type} ${event.name}@${event.resourceVersion}${event.synthesized ? ' synthesized' : ''}`,
    )

  /** The JSON of the objects that were enqueued, as it lies in the queue. */
  const objects = async () => (await deliveries()).map(({ objectJson }) => objectJson.toString())
  const ids = async () => (await deliveries()).map(({ event }) => event.id)

  async function position(): Promise<string> {
    const [key] = await reader.keys(keys.checkpoint('*'))
    const text = key && (await reader.get(key))
    return text ? (JSON.parse(text) as { resourceVersion: string }).resourceVersion : ''
  }

  return {
    api,
    server,
    reader,
    keys,
    metrics,
    start,
    stop,
    enqueued,
    objects,
    ids,
    position,
    apply: (entries: WatchEntry[]) => managers[0]?.apply(entries),
    applied: () => managers[0]?.applied,
    kubeconfig,
    /** Of all that were started, one after the other. */
    statuses: () => managers.flatMap((manager) => manager.statuses()),
    /** Waits until a watch is open from some position. */
    watching: (from?: string) =>
      waitFor(
        () => api.watches().some(({ query }) => from === undefined || query.get('resourceVersion') === from),
        {
          what: () =>
            `a watch from ${from ?? 'anywhere'}; there were ${api.watches().map(({ query }) => query.get('resourceVersion'))}`,
        },
      ),
    arrived: (count: number) =>
      waitFor(async () => (await enqueued()).length >= count, { what: `${count} changes` }),
    metric: async (name: string) =>
      (await metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get())?.values ?? [],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export function kubeconfigFor(server: string, user: object = {}, cluster: object = {}): string {
  return JSON.stringify({
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server, ...cluster } }],
    users: [{ name: 'test', user }],
  })
}
