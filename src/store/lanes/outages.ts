import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import type { Keys } from '../keys.ts'
import { readHash } from '../redis/scan.ts'

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

/** Smaller differences are those of a clock that is being corrected, or of a busy machine. */
const LEAST_MS = 5_000
/** So many are remembered, each with its time. */
const MOST_JUMPS = 1_000

/** How far the wall clock has jumped: it was set, or the machine slept. Ages that are taken by it leave that out. */
export interface ClockJumps {
  /** Returns all jumps since the start together, in milliseconds; negative where it went back. */
  totalMs(): number
  /**
   * Returns the Unix time, in milliseconds, that what is `ms` old was given by the wall clock of then: the time of jumps since is no
   * age. What was given a later time is younger, or as old where the clock went back meanwhile.
   */
  agoMs(ms: number): number
}

export function createClockJumps(
  clock: { now(): number },
  steady: { now(): number } = performance,
): ClockJumps {
  let total = 0
  /** The newest first; `atMs` is by the wall clock, after it. */
  const jumps: { atMs: number; jumpMs: number }[] = []
  let before = { wallMs: clock.now(), steadyMs: steady.now() }

  function look(): void {
    const now = { wallMs: clock.now(), steadyMs: steady.now() }
    const jumpMs = now.wallMs - before.wallMs - (now.steadyMs - before.steadyMs)
    before = now
    if (Math.abs(jumpMs) < LEAST_MS) return
    total += jumpMs
    jumps.unshift({ atMs: now.wallMs, jumpMs })
    jumps.length = Math.min(jumps.length, MOST_JUMPS)
  }

  return {
    totalMs() {
      look()
      return total
    },
    agoMs(ms) {
      look()
      let thenMs = before.wallMs - ms
      // Where the clock went back, times before and after it overlap: what came after it is not that old.
      let mostMs = Number.POSITIVE_INFINITY
      for (const { atMs, jumpMs } of jumps) {
        if (thenMs >= atMs) break
        thenMs -= jumpMs
        if (jumpMs < 0) mostMs = Math.min(mostMs, atMs)
      }
      return Math.min(thenMs, mostMs)
    },
  }
}
