import type { ClusterEvent } from '../../model/event.ts'
import { acknowledgedBy } from './acknowledged.ts'
import { type Emission, fromStored, titleOf, toStored } from './emission.ts'
import { DAY_MS, KEEP_MS, type LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'
import { type IncidentObject, objectOf, type ResolveAfterState } from './states.ts'

export type ResolveAfterPlan = NonNullable<RulePlan['resolveAfter']>

/** Returns who acknowledged the incident that an event belongs to, and when it ends without another event. */
export function acknowledgedAt(
  tx: LimitTransaction,
  key: string,
  { afterMs }: ResolveAfterPlan,
  atMs: number,
): { detail: string; untilMs: number } | undefined {
  const state = tx.read('shared', key, 'resolve-after')
  const untilMs = (state?.lastMs ?? 0) + afterMs
  return state?.ack && untilMs > atMs ? { detail: acknowledgedBy(state.ack), untilMs } : undefined
}

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
export function openResolveAfter(
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

/** Maximum time for which an incident waits for a source that cannot be read. */
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
