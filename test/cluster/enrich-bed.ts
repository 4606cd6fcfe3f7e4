import { type Enrichment, startEnrichment } from '../../src/app/metadata-informers.ts'
import { needsOfConfig } from '../../src/app/metadata-needs.ts'
import type { Transition } from '../../src/model/change.ts'
import { type ClusterEvent, headerOf, type RelatedTexts } from '../../src/model/event.ts'
import { type Logger, silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { matcherOfSelector } from '../../src/rules/selector.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import { createSourceStore } from '../../src/store/commit/source-store.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { createWatchManager } from '../../src/watch/reflector/manager.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import type { WatchEntry } from '../../src/watch/schema.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

/** What was known of an event at the moment that it was decided. */
export interface Decided {
  type: string
  name: string
  owners: string[] | undefined
  owner: string | undefined
  namespaceLabels: Readonly<Record<string, string>> | undefined
  regardingLabels: Readonly<Record<string, string>> | undefined
  regardingAnnotations: Readonly<Record<string, string>> | undefined
  namespaceAnnotations: Readonly<Record<string, string>> | undefined
  related: RelatedTexts | undefined
  regardingOwners: string[] | undefined
}

export interface EnrichBedOptions {
  kubeconfig: string
  rules: readonly object[]
  watch: readonly WatchEntry[]
  log?: Logger
  /** Stands between the watches of metadata and the API server. */
  client?(client: ClusterClient): ClusterClient
  /** Don't wait until the metadata is there. */
  unready?: true
}

const QUICK = {
  ...DEFAULT_TIMING,
  backoffFirstMs: 50,
  backoffMaxMs: 500,
  endPauseMs: 20,
  discoveryMs: 200,
  slowRetryMs: 300,
}

/** Watches, enrichment and normalise as the line has them, on a real cluster; what is decided is noted. */
export async function startEnrichBed({
  kubeconfig,
  rules,
  watch,
  log = silentLog,
  client,
  unready,
}: EnrichBedOptions) {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis())
  const metrics = createMetrics()
  const redis = openRedis(server.url, 'commit', silentLog)
  stack.defer(() => redis.disconnect())
  const commitConnection = createCommitConnection({
    redis,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const connect = () => {
    const made = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
    stack.defer(() => made.close())
    return made
  }
  const decided: Decided[] = []
  const needsFor = (more: readonly object[]) =>
    needsOfConfig({ rules: more.map((rule, i) => ({ name: `r${i}`, ...rule })), watch })
  const own = connect()
  const enrichment: Enrichment = startEnrichment({
    client: client?.(own) ?? own,
    metrics,
    log,
    clock: Date,
    timing: QUICK,
  })
  stack.defer(() => enrichment.close())
  enrichment.use(needsFor(rules))
  const { inTemplates } = needsFor(rules)

  function evaluate(source: Parameters<typeof normalise>[0], transitions: readonly Transition[]) {
    const { surroundings } = enrichment
    for (const transition of transitions)
      decided.push(
        decidedOf(
          normalise(source, transition, {
            cluster: 'test',
            salt: Buffer.alloc(1),
            surroundings,
            inTemplates,
          }),
        ),
      )
    return { deliveries: [], unmatched: transitions.length, dropped: 0, matched: 0 }
  }
  const store = createSourceStore({
    commitConnection,
    keys: keysOf('test'),
    stages: { evaluator: () => ({ evaluate, laneOf: () => 'none' }), enqueued() {} },
    enrich: enrichment.awaitMetadata,
    metrics,
    clock: Date,
  })
  const manager = createWatchManager({
    client: connect(),
    store,
    metrics,
    log: silentLog,
    clock: Date,
    random: Math.random,
    timing: QUICK,
    matcherOf: (patterns) => (namespace) => patterns.includes(namespace),
    selectorOf: matcherOfSelector,
  })
  stack.defer(() => manager.close())
  manager.apply(watch)
  const phases = () => enrichment.statuses().map(({ title, phase }) => `${title} ${phase}`)
  const watching = async () => {
    await waitFor(
      () => manager.statuses().length > 0 && manager.statuses().every((it) => it.phase === 'watching'),
      {
        what: 'the watches',
      },
    )
    if (!unready)
      await waitFor(() => enrichment.statuses().every(({ phase }) => phase === 'watching'), {
        what: () => `the metadata: ${phases()}`,
      })
  }
  await watching()
  return {
    enrichment,
    metrics,
    needsFor,
    decided,
    phases,
    watching,
    /** Other watches. */
    apply: manager.apply,
    /** The first decision about an object of this name that came, of this type. */
    of: async (name: string, type = 'ADDED'): Promise<Decided> => {
      await waitFor(() => decided.some((it) => it.name === name && it.type === type), {
        what: () =>
          `${type} ${name} to be decided; there were ${decided.map((it) => `${it.type} ${it.name}`)}`,
      })
      return decided.find((it) => it.name === name && it.type === type)!
    },
    metric: async (name: string) =>
      (await metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get())?.values ?? [],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

function decidedOf(event: ClusterEvent): Decided {
  const { owner, related } = headerOf(event)
  return {
    type: event.type,
    name: event.name,
    owners: event.owners?.map(({ kind, name }) => `${kind}/${name}`),
    owner: owner && `${owner.kind}/${owner.name}`,
    namespaceLabels: event.namespaceLabels,
    regardingLabels: event.regardingLabels && { ...event.regardingLabels },
    regardingAnnotations: event.regardingAnnotations && { ...event.regardingAnnotations },
    namespaceAnnotations: event.namespaceAnnotations && { ...event.namespaceAnnotations },
    related,
    regardingOwners: event.regardingOwners?.map(({ kind, name }) => `${kind}/${name}`),
  }
}
