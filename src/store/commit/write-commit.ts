import type { Metrics } from '../../observe/metrics.ts'
import { writeSilenceCounts } from '../control/silences.ts'
import type { PackedLanes } from '../entry.ts'
import type { Keys } from '../keys.ts'
import { observedAs } from '../ledger.ts'
import { type OwnLimits, writeStates } from '../limits/limit-states.ts'
import { countNotices, countRules, type RuleTimes, writeRules } from '../limits/rule-counts.ts'
import type { Plan, SourceKeys } from './commit-plan.ts'
import type { Evaluated } from './evaluate.ts'
import { Transaction } from './transaction.ts'

/**
 * Returns a transaction that writes deliveries: lanes, pending, the sinks' ledgers. Whatever is added comes behind them, so that their
 * replies are the first ones, as `enqueuedOf` expects.
 */
export function beginWithLanes(keys: Keys, lanes: PackedLanes): Transaction {
  const transaction = new Transaction()
  for (const [lane, { sink, count, entries }] of lanes) {
    for (const { count: n, observedAtMs, payload } of entries) {
      transaction.add('XADD', keys.lane(lane), '*', 'n', n, 't', observedAtMs, 'z', payload)
    }
    transaction.add('HINCRBY', keys.pending, lane, count)
    transaction.add('HINCRBY', keys.sinkLedger(sink), 'enqueued', count)
  }
  return transaction
}

/** Queues all writes of a commit except deliveries and checkpoint: index, previous objects, limit states, ledger. */
export function writeCommit(
  transaction: Transaction,
  keys: Keys,
  source: { key: string } & SourceKeys,
  plan: Plan,
  evaluated: Evaluated,
  times: RuleTimes,
): void {
  const { rules, nowMs } = evaluated
  if (plan.forget === 'all') transaction.add('UNLINK', source.index).add('UNLINK', source.previous)
  else if (plan.forget) transaction.add('UNLINK', source[plan.forget])
  if (plan.indexSet.length > 0) transaction.add('HSET', source.index, ...plan.indexSet)
  if (plan.indexDelete.length > 0) transaction.add('HDEL', source.index, ...plan.indexDelete)
  if (plan.previousSet.length > 0) transaction.add('HSET', source.previous, ...plan.previousSet)
  if (plan.previousDelete.length > 0) transaction.add('HDEL', source.previous, ...plan.previousDelete)
  if (plan.unlistedDelete.length > 0) transaction.add('HDEL', source.unlisted, ...plan.unlistedDelete)
  writeLimits(transaction, keys, source, evaluated, nowMs)
  writeRules(transaction, keys, rules, { nowMs, times })
  writeWatch(transaction, keys.watchLedger(source.key), plan.transitions.length, evaluated)
}

/** Counts observed changes in the field of their outcome; if the sums differ, in a field of their own, so that the ledger shows it. */
function writeWatch(
  transaction: Transaction,
  ledger: string,
  observed: number,
  { unmatched, dropped, matched, limited }: Evaluated,
): void {
  const ends = { unmatched, dropped, matched, limited }
  const isBalanced = observed === unmatched + dropped + matched + limited
  if (!isBalanced && observed > 0) transaction.add('HINCRBY', ledger, 'observed', observed)
  for (const [field, count] of Object.entries(ends))
    if (count > 0) transaction.add('HINCRBY', ledger, isBalanced ? observedAs(field) : field, count)
}

/** Queues limit states and their timers, and the counts of silences. */
export function writeLimits(
  transaction: Transaction,
  keys: Keys,
  source: OwnLimits | undefined,
  { limits, postponed, suppressed, untested }: Evaluated,
  nowMs: number,
): void {
  writeSilenceCounts(transaction, keys, suppressed, untested)
  if (limits) writeStates(transaction, keys, source, limits.writes, nowMs)
  for (const [key, atMs] of postponed?.shared ?? []) transaction.add('ZADD', keys.limitTimers, atMs, key)
  if (source)
    for (const [key, atMs] of postponed?.own ?? []) transaction.add('ZADD', source.timers, atMs, key)
}

/** Updates the metrics of a durable commit. */
export function count(metrics: Metrics, watch: string, plan: Plan, evaluated: Evaluated): void {
  metrics.observed.inc({ watch }, plan.transitions.length)
  metrics.unmatched.inc({ watch }, evaluated.unmatched)
  metrics.dropped.inc({ watch }, evaluated.dropped)
  metrics.matched.inc({ watch }, evaluated.matched)
  metrics.limited.inc({ watch }, evaluated.limited)
  metrics.commitChanges.observe(plan.transitions.length)
  countSent(metrics, evaluated)
}

/** Updates the metrics of sent and suppressed events, also of timers without a change. */
export function countSent(metrics: Metrics, { lanes, rules, limits, untested }: Evaluated): void {
  countRules(metrics, rules)
  metrics.silencesUntested.inc(untested.length)
  if (limits) countNotices(metrics, limits)
  for (const [rule, count] of limits?.atCapacity ?? []) metrics.ruleCrowded.inc({ rule }, count)
  for (const { sink, count, entries } of lanes.values()) {
    metrics.enqueued.inc({ sink }, count)
    metrics.enqueuedBytes.inc(
      { sink },
      entries.reduce((sum, { payload }) => sum + payload.length, 0),
    )
  }
}
