import type { Redis } from 'ioredis'
import type { Metrics } from '../observe/metrics.ts'
import { readCheckpoint, unreadableCheckpoint } from './commit/stored-json.ts'
import { type Keys, sinkOf } from './keys.ts'
import { lanesIn, oldestInLanes } from './lanes/register.ts'
import { type RuleLedger, readLedger } from './ledger.ts'
import { readReports } from './process-reports.ts'
import { ForeignKeyError, rootOf, type Troubles } from './redis/redis-fault.ts'
import { scanHash } from './redis/scan.ts'

const LANES_MS = 2_000
const INSTANCES_MS = 5_000
const LEDGER_MS = 15_000

interface LaneGauges {
  redis: Redis
  keys: Keys
  metrics: Metrics
  clock: { now(): number }
  /** The sinks of the configuration; removed sinks have gauges while deliveries wait for them. */
  configured(): readonly string[]
  /** The rules of the configuration; removed rules have gauges while events wait for them. */
  rules(): ReadonlySet<string>
}

interface Waiting {
  pending: number
  lanes: number
  oldestMs: number
}

const NOTHING: Waiting = { pending: 0, lanes: 0, oldestMs: Number.POSITIVE_INFINITY }

/**
 * Updates the gauges of waiting deliveries, dead letters, the ledger and the processes. `close` returns the number of waiting
 * deliveries.
 */
export function watchLanes({ redis, keys, metrics, clock, configured, rules }: LaneGauges): {
  close(): Promise<number>
} {
  let last = 0

  async function sample(): Promise<number> {
    const sums = new Map(configured().map((sink): [string, Waiting] => [sink, NOTHING]))
    const counted = new Set<string>()
    for await (const page of scanHash(redis, keys.pending)) {
      // A scan may bring a field twice.
      const lanes = [...lanesIn(page)].filter(([lane, pending]) => pending > 0 && !counted.has(lane))
      const oldest = await oldestInLanes(
        redis,
        keys,
        lanes.map(([lane]) => lane),
      )
      for (const [lane, pending] of lanes) {
        counted.add(lane)
        const sum = sums.get(sinkOf(lane)) ?? NOTHING
        // What was never enqueued has no delivery, and no sink that anybody knows.
        if (sum === NOTHING && !sums.has(sinkOf(lane)) && !oldest.has(lane)) continue
        sums.set(sinkOf(lane), {
          pending: sum.pending + pending,
          lanes: sum.lanes + 1,
          oldestMs: Math.min(sum.oldestMs, oldest.get(lane) ?? Number.POSITIVE_INFINITY),
        })
      }
    }
    for (const gauge of [metrics.pending, metrics.pendingLanes, metrics.oldestPending]) gauge.reset()
    for (const [sink, { pending, lanes, oldestMs }] of sums) {
      metrics.pending.set({ sink }, pending)
      metrics.pendingLanes.set({ sink }, lanes)
      const ageMs = Number.isFinite(oldestMs) ? Math.max(0, clock.now() - oldestMs) : 0
      metrics.oldestPending.set({ sink }, ageMs / 1_000)
    }
    last = [...sums.values()].reduce((sum, { pending }) => sum + pending, 0)
    return last
  }

  async function sampleLedger(): Promise<void> {
    const { sinks, rules: counts, balanced } = await readLedger(redis, keys, { verify: false })
    sampleRules(metrics, rules(), counts)
    metrics.ledgerBalanced.set(balanced ? 1 : 0)
    metrics.deadLetters.reset()
    for (const sink of configured()) metrics.deadLetters.set({ sink }, 0)
    for (const [sink, { dead, discarded }] of Object.entries(sinks)) {
      if (dead <= discarded) continue
      metrics.deadLetters.set({ sink }, dead - discarded)
      // Also of sinks that the configuration does not have any more: an increase is seen only of a series that was there before.
      metrics.deadLettersDropped.inc({ sink }, 0)
    }
  }

  async function sampleInstances(): Promise<void> {
    const reports = await readReports(redis, keys)
    for (const role of ['all', 'watch', 'deliver'] as const)
      metrics.instances.set({ role }, reports.filter((it) => it.role === role).length)
  }

  // If Redis is unavailable, another gauge reports it.
  const keep = (take: () => Promise<unknown>, everyMs: number) => {
    const tick = () => void take().catch(() => {})
    tick()
    return setInterval(tick, everyMs)
  }
  const timers = [keep(sample, LANES_MS), keep(sampleInstances, INSTANCES_MS), keep(sampleLedger, LEDGER_MS)]
  return {
    async close() {
      for (const timer of timers) clearInterval(timer)
      return sample().catch(() => last)
    },
  }
}

function sampleRules(
  metrics: Metrics,
  configured: ReadonlySet<string>,
  counts: Readonly<Record<string, RuleLedger>>,
): void {
  metrics.ruleWaiting.reset()
  metrics.ruleLastMatch.reset()
  for (const rule of new Set([...configured, ...Object.keys(counts)])) {
    const { waiting = 0, lastMatchMs = 0 } = counts[rule] ?? {}
    if (configured.has(rule) || waiting > 0) metrics.ruleWaiting.set({ rule }, waiting)
    if (configured.has(rule)) metrics.ruleLastMatch.set({ rule }, lastMatchMs / 1_000)
  }
}

const CHECKPOINTS_MS = 5_000

/**
 * Updates the gauges of the positions of watches. They are read from Redis, so a standby process exposes them, too, and they become
 * stale only if no process moves the position.
 */
export function watchCheckpoints(parts: {
  redis: Redis
  keys: Keys
  troubles: Troubles
  metrics: Metrics
  watches(): readonly { key: string; title: string }[]
}): { close(): void } {
  const { redis, keys, troubles, metrics } = parts
  let noted = new Set<string>()

  /** A watch that is not one of this process any more is not its trouble. */
  function forget(watches: readonly { title: string }[]): void {
    const titles = new Set(watches.map(({ title }) => title))
    for (const title of noted) if (!titles.has(title)) troubles.over(`watch ${title}`)
    noted = noted.intersection(titles)
  }

  async function sample(): Promise<void> {
    const watches = parts.watches()
    forget(watches)
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
      if (error ? isForeign(error) : text !== null && !checkpoint) {
        noted.add(watch)
        troubles.note(`watch ${watch}`, unreadableCheckpoint(keys.checkpoint(key)))
      } else if (!error) troubles.over(`watch ${watch}`)
      if (!checkpoint) continue
      metrics.position.set({ watch }, checkpoint.atMs / 1_000)
      if (typeof size === 'number') metrics.knownObjects.set({ watch }, size)
    }
  }

  // If Redis is unavailable, another gauge reports it.
  const tick = () => void sample().catch(() => {})
  tick()
  const timer = setInterval(tick, CHECKPOINTS_MS)
  return { close: () => clearInterval(timer) }
}

function isForeign(error: Error): boolean {
  return rootOf(error) instanceof ForeignKeyError
}
