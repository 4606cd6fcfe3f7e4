import type { ClusterEvent } from '../../model/event.ts'
import type { LimitName } from '../../model/limit.ts'
import { acknowledgedBy } from './acknowledged.ts'
import { type Emission, fromStored, sumOfSuppressed, titleOf, toStored } from './emission.ts'
import { addToGroup } from './group.ts'
import { DAY_MS, KEEP_MS, LATE_MS, type LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'
import {
  type GroupStateKey,
  type IncidentObject,
  objectOf,
  type ResolveAfterState,
  type StateKeys,
  type SuppressedBefore,
  type ThrottleState,
} from './states.ts'

/**
 * The result for an event: suppressed by a limit, emitted, or waiting in a group until `fromMs`. For a state: to be kept until the window of
 * `throttle` that began at `throttledSinceMs` ends.
 */
type LimitResult =
  | { suppressedBy: LimitName }
  | { isEmitted: boolean; fromMs: number; group?: GroupStateKey }
  | { throttledSinceMs: number; suppressed: SuppressedBefore | undefined }

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
    if (sinceMs !== undefined) return { throttledSinceMs: sinceMs, suppressed: emission.suppressed }
    const result = applyThrottle(tx, { ...plan, throttle }, keys.throttle, emission, atMs)
    if ('untilMs' in result) return suppress(tx, name, 'throttle', emission, result)
    emission = result
  }
  const result =
    group && keys.group
      ? addToGroup(tx, { ...plan, group }, groupWithCapacity(tx, name, keys.group), emission, atMs)
      : emitNow(tx, name, emission, atMs)
  if (resolveAfter && keys.resolveAfter !== undefined && tx.hasCapacity(name, keys.resolveAfter)) {
    const order = orderOf(result, resolveAfter, group)
    const throttleKey = throttlesIncident(plan, emission) ? keys.throttle : undefined
    const opening = { emission, atMs, order, throttleKey, source }
    openResolveAfter(tx, { ...plan, resolveAfter }, keys.resolveAfter, opening)
  }
  return result
}

/** Returns who acknowledged the incident that an event belongs to, and when it ends without another event. */
function acknowledgedAt(
  tx: LimitTransaction,
  key: string,
  { afterMs }: ResolveAfterPlan,
  atMs: number,
): { detail: string; untilMs: number } | undefined {
  const state = tx.read('shared', key, 'resolve-after')
  const untilMs = (state?.lastMs ?? 0) + afterMs
  return state?.ack && untilMs > atMs ? { detail: acknowledgedBy(state.ack), untilMs } : undefined
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
  return { suppressedBy: limit }
}

