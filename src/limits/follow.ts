import type { ClusterEvent } from '../event.ts'
import type { LimitedMatch, LimitName } from '../limit.ts'
import { settleGroup } from './group.ts'
import { onward } from './onward.ts'
import { placesOf } from './places.ts'
import type { RulePlan } from './rule-plan.ts'
import { isSampled } from './sample.ts'
import type { FollowState } from './states.ts'
import { packed, toldOf, unpacked } from './told.ts'
import { DAY_MS, KEEP_MS, type Work } from './work.ts'

/** An object may be in trouble for so long without a word. */
const KEEP_OPEN_MS = 90 * DAY_MS
/** What is over is told so long after the digest that told of it. */
const AFTER_DIGEST_MS = 1_000

/** What an event of an object means for a rule that follows its state. Gives whether the event was told at once. */
export function follow(
  work: Work,
  plan: RulePlan,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  const key = `${event.uid}:${plan.name}`
  const isMatch = match.entered && match.sinks.length > 0
  if (isMatch) work.book.count(plan.name, 'matched')
  const state = settleOver(work, plan, key, atMs)
  if (!match.holds || event.type === 'DELETED') {
    if (isMatch) work.book.suppress(plan.name, heldLimit(plan, state, atMs))
    if (state) end(work, plan, key, state, event, atMs)
    return false
  }
  if (!state) return isMatch && begin(work, plan, key, match, event, atMs)
  if (isMatch) work.book.suppress(plan.name, heldLimit(plan, state, atMs))
  goOn(work, plan, key, state, match, event, atMs)
  return false
}

/** Decides what is due by now; a rule that is gone, or follows nothing any more, ends it. */
export function expireFollow(work: Work, plan: RulePlan | undefined, key: string): void {
  const state = readFollow(work, key)
  if (state?.over) settleOver(work, plan, key, work.nowMs)
  else if (!state?.pending) return
  else if (!plan?.follows) drop(work, key, state, 'gone')
  else if (dueOf(plan, state) <= work.nowMs) fire(work, plan, key, state, dueOf(plan, state))
  else keep(work, plan, key, state)
}

/** When what `expire` is asked for comes first; for the order of what is due. */
export function followDueMs(plan: RulePlan | undefined, state: FollowState): number {
  if (state.over) return state.open?.fromMs ?? 0
  return plan?.follows ? dueOf(plan, state) : state.sinceMs
}

function begin(
  work: Work,
  plan: RulePlan,
  key: string,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  if (plan.sample !== undefined && !isSampled(event.id, plan.sample)) {
    work.book.suppress(plan.name, 'sample')
    return false
  }
  const told = packed(toldOf(event, match.sinks))
  const state: FollowState = {
    v: 1,
    limit: 'follow',
    rule: plan.name,
    waiting: 1,
    sinceMs: atMs,
    atMs,
    pending: { told, places: placesOf(plan, event, match) },
  }
  work.book.count(plan.name, 'waiting')
  if (dueOf(plan, state) <= atMs) return fire(work, plan, key, state, atMs)
  keep(work, plan, key, state)
  return false
}

/** It still holds: what waits tells the newest; what was over in the meantime is not. */
function goOn(
  work: Work,
  plan: RulePlan,
  key: string,
  state: FollowState,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): void {
  const { over, pending, ...rest } = state
  const sinks = pending?.told.sinks ?? []
  if (pending && sinks.every((sink) => match.sinks.includes(sink))) {
    const told = packed(toldOf(event, match.entered ? match.sinks : sinks))
    const places = match.entered ? placesOf(plan, event, match) : pending.places
    keep(work, plan, key, { ...rest, atMs, pending: { told, places } })
  } else if (over || atMs - state.atMs > DAY_MS) {
    keep(work, plan, key, { ...rest, atMs, ...(pending && { pending }) })
  }
}

