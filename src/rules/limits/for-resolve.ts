import type { Silence } from '../../model/control.ts'
import type { ClusterEvent, EventHeader } from '../../model/event.ts'
import type { LimitedMatch, LimitName } from '../../model/limit.ts'
import { kindOfEvent } from '../kind.ts'
import { acknowledgedBy, escalatedAcknowledgement } from './acknowledged.ts'
import { type Emission, emissionOf, fromStored, titleOf, toStored } from './emission.ts'
import { flushIfDue } from './group.ts'
import { keysForSinks, stateKeysOf, withNamedSinks } from './group-key.ts'
import { applyLimitChain, countThrottled } from './limit-chain.ts'
import { DAY_MS, KEEP_MS, type LimitTransaction } from './limit-transaction.ts'
import { isSampled, type RulePlan } from './rule-plan.ts'
import { quietUntil, silenceOf, storedWithoutSilenced, timerMs } from './silenced.ts'
import type { ForResolveState, StoredEmission } from './states.ts'

/** The state of an object that matches is kept for this time without an event of it. */
const KEEP_OPEN_MS = 90 * DAY_MS
const UNSILENCED = { silences: undefined }
/** A resolve notification comes this long after the digest that contains the incident. */
const AFTER_DIGEST_MS = 1_000

/**
 * Applies an event to the state of its object: pending (`for` has not passed) ─▶ open (emitted) ─▶ over (`resolve: true`). Returns
 * whether the event was emitted immediately.
 */
export function applyForResolve(
  tx: LimitTransaction,
  plan: RulePlan,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  const key = `${event.uid}:${plan.name}`
  const isMatch = match.entered && match.sinks.length > 0
  if (isMatch) tx.counters.count(plan.name, 'matched')
  const state = emitIfResolved(tx, plan, key, atMs)
  if (!match.holds || event.type === 'DELETED') {
    if (isMatch)
      tx.suppress(plan.name, suppressingLimit(tx, plan, state, atMs), { event, sinks: match.sinks })
    if (state) end(tx, plan, key, state, event, atMs)
    return false
  }
  if (!state) return isMatch && begin(tx, plan, key, match, event, atMs)
  if (isMatch) {
    const dueMs = state.pending && dueOf(tx, plan, state)
    const untilMs = dueMs !== undefined && dueMs > atMs ? dueMs : undefined
    const limit = suppressingLimit(tx, plan, state, atMs)
    tx.suppress(plan.name, limit, { event, sinks: match.sinks, untilMs })
  }
  update(tx, plan, key, state, match, event, atMs)
  return false
}

/** Evaluates the state when its timer is due. A pending state ends when its rule is gone, or no longer tracks states of such objects. */
export function expireForResolve(tx: LimitTransaction, plan: RulePlan | undefined, key: string): void {
  const state = readState(tx, plan, key)
  if (state?.over) emitIfResolved(tx, plan, key, tx.nowMs)
  else if (!state?.pending) return
  else if (!plan?.tracksState || !isOfKind(plan, state.pending.emission.header))
    suppressPending(tx, key, state, 'gone')
  else if (dueOf(tx, plan, state) > tx.nowMs) keep(tx, plan, key, state)
  else open(tx, plan, key, state, dueOf(tx, plan, state))
}

/** Whether the rule still matches the kind of an object that waits. */
function isOfKind({ ofKind }: RulePlan, header: EventHeader): boolean {
  return ofKind?.(kindOfEvent(header)) !== false
}

/** Returns the due time of a state, which orders the timers. */
export function forResolveDueMs(
  tx: LimitTransaction,
  plan: RulePlan | undefined,
  state: ForResolveState,
): number {
  if (state.over) return state.open?.fromMs ?? 0
  return plan?.tracksState ? dueOf(tx, plan, state) : state.sinceMs
}

function begin(
  tx: LimitTransaction,
  plan: RulePlan,
  key: string,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  if (plan.sample !== undefined && !isSampled(event.id, plan.sample)) {
    tx.suppress(plan.name, 'sample', { event, sinks: match.sinks })
    return false
  }
  const emission = emissionOf(event, match.sinks)
  const state: ForResolveState = {
    v: 1,
    limit: 'for-resolve',
    rule: plan.name,
    waiting: 1,
    sinceMs: atMs,
    atMs,
    pending: { emission: toStored(emission), places: stateKeysOf(plan, event, match) },
  }
  tx.counters.count(plan.name, 'waiting')
  if (dueOf(tx, plan, state) <= atMs) return open(tx, plan, key, state, atMs, emission)
  keep(tx, plan, key, state)
  return false
}

