import type { LimitName } from '../../model/limit.ts'
import { type Emission, sumOfSuppressed } from './emission.ts'
import { addToGroup } from './group.ts'
import { DAY_MS, LATE_MS, type LimitTransaction } from './limit-transaction.ts'
import { acknowledgedAt, openResolveAfter, type ResolveAfterPlan } from './resolve-after.ts'
import type { RulePlan } from './rule-plan.ts'
import type { GroupStateKey, StateKeys, SuppressedBefore, ThrottleState } from './states.ts'

/** The result for an event. `group` is the group that it went through. Times are Unix milliseconds. */
type LimitResult =
  | { kind: 'suppressed' }
  | { kind: 'emitted'; group?: GroupStateKey }
  /** The event waits in its group until `dueMs`. */
  | { kind: 'grouped'; group: GroupStateKey; dueMs: number }
  /** A state waits for the end of the window of `throttle` that began at `sinceMs`. */
  | { kind: 'kept'; sinceMs: number; suppressed: SuppressedBefore | undefined }

/**
 * Applies after ─▶ throttle ─▶ group ─▶ sinks. A limit that the rule did not have when the event came lets it pass. So does a limit
 * that is at capacity: an extra notification is better than a missing one. `throttle` does not suppress a state, which can last longer than
 * its window. `source` is that of the event, also of one that waited.
 */
export function applyLimitChain(
  tx: LimitTransaction,
  plan: RulePlan,
  keys: StateKeys,
  event: Emission,
  atMs: number,
  { isState = false, source = tx.source }: { isState?: boolean; source?: string | undefined } = {},
): LimitResult {
  const { name, after, throttle, group, resolveAfter } = plan
  let emission = event
  const acknowledged =
    resolveAfter &&
    keys.resolveAfter !== undefined &&
    acknowledgedAt(tx, keys.resolveAfter, resolveAfter, atMs)
  if (acknowledged) return suppress(tx, name, 'acknowledged', emission, acknowledged)
  if (after && keys.after !== undefined && tx.hasCapacity(name, keys.after)) {
    const completing = applyAfter(tx, { ...plan, after }, keys.after, emission, atMs)
    if (!completing) return suppress(tx, name, 'after', emission)
    emission = completing
  }
  if (throttle && keys.throttle !== undefined && tx.hasCapacity(name, keys.throttle)) {
    const sinceMs = isState ? throttledSince(tx, throttle, keys.throttle, atMs) : undefined
    if (sinceMs !== undefined) return { kind: 'kept', sinceMs, suppressed: emission.suppressed }
    const result = applyThrottle(tx, { ...plan, throttle }, keys.throttle, emission, atMs)
    if ('untilMs' in result) return suppress(tx, name, 'throttle', emission, result)
    emission = result
  }
  const result =
    group && keys.group
      ? addToGroup(tx, { ...plan, group }, groupWithCapacity(tx, name, keys.group), emission, atMs)
      : emitNow(tx, name, emission)
  if (resolveAfter && keys.resolveAfter !== undefined && tx.hasCapacity(name, keys.resolveAfter)) {
    const order = orderOf(result, resolveAfter, group)
    const throttleKey = throttlesIncident(plan, emission) ? keys.throttle : undefined
    const opening = { emission, atMs, order, throttleKey, source }
    openResolveAfter(tx, { ...plan, resolveAfter }, keys.resolveAfter, opening)
  }
  return result
}

/** Groups beyond the capacity of a rule are collected in one group. */
function groupWithCapacity(tx: LimitTransaction, rule: string, group: GroupStateKey): GroupStateKey {
  const { key, rest } = group
  return rest === undefined || tx.hasCapacity(rule, key) ? group : { key: rest, by: [], order: rest }
}

/** The resolve notification is in order with the group's digests if both have the same group key. */
function orderOf(
  result: LimitResult,
  resolveAfter: ResolveAfterPlan,
  group: RulePlan['group'],
): string | undefined {
  const isSame = group !== undefined && String(resolveAfter.per) === String(group.by)
  return isSame && 'group' in result ? result.group?.order : undefined
}

/** Whether `throttle` counts the events of one incident: it has the group key of `resolve: {after}`, in any order. */
function throttlesIncident(
  { throttle, resolveAfter, defaultGroupKey }: RulePlan,
  { content }: Emission,
): boolean {
  if (!throttle || !resolveAfter) return false
  const isEvent = content.event.event !== undefined
  const per = throttle.per ?? defaultGroupKey('throttle', isEvent)
  const incident = resolveAfter.per ?? defaultGroupKey('resolve-after', isEvent)
  return String(per.toSorted()) === String(incident.toSorted())
}

function suppress(
  tx: LimitTransaction,
  rule: string,
  limit: LimitName,
  { content, sinks }: Emission,
  why: { untilMs?: number; detail?: string } = {},
): LimitResult {
  tx.suppress(rule, limit, { event: content.event, sinks, ...why })
  return { kind: 'suppressed' }
}

