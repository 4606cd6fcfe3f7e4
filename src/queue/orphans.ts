import type { Redis } from 'ioredis'
import type { Sink } from '../sink/index.ts'
import type { ClockJumps } from './clock-jumps.ts'
import type { Keys } from './keys.ts'
import { readHash } from './pending.ts'

/** A mark that was not renewed for longer than this says nothing: nobody looked meanwhile. */
const GAP_MS = 600_000

/**
 * Sinks for which something waits, and which no process has had since `beforeMs`, a Unix time. Processes that have other sinks mark
 * them, one that has them takes the mark away; so a process that is a reload behind decides nothing.
 */
export async function findOrphans(
  redis: Redis,
  keys: Keys,
  waiting: ReadonlySet<string>,
  own: { has(sink: string): boolean },
  { beforeMs, nowMs }: { beforeMs: number; nowMs: number },
): Promise<string[]> {
  const marks = await readHash(redis, keys.orphans)
  const found = [...marks.keys()].filter((sink) => own.has(sink) || !waiting.has(sink))
  if (found.length > 0) await redis.hdel(keys.orphans, ...found)
  const orphans: string[] = []
  for (const sink of waiting) {
    if (own.has(sink)) continue
    const [sinceMs = nowMs, lastMs = nowMs] = marks.get(sink)?.split(',').map(Number) ?? []
    // The clock may have gone back: a time that is still to come says nothing.
    const isStale = !(sinceMs <= nowMs) || !(nowMs - lastMs <= GAP_MS)
    await redis.hset(keys.orphans, sink, `${isStale ? nowMs : sinceMs},${nowMs}`)
    if (!isStale && sinceMs < beforeMs) orphans.push(sink)
  }
  return orphans
}

const LOOK_AGAIN_MS = 2_000

/** Stands in for a sink that nobody has: makes dead letters of what itself waited for so long. */
export function undertaker(
  name: string,
  { maxAgeMs, jumps }: { maxAgeMs: number; jumps: Pick<ClockJumps, 'agoMs'> },
): Sink {
  const detail = `the sink "${name}" was removed from the configuration, and nothing delivered this for too long`
  return {
    async deliver(batch) {
      const lastMs = jumps.agoMs(maxAgeMs)
      return batch.map(({ event }) =>
        Date.parse(event.time) < lastMs
          ? { kind: 'rejected', reason: 'gone', detail }
          : { kind: 'later', afterMs: LOOK_AGAIN_MS },
      )
    },
    async close() {},
  }
}
