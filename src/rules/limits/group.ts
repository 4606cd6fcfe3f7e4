import type { Digest, DigestItem } from '../../model/delivery.ts'
import { shorten } from '../../sink/template/formats.ts'
import {
  boundedText,
  boundedTexts,
  type Emission,
  fromStored,
  summaryOf,
  sumOfSuppressed,
  toStored,
} from './emission.ts'
import { KEEP_MS, LATE_MS, type LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'
import type { GroupBatch, GroupLabels, GroupState, GroupStateKey } from './states.ts'

type GroupPlan = NonNullable<RulePlan['group']>

/** Adds an event to its group. Returns whether the group was emitted with it, or until when it waits. */
export function addToGroup(
  tx: LimitTransaction,
  { name, group }: RulePlan & { group: GroupPlan },
  groupKey: GroupStateKey,
  emission: Emission,
  atMs: number,
): { kind: 'emitted'; group: GroupStateKey } | { kind: 'grouped'; group: GroupStateKey; dueMs: number } {
  const { key, by, order } = groupKey
  const before = flushIfDue(tx, key, atMs, group)
  const dueMs = Math.min(
    before?.dueMs ?? atMs + group.waitMs,
    tx.nowMs + Math.max(group.waitMs, group.intervalMs),
  )
  const state: GroupState = {
    v: 1,
    limit: 'group',
    rule: name,
    waiting: (before?.waiting ?? 0) + 1,
    by,
    ...(order !== undefined && { order }),
    dueMs,
    batch: withEvent(before?.batch, emission, atMs),
  }
  tx.counters.count(name, 'waiting')
  const isFull = state.waiting >= group.max
  if (isFull || dueMs <= atMs) {
    const live = before?.batch ? undefined : emission
    keep(tx, key, emitBatch(tx, state, Math.min(atMs, dueMs), group, live))
    return { kind: 'emitted', group: groupKey }
  }
  keep(tx, key, state)
  return { kind: 'grouped', group: groupKey, dueMs }
}

/** Emits what is due by `toMs`; returns the group's state. Without a plan, because the rule is gone, the group ends then. */
export function flushIfDue(
  tx: LimitTransaction,
  key: string,
  toMs: number,
  plan: GroupPlan | undefined,
): GroupState | undefined {
  const before = tx.read('shared', key, 'group')
  let state = before
  while (state && state.dueMs <= toMs) state = state.batch && emitBatch(tx, state, state.dueMs, plan)
  if (before && state !== before) keep(tx, key, state)
  return state
}

/**
 * Emits one event unchanged, several as a digest. Then the interval begins. `live` is the first event where it did not wait: its object
 * is whole, the stored one may be shortened.
 */
function emitBatch(
  tx: LimitTransaction,
  { rule, waiting, by, order, batch }: GroupState,
  atMs: number,
  plan: GroupPlan | undefined,
  live?: Emission,
): GroupState | undefined {
  if (batch) {
    const first = { ...(live ?? fromStored(batch.first)), suppressed: batch.suppressed }
    tx.counters.count(rule, 'waiting', -waiting)
    tx.counters.count(rule, waiting === 1 ? 'sent' : 'digested', waiting)
    if (waiting > 1) tx.counters.count(rule, 'notices')
    const notice = waiting === 1 ? undefined : digestOf(batch, waiting, by)
    tx.emit(rule, first, { notice, order })
  }
  return plan && { v: 1, limit: 'group', rule, waiting: 0, by, dueMs: atMs + plan.intervalMs }
}

function withEvent(batch: GroupBatch | undefined, emission: Emission, atMs: number): GroupBatch {
  const { header } = emission.content
  const ms = Date.parse(header.time)
  const timeMs = Number.isFinite(ms) ? ms : atMs
  const suppressed = sumOfSuppressed(batch?.suppressed, emission.suppressed)
  const items = batch?.items ?? []
  return {
    first: batch?.first ?? toStored({ ...emission, suppressed: undefined }),
    fromMs: Math.min(batch?.fromMs ?? timeMs, timeMs),
    toMs: Math.max(batch?.toMs ?? timeMs, timeMs),
    ...(suppressed && { suppressed }),
    items: items.length < MAX_ITEMS ? [...items, itemOf(emission)] : items,
  }
}

function keep(tx: LimitTransaction, key: string, state: GroupState | undefined): void {
  if (!state) return tx.forget('shared', key)
  const left = state.dueMs - tx.nowMs
  if (state.batch) tx.write('shared', key, state, Math.max(left, 0) + KEEP_MS, state.dueMs)
  else if (left + LATE_MS > 0) tx.write('shared', key, state, left + LATE_MS)
  else tx.forget('shared', key)
}

/** Items in a digest; further events are only counted. */
const MAX_ITEMS = 100
const MAX_MESSAGE = 200

function itemOf(emission: Emission): DigestItem {
  const { id, type, kind, namespace, name, time, event } = emission.content.header
  const summary = event ? undefined : summaryOf(emission)
  return {
    id,
    type,
    kind: boundedText(kind),
    ...(namespace !== undefined && { namespace }),
    name: boundedText(name),
    time,
    ...(event && {
      eventType: boundedText(event.type),
      reason: boundedText(event.reason),
      message: shorten(event.message, MAX_MESSAGE),
      regarding: boundedTexts(event.regarding),
    }),
    ...(summary && { title: summary.title, severity: summary.severity }),
  }
}

function digestOf({ items, fromMs, toMs }: GroupBatch, count: number, by: GroupLabels): Digest {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  return { kind: 'digest', count, by, from, to, items }
}