/** The object still matches: a pending notification gets the newest event, and an end that was not emitted is revoked. */
function update(
  tx: LimitTransaction,
  plan: RulePlan,
  key: string,
  state: ForResolveState,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): void {
  const { over, pending, ...rest } = state
  const sinks = pending?.emission.sinks ?? []
  if (pending && sinks.every((sink) => match.sinks.includes(sink))) {
    const { suppressed } = pending.emission
    const now = { ...emissionOf(event, match.entered ? match.sinks : sinks), suppressed }
    const newest = withChangesOf(pending.emission, toStored(now))
    const places = match.entered ? stateKeysOf(plan, event, match) : pending.places
    keep(tx, plan, key, { ...rest, atMs, pending: { emission: newest, places } })
  } else if (over || atMs - state.atMs > DAY_MS) {
    keep(tx, plan, key, { ...rest, atMs, ...(pending && { pending }) })
  }
}

/** A state is described by the changes with which it began, and by who made them: those of a later event need not concern it. */
function withChangesOf(first: StoredEmission, { header, ...newest }: StoredEmission): StoredEmission {
  const { changes: _, manager: __, ...rest } = header
  const { changes, manager } = first.header
  return { ...newest, header: { ...rest, ...(changes && { changes }), ...(manager && { manager }) } }
}

/** The object no longer matches: a pending notification is suppressed, an emitted one is resolved. */
function end(
  tx: LimitTransaction,
  plan: RulePlan,
  key: string,
  state: ForResolveState,
  event: ClusterEvent,
  atMs: number,
): void {
  const { pending } = state
  if (pending) {
    const limit = pendingLimit(tx, plan, state, atMs)
    if (limit === 'throttle') countThrottled(tx, plan, pending.places.throttle, pending.emission, atMs)
    return suppressPending(tx, key, state, limit)
  }
  if (!plan.resolves || !state.open) return tx.forget('own', key)
  if (state.over && (event.deselected || event.type !== 'DELETED')) return
  const why = event.deselected ? 'unwatched' : event.type === 'DELETED' ? 'deleted' : 'ended'
  const emission = emissionOf(event, state.open.sinks)
  keep(tx, plan, key, { ...state, over: { emission: toStored(emission), atMs, why } })
  emitIfResolved(tx, plan, key, atMs, emission)
}

/**
 * Emits the resolve notification once the notification of the incident itself was emitted; else returns the state. `live` is the event
 * that has just ended the incident.
 */
