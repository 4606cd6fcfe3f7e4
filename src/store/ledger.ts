import { isDeepStrictEqual } from 'node:util'
import type { Redis } from 'ioredis'
import type { RuleCounts } from '../limit.ts'
import type { Keys } from './keys.ts'
import { sinkOf } from './lane-names.ts'
import { countIn, decodePlaces, findField, readFields } from './lane-reader.ts'
import { scored } from './limit-states.ts'
import { lanesIn, oldestInLanes, readHash, scanHash } from './pending.ts'
import { valuesOf } from './replies.ts'
import { parseRule, ruleBalances } from './rule-counts.ts'
import { countWaiting } from './waiting-states.ts'

/** Per watch: `observed = unmatched + dropped + matched + limited`. */
export interface WatchCounts {
  observed: number
  unmatched: number
  dropped: number
  matched: number
  /** Nothing was sent at once: limits held back all that matched, or let it wait. */
  limited: number
}

/** Per rule: `matched = sent + digested + waiting + all of suppressed`. */
export interface RuleLedger extends RuleCounts {
  /** Unix time in milliseconds. */
  lastMatchMs: number
}

/** Per sink: `enqueued = delivered + dead + pending`. */
export interface SinkCounts {
  enqueued: number
  delivered: number
  /** Given up: kept as dead letters, or deleted (`discarded`). */
  dead: number
  /** Deleted dead letters: by hand, or beyond their bounds, those `archived` and those `dropped` without an archive. */
  discarded: number
  archived: number
  dropped: number
  pending: number
  /** When the oldest pending delivery was observed. */
  oldestMs?: number
}

export interface Ledger {
  watches: Record<string, WatchCounts>
  sinks: Record<string, SinkCounts>
  /** Those that ever matched something. */
  rules: Record<string, RuleLedger>
  balanced: boolean
  /** True when what lies in the streams, and waits for limits, was counted, and nothing moved meanwhile. */
  verified: boolean
}

/** How often a count is repeated because deliveries moved meanwhile. */
const MAX_COUNTS = 5

/**
 * Reads the ledger, as it was at one moment. `verify` counts the deliveries that really lie in the streams, and the dead
 * letters, instead of trusting the counters; while they move without pause the counters have to do.
 */
export async function readLedger(redis: Redis, keys: Keys, { verify }: { verify: boolean }): Promise<Ledger> {
  let counters = await readCounters(redis, keys)
  for (let round = 1; verify && round <= MAX_COUNTS; round++) {
    const lying = await countLying(redis, keys, counters)
    const after = await readCounters(redis, keys)
    const still = (what: 'sinks' | 'pending' | 'rules') => isDeepStrictEqual(after[what], counters[what])
    if (still('sinks') && still('pending') && still('rules')) return ledgerOf(redis, keys, after, lying)
    counters = after
  }
  return ledgerOf(redis, keys, counters, undefined)
}

const NO_CHANGES: WatchCounts = { observed: 0, unmatched: 0, dropped: 0, matched: 0, limited: 0 }
const NO_DELIVERIES = { enqueued: 0, delivered: 0, dead: 0, discarded: 0, archived: 0, dropped: 0 }

interface Counters {
  watches: Map<string, WatchCounts>
  sinks: Map<string, Omit<SinkCounts, 'pending'>>
  /** Lane → deliveries waiting in it. */
  pending: Map<string, number>
  rules: Map<string, RuleLedger>
}

/** What was counted in the streams, and in the states of limits. */
interface Lying {
  pending: Map<string, number>
  dead: Map<string, number>
  /** Rule → events. */
  waiting: Map<string, number>
}

/** A hash of more fields is read in portions, and not at one moment: that would take all memory. */
const MOST_AT_ONCE = 10_000
/** How often the counters are read again because new sinks, lanes or rules came meanwhile. */
const MAX_READS = 20

/** All counters in one transaction: commits and settlements change several of them at once. */
async function readCounters(redis: Redis, keys: Keys): Promise<Counters> {
  for (let read = 1; ; read++) {
    const size = await redis.hlen(keys.pending)
    const [sources, lanes, rules] = await Promise.all([
      readHash(redis, keys.sources),
      readLanes(redis, keys),
      redis.zrange(keys.rules, String(-MOST_AT_ONCE), '-1'),
    ])
    const asked = { sources: [...sources.keys()], lanes, rules, size }
    const counters = await readTogether(redis, keys, asked, read === MAX_READS)
    // A commit may have made the first lane of a sink meanwhile: then its counters were not asked for.
    if (counters) return counters
  }
}

