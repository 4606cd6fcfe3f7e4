import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import { type Logger, withFields } from './log.ts'
import type { Keys } from './queue/keys.ts'
import { createKeyValueStore } from './queue/kv-store.ts'
import type { SinkContext, SinkType } from './sink/index.ts'
import { createSinkMetrics } from './sink-set/metrics.ts'
import { userAgent } from './version.ts'

export interface SinkContextParts {
  cluster: string
  log: Logger
  registry: Registry
  redis: Redis
  keys: Keys
  clock: { now(): number }
}

/** What sinks get when they are opened: each its own log fields, metrics and store. */
export function sinkContexts({ cluster, log, registry, redis, keys, clock }: SinkContextParts) {
  return (name: string, { type }: Pick<SinkType, 'type'>): SinkContext => ({
    name,
    cluster,
    log: withFields(log, { sink: name }),
    metrics: createSinkMetrics(registry, type, name),
    store: createKeyValueStore(redis, keys, name),
    userAgent,
    clock,
  })
}
