import type { ClusterEvent } from '../../model/event.ts'
import type { Limited, LimitedMatch, LimitKeys, LimitOutcome, Limits } from '../../model/limit.ts'
import { debounce, debounceDueMs, endDebounced, flushDebounced, replaceFormer } from './debounce.ts'
import { emissionOf, eventTimeMs } from './emission.ts'
import { applyForResolve, expireForResolve, forResolveDueMs } from './for-resolve.ts'
import { flushIfDue } from './group.ts'
import { formerDebounceKeyOf, stateKeysOf } from './group-key.ts'
import { applyLimitChain } from './limit-chain.ts'
import { DAY_MS, LimitTransaction, type Scope } from './limit-transaction.ts'
import { expireResolveAfter, renewResolveAfter } from './resolve-after.ts'
import {
  formerDebounceOf,
  isSampled,
  type LimitedRule,
  planOf,
  type RulePlan,
  tracksState,
} from './rule-plan.ts'
import { withoutSilenced } from './silenced.ts'
import type { State } from './states.ts'

export function createLimits(rules: readonly LimitedRule[]): Limits {
  return joinLimits(rules.map((rule) => limitPlan(rule)))
}

/**
 * Returns the plan of one rule for `joinLimits`; undefined if it has no limits. `before`: the plan of the rule in the configuration that is
 * replaced. If events can still wait for its `debounce`, the rule has a plan also without limits, so that newer events come after them.
 */
export function limitPlan(rule: LimitedRule, before?: RulePlan): RulePlan | undefined {
  const formerDebounce = formerDebounceOf(rule, before)
  if (limitsOf(rule) === undefined && !formerDebounce) return undefined
  return { ...planOf(rule), ...(formerDebounce && { formerDebounce }) }
}

/** Returns whether the limits of a rule apply to single events or track the state of objects; undefined if it has none. */
export function limitsOf(rule: LimitedRule): 'events' | 'states' | undefined {
  const { mute, sample, count, debounce, after, throttle, group, resolve } = rule
  if (tracksState(rule)) return 'states'
  const some = [mute, sample, count, debounce, after, throttle, group].some((it) => it !== undefined)
  return some || typeof resolve === 'object' ? 'events' : undefined
}

/** Returns the limits of a configuration from the plans of its rules. */
export function joinLimits(plans: readonly (RulePlan | undefined)[]): Limits {
  const known = plans.filter((plan) => plan !== undefined)
  const byConditions = Map.groupBy(known, ({ conditions }) => conditions)
  const namesOf = new Map(
    [...byConditions].map(([conditions, some]) => [conditions, some.map(({ name }) => name)]),
  )
  const byRule: Plans = new Map(
    known.map((plan) => {
      const sameConditions = plan.conditions && namesOf.get(plan.conditions)
      return [plan.name, sameConditions ? { ...plan, sameConditions } : plan]
    }),
  )
  return {
    keysOf: (events) => keysOf(byRule, events),
    apply: (events, states, nowMs, silences) =>
      apply(byRule, events, new LimitTransaction(states, nowMs, silences)),
    expire: (due, states, nowMs, silences) =>
      expire(byRule, due, new LimitTransaction(states, nowMs, silences)),
  }
}

type Plans = ReadonlyMap<string, RulePlan>

function keysOf(plans: Plans, events: readonly Limited[]): LimitKeys {
  const shared = new Set<string>()
  const own = new Set<string>()
  for (const { event, matches } of events)
    for (const match of matches) {
      const plan = plans.get(match.rule)
      if (!plan) continue
      const isMatch = match.entered && match.sinks.length > 0
      if (plan.tracksState || (plan.count && isMatch)) own.add(`${event.uid}:${plan.name}`)
      if (!match.entered) continue
      const keys = stateKeysOf(plan, event, match)
      // An event with `debounce` goes through the further limits later.
      const first = keys.debounce === undefined && isMatch ? [keys.after, keys.throttle, keys.group?.key] : []
      const resolveAfter = isMatch ? keys.resolveAfter : undefined
      const former = formerDebounceKeyOf(plan, event)
      for (const key of [keys.debounce, former, ...first, resolveAfter])
        if (key !== undefined) shared.add(key)
    }
  return { shared: [...shared], own: [...own] }
}

