import type { Redis } from 'ioredis'
import type { Routing } from '../change.ts'
import type { Metrics } from '../metrics.ts'
import type { CommitLine } from './commit-line.ts'
import { type Decided, decided, expire, GONE_AFTER_MS, NOTHING } from './decided.ts'
import type { Keys } from './keys.ts'
import type { Enqueued } from './lane-feed.ts'
import { isForeign, LAYOUT, LayoutChangedError } from './layout.ts'
import { ruleOfShared } from './limit-state.ts'
import { scored } from './limit-states.ts'
import { LimitsTurn } from './limits-turn.ts'
import { enqueuedOf } from './pack-lanes.ts'
import { writeRules } from './rule-counts.ts'
import { Transaction } from './transaction.ts'
import { countSent, writeLanes, writeLimits } from './write-commit.ts'

export interface FireParts {
  line: CommitLine
  keys: Keys
  /** The process's own name. */
  instance: string
  routing(): Routing
  clock: { now(): number }
  /** Called after a transaction with the lanes that got something. */
  onEnqueued(lanes: readonly Enqueued[]): void
  metrics: Metrics
}

/** How many states one transaction decides: each may hold deliveries. */
const MOST_DUE = 16
/** How many timers are read at once, and how often, to find those of rules that this process has behind those of others. */
const PAGE_TIMERS = 1_000
const MOST_PAGES = 50
const FIRED_TTL_MS = 3_600_000

/**
 * Decides some of the shared states whose time has come, in one transaction: states, deliveries and ledger together. Any
 * number of processes may try: it watches the states, so that one of them does it. Its own name for the try is written
 * with them, and tells after a lost reply whether it was done. Gives whether there was something.
 */
export async function fireTimers(
  { line, keys, instance, routing: current, clock, onEnqueued, metrics }: FireParts,
  attempt: string,
  signal: AbortSignal,
): Promise<boolean> {
  const fired = keys.limitsFired(instance)
  const turn = new LimitsTurn(keys, attempt)
  let result: Decided | undefined
  let values: readonly unknown[] | undefined
  // A repeat after a lost reply must decide as the one whose EXEC may still come.
  let routing: Routing | undefined
  let nowMs: number | undefined
  const asOf = { now: () => nowMs ?? clock.now() }
  const done = await line.commit(async (redis) => {
    for (;;) {
      const { stream } = redis
      const [layout = null, last = null] = await redis.mget(keys.schema, fired)
      if (isForeign(layout)) throw new LayoutChangedError(layout)
      if (result && last === attempt) return true
      routing ??= current()
      const due = await dueOf(redis, keys, routing, asOf.now())
      if (due.length === 0) {
        result = undefined
        return false
      }
      const parts = { redis, keys, routing, source: undefined, clock: asOf }
      const { outcome, postponed, nowMs: decidedMs, watched } = await expire(parts, { shared: due, own: [] })
      if (redis.stream !== stream) continue
      if (await turn.isAnothers(redis, watched?.turnOf, signal)) continue
      result = { ...decided(routing, NOTHING, outcome, decidedMs), postponed }
      nowMs = decidedMs
      const transaction = new Transaction()
        .expect(fired, last)
        .expect(keys.schema, String(LAYOUT), { orNone: true })
      writeLanes(transaction, keys, result.lanes)
      writeLimits(transaction, keys, undefined, result, nowMs)
      writeRules(transaction, keys, result.rules, { nowMs })
      turn.end(transaction)
      transaction.add('SET', fired, attempt, 'PX', FIRED_TTL_MS)
      const end = await transaction.run(redis, { watching: watched !== undefined })
      if (end.kind === 'done') {
        values = end.replies
        return true
      }
      // It was discarded for certain, unless another try of ours was done: that is looked at first.
      nowMs = undefined
      if (end.kind === 'lost') await turn.lost(redis)
    }
  }, signal)
  if (!result) return done
  countSent(metrics, result)
  if (result.lanes.size > 0) onEnqueued(enqueuedOf(result.lanes, values))
  return done
}

/** Some of the states of rules that are known here, and of those that nobody took care of for long. */
async function dueOf(
  redis: Redis,
  { limitTimers }: Keys,
  { expire, rules }: Routing,
  nowMs: number,
): Promise<string[]> {
  const due: string[] = []
  for (let page = 0; page < MOST_PAGES; page++) {
    const window = ['LIMIT', page * PAGE_TIMERS, PAGE_TIMERS, 'WITHSCORES'] as const
    const timers = scored(await redis.zrange(limitTimers, '-inf', String(nowMs), 'BYSCORE', ...window))
    for (const { key, score } of timers) {
      const isKnown = expire !== undefined && rules?.has(ruleOfShared(key)) !== false
      if (isKnown || score + GONE_AFTER_MS <= nowMs) due.push(key)
      if (due.length === MOST_DUE) return due
    }
    if (timers.length < PAGE_TIMERS) break
  }
  return due
}
