import type { SourceStore } from './change.ts'
import type { Config } from './config/schema.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import { compilePattern } from './rules/pattern.ts'
import { matcherOfSelector } from './rules/selector.ts'
import type { ClusterClient } from './watch/cluster-client.ts'
import { countRequests } from './watch/counted-client.ts'
import { openLeases } from './watch/leases/open.ts'
import { createWatchManager, type WatchManager } from './watch/manager.ts'
import { DEFAULT_TIMING } from './watch/timing.ts'

export interface WatchesParts {
  config: Pick<Config, 'watch' | 'leases' | 'kubernetes'>
  client: ClusterClient
  /** The cluster's name. */
  cluster: string
  /** Of the kubeconfig's context: Leases lie there when nothing else says where. */
  namespace: string | undefined
  /** The Redis that this process uses: a name for its data, and for how long it has not answered. */
  redis: { store: string; silentMs(): number }
  metrics: Metrics
  log: Logger
  clock: { now(): number }
}

/** The watches of a configuration, which commit into `store`; alone, or shared with other processes by Leases. */
export function startWatches(parts: WatchesParts, store: SourceStore): WatchManager {
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
