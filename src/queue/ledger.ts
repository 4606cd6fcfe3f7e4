import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { fieldOf } from './lane-batch.ts'

/** Per watch: `observed = unmatched + dropped + matched`. */
export interface WatchCounts {
  observed: number
  unmatched: number
  dropped: number
  matched: number
}

/** Per sink: `enqueued = delivered + dead + pending`. */
export interface SinkCounts {
  enqueued: number
  delivered: number
  /** Given up: lying as dead letters, or dropped by hand (`discarded`). */
  dead: number
  discarded: number
  pending: number
  /** When the oldest pending delivery was observed. */
  oldestMs?: number
}

export interface Ledger {
  watches: Record<string, WatchCounts>
  sinks: Record<string, SinkCounts>
  balanced: boolean
}

/**
 * Reads the ledger. `verify` counts the deliveries that really lie in the streams, and the dead letters, instead of
 * trusting the counters.
 */
export async function readLedger(redis: Redis, keys: Keys, { verify }: { verify: boolean }): Promise<Ledger> {
  const watches: Record<string, WatchCounts> = {}
  for (const key of await redis.hkeys(keys.sources)) {
    watches[key] = numbers(await redis.hgetall(keys.watchLedger(key)), NO_CHANGES)
  }
  const lanes = await redis.hgetall(keys.pending)
  const sinks: Record<string, SinkCounts> = {}
  for (const sink of new Set(Object.keys(lanes).map(sinkOf))) {
    const own = Object.keys(lanes).filter((lane) => sinkOf(lane) === sink)
    sinks[sink] = await countSink(redis, keys, sink, own, lanes, verify)
  }
  const lying = verify ? await countDeadLetters(redis, keys) : undefined
  return { watches, sinks, balanced: isBalanced(watches, sinks, lying) }
}

/** When the oldest delivery of a lane was observed. */
export async function oldestInLane(redis: Redis, keys: Keys, lane: string): Promise<number | undefined> {
  const [row] = await redis.xrangeBuffer(keys.lane(lane), '-', '+', 'COUNT', 1)
  return row && Number(fieldOf(row[1], 't'))
}

export function sinkOf(lane: string): string {
  return lane.slice(0, lane.indexOf('/'))
}

const NO_CHANGES: WatchCounts = { observed: 0, unmatched: 0, dropped: 0, matched: 0 }

async function countSink(
  redis: Redis,
  keys: Keys,
  sink: string,
  lanes: readonly string[],
  pendingOf: Record<string, string>,
  verify: boolean,
): Promise<SinkCounts> {
  const counts = numbers(await redis.hgetall(keys.sinkLedger(sink)), {
    enqueued: 0,
    delivered: 0,
    dead: 0,
    discarded: 0,
  })
  let pending = 0
  const oldest: number[] = []
  for (const lane of lanes) {
    const waiting = verify ? await countLane(redis, keys, lane) : Number(pendingOf[lane])
    pending += waiting
    const oldestMs = waiting > 0 ? await oldestInLane(redis, keys, lane) : undefined
    if (oldestMs !== undefined) oldest.push(oldestMs)
  }
  return { ...counts, pending, ...(oldest.length > 0 && { oldestMs: Math.min(...oldest) }) }
}

/** Counts what really lies in a lane: entries less the deliveries of them that are settled. */
async function countLane(redis: Redis, keys: Keys, lane: string): Promise<number> {
  const progress = await redis.hgetall(keys.progress(lane))
  let waiting = 0
  for await (const [id, fields] of stream(redis, keys.lane(lane))) {
    const settled = progress[id]
    waiting += Number(fieldOf(fields, 'n')) - (settled ? settled.split(',').length : 0)
  }
  return waiting
}

async function countDeadLetters(redis: Redis, keys: Keys): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for await (const [, fields] of stream(redis, keys.deadLetters)) {
    const sink = fieldOf(fields, 'sink').toString()
    counts.set(sink, (counts.get(sink) ?? 0) + 1)
  }
  return counts
}

async function* stream(redis: Redis, key: string): AsyncGenerator<[id: string, fields: Buffer[]]> {
  for (let start = '-'; ; ) {
    const rows = await redis.xrangeBuffer(key, start, '+', 'COUNT', 200)
    for (const [id, fields] of rows) yield [id.toString(), fields]
    const last = rows.at(-1)
    if (!last) return
    start = `(${last[0].toString()}`
  }
}

function isBalanced(
  watches: Record<string, WatchCounts>,
  sinks: Record<string, SinkCounts>,
  lying: Map<string, number> | undefined,
): boolean {
  const watched = Object.values(watches).every((it) => it.observed === it.unmatched + it.dropped + it.matched)
  const delivered = Object.entries(sinks).every(
    ([name, it]) =>
      it.enqueued === it.delivered + it.dead + it.pending &&
      (lying === undefined || it.dead === (lying.get(name) ?? 0) + it.discarded),
  )
  return watched && delivered
}

function numbers<T extends { [K in keyof T]: number }>(hash: Record<string, string>, zero: T): T {
  const entries = Object.keys(zero).map((field) => [field, Number(hash[field] ?? 0)])
  return Object.fromEntries(entries) as T
}
