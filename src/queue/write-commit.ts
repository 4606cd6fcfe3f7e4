import type { ChainableCommander } from 'ioredis'
import type { Metrics } from '../metrics.ts'
import type { Decided } from './decided.ts'
import type { Keys } from './keys.ts'
import { type OwnLimits, writeStates } from './limit-states.ts'
import type { Plan, SourceKeys } from './overlay.ts'
import type { PackedLanes } from './pack-lanes.ts'
import { countNotices, countRules, writeRules } from './rule-counts.ts'

/** Queues the deliveries: lanes, pending, the sinks' ledgers. */
export function writeLanes(multi: ChainableCommander, keys: Keys, lanes: PackedLanes): void {
  for (const [lane, { sink, count, entries }] of lanes) {
    for (const { count: n, observedAtMs, payload } of entries) {
      multi.xadd(keys.lane(lane), '*', 'n', n, 't', observedAtMs, 'z', payload)
    }
    multi.hincrby(keys.pending, lane, count)
    multi.hincrby(keys.sinkLedger(sink), 'enqueued', count)
  }
}

/** Queues all that a commit writes but the checkpoint: lanes, pending, index, old objects, states of limits, ledger. */
export function writeCommit(
  multi: ChainableCommander,
  keys: Keys,
  source: { key: string } & SourceKeys,
  plan: Plan,
  decided: Decided,
  nowMs: number,
): void {
  writeLanes(multi, keys, decided.lanes)
  if (plan.forget === 'all') multi.unlink(source.index, source.old)
  else if (plan.forget) multi.unlink(source[plan.forget])
  if (plan.indexSet.length > 0) multi.hset(source.index, ...plan.indexSet)
  if (plan.indexDelete.length > 0) multi.hdel(source.index, ...plan.indexDelete)
  if (plan.oldSet.length > 0) multi.hset(source.old, ...plan.oldSet)
  if (plan.oldDelete.length > 0) multi.hdel(source.old, ...plan.oldDelete)
  if (plan.unseenDelete.length > 0) multi.hdel(source.unseen, ...plan.unseenDelete)
  writeLimits(multi, keys, source, decided, nowMs)
  writeRules(multi, keys, decided.rules, nowMs)
  const counts = {
    observed: plan.transitions.length,
    unmatched: decided.unmatched,
    dropped: decided.dropped,
    matched: decided.matched,
    limited: decided.limited,
  }
  for (const [field, count] of Object.entries(counts)) {
    if (count > 0) multi.hincrby(keys.watchLedger(source.key), field, count)
  }
}

/** Queues states of limits and their timers. */
export function writeLimits(
  multi: ChainableCommander,
  keys: Keys,
  source: OwnLimits | undefined,
  { limits, postponed }: Decided,
  nowMs: number,
): void {
  if (limits) writeStates(multi, keys, source, limits.writes, nowMs)
  for (const [key, atMs] of postponed?.shared ?? []) multi.zadd(keys.limitTimers, atMs, key)
  if (source) for (const [key, atMs] of postponed?.own ?? []) multi.zadd(source.timers, atMs, key)
}

/** Counts a commit that is durable. */
export function count(metrics: Metrics, watch: string, plan: Plan, decided: Decided): void {
  metrics.observed.inc({ watch }, plan.transitions.length)
  metrics.unmatched.inc({ watch }, decided.unmatched)
  metrics.dropped.inc({ watch }, decided.dropped)
  metrics.matched.inc({ watch }, decided.matched)
  metrics.limited.inc({ watch }, decided.limited)
  metrics.commitChanges.observe(plan.transitions.length)
  countSent(metrics, decided)
}

/** Counts what was sent and held back, also where no change was the cause. */
export function countSent(metrics: Metrics, { lanes, rules, limits }: Decided): void {
  countRules(metrics, rules)
  if (limits) countNotices(metrics, limits)
  for (const [rule, count] of limits?.crowded ?? []) metrics.ruleCrowded.inc({ rule }, count)
  for (const { sink, count, entries } of lanes.values()) {
    metrics.enqueued.inc({ sink }, count)
    metrics.enqueuedBytes.inc(
      { sink },
      entries.reduce((sum, { payload }) => sum + payload.length, 0),
    )
  }
}