/** The lanes of sinks that ever got something. Anything else in `pending` was not written by a commit. */
async function readLanes(redis: Redis, keys: Keys): Promise<string[]> {
  const bySink = new Map<string, string[]>()
  const unknown = new Set<string>()
  for await (const page of scanHash(redis, keys.pending)) {
    const lanes = Map.groupBy(lanesIn(page).keys(), sinkOf)
    const fresh = [...lanes.keys()].filter((sink) => !bySink.has(sink) && !unknown.has(sink))
    const pipeline = redis.pipeline()
    for (const sink of fresh) pipeline.exists(keys.sinkLedger(sink))
    const known = fresh.length > 0 ? valuesOf(await pipeline.exec()) : []
    for (const [i, sink] of fresh.entries()) {
      if (known[i] === 1) bySink.set(sink, [])
      else if (unknown.size < MOST_AT_ONCE) unknown.add(sink)
    }
    for (const [sink, some] of lanes) bySink.get(sink)?.push(...some)
  }
  return [...new Set([...bySink.values()].flat())]
}

interface Asked {
  sources: readonly string[]
  lanes: readonly string[]
  rules: readonly string[]
  /** Of `pending`. */
  size: number
}

/** Undefined when there are sinks, lanes or rules by now that were not asked for, unless it is the last attempt. */
async function readTogether(
  redis: Redis,
  keys: Keys,
  { sources, lanes, rules, size }: Asked,
  isLast: boolean,
): Promise<Counters | undefined> {
  const asked = { sinks: new Set(lanes.map(sinkOf)), rules: new Set(rules) }
  const sinks = [...asked.sinks]
  const isLarge = size > MOST_AT_ONCE
  const multi = redis.multi().hlen(keys.pending).zrange(keys.rules, String(-MOST_AT_ONCE), '-1', 'WITHSCORES')
  if (!isLarge) multi.hgetall(keys.pending)
  else if (lanes.length > 0) multi.hmget(keys.pending, ...lanes)
  else multi.hlen(keys.pending)
  for (const source of sources) multi.hgetall(keys.watchLedger(source))
  for (const sink of sinks) multi.hgetall(keys.sinkLedger(sink))
  for (const rule of rules) multi.hgetall(keys.ruleLedger(rule))
  const [sizeNow, matched, waiting, ...hashes] = readable(await multi.exec())
  const pending = lanesIn(
    isLarge
      ? lanes.flatMap((lane, i): [string, string][] => {
          const count = (waiting as (string | null)[])[i]
          return count == null ? [] : [[lane, count]]
        })
      : Object.entries((waiting ?? {}) as Record<string, string>),
  )
  const lastMatches = new Map(scored(matched).map(({ key, score }) => [key, score]))
  const isMissing =
    (isLarge && sizeNow !== size) ||
    [...pending].some(([lane, count]) => count !== 0 && !asked.sinks.has(sinkOf(lane))) ||
    [...lastMatches.keys()].some((rule) => !asked.rules.has(rule))
  if (isMissing && !isLast) return undefined
  let place = 0
  const take = <T>(names: readonly string[], parse: (hash: Record<string, string>, name: string) => T) =>
    new Map(names.map((name) => [name, parse((hashes[place++] ?? {}) as Record<string, string>, name)]))
  return {
    pending: new Map([...pending].filter(([lane]) => asked.sinks.has(sinkOf(lane)))),
    watches: take(sources, parseWatch),
    sinks: take(sinks, (hash) => numbers(hash, NO_DELIVERIES)),
    rules: take(rules, (hash, rule) => ({ ...parseRule(hash), lastMatchMs: lastMatches.get(rule) ?? 0 })),
  }
}

/** Counters whose key another program took count as none: the ledger shows that by itself. */
function readable(replies: [error: Error | null, result: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, result]) => {
    if (error && !error.message.startsWith('WRONGTYPE')) throw error
    return error ? undefined : result
  })
}

