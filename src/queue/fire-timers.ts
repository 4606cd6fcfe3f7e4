import type { Redis } from 'ioredis'
import type { Routing } from '../change.ts'
import type { Metrics } from '../metrics.ts'
import type { CommitLine } from './commit-line.ts'
import { type Decided, decided, expire, GONE_AFTER_MS, NOTHING } from './decided.ts'
import type { Keys } from './keys.ts'
import { isForeign, LayoutChangedError } from './layout.ts'
import { ruleOfShared } from './limit-state.ts'
import { scored } from './limit-states.ts'
import { LimitsTurn } from './limits-turn.ts'
import { valuesOf } from './replies.ts'
import { writeRules } from './rule-counts.ts'
import { countSent, writeLanes, writeLimits } from './write-commit.ts'

export interface FireParts {
  line: CommitLine
  keys: Keys
  /** The process's own name. */
  instance: string
  routing(): Routing
  /** Called after a transaction with the lanes that got something. */
  onEnqueued(lanes: readonly string[]): void
  metrics: Metrics
}

/** How many states one transaction decides: each may hold deliveries. */
const MOST_DUE = 16
/** How many timers are looked through for those of rules that this process has. */
const MOST_SEEN = 1_000
const FIRED_TTL_MS = 3_600_000

/**
 * Decides some of the shared states whose time has come, in one transaction: states, deliveries and ledger together. Any
 * number of processes may try: it watches the states, so that one of them does it. Its own name for the try is written
 * with them, and tells after a lost reply whether it was done. Gives whether there was something.
 */
export async function fireTimers(
  { line, keys, instance, routing: current, onEnqueued, metrics }: FireParts,
  attempt: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const fired = keys.limitsFired(instance)
  const turn = new LimitsTurn(keys, attempt)
  let result: Decided | undefined
  let routing: Routing | undefined
  const done = await line.commit(async (redis) => {
    for (;;) {
      const { stream } = redis
      const [[layout, last, whose] = [], timers] = await readTimers(redis, keys, fired, nowMs)
      if (isForeign(layout)) {
        await redis.unwatch()
        throw new LayoutChangedError(layout)
      }
      if (result && last === attempt) {
        await redis.unwatch()
        return true
      }
      if (await turn.isAnothers(redis, whose, signal)) continue
      routing ??= current()
      const due = dueOf(timers, routing, nowMs)
      if (due.length === 0) {
        result = undefined
        await redis.unwatch()
        return false
      }
      const parts = { redis, keys, routing, source: undefined, nowMs }
      const { outcome, postponed } = await expire(parts, { shared: due, own: [] })
      result = { ...decided(routing, NOTHING, outcome, nowMs), postponed }
      if (redis.stream !== stream) continue
      const multi = redis.multi()
      writeLanes(multi, keys, result.lanes)
      writeLimits(multi, keys, undefined, result, nowMs)
      writeRules(multi, keys, result.rules, nowMs)
      turn.end(multi)
      multi.set(fired, attempt, 'PX', FIRED_TTL_MS)
      const replies = await multi.exec()
      if (replies) {
        valuesOf(replies)
        return true
      }
      await turn.lost(redis)
    }
  }, signal)
  if (!result) return done
  countSent(metrics, result)
  if (result.lanes.size > 0) onEnqueued([...result.lanes.keys()])
  return done
}

async function readTimers(
  redis: Redis,
  keys: Keys,
  fired: string,
  nowMs: number,
): Promise<[names: (string | null)[], timers: { key: string; score: number }[]]> {
  const pipeline = redis
    .pipeline()
    .watch(fired, keys.schema)
    .mget(keys.schema, fired, keys.limitsTurn)
    .zrange(keys.limitTimers, '-inf', String(nowMs), 'BYSCORE', 'LIMIT', 0, MOST_SEEN, 'WITHSCORES')
  const [, names, timers] = valuesOf(await pipeline.exec())
  return [names as (string | null)[], scored(timers)]
}

/** Those of rules that are known here, and those that nobody took care of for long. */
function dueOf(
  timers: readonly { key: string; score: number }[],
  { expire, rules }: Routing,
  nowMs: number,
): string[] {
  return timers
    .filter(
      ({ key, score }) =>
        (expire !== undefined && rules?.has(ruleOfShared(key)) !== false) || score + GONE_AFTER_MS <= nowMs,
    )
    .slice(0, MOST_DUE)
    .map(({ key }) => key)
}