function apply(plans: Plans, events: readonly Limited[], tx: LimitTransaction): LimitOutcome {
  const emitted = events.map(({ event, matches }) => {
    const atMs = eventTimeMs(event, tx.nowMs)
    return matches.map((match) => applyRule(tx, plans.get(match.rule), match, event, atMs)).includes(true)
  })
  return tx.outcome(emitted)
}

/** Applies the limits of one rule; returns whether the event was emitted immediately. */
function applyRule(
  tx: LimitTransaction,
  plan: RulePlan | undefined,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  const former = plan && match.entered ? formerDebounceKeyOf(plan, event) : undefined
  if (plan?.tracksState) {
    if (former !== undefined) flushDebounced(tx, plan, former, tx.nowMs)
    return applyForResolve(tx, plan, match, event, atMs)
  }
  // Earlier rules have taken all sinks of this one.
  if (match.entered && match.sinks.length === 0 && plan) {
    const { debounce: key } = stateKeysOf(plan, event, match)
    if (key !== undefined) endDebounced(tx, plan, key, atMs)
    if (former !== undefined) replaceFormer(tx, plan, former, emissionOf(event, match.sinks))
  }
  if (!match.entered || match.sinks.length === 0) return false
  const { rule: name } = match
  tx.counters.count(name, 'matched')
  if (!plan) return emitUnlimited(tx, match, event, atMs)
  const { debounce: debounceKey, resolveAfter: incident } = stateKeysOf(plan, event, match)
  const { muted, sample, count, resolveAfter } = plan
  if (resolveAfter && incident !== undefined)
    renewResolveAfter(tx, resolveAfter, incident, { emission: emissionOf(event, match.sinks), event, atMs })
  const waitsAt =
    plan.debounce && debounceKey !== undefined && tx.hasCapacity(name, debounceKey) ? debounceKey : undefined
  if (waitsAt === undefined && muted?.at(atMs)) {
    tx.suppress(name, 'mute', { event, sinks: match.sinks, untilMs: muted.endsAt(atMs) })
    return false
  }
  // What waits for `debounce` is tested when it is due.
  const left =
    waitsAt === undefined
      ? withoutSilenced(tx, { rule: name, sinks: match.sinks, event, tested: event }, atMs)
      : match.sinks
  if (left.length === 0) return false
  const suppressed = { event, sinks: left }
  const emission = emissionOf(event, left)
  const keys = stateKeysOf(plan, event, left === match.sinks ? match : { ...match, sinks: left })
  if (sample !== undefined && !isSampled(event.id, sample)) tx.suppress(name, 'sample', suppressed)
  else if (count && !reachesCount(tx, { ...plan, count }, event, incident, atMs))
    tx.suppress(name, 'count', suppressed)
  else {
    const newest = former === undefined ? emission : replaceFormer(tx, plan, former, emission)
    if (waitsAt === undefined) {
      return applyLimitChain(tx, plan, keys, newest, atMs).kind === 'emitted'
    }
    debounce(tx, plan, waitsAt, { emission: newest, places: keys, atMs })
  }
  return false
}

/** A rule that has no limits any more. */
function emitUnlimited(
  tx: LimitTransaction,
  { rule, sinks }: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  const left = withoutSilenced(tx, { rule, sinks, event, tested: event }, atMs)
  if (left.length === 0) return false
  tx.counters.count(rule, 'sent')
  tx.emit(rule, emissionOf(event, left))
  return true
}

/** Kubernetes deletes Events earlier; each occurrence renews the state. */
const KEEP_EVENT_MS = 7 * DAY_MS

/**
 * Whether an Event's own count reached one of the configured counts since it was last seen. Other objects have no count. With `resolve:
 * {after}`, an Event that recurs after its incident has ended counts from there: it begins a new incident.
 */
