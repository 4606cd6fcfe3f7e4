import type { Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import type { Keys } from './keys.ts'
import { sinkOf } from './ledger.ts'

const CLOCK_JUMP_MS = 2_000

/** How many lanes of this process have something to deliver, and for which sinks, of anybody, something waits. */
export interface Waiting {
  lanes: number
  sinks: ReadonlySet<string>
}

/** Wakes every lane that has something to deliver: makes up for wake-ups that a crash lost. */
export async function sweep(
  parts: { redis: Redis; keys: Keys; log: Logger },
  outlets: ReadonlyMap<string, unknown>,
  wake: (lanes: readonly string[]) => void,
  told: Set<string>,
): Promise<Waiting | undefined> {
  try {
    const pending = await parts.redis.hgetall(parts.keys.pending)
    const lanes = Object.keys(pending).filter((lane) => Number(pending[lane]) > 0)
    const ours = lanes.filter((lane) => outlets.size === 0 || outlets.has(sinkOf(lane)))
    wake(ours)
    const sinks = new Set(lanes.map(sinkOf))
    if (outlets.size === 0) return { lanes: ours.length, sinks }
    for (const sink of sinks) {
      if (outlets.has(sink) || told.has(sink)) continue
      told.add(sink)
      parts.log.warn({ sink }, 'deliveries wait for a sink that the configuration does not have (any more)')
    }
    return { lanes: ours.length, sinks }
  } catch (error) {
    parts.log.debug({ error }, 'sweep failed; the next one follows')
    return undefined
  }
}

/** Tells whether the wall clock went back since the last call. */
export function watchClock(clock: { now(): number }): () => boolean {
  let [wallMs, realMs] = [clock.now(), performance.now()]
  return () => {
    const slippedMs = performance.now() - realMs - (clock.now() - wallMs)
    wallMs = clock.now()
    realMs = performance.now()
    return slippedMs > CLOCK_JUMP_MS
  }
}
