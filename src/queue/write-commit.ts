import type { ChainableCommander } from 'ioredis'
import type { Decision } from '../change.ts'
import type { Delivery } from '../delivery.ts'
import type { Metrics } from '../metrics.ts'
import { encodeEntries, type LaneEntry } from './entry.ts'
import type { Keys } from './keys.ts'
import type { Plan, SourceKeys } from './overlay.ts'

/** The deliveries of one commit, packed per lane, in order. */
export type PackedLanes = ReadonlyMap<string, { sink: string; count: number; entries: LaneEntry[] }>

export function packLanes(
  deliveries: readonly Delivery[],
  laneOf: (delivery: Delivery) => string,
): PackedLanes {
  const packed = new Map<string, { sink: string; count: number; entries: LaneEntry[] }>()
  for (const [lane, some] of Map.groupBy(deliveries, laneOf)) {
    packed.set(lane, { sink: (some[0] as Delivery).sink, count: some.length, entries: encodeEntries(some) })
  }
  return packed
}

/** Queues all that a commit writes but the checkpoint: lanes, pending, index, old objects, ledger. */
export function writeCommit(
  multi: ChainableCommander,
  keys: Keys,
  source: { key: string } & SourceKeys,
  plan: Plan,
  decision: Decision,
  lanes: PackedLanes,
): void {
  for (const [lane, { sink, count, entries }] of lanes) {
    for (const { count: n, observedAtMs, payload } of entries) {
      multi.xadd(keys.lane(lane), '*', 'n', n, 't', observedAtMs, 'z', payload)
    }
    multi.hincrby(keys.pending, lane, count)
    multi.hincrby(keys.sinkLedger(sink), 'enqueued', count)
  }
  if (plan.forget === 'all') multi.unlink(source.index, source.old)
  else if (plan.forget) multi.unlink(source[plan.forget])
  if (plan.indexSet.length > 0) multi.hset(source.index, ...plan.indexSet)
  if (plan.indexDelete.length > 0) multi.hdel(source.index, ...plan.indexDelete)
  if (plan.oldSet.length > 0) multi.hset(source.old, ...plan.oldSet)
  if (plan.oldDelete.length > 0) multi.hdel(source.old, ...plan.oldDelete)
  if (plan.unseenDelete.length > 0) multi.hdel(source.unseen, ...plan.unseenDelete)
  const counts = {
    observed: plan.transitions.length,
    unmatched: decision.unmatched,
    dropped: decision.dropped,
    matched: decision.matched,
  }
  for (const [field, count] of Object.entries(counts)) {
    if (count > 0) multi.hincrby(keys.watchLedger(source.key), field, count)
  }
}

/** Counts a commit that is durable. */
export function count(
  metrics: Metrics,
  watch: string,
  plan: Plan,
  decision: Decision,
  lanes: PackedLanes,
): void {
  metrics.observed.inc({ watch }, plan.transitions.length)
  metrics.unmatched.inc({ watch }, decision.unmatched)
  metrics.dropped.inc({ watch }, decision.dropped)
  metrics.matched.inc({ watch }, decision.matched)
  metrics.commitChanges.observe(plan.transitions.length)
  for (const { sink, count, entries } of lanes.values()) {
    metrics.enqueued.inc({ sink }, count)
    metrics.enqueuedBytes.inc(
      { sink },
      entries.reduce((sum, { payload }) => sum + payload.length, 0),
    )
  }
}