function emitIfResolved(
  tx: LimitTransaction,
  plan: RulePlan | undefined,
  key: string,
  toMs: number,
  live?: Emission,
): ForResolveState | undefined {
  const state = readState(tx, plan, key)
  if (!state?.over || !state.open || state.open.fromMs > toMs) return state
  const { over, open, rule } = state
  // The digest can be due without having been emitted: timers of shared states are evaluated separately.
  if (open.group !== undefined) flushIfDue(tx, open.group, toMs, plan?.group)
  const [since, at] = [state.sinceMs, over.atMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  tx.forget('own', key)
  tx.counters.count(plan?.name ?? rule, 'notices')
  const { title, order } = open
  const notice = { kind: 'resolved', since, at, why: over.why, ...(title && { title }) } as const
  tx.emit(rule, live ?? fromStored(over.emission), { notice, order })
  return undefined
}

/** Times after now come from a clock that was set back: they must not delay a notification. */
function readState(
  tx: LimitTransaction,
  plan: RulePlan | undefined,
  key: string,
): ForResolveState | undefined {
  const state = tx.read('own', key, 'for-resolve')
  if (!state) return undefined
  const { pending, throttledSinceMs } = state
  const times = {
    sinceMs: Math.min(state.sinceMs, tx.nowMs),
    ...(throttledSinceMs !== undefined && { throttledSinceMs: Math.min(throttledSinceMs, tx.nowMs) }),
  }
  if (!plan || !pending) return { ...state, ...times }
  return { ...state, ...times, pending: withNamedSinks(plan, pending.emission, pending.places) }
}

/**
 * `for` has passed: applies the further limits to the pending event, `live` if it did not wait. Returns whether it was emitted. If `throttle`
 * keeps it back, it waits for the end of the window; `after` has counted it then. A mute window or a silence that began after `atMs`, when it
 * was due, does not keep it back.
 */
function open(
  tx: LimitTransaction,
  plan: RulePlan,
  key: string,
  state: ForResolveState,
  atMs: number,
  live?: Emission,
): boolean {
  const { pending, throttledSinceMs, ...rest } = state
  if (!pending) return false
  if (plan.muted?.at(atMs)) {
    suppressPending(tx, key, state, 'mute')
    return false
  }
  tx.counters.count(plan.name, 'waiting', -1)
  const { places } = pending
  const stored = pending.emission
  const sinks = storedWithoutSilenced(tx, plan.name, stored, atMs)
  if (sinks.length === 0) {
    keep(tx, plan, key, { ...rest, waiting: 0 })
    return false
  }
  const acknowledged = escalatedAcknowledgement(tx, plan, key)
  if (acknowledged) {
    const detail = acknowledgedBy(acknowledged)
    tx.suppress(plan.name, 'acknowledged', { event: stored.header, sinks, detail })
    keep(tx, plan, key, { ...rest, waiting: 0 })
    return false
  }
  const emission = { ...(live ?? fromStored(withHeld(tx, plan, stored))), sinks }
  const keys = keysForSinks(plan.name, places, stored.sinks, sinks)
  const { after: _, ...afterAfter } = keys
  const further = throttledSinceMs === undefined ? keys : afterAfter
  // After a downtime, windows of the past would let all that wait pass together.
  const passedMs = throttledSinceMs === undefined ? atMs : tx.nowMs
  const result = applyLimitChain(tx, plan, further, emission, passedMs, { isState: true })
  if (result.kind === 'kept') {
    tx.counters.count(plan.name, 'waiting')
    const { suppressed: _, ...unsent } = stored
    const { suppressed, sinceMs } = result
    const waits = { ...unsent, sinks, ...(suppressed && { suppressed }) }
    keep(tx, plan, key, { ...state, throttledSinceMs: sinceMs, pending: { emission: waits, places: keys } })
    return false
  }
  if (result.kind === 'suppressed') {
    keep(tx, plan, key, { ...rest, waiting: 0 })
    return false
  }
  const { group } = result
  keep(tx, plan, key, {
    ...rest,
    waiting: 0,
    open: {
      sinks: emission.sinks,
      fromMs: result.kind === 'grouped' ? result.dueMs + AFTER_DIGEST_MS : passedMs,
      ...(result.kind === 'grouped' && { group: result.group.key }),
      ...(group?.order !== undefined && { order: group.order }),
      ...(plan.resolves && { title: titleOf(emission) }),
    },
  })
  return result.kind === 'emitted'
}

/** What waited has an id of its own: another rule can have sent its event to the same sinks meanwhile. */
function withHeld(tx: LimitTransaction, { name }: RulePlan, stored: StoredEmission): StoredEmission {
  const { header } = stored
  const heldAt = new Date(tx.nowMs).toISOString()
  return { ...stored, header: { ...header, id: `${header.id}/held/${name}`, heldAt } }
}

function suppressPending(
  tx: LimitTransaction,
  key: string,
  { rule, pending }: ForResolveState,
  limit: LimitName | Silence,
): void {
  tx.counters.count(rule, 'waiting', -1)
  const stored = pending?.emission
  if (stored) tx.suppress(rule, limit, { event: stored.header, sinks: stored.sinks })
  tx.forget('own', key)
}

/** When `for` and the window of `throttle` have passed, and the rule is neither muted nor silenced. */
function dueOf(
  tx: Pick<LimitTransaction, 'silences'>,
  plan: RulePlan,
  { sinceMs, throttledSinceMs, pending }: ForResolveState,
): number {
  const { forMs = 0, throttle } = plan
  const throttledMs = throttle && throttledSinceMs !== undefined ? throttledSinceMs + throttle.everyMs : 0
  const lastedMs = Math.max(sinceMs + forMs, throttledMs)
  if (pending) return quietUntil(tx, plan, pending.emission, lastedMs)
  return plan.muted?.endsAt(lastedMs) ?? lastedMs
}

/** What a pending state waits for. */
function pendingLimit(
  tx: LimitTransaction,
  { name, forMs, muted, throttle }: RulePlan,
  { sinceMs, throttledSinceMs, pending }: ForResolveState,
  atMs: number,
): LimitName | Silence {
  if (forMs !== undefined && atMs < sinceMs + forMs) return 'for'
  if (throttle && throttledSinceMs !== undefined) return 'throttle'
  const lastedMs = sinceMs + (forMs ?? 0)
  // A silence that has ended delayed it until now.
  const stored = pending?.emission
  const silence = stored && (silenceOf(tx, name, stored, atMs) ?? silenceOf(tx, name, stored, lastedMs))
  if (silence) return silence
  if (muted) return 'mute'
  return forMs !== undefined ? 'for' : 'silence'
}

/** The limit that suppresses a match: another event of the object is pending or emitted, or the state ended immediately. */
function suppressingLimit(
  tx: LimitTransaction,
  plan: RulePlan,
  state: ForResolveState | undefined,
  atMs: number,
): LimitName | Silence {
  if (state?.pending) return pendingLimit(tx, plan, state, atMs)
  if (state) return plan.resolves ? 'resolve' : 'for'
  return plan.forMs === undefined ? 'resolve' : 'for'
}

function keep(tx: LimitTransaction, plan: RulePlan, key: string, state: ForResolveState): void {
  const dueMs = state.pending ? dueOf(tx, plan, state) : state.over && state.open?.fromMs
  const useful = dueMs === undefined ? KEEP_OPEN_MS : Math.max(dueMs - tx.nowMs, 0) + KEEP_MS
  const isSilenced =
    tx.silences !== undefined && state.pending !== undefined && Number(dueMs) > dueOf(UNSILENCED, plan, state)
  tx.write('own', key, state, useful, dueMs && timerMs(tx, dueMs, isSilenced))
}