function emitNow(tx: LimitTransaction, rule: string, emission: Emission): LimitResult {
  tx.counters.count(rule, 'sent')
  tx.emit(rule, emission)
  return { kind: 'emitted' }
}

/** Returns the event that completes the count, with the number of events before it; undefined for other events. */
function applyAfter(
  tx: LimitTransaction,
  { name, after }: RulePlan & { after: NonNullable<RulePlan['after']> },
  key: string,
  emission: Emission,
  atMs: number,
): Emission | undefined {
  const { count, withinMs } = after
  const before = tx.read('shared', key, 'after')?.timesMs ?? []
  const times = before.map((ms) => Math.min(ms, tx.nowMs))
  // A late event counts with the newest.
  const newest = Math.max(atMs, ...times)
  const recent = times.filter((ms) => ms + withinMs > newest)
  if (recent.length + 1 >= count) {
    tx.forget('shared', key)
    const [first = atMs] = recent
    const suppressedBefore = { count: recent.length, sinceMs: first }
    return { ...emission, suppressed: sumOfSuppressed(emission.suppressed, suppressedBefore) }
  }
  const timesMs = [...recent, newest]
  const useful = newest + withinMs - tx.nowMs + LATE_MS
  tx.write('shared', key, { v: 1, limit: 'after', rule: name, waiting: 0, timesMs }, useful)
  return undefined
}

/** The number of suppressed events is added to the next event, if it passes within a day. */
const REPORT_MS = DAY_MS

type ThrottlePlan = NonNullable<RulePlan['throttle']>

/** Returns the event with the number of events suppressed before it; for a suppressed one, when the next one passes. */
function applyThrottle(
  tx: LimitTransaction,
  { name, throttle }: RulePlan & { throttle: ThrottlePlan },
  key: string,
  emission: Emission,
  atMs: number,
): Emission | { untilMs: number } {
  const state = tx.read('shared', key, 'throttle')
  const before =
    state?.suppressed && state.suppressed.lastMs + REPORT_MS > atMs ? state.suppressed : undefined
  const sent = sentSince(tx, state, atMs - throttle.everyMs)
  const sinceMs = throttledSince(tx, throttle, key, atMs)
  if (sinceMs !== undefined) {
    keepThrottle(tx, { name, throttle }, key, sent, withSuppressed(before, emission, atMs))
    return { untilMs: sinceMs + throttle.everyMs }
  }
  const sentMs = [...sent, atMs].sort((a, b) => a - b)
  keepThrottle(tx, { name, throttle }, key, sentMs)
  const suppressedBefore = before && { count: before.count, sinceMs: before.sinceMs }
  return { ...emission, suppressed: sumOfSuppressed(emission.suppressed, suppressedBefore) }
}

/** Returns when the window began in which nothing more passes; undefined if an event passes. */
function throttledSince(
  tx: LimitTransaction,
  { everyMs, burst }: ThrottlePlan,
  key: string,
  atMs: number,
): number | undefined {
  return sentSince(tx, tx.read('shared', key, 'throttle'), atMs - everyMs).at(-burst)
}

function sentSince(tx: LimitTransaction, state: ThrottleState | undefined, sinceMs: number): number[] {
  return (state?.sentMs ?? []).map((ms) => Math.min(ms, tx.nowMs)).filter((ms) => ms > sinceMs)
}

/** A state that waited for the end of a window has ended: the next notification shows it among the suppressed ones. */
export function countThrottled(
  tx: LimitTransaction,
  { name, throttle }: RulePlan,
  key: string | undefined,
  emission: Pick<Emission, 'suppressed'>,
  atMs: number,
): void {
  const state = key === undefined ? undefined : tx.read('shared', key, 'throttle')
  if (!throttle || key === undefined || !state) return
  keepThrottle(tx, { name, throttle }, key, state.sentMs, withSuppressed(state.suppressed, emission, atMs))
}

function keepThrottle(
  tx: LimitTransaction,
  { name, throttle }: { name: string; throttle: ThrottlePlan },
  key: string,
  sentMs: readonly number[],
  suppressed?: ThrottleState['suppressed'],
): void {
  const ends = sentMs.map((ms) => ms + throttle.everyMs)
  const useful = Math.max(...ends, suppressed ? suppressed.lastMs + REPORT_MS : 0)
  const state = { v: 1, limit: 'throttle', rule: name, waiting: 0, sentMs } as const
  tx.write('shared', key, { ...state, ...(suppressed && { suppressed }) }, useful - tx.nowMs + LATE_MS)
}

/** Adds a suppressed event, with those that `after` suppressed before it. */
function withSuppressed(
  before: ThrottleState['suppressed'],
  { suppressed }: Pick<Emission, 'suppressed'>,
  atMs: number,
): NonNullable<ThrottleState['suppressed']> {
  return {
    count: (before?.count ?? 0) + 1 + (suppressed?.count ?? 0),
    sinceMs: Math.min(before?.sinceMs ?? atMs, suppressed?.sinceMs ?? atMs),
    lastMs: Math.max(before?.lastMs ?? atMs, atMs),
  }
}
