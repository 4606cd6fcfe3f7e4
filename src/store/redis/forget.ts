import type { Redis } from 'ioredis'
import type { Keys } from '../keys.ts'

const PAGE = 1_000

/** Deletes everything that is stored under a cluster's name, deliveries and dead letters among it. */
export async function forgetCluster(redis: Redis, keys: Keys): Promise<void> {
  let cursor = '0'
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${keys.bullmq}:*`, 'COUNT', PAGE)
    if (found.length > 0) await redis.unlink(...found)
    cursor = next
  } while (cursor !== '0')
}
