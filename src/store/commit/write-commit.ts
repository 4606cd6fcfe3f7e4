import type { Metrics } from '../metrics.ts'
import type { Decided } from './decided.ts'
import type { Keys } from './keys.ts'
import { observedAs } from './ledger.ts'
import { type OwnLimits, writeStates } from './limit-states.ts'
import type { Plan, SourceKeys } from './overlay.ts'
import type { PackedLanes } from './pack-lanes.ts'
import { countNotices, countRules, type RuleTimes, writeRules } from './rule-counts.ts'
import type { Transaction } from './transaction.ts'

/** Queues the deliveries: lanes, pending, the sinks' ledgers. */
export function writeLanes(transaction: Transaction, keys: Keys, lanes: PackedLanes): void {
  for (const [lane, { sink, count, entries }] of lanes) {
    for (const { count: n, observedAtMs, payload } of entries) {
      transaction.add('XADD', keys.lane(lane), '*', 'n', n, 't', observedAtMs, 'z', payload)
    }
    transaction.add('HINCRBY', keys.pending, lane, count)
    transaction.add('HINCRBY', keys.sinkLedger(sink), 'enqueued', count)
  }
}

/** Queues all that a commit writes but the checkpoint: lanes, pending, index, old objects, states of limits, ledger. */
export function writeCommit(
  transaction: Transaction,
  keys: Keys,
  source: { key: string } & SourceKeys,
  plan: Plan,
  decided: Decided,
  now: { nowMs: number; times: RuleTimes },
): void {
  writeLanes(transaction, keys, decided.lanes)
  if (plan.forget === 'all') transaction.add('UNLINK', source.index).add('UNLINK', source.old)
  else if (plan.forget) transaction.add('UNLINK', source[plan.forget])
  if (plan.indexSet.length > 0) transaction.add('HSET', source.index, ...plan.indexSet)
  if (plan.indexDelete.length > 0) transaction.add('HDEL', source.index, ...plan.indexDelete)
  if (plan.oldSet.length > 0) transaction.add('HSET', source.old, ...plan.oldSet)
  if (plan.oldDelete.length > 0) transaction.add('HDEL', source.old, ...plan.oldDelete)
  if (plan.unseenDelete.length > 0) transaction.add('HDEL', source.unseen, ...plan.unseenDelete)
  writeLimits(transaction, keys, source, decided, now.nowMs)
  writeRules(transaction, keys, decided.rules, now)
  writeWatch(transaction, keys.watchLedger(source.key), plan.transitions.length, decided)
}

/** Counts what was observed in the field of what became of it; where the numbers differ, apart, so that the ledger shows it. */
function writeWatch(
  transaction: Transaction,
  ledger: string,
  observed: number,
  { unmatched, dropped, matched, limited }: Decided,
): void {
  const ends = { unmatched, dropped, matched, limited }
  const isBalanced = observed === unmatched + dropped + matched + limited
  if (!isBalanced && observed > 0) transaction.add('HINCRBY', ledger, 'observed', observed)
  for (const [field, count] of Object.entries(ends))
    if (count > 0) transaction.add('HINCRBY', ledger, isBalanced ? observedAs(field) : field, count)
}

/** Queues states of limits and their timers. */
export function writeLimits(
  transaction: Transaction,
  keys: Keys,
  source: OwnLimits | undefined,
  { limits, postponed }: Decided,
  nowMs: number,
): void {
  if (limits) writeStates(transaction, keys, source, limits.writes, nowMs)
  for (const [key, atMs] of postponed?.shared ?? []) transaction.add('ZADD', keys.limitTimers, atMs, key)
  if (source)
    for (const [key, atMs] of postponed?.own ?? []) transaction.add('ZADD', source.timers, atMs, key)
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
