import type { Redis } from 'ioredis'
import { type Logger, withFields } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Keys } from './queue/keys.ts'
import { createKeyValueStore } from './queue/kv-store.ts'
import type { SinkContext, SinkType } from './sink/index.ts'
import { createSinkMetrics } from './sink-set/metrics.ts'
import { userAgent } from './version.ts'

export interface SinkContextParts {
  cluster: string
  log: Logger
  metrics: Metrics
  redis: Redis
  keys: Keys
  clock: { now(): number }
}

/** What sinks get when they are opened: each its own log fields, metrics and store. */
export function sinkContexts({ cluster, log, metrics, redis, keys, clock }: SinkContextParts) {
  return (name: string, { type }: Pick<SinkType, 'type'>): SinkContext => ({
    name,
    cluster,
    log: withFields(log, { sink: name }),
    metrics: createSinkMetrics(metrics.registry, type, name, () =>
      metrics.sinkMetricsRefused.inc({ sink: name }),
    ),
    store: createKeyValueStore(redis, keys, name),
    userAgent,
    clock,
  })
}