/** It holds no longer: what was not told is not told any more, what was told is told to be over. */
function end(
  work: Work,
  plan: RulePlan,
  key: string,
  state: FollowState,
  event: ClusterEvent,
  atMs: number,
): void {
  if (state.pending) return drop(work, key, state, waitingFor(plan, state, atMs))
  if (!plan.resolves || !state.open) return work.forget('own', key)
  if (state.over && (event.left || event.type !== 'DELETED')) return
  const why = event.left ? 'unwatched' : event.type === 'DELETED' ? 'deleted' : 'ended'
  const told = packed(toldOf(event, state.open.sinks))
  keep(work, plan, key, { ...state, over: { told, atMs, why } })
  settleOver(work, plan, key, atMs)
}

/** Tells that it is over, once people know that it had begun. */
function settleOver(
  work: Work,
  plan: RulePlan | undefined,
  key: string,
  toMs: number,
): FollowState | undefined {
  const state = readFollow(work, key)
  if (!state?.over || !state.open || state.open.fromMs > toMs) return state
  const { over, open, rule } = state
  // Its digest may be due and not told yet: timers of shared states have turns of their own.
  if (open.group !== undefined) settleGroup(work, open.group, toMs, plan?.group)
  const [since, at] = [state.sinceMs, over.atMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  work.forget('own', key)
  work.book.count(plan?.name ?? rule, 'notices')
  const notice = { kind: 'resolved', since, at, why: over.why } as const
  work.tell(rule, unpacked(over.told), { notice, order: open.order })
  return undefined
}

/** A clock that went back makes nobody wait longer than the rule says. */
function readFollow(work: Work, key: string): FollowState | undefined {
  const state = work.read('own', key, 'follow')
  return state && { ...state, sinceMs: Math.min(state.sinceMs, work.nowMs) }
}

function fire(work: Work, plan: RulePlan, key: string, state: FollowState, atMs: number): boolean {
  const { pending, ...rest } = state
  if (!pending) return false
  if (plan.muted?.at(atMs)) {
    drop(work, key, state, 'mute')
    return false
  }
  work.book.count(plan.name, 'waiting', -1)
  const fate = onward(work, plan, pending.places, unpacked(pending.told), atMs)
  const isOpen = !('held' in fate)
  const waits = isOpen && !fate.isTold
  const fromMs = waits ? fate.fromMs + AFTER_DIGEST_MS : atMs
  const group = waits ? fate.group?.key : undefined
  const order = isOpen ? fate.group?.order : undefined
  keep(work, plan, key, {
    ...rest,
    waiting: 0,
    ...(isOpen && {
      open: {
        sinks: pending.told.sinks,
        fromMs,
        ...(group !== undefined && { group }),
        ...(order !== undefined && { order }),
      },
    }),
  })
  return isOpen && fate.isTold
}

function drop(work: Work, key: string, { rule }: FollowState, limit: LimitName): void {
  work.book.count(rule, 'waiting', -1)
  work.book.suppress(rule, limit)
  work.forget('own', key)
}

/** When it has lasted, and may be told. */
function dueOf({ forMs = 0, muted }: RulePlan, { sinceMs }: FollowState): number {
  const lastedMs = sinceMs + forMs
  return muted ? (muted.endsAt(lastedMs) ?? lastedMs) : lastedMs
}

function waitingFor({ forMs, muted }: RulePlan, { sinceMs }: FollowState, atMs: number): LimitName {
  return forMs !== undefined && (!muted || atMs < sinceMs + forMs) ? 'for' : 'mute'
}

/** Why a match is not told: others wait in its place, it was told, or it is over as it comes. */
function heldLimit(plan: RulePlan, state: FollowState | undefined, atMs: number): LimitName {
  if (state?.pending) return waitingFor(plan, state, atMs)
  return state ? (plan.resolves ? 'resolve' : 'for') : plan.forMs === undefined ? 'resolve' : 'for'
}

function keep(work: Work, plan: RulePlan, key: string, state: FollowState): void {
  const dueMs = state.pending ? dueOf(plan, state) : state.over && state.open?.fromMs
  const useful = dueMs === undefined ? KEEP_OPEN_MS : Math.max(dueMs - work.nowMs, 0) + KEEP_MS
  work.write('own', key, state, useful, dueMs)
}
