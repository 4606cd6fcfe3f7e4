import type { Redis } from 'ioredis'
import type { Metrics } from '../metrics.ts'
import type { Keys } from './keys.ts'
import { oldestInLane, readLedger, sinkOf } from './ledger.ts'

const SAMPLE_MS = 2_000
const LEDGER_MS = 15_000

/** Keeps the gauges of waiting deliveries, dead letters and the ledger; gives how many deliveries wait when it is closed. */
export function watchLanes(parts: {
  redis: Redis
  keys: Keys
  metrics: Metrics
  clock: { now(): number }
  /** Does the configuration have it? Others are shown while something of theirs is left. */
  uses?(sink: string): boolean
}): { close(): Promise<number> } {
  const { redis, keys, metrics, clock, uses = () => true } = parts
  let last = 0

  async function sample(): Promise<number> {
    const lanes = await redis.hgetall(keys.pending)
    const sums = new Map<string, { pending: number; oldestMs: number }>()
    for (const [lane, count] of Object.entries(lanes)) {
      const pending = Number(count)
      const oldestMs = pending > 0 ? await oldestInLane(redis, keys, lane) : undefined
      const sum = sums.get(sinkOf(lane)) ?? { pending: 0, oldestMs: Number.POSITIVE_INFINITY }
      sums.set(sinkOf(lane), {
        pending: sum.pending + pending,
        oldestMs: Math.min(sum.oldestMs, oldestMs ?? sum.oldestMs),
      })
    }
    for (const [sink, { pending, oldestMs }] of sums) {
      if (pending === 0 && !uses(sink)) {
        metrics.pending.remove({ sink })
        metrics.oldestPending.remove({ sink })
        continue
      }
      metrics.pending.set({ sink }, pending)
      metrics.oldestPending.set(
        { sink },
        Number.isFinite(oldestMs) ? Math.max(0, clock.now() - oldestMs) / 1_000 : 0,
      )
    }
    last = [...sums.values()].reduce((sum, { pending }) => sum + pending, 0)
    return last
  }

  async function sampleLedger(): Promise<void> {
    const { sinks, balanced } = await readLedger(redis, keys, { verify: false })
    metrics.ledgerBalanced.set(balanced ? 1 : 0)
    for (const [sink, { dead, discarded }] of Object.entries(sinks)) {
      if (dead > discarded || uses(sink)) metrics.deadLetters.set({ sink }, dead - discarded)
      else metrics.deadLetters.remove({ sink })
    }
  }

  // Redis being away is told by its own gauge.
  const keep = (take: () => Promise<unknown>, everyMs: number) => {
    const tick = () => void take().catch(() => {})
    tick()
    return setInterval(tick, everyMs)
  }
  const timers = [keep(sample, SAMPLE_MS), keep(sampleLedger, LEDGER_MS)]
  return {
    async close() {
      for (const timer of timers) clearInterval(timer)
      return sample().catch(() => last)
    },
  }
}
