import type { Redis } from 'ioredis'
import { type Logger, silentLog } from './log.ts'
import type { Metrics } from './metrics.ts'
import { openRedis, type Purpose } from './queue/connection.ts'
import { countReconnects } from './queue/reconnects.ts'
import type { RedisTarget } from './queue/redis-target.ts'

/** Each for one kind of work, so that none waits behind another's: a blocking read, a large commit. */
export interface Connections {
  commit: Redis
  lanes: Redis
  /** BullMQ's, for commands and for the worker, which blocks. */
  queue: Redis
  worker: Redis
  /** Gauges, reports, and what sinks keep. */
  report: Redis
}

/** They connect by themselves, now and after each loss. */
export function openConnections(target: RedisTarget, log: Logger, metrics: Metrics): Connections {
  // All lose and find Redis together: one of them tells.
  const connect = (purpose: Purpose, teller = silentLog) => openRedis(target, purpose, teller)
  const connections = {
    commit: connect('commit', log),
    lanes: connect('work'),
    queue: connect('work'),
    worker: connect('work'),
    report: connect('commit'),
  }
  countReconnects(connections, metrics)
  return connections
}

export function disconnect(connections: Connections): void {
  for (const connection of Object.values(connections)) connection.disconnect()
}
