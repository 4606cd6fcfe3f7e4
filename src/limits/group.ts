import { digestOf, itemOf, MAX_ITEMS } from './digest.ts'
import type { RulePlan } from './rule-plan.ts'
import type { GroupBatch, GroupPlace, GroupState } from './states.ts'
import { heldBackTogether, packed, type Told, unpacked } from './told.ts'
import { KEEP_MS, LATE_MS, type Work } from './work.ts'

type GroupPlan = NonNullable<RulePlan['group']>

/** Adds an event to its group. Gives when it is told: a time that is over, where that was at once. */
export function joinGroup(
  work: Work,
  { name, group }: RulePlan & { group: GroupPlan },
  place: GroupPlace,
  told: Told,
  atMs: number,
): { isTold: boolean; fromMs: number; group: GroupPlace } {
  const { key, by, order } = place
  const before = settleGroup(work, key, atMs, group)
  const dueMs = Math.min(
    before?.dueMs ?? atMs + group.waitMs,
    work.nowMs + Math.max(group.waitMs, group.intervalMs),
  )
  const state: GroupState = {
    v: 1,
    limit: 'group',
    rule: name,
    waiting: (before?.waiting ?? 0) + 1,
    by,
    ...(order !== undefined && { order }),
    dueMs,
    batch: withEvent(before?.batch, told, atMs),
  }
  work.book.count(name, 'waiting')
  const isFull = state.waiting >= group.max
  if (isFull || dueMs <= atMs) {
    keep(work, key, flush(work, state, Math.min(atMs, dueMs), group))
    return { isTold: true, fromMs: atMs, group: place }
  }
  keep(work, key, state)
  return { isTold: false, fromMs: dueMs, group: place }
}

/** Tells what is due by then. Without a plan, which is gone, the group ends with that. */
export function settleGroup(
  work: Work,
  key: string,
  toMs: number,
  plan: GroupPlan | undefined,
): GroupState | undefined {
  const before = work.read('shared', key, 'group')
  let state = before
  while (state && state.dueMs <= toMs) state = state.batch && flush(work, state, state.dueMs, plan)
  if (before && state !== before) keep(work, key, state)
  return state
}

/** One event is told as it is, several as a digest; then the interval begins. */
function flush(
  work: Work,
  { rule, waiting, by, order, batch }: GroupState,
  atMs: number,
  plan: GroupPlan | undefined,
): GroupState | undefined {
  if (batch) {
    const first = { ...unpacked(batch.first), heldBack: batch.heldBack }
    work.book.count(rule, 'waiting', -waiting)
    work.book.count(rule, waiting === 1 ? 'sent' : 'digested', waiting)
    if (waiting > 1) work.book.count(rule, 'notices')
    const notice = waiting === 1 ? undefined : digestOf(batch, waiting, by)
    work.tell(rule, first, { notice, order })
  }
  return plan && { v: 1, limit: 'group', rule, waiting: 0, by, dueMs: atMs + plan.intervalMs }
}

function withEvent(batch: GroupBatch | undefined, told: Told, atMs: number): GroupBatch {
  const ms = Date.parse(told.content.header.time)
  const timeMs = Number.isFinite(ms) ? ms : atMs
  const heldBack = heldBackTogether(batch?.heldBack, told.heldBack)
  const items = batch?.items ?? []
  return {
    first: batch?.first ?? packed({ ...told, heldBack: undefined }),
    fromMs: Math.min(batch?.fromMs ?? timeMs, timeMs),
    toMs: Math.max(batch?.toMs ?? timeMs, timeMs),
    ...(heldBack && { heldBack }),
    items: items.length < MAX_ITEMS ? [...items, itemOf(told.content.header)] : items,
  }
}

function keep(work: Work, key: string, state: GroupState | undefined): void {
  if (!state) return work.forget('shared', key)
  const left = state.dueMs - work.nowMs
  if (state.batch) work.write('shared', key, state, Math.max(left, 0) + KEEP_MS, state.dueMs)
  else if (left + LATE_MS > 0) work.write('shared', key, state, left + LATE_MS)
  else work.forget('shared', key)
}
