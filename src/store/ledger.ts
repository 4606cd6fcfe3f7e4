import { isDeepStrictEqual } from 'node:util'
import type { Redis } from 'ioredis'
import type { RuleCounts } from '../model/limit.ts'
import { journalExtent } from './commit/journal.ts'
import { type ListedSilence, listSilences } from './control/silences.ts'
import { type HistoryLoss, historyExtent } from './history/read-history.ts'
import { type Keys, sinkOf } from './keys.ts'
import { countIn, decodePlaces, findField, readFields } from './lanes/read-lane.ts'
import { lanesIn, oldestInLanes } from './lanes/register.ts'
import { countWaiting, scored } from './limits/limit-states.ts'
import { parseRule, ruleBalances } from './limits/rule-counts.ts'
import { type InstanceReport, readReportsWithRules } from './process-reports.ts'
import { refusalOfWrites } from './redis/requirements.ts'
import { readHash, scanHash } from './redis/scan.ts'
import { valuesOf } from './redis/script.ts'

/** Per watch: `observed = unmatched + dropped + matched + limited`. */
export interface WatchCounts {
  observed: number
  unmatched: number
  dropped: number
  matched: number
  /** Changes that matched, but that limits suppressed or delayed for all rules. */
  limited: number
}

/** Per rule: `matched = sent + digested + waiting + all of suppressed`. */
export interface RuleLedger extends RuleCounts {
  /** Unix time in milliseconds. */
  lastMatchMs: number
}

/** Per sink: `enqueued = delivered + dead + pending`. */
interface SinkCounts {
  enqueued: number
  delivered: number
  /** Deliveries that became dead letters, including deleted ones (`discarded`). */
  dead: number
  /** Deleted dead letters: by hand, or beyond their bounds, those `archived` and those `dropped` without an archive. */
  discarded: number
  archived: number
  dropped: number
  pending: number
  /** When the oldest pending delivery was observed. */
  oldestMs?: number
}

interface Ledger {
  watches: Record<string, WatchCounts>
  sinks: Record<string, SinkCounts>
  /** The rules that have matched at least once. */
  rules: Record<string, RuleLedger>
  balanced: boolean
  /** True if streams and waiting limit states were counted, and no delivery moved meanwhile. */
  verified: boolean
}

/** How often a count is repeated because deliveries moved meanwhile. */
const MAX_COUNTS = 5

/**
 * Reads a consistent ledger. `verify` counts the deliveries in the streams, and the dead letters, instead of trusting the
 * counters; if they never stop moving, it returns the counters.
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

/** A larger hash is read in parts, and not consistently, to bound memory. */
const MAX_FIELDS_PER_READ = 10_000
/** Reads of the counters, at most, while sinks, lanes or rules are added. */
const MAX_READS = 20

/** Reads all counters in one transaction, because a commit or acknowledgement changes several of them together. */
async function readCounters(redis: Redis, keys: Keys): Promise<Counters> {
  for (let read = 1; ; read++) {
    const size = await redis.hlen(keys.pending)
    const [sources, lanes, rules] = await Promise.all([
      readHash(redis, keys.sources),
      readLanes(redis, keys),
      redis.zrange(keys.rules, String(-MAX_FIELDS_PER_READ), '-1'),
    ])
    const asked = { sources: [...sources.keys()], lanes, rules, size }
    const counters = await readTogether(redis, keys, asked, read === MAX_READS)
    // A commit may have created the first lane of a sink meanwhile: then its counters were not read.
    if (counters) return counters
  }
}

/** The lanes of sinks that ever had a delivery. Other fields of `pending` were not written by a commit. */
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
      else if (unknown.size < MAX_FIELDS_PER_READ) unknown.add(sink)
    }
    for (const [sink, some] of lanes) bySink.get(sink)?.push(...some)
  }
  return [...new Set([...bySink.values()].flat())]
}

interface Asked {
  sources: readonly string[]
  lanes: readonly string[]
  rules: readonly string[]
  /** Number of lanes in `pending`. */
  size: number
}

/** Returns undefined if new sinks, lanes or rules appeared that were not read, unless this is the last attempt. */
async function readTogether(
  redis: Redis,
  keys: Keys,
  { sources, lanes, rules, size }: Asked,
  isLast: boolean,
): Promise<Counters | undefined> {
  const asked = { sinks: new Set(lanes.map(sinkOf)), rules: new Set(rules) }
  const sinks = [...asked.sinks]
  const isLarge = size > MAX_FIELDS_PER_READ
  const multi = redis
    .multi()
    .hlen(keys.pending)
    .zrange(keys.rules, String(-MAX_FIELDS_PER_READ), '-1', 'WITHSCORES')
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

/** Counts the waiting deliveries in a lane: those of its entries, minus the acknowledged ones. */
async function countLane(redis: Redis, keys: Keys, lane: string): Promise<number> {
  let waiting = 0
  for await (const entries of pagesOf(redis, keys.lane(lane))) {
    const settled = await redis.hmget(keys.progress(lane), ...entries.map(([id]) => id.toString()))
    for (const [i, [, fields]] of entries.entries()) {
      // An entry without a count is counted as lane workers count it.
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

/** The field of a watch's ledger that counts changes by outcome. */
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

/** The data of `kubeherald status`. */
export interface StatusReport {
  atMs: number
  instances: InstanceReport[]
  ledger: Ledger
  deadLetters: number
  /** Set if there are silences in force or to come. */
  silences?: ListedSilence[]
  /** Why Redis refuses writes, if it reports that. */
  redisRefuses?: string
  /** Set if something is in the history of deliveries. */
  history?: { bytes: number; oldestMs: number }
  /** Set if the history began again within the last week. */
  historyLost?: HistoryLoss
  /** Set if there is a journal. */
  journal?: { bytes: number; oldestMs: number }
}

export async function readStatus(
  redis: Redis,
  keys: Keys,
  options: { verify: boolean; now: number },
): Promise<StatusReport> {
  const { bytes, oldestMs } = await journalExtent(redis, keys)
  const history = await historyExtent(redis, keys)
  const redisRefuses = await refusalOfWrites(redis)
  const silences = (await listSilences(redis, keys, options.now)).filter(({ state }) => state !== 'ended')
  return {
    atMs: options.now,
    instances: await readReportsWithRules(redis, keys),
    ledger: await readLedger(redis, keys, options),
    deadLetters: await redis.xlen(keys.deadLetters),
    ...(silences.length > 0 && { silences }),
    ...(redisRefuses !== undefined && { redisRefuses }),
    ...(history.oldestMs !== undefined && {
      history: { bytes: history.bytes, oldestMs: history.oldestMs },
    }),
    ...(history.lost && { historyLost: history.lost }),
    ...(oldestMs !== undefined && { journal: { bytes, oldestMs } }),
  }
}