function reachesCount(
  tx: LimitTransaction,
  { name, count, resolveAfter }: RulePlan & { count: NonNullable<RulePlan['count']> },
  event: ClusterEvent,
  incident: string | undefined,
  atMs: number,
): boolean {
  if (!event.event) return true
  const key = `${event.uid}:${name}`
  const state = tx.read('own', key, 'count')
  if (event.type === 'DELETED') {
    tx.forget('own', key)
    return false
  }
  const seen = event.event.count
  // A smaller count started again from zero.
  const before = !state || seen < state.seen ? 0 : state.seen
  const lastMs = Math.min(state?.atMs ?? atMs, tx.nowMs)
  let base = before === 0 ? 0 : (state?.base ?? 0)
  const isQuiet = resolveAfter !== undefined && lastMs + resolveAfter.afterMs <= atMs
  const isOpen = incident !== undefined && tx.read('shared', incident, 'resolve-after') !== undefined
  // What has not reached a count yet has had no incident, however rare it is.
  if (isQuiet && !isOpen && isReached(count, 0, before - base)) base = before
  const quiet = resolveAfter && { atMs: Math.max(atMs, lastMs), ...(base > 0 && { base }) }
  tx.write('own', key, { v: 1, limit: 'count', rule: name, waiting: 0, seen, ...quiet }, KEEP_EVENT_MS)
  return isReached(count, before - base, seen - base)
}

function isReached({ at, every }: NonNullable<RulePlan['count']>, before: number, seen: number): boolean {
  if (at.some((count) => before < count && count <= seen)) return true
  return every !== undefined && Math.floor(before / every) < Math.floor(seen / every)
}

function expire(plans: Plans, due: LimitKeys, tx: LimitTransaction): LimitOutcome {
  const timers = [
    ...due.shared.flatMap((key) => timerOf(tx, plans, 'shared', key)),
    ...due.own.flatMap((key) => timerOf(tx, plans, 'own', key)),
  ]
  for (const timer of timers.sort(byDueTime)) expireState(tx, timer, plans)
  return tx.outcome([])
}

interface Timer {
  scope: Scope
  key: string
  limit: State['limit']
  dueMs: number
  /** Since when the state lasts; 0 for other limits. */
  sinceMs: number
}

function timerOf(tx: LimitTransaction, plans: Plans, scope: Scope, key: string): Timer[] {
  const state = tx.readAny(scope, key)
  if (!state) return []
  const sinceMs = state.limit === 'for-resolve' ? state.sinceMs : 0
  return [{ scope, key, limit: state.limit, dueMs: dueMsOf(tx, state, plans.get(state.rule)), sinceMs }]
}

function dueMsOf(tx: LimitTransaction, state: State, plan: RulePlan | undefined): number {
  if (state.limit === 'for-resolve') return forResolveDueMs(tx, plan, state)
  if (state.limit === 'resolve-after') return state.lastMs + (plan?.resolveAfter?.afterMs ?? 0)
  if (state.limit === 'debounce') return debounceDueMs(tx, plan, state)
  return state.limit === 'group' ? state.dueMs : 0
}

/**
 * Orders timers by due time. Shared states come first: a digest comes before the resolve notifications of its incidents. Then comes the
 * oldest state. The key makes the order independent of storage.
 */
function byDueTime(a: Timer, b: Timer): number {
  if (a.dueMs !== b.dueMs) return a.dueMs - b.dueMs
  if (a.scope !== b.scope) return a.scope === 'shared' ? -1 : 1
  if (a.sinceMs !== b.sinceMs) return a.sinceMs - b.sinceMs
  return a.key < b.key ? -1 : Number(a.key > b.key)
}

function expireState(tx: LimitTransaction, { scope, key, limit }: Timer, plans: Plans): void {
  const state = tx.readAny(scope, key)
  const plan = state && plans.get(state.rule)
  if (limit === 'for-resolve') expireForResolve(tx, plan, key)
  if (limit === 'debounce') flushDebounced(tx, plan, key, tx.nowMs)
  if (limit === 'group') flushIfDue(tx, key, tx.nowMs, plan?.group)
  if (limit === 'resolve-after') expireResolveAfter(tx, key, plan?.resolveAfter)
}
