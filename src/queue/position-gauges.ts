import type { Redis } from 'ioredis'
import type { Metrics } from '../metrics.ts'
import type { Keys } from './keys.ts'
import { ForeignKeyError, rootOf } from './redis-fault.ts'
import { readCheckpoint, unreadableCheckpoint } from './stored-json.ts'
import type { Troubles } from './troubles.ts'

const SAMPLE_MS = 5_000

/**
 * Keeps the gauges of where the watches stand. They are read from Redis: a process that stands by tells them, too, and so
 * they go stale only when nobody moves the position.
 */
export function watchPositions(parts: {
  redis: Redis
  keys: Keys
  troubles: Troubles
  metrics: Metrics
  watches(): readonly { key: string; title: string }[]
}): { close(): void } {
  const { redis, keys, troubles, metrics } = parts

  async function sample(): Promise<void> {
    const watches = parts.watches()
    if (watches.length === 0) return
    const pipeline = redis.pipeline()
    for (const { key } of watches) pipeline.get(keys.checkpoint(key)).hlen(keys.index(key))
    const replies = (await pipeline.exec()) ?? []
    metrics.position.reset()
    metrics.knownObjects.reset()
    for (const [i, { key, title: watch }] of watches.entries()) {
      const [error, text] = replies[2 * i] ?? []
      const [, size] = replies[2 * i + 1] ?? []
      const checkpoint = typeof text === 'string' ? readCheckpoint(text) : undefined
      if (error ? isForeign(error) : text !== null && !checkpoint)
        troubles.note(`watch ${watch}`, unreadableCheckpoint(keys.checkpoint(key)))
      else if (!error) troubles.over(`watch ${watch}`)
      if (!checkpoint) continue
      metrics.position.set({ watch }, checkpoint.atMs / 1_000)
      if (typeof size === 'number') metrics.knownObjects.set({ watch }, size)
    }
  }

  // Redis being away is told by its own gauge.
  const tick = () => void sample().catch(() => {})
  tick()
  const timer = setInterval(tick, SAMPLE_MS)
  return { close: () => clearInterval(timer) }
}

function isForeign(error: Error): boolean {
  return rootOf(error) instanceof ForeignKeyError
}