function emitNow(tx: LimitTransaction, rule: string, emission: Emission, atMs: number): LimitResult {
  tx.counters.count(rule, 'sent')
  tx.emit(rule, emission)
  return { isEmitted: true, fromMs: atMs }
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

type ResolveAfterPlan = NonNullable<RulePlan['resolveAfter']>

/** `resolve: {after}`: a match, also a suppressed one, postpones the end of an open incident. One that was found late is no proof of quiet before. */
export function renewResolveAfter(
  tx: LimitTransaction,
  plan: ResolveAfterPlan,
  key: string,
  { emission, event, atMs }: { emission: Emission; event: ClusterEvent; atMs: number },
): void {
  const isFound = event.synthesized || event.isCatchUp
  const state = isFound ? tx.read('shared', key, 'resolve-after') : resolveIfDue(tx, key, atMs, plan)
  if (!state) return
  const last = atMs < state.lastMs ? state.last : { ...toStored(emission), sinks: state.last.sinks }
  const source = tx.source ?? state.source
  const renewed = { ...state, lastMs: Math.max(atMs, state.lastMs), last }
  keepResolveAfter(tx, key, plan, { ...renewed, ...(source !== undefined && { source }) })
}

/** An event was emitted, or waits in a group: the incident is open. */
function openResolveAfter(
  tx: LimitTransaction,
  { name, resolveAfter }: RulePlan & { resolveAfter: ResolveAfterPlan },
  key: string,
  opening: {
    emission: Emission
    atMs: number
    order: string | undefined
    throttleKey: string | undefined
    source: string | undefined
  },
): void {
  const { emission, atMs, order, throttleKey } = opening
  const state = resolveIfDue(tx, key, atMs, resolveAfter)
  const source = opening.source ?? state?.source
  const sinks = [...new Set([...(state?.last.sinks ?? []), ...emission.sinks])]
  const last = state?.last ?? toStored({ ...emission, suppressed: undefined })
  keepResolveAfter(tx, key, resolveAfter, {
    v: 1,
    limit: 'resolve-after',
    rule: name,
    waiting: 0,
    sinceMs: state?.sinceMs ?? atMs,
    lastMs: Math.max(atMs, state?.lastMs ?? atMs),
    last: { ...last, sinks },
    about: withObjectOf(state?.about, emission),
    sent: (state?.sent ?? 0) + 1,
    ...(order !== undefined && { order }),
    ...(throttleKey !== undefined && { throttleKey }),
    ...(source !== undefined && { source }),
    ...(state?.ack && { ack: state.ack }),
  })
}

/** Bound the state of an incident of many objects, and of an Event whose author wrote more than Kubernetes' names have. */
const MOST_OBJECTS = 50
const MAX_NAMES = 63 + 63 + 253

/** Who acknowledges an incident names an object that a notification showed, which need not be that of the last event. */
function withObjectOf(
  about: ResolveAfterState['about'] = [],
  { content }: Emission,
): readonly IncidentObject[] {
  const { kind, namespace, name } = objectOf(content.event)
  if (!kind || !name || `${kind}${namespace ?? ''}${name}`.length > MAX_NAMES) return about
  const others = about.filter((it) => it.kind !== kind || it.namespace !== namespace || it.name !== name)
  return [{ kind, namespace, name }, ...others].slice(0, MOST_OBJECTS)
}

/** An incident waits for so long for a source that cannot be read. */
const UNREAD_MS = DAY_MS

/** Evaluates the state when its timer is due; a reload can have moved the due time. An unread event could postpone it. */
export function expireResolveAfter(
  tx: LimitTransaction,
  key: string,
  plan: ResolveAfterPlan | undefined,
): void {
  const { source, lastMs = 0 } = tx.read('shared', key, 'resolve-after') ?? {}
  const isUnread = source !== undefined && tx.isUnread(source)
  if (plan && isUnread && tx.nowMs < lastMs + plan.afterMs + UNREAD_MS) return
  const state = resolveIfDue(tx, key, tx.nowMs, plan)
  if (state && plan) keepResolveAfter(tx, key, plan, state)
}

/**
 * Emits the resolve notification if the incident ended by `toMs`, else returns its state. The throttle of an incident ends with it: the
 * next one is a new incident, which nobody was notified of. Without a plan, because the rule is gone or no longer resolves, it ends now: nobody
 * else would close it in a pager.
 */
function resolveIfDue(
  tx: LimitTransaction,
  key: string,
  toMs: number,
  plan: ResolveAfterPlan | undefined,
): ResolveAfterState | undefined {
  const before = tx.read('shared', key, 'resolve-after')
  if (!before) return undefined
  const state = { ...before, lastMs: Math.min(before.lastMs, tx.nowMs) }
  const atMs = plan ? state.lastMs + plan.afterMs : tx.nowMs
  if (plan && atMs > toMs) return state
  tx.forget('shared', key)
  const [since, at] = [state.sinceMs, atMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  tx.counters.count(state.rule, 'notices')
  const last = fromStored(state.last)
  const isUnread = state.source !== undefined && tx.isUnread(state.source)
  const why = plan && !isUnread ? 'quiet' : 'unwatched'
  const notice = { kind: 'resolved', since, at, why, title: titleOf(last) } as const
  tx.emit(state.rule, last, { notice, order: state.order })
  const throttled = state.throttleKey
  if (throttled !== undefined && tx.read('shared', throttled, 'throttle')) tx.forget('shared', throttled)
  return undefined
}

function keepResolveAfter(
  tx: LimitTransaction,
  key: string,
  { afterMs }: ResolveAfterPlan,
  state: ResolveAfterState,
): void {
  const dueMs = state.lastMs + afterMs
  tx.write('shared', key, state, Math.max(dueMs - tx.nowMs, 0) + KEEP_MS, dueMs)
}
