import type { Redis } from 'ioredis'
import type { Metrics } from '../metrics.ts'

/** Counts when a connection that was ready is ready again. */
export function countReconnects(
  connections: Readonly<Record<string, Pick<Redis, 'on'>>>,
  { redisReconnects }: Metrics,
): void {
  for (const [connection, redis] of Object.entries(connections)) {
    redisReconnects.inc({ connection }, 0)
    let wasReady = false
    redis.on('ready', () => {
      if (wasReady) redisReconnects.inc({ connection })
      wasReady = true
    })
  }
}
