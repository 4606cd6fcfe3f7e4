import type { Redis } from 'ioredis'
import type { Checkpoint } from '../change.ts'
import type { Metrics } from '../metrics.ts'
import type { Keys } from './keys.ts'
import { valuesOf } from './replies.ts'

const SAMPLE_MS = 5_000

/**
 * Keeps the gauges of where the watches stand. They are read from Redis: a process that stands by tells them, too, and so
 * they go stale only when nobody moves the position.
 */
export function watchPositions(parts: {
  redis: Redis
  keys: Keys
  metrics: Metrics
  watches(): readonly { key: string; title: string }[]
}): { close(): void } {
  const { redis, keys, metrics } = parts

  async function sample(): Promise<void> {
    const watches = parts.watches()
    if (watches.length === 0) return
    const pipeline = redis.pipeline()
    for (const { key } of watches) pipeline.get(keys.checkpoint(key)).hlen(keys.index(key))
    const replies = valuesOf(await pipeline.exec())
    metrics.position.reset()
    metrics.knownObjects.reset()
    for (const [i, { title: watch }] of watches.entries()) {
      const text = replies[2 * i] as string | null
      if (text === null) continue
      metrics.position.set({ watch }, (JSON.parse(text) as Checkpoint).atMs / 1_000)
      metrics.knownObjects.set({ watch }, replies[2 * i + 1] as number)
    }
  }

  // Redis being away is told by its own gauge.
  const tick = () => void sample().catch(() => {})
  tick()
  const timer = setInterval(tick, SAMPLE_MS)
  return { close: () => clearInterval(timer) }
}
