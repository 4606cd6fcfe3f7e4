import type { Redis } from 'ioredis'
import type { Keys } from '../keys.ts'
import type { ClockJumps } from './clock-jumps.ts'

/**
 * Since when processes have delivered to a sink without a gap. The time in which none ran does not count for the age of what waits:
 * a backlog of a weekend is delivered first.
 */
export interface DeliveringSince {
  /** This process delivers to these sinks. */
  note(sinks: readonly string[]): Promise<void>
  /** Returns since when, in Unix milliseconds; now while that is not known. */
  sinceMs(sink: string): number
  /** What was observed before is older than `maxAgeMs`, in Unix milliseconds; `-Infinity` while nothing can be. */
  expiredBefore(sink: string, maxAgeMs: number): number
}

/** A restart is no gap. */
const DELIVERY_GAP_MS = 600_000
const DELIVERY_WRITE_MS = 10_000

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

  /** Undefined while it is not known, as after a jump until the next note. */
  function knownSinceMs(sink: string): number | undefined {
    const hasJumped = Math.abs(jumps.totalMs() - jumpedMs) > DELIVERY_GAP_MS
    return hasJumped ? undefined : known.get(sink)?.sinceMs
  }

  return {
    async note(sinks) {
      const nowMs = clock.now()
      const jumpMs = jumps.totalMs() - jumpedMs
      jumpedMs += jumpMs
      // A machine that slept delivered nothing.
      const isGap = Math.abs(jumpMs) > DELIVERY_GAP_MS
      if (isGap) known.clear()
      const due = sinks.filter(
        (sink) => Math.abs(nowMs - (known.get(sink)?.writtenMs ?? 0)) >= DELIVERY_WRITE_MS,
      )
      if (due.length === 0) return
      const texts = await redis.hmget(keys.deliveringSince, ...due)
      const goesOn = (it: { sinceMs: number; writtenMs: number } | undefined) =>
        !isGap && it !== undefined && nowMs - it.writtenMs <= DELIVERY_GAP_MS && it.sinceMs <= nowMs
      const fields = due.flatMap((sink, i) => {
        const [since = Number.NaN, last = Number.NaN] = (texts[i] ?? '').split(',').map(Number)
        // A full Redis keeps an older text, another process may have forgotten it, or the clock gone back.
        const before = [{ sinceMs: since, writtenMs: last }, known.get(sink)].find(goesOn)
        const sinceMs = before?.sinceMs ?? nowMs
        known.set(sink, { sinceMs, writtenMs: nowMs })
        return [sink, `${sinceMs},${nowMs}`]
      })
      await redis.hset(keys.deliveringSince, ...fields)
    },
    sinceMs: (sink) => knownSinceMs(sink) ?? clock.now(),
    expiredBefore(sink, maxAgeMs) {
      const beforeMs = jumps.agoMs(maxAgeMs)
      const sinceMs = knownSinceMs(sink)
      return sinceMs !== undefined && sinceMs < beforeMs ? beforeMs : Number.NEGATIVE_INFINITY
    },
  }
}
