import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import type { Keys } from '../keys.ts'
import { readHash } from '../redis/scan.ts'
import type { ClockJumps } from './clock-jumps.ts'

/** Since when sinks, and lanes whose target fails, have failed without one success. Kept in Redis: an outage outlasts a process. */
export interface Outages {
  load(): Promise<void>
  /** Returns since when it has failed, in Unix milliseconds; undefined when this is the first failure. */
  failed(name: string): number | undefined
  passed(name: string): void
  /** Since when it has failed, in Unix milliseconds. A jump of the clock moves it along. */
  since(name: string): number | undefined
}

/** A failure longer ago is not part of an outage: nobody tried meanwhile. Sinks may ask for pauses of an hour. */
const GAP_MS = 7_200_000
const FORGET_MS = 86_400_000
/** How often a failure that goes on is written. */
const WRITE_MS = 2_000
/** How often, while something fails, what is old is forgotten. */
const SWEEP_MS = 3_600_000

export function createOutages({
  redis,
  keys,
  clock,
  jumps,
  log,
}: {
  redis: Redis
  keys: Keys
  clock: { now(): number }
  jumps: ClockJumps
  log: Logger
}): Outages {
  const known = new Map<string, { sinceMs: number; lastMs: number; writtenMs: number }>()
  const written = (work: Promise<unknown>) =>
    void work.catch((error) => log.debug({ error }, 'an outage was not noted'))

  let sweptMs = clock.now()

  /** Forgets those of more than a day ago, and returns the others. */
  async function readRecent(): Promise<{ name: string; sinceMs: number; lastMs: number }[]> {
    const nowMs = clock.now()
    return [...(await readHash(redis, keys.outages))].flatMap(([name, text]) => {
      const [sinceMs = Number.NaN, lastMs = Number.NaN] = text.split(',').map(Number)
      if (nowMs - lastMs <= FORGET_MS) return [{ name, sinceMs, lastMs }]
      written(redis.hdel(keys.outages, name))
      return []
    })
  }

  /** Lanes may be named after anything: those that failed once and were never used again would stay for ever. */
  function sweep(nowMs: number): void {
    sweptMs = nowMs
    for (const [name, { lastMs }] of known) if (nowMs - lastMs > GAP_MS) known.delete(name)
    written(readRecent())
  }

  let followedMs = 0

  /** The time in which the clock jumped is nobody's failure. */
  function followClock(): void {
    const jumpMs = jumps.totalMs() - followedMs
    if (jumpMs === 0) return
    followedMs += jumpMs
    for (const [name, { sinceMs, lastMs }] of known)
      known.set(name, { sinceMs: sinceMs + jumpMs, lastMs: lastMs + jumpMs, writtenMs: 0 })
  }

  return {
    async load() {
      const nowMs = clock.now()
      for (const { name, sinceMs, lastMs } of await readRecent())
        if (nowMs - lastMs <= GAP_MS && Number.isFinite(sinceMs) && !known.has(name))
          known.set(name, { sinceMs, lastMs, writtenMs: 0 })
    },
    since(name) {
      followClock()
      return known.get(name)?.sinceMs
    },
    failed(name) {
      followClock()
      const nowMs = clock.now()
      if (Math.abs(nowMs - sweptMs) > SWEEP_MS) sweep(nowMs)
      const before = known.get(name)
      const isRecent = before !== undefined && nowMs - before.lastMs <= GAP_MS
      const sinceMs = isRecent ? before.sinceMs : nowMs
      const isDue = !isRecent || Math.abs(nowMs - before.writtenMs) >= WRITE_MS
      known.set(name, { sinceMs, lastMs: nowMs, writtenMs: isDue ? nowMs : before.writtenMs })
      if (isDue) written(redis.hset(keys.outages, name, `${sinceMs},${nowMs}`))
      return isRecent ? sinceMs : undefined
    },
    passed(name) {
      if (known.delete(name)) written(redis.hdel(keys.outages, name))
    },
  }
}
