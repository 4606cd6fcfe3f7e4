import type { Redis } from 'ioredis'
import { isConnected } from '../../store/redis/connection.ts'
import { ApiError } from './routes.ts'

const WITHIN_MS = 2_000
/** Requests that wait at the same time. */
const MOST_WAITING = 32

/**
 * Returns a function that waits until Redis is connected, for a moment. It rejects with a 503 if it is not by then, and immediately if many
 * requests wait already.
 */
export function createRedisReady(
  redis: () => Pick<Redis, 'status' | 'once' | 'off'>,
  { most = MOST_WAITING, withinMs = WITHIN_MS }: { most?: number; withinMs?: number } = {},
): () => Promise<void> {
  let waiting = 0
  let connected: Promise<boolean> | undefined
  return async () => {
    if (redis().status === 'ready') return
    if (waiting >= most) throw new ApiError(503, 'Redis is not connected, and many requests wait for it')
    waiting++
    // All requests share one listener.
    connected ??= isConnected(redis(), withinMs).finally(() => {
      connected = undefined
    })
    const isThere = await connected.finally(() => waiting--)
    if (!isThere) throw new ApiError(503, 'Redis is not connected; /readyz and the log have the reason')
  }
}