async function ledgerOf(
  redis: Redis,
  keys: Keys,
  counters: Counters,
  lying: Lying | undefined,
): Promise<Ledger> {
  const pending = lying?.pending ?? counters.pending
  const sinks: Record<string, SinkCounts> = {}
  const bySink = Map.groupBy(pending.keys(), sinkOf)
  for (const [sink, counts] of counters.sinks) {
    const lanes = bySink.get(sink) ?? []
    const waiting = lanes.filter((lane) => pending.get(lane) !== 0)
    const oldest = await oldestInLanes(redis, keys, waiting)
    const oldestMs = oldest.values().reduce((least, ms) => Math.min(least, ms), Number.POSITIVE_INFINITY)
    const sum = lanes.reduce((total, lane) => total + (pending.get(lane) ?? 0), 0)
    sinks[sink] = { ...counts, pending: sum, ...(Number.isFinite(oldestMs) && { oldestMs }) }
  }
  const watches = Object.fromEntries(counters.watches)
  const rules = Object.fromEntries(counters.rules)
  const balanced = isBalanced(watches, sinks, lying?.dead) && rulesBalance(counters.rules, lying?.waiting)
  return { watches, sinks, rules, balanced, verified: lying !== undefined }
}

async function countLying(redis: Redis, keys: Keys, { pending, watches }: Counters): Promise<Lying> {
  const counted = new Map<string, number>()
  for (const lane of pending.keys()) counted.set(lane, await countLane(redis, keys, lane))
  const waiting = await countWaiting(redis, keys, [...watches.keys()])
  return { pending: counted, dead: await countDeadLetters(redis, keys), waiting }
}

/** Counts what really lies in a lane: entries less the deliveries of them that are settled. */
async function countLane(redis: Redis, keys: Keys, lane: string): Promise<number> {
  let waiting = 0
  for await (const entries of pagesOf(redis, keys.lane(lane))) {
    const settled = await redis.hmget(keys.progress(lane), ...entries.map(([id]) => id.toString()))
    for (const [i, [, fields]] of entries.entries()) {
      // As the lane counts one that does not tell.
      const count = countIn(fields) ?? readFields(fields).count
      waiting += count - decodePlaces(settled[i], count).size
    }
  }
  return waiting
}

async function countDeadLetters(redis: Redis, keys: Keys): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for await (const letters of pagesOf(redis, keys.deadLetters))
    for (const [, fields] of letters) {
      const sink = findField(fields, 'sink')?.toString() ?? ''
      counts.set(sink, (counts.get(sink) ?? 0) + (countIn(fields) ?? 1))
    }
  return counts
}

async function* pagesOf(redis: Redis, key: string): AsyncGenerator<[id: Buffer, fields: Buffer[]][]> {
  for (let start = '-'; ; ) {
    const rows = await redis.xrangeBuffer(key, start, '+', 'COUNT', 200)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    start = `(${last[0].toString()}`
  }
}

function isBalanced(
  watches: Record<string, WatchCounts>,
  sinks: Record<string, SinkCounts>,
  lying: Map<string, number> | undefined,
): boolean {
  const watched = Object.values(watches).every(
    (it) => it.observed === it.unmatched + it.dropped + it.matched + it.limited,
  )
  const delivered = Object.entries(sinks).every(
    ([name, it]) =>
      it.enqueued === it.delivered + it.dead + it.pending &&
      it.archived + it.dropped <= it.discarded &&
      (lying === undefined || it.dead === (lying.get(name) ?? 0) + it.discarded),
  )
  return watched && delivered
}

function rulesBalance(
  rules: ReadonlyMap<string, RuleLedger>,
  waiting: ReadonlyMap<string, number> | undefined,
): boolean {
  const isCounted = ([rule, counts]: [string, RuleLedger]) =>
    waiting === undefined || counts.waiting === (waiting.get(rule) ?? 0)
  const isKnown = (rule: string) => rules.has(rule)
  return (
    [...rules].every((it) => ruleBalances(it[1]) && isCounted(it)) &&
    [...(waiting?.keys() ?? [])].every(isKnown)
  )
}

/** The field of a watch's ledger that counts changes as observed and as what became of them. */
export const observedAs = (end: string): string => `observed:${end}`

function parseWatch(hash: Record<string, string>): WatchCounts {
  const counts = numbers(hash, NO_CHANGES)
  for (const end of ['unmatched', 'dropped', 'matched', 'limited'] as const) {
    const count = Number(hash[observedAs(end)] ?? 0)
    counts[end] += count
    counts.observed += count
  }
  return counts
}

function numbers<T extends { [K in keyof T]: number }>(hash: Record<string, string>, zero: T): T {
  const entries = Object.keys(zero).map((field) => [field, Number(hash[field] ?? 0)])
  return Object.fromEntries(entries) as T
}
