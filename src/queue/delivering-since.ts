import type { Redis } from 'ioredis'
import type { ClockJumps } from './clock-jumps.ts'
import type { Keys } from './keys.ts'

/**
 * Since when processes have delivered to a sink without a gap. The time in which none ran does not count for the age of what waits:
 * a backlog of a weekend is delivered first.
 */
export interface DeliveringSince {
  /** This process delivers to these sinks. */
  note(sinks: readonly string[]): Promise<void>
  /** What was observed before is older than `maxAgeMs`, in Unix milliseconds; `-Infinity` while nothing can be. */
  expiredBefore(sink: string, maxAgeMs: number): number
}

/** A restart is no gap. */
const GAP_MS = 600_000
const WRITE_MS = 10_000

export function createDeliveringSince({
  redis,
  keys,
  clock,
  jumps,
}: {
  redis: Redis
  keys: Keys
  clock: { now(): number }
  jumps: ClockJumps
}): DeliveringSince {
  let jumpedMs = 0
  const known = new Map<string, { sinceMs: number; writtenMs: number }>()
  return {
    async note(sinks) {
      const nowMs = clock.now()
      const jumpMs = jumps.totalMs() - jumpedMs
      jumpedMs += jumpMs
      // A machine that slept delivered nothing.
      const isGap = Math.abs(jumpMs) > GAP_MS
      if (isGap) known.clear()
      const due = sinks.filter((sink) => Math.abs(nowMs - (known.get(sink)?.writtenMs ?? 0)) >= WRITE_MS)
      if (due.length === 0) return
      const texts = await redis.hmget(keys.deliveringSince, ...due)
      const fields = due.flatMap((sink, i) => {
        const [since = Number.NaN, last = Number.NaN] = (texts[i] ?? '').split(',').map(Number)
        // Another process may have forgotten it, or the clock gone back.
        const goesOn = !isGap && nowMs - last <= GAP_MS && since <= nowMs
        const sinceMs = goesOn ? since : nowMs
        known.set(sink, { sinceMs, writtenMs: nowMs })
        return [sink, `${sinceMs},${nowMs}`]
      })
      await redis.hset(keys.deliveringSince, ...fields)
    },
    expiredBefore(sink, maxAgeMs) {
      if (Math.abs(jumps.totalMs() - jumpedMs) > GAP_MS) return Number.NEGATIVE_INFINITY
      const beforeMs = jumps.agoMs(maxAgeMs)
      const since = known.get(sink)
      return since && since.sinceMs < beforeMs ? beforeMs : Number.NEGATIVE_INFINITY
    },
  }
}
