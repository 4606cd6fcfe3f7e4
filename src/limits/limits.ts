import type { ClusterEvent } from '../event.ts'
import type { Limited, LimitedMatch, LimitKeys, Limits } from '../limit.ts'
import { reachesCount } from './count.ts'
import { expireFollow, follow, followDueMs } from './follow.ts'
import { settleGroup } from './group.ts'
import { onward } from './onward.ts'
import { placesOf } from './places.ts'
import { expireQuiet, renewQuiet } from './quiet.ts'
import { followsStates, type LimitedRule, planOf, type RulePlan } from './rule-plan.ts'
import { isSampled } from './sample.ts'
import type { State } from './states.ts'
import { timeOf, toldOf } from './told.ts'
import { Work } from './work.ts'

export type { LimitedRule } from './rule-plan.ts'

/** The limits of a configuration's rules. */
export function createLimits(rules: readonly LimitedRule[]): Limits {
  return joinLimits(rules.map(limitPlan))
}

/** Of one rule, for `joinLimits`; undefined when it has no limits. */
export function limitPlan(rule: LimitedRule): RulePlan | undefined {
  return limitsOf(rule) === undefined ? undefined : planOf(rule)
}

/** The limits of rules that were planned one by one. */
export function joinLimits(all: readonly (RulePlan | undefined)[]): Limits {
  const plans: Plans = new Map(all.flatMap((plan) => (plan ? [[plan.name, plan]] : [])))
  return {
    keysOf: (events) => keysOf(plans, events),
    apply(events, states, nowMs) {
      const work = new Work(states, nowMs)
      const told = events.map(({ event, matches }) => {
        const atMs = timeOf(event, nowMs)
        const tellings = matches.map((match) => decide(work, plans.get(match.rule), match, event, atMs))
        return tellings.some((it) => it)
      })
      return work.outcome(told)
    },
    expire(due, states, nowMs) {
      const work = new Work(states, nowMs)
      const timers = timersOf(work, due, plans)
      for (const timer of timers.sort(byTurn)) settle(work, timer, plans)
      return work.outcome([])
    },
  }
}

/** Has a rule limits, and do they follow the state of objects? */
export function limitsOf(rule: LimitedRule): 'events' | 'states' | undefined {
  const { mute, sample, count, after, throttle, group, resolve } = rule
  if (followsStates(rule)) return 'states'
  const some = [mute, sample, count, after, throttle, group].some((it) => it !== undefined)
  return some || typeof resolve === 'object' ? 'events' : undefined
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
      if (plan.follows || (plan.count && isMatch)) own.add(`${event.uid}:${plan.name}`)
      if (!isMatch) continue
      const { after, throttle, group, quiet } = placesOf(plan, event, match)
      for (const key of [after, throttle, group?.key, quiet]) if (key !== undefined) shared.add(key)
    }
  return { shared: [...shared], own: [...own] }
}

/** Gives whether the event was told at once. */
function decide(
  work: Work,
  plan: RulePlan | undefined,
  match: LimitedMatch,
  event: ClusterEvent,
  atMs: number,
): boolean {
  if (plan?.follows) return follow(work, plan, match, event, atMs)
  // Rules above have sent it to all that this one names.
  if (!match.entered || match.sinks.length === 0) return false
  const { rule: name } = match
  const { book } = work
  const told = toldOf(event, match.sinks)
  book.count(name, 'matched')
  if (!plan) {
    book.count(name, 'sent')
    work.tell(name, told)
    return true
  }
  const places = placesOf(plan, event, match)
  if (plan.quiet && places.quiet !== undefined) renewQuiet(work, plan.quiet, places.quiet, told, atMs)
  const { muted, sample, count } = plan
  if (muted?.at(atMs)) book.suppress(name, 'mute')
  else if (sample !== undefined && !isSampled(event.id, sample)) book.suppress(name, 'sample')
  else if (count && !reachesCount(work, { ...plan, count }, event)) book.suppress(name, 'count')
  else {
    const fate = onward(work, plan, places, told, atMs)
    return 'isTold' in fate && fate.isTold
  }
  return false
}

interface Timer {
  scope: 'shared' | 'own'
  key: string
  limit: State['limit']
  dueMs: number
}

/** Shared states go first: their digests tell what own ones tell to be over. Of one moment the key decides, wherever they are kept. */
function byTurn(a: Timer, b: Timer): number {
  if (a.dueMs !== b.dueMs) return a.dueMs - b.dueMs
  if (a.scope !== b.scope) return a.scope === 'shared' ? -1 : 1
  return a.key < b.key ? -1 : Number(a.key > b.key)
}

/** What is asked for. */
function timersOf(work: Work, due: LimitKeys, plans: Plans): Timer[] {
  const scoped = [
    ...due.shared.map((key) => ['shared', key] as const),
    ...due.own.map((key) => ['own', key] as const),
  ]
  return scoped.flatMap(([scope, key]) => {
    const state = work.any(scope, key)
    return state ? [{ scope, key, limit: state.limit, dueMs: dueMsOf(state, plans.get(state.rule)) }] : []
  })
}

function dueMsOf(state: State, plan: RulePlan | undefined): number {
  if (state.limit === 'follow') return followDueMs(plan, state)
  if (state.limit === 'quiet') return state.lastMs + (plan?.quiet?.afterMs ?? 0)
  return state.limit === 'group' ? state.dueMs : 0
}

function settle(work: Work, { scope, key, limit }: Timer, plans: Plans): void {
  const state = work.any(scope, key)
  const plan = state && plans.get(state.rule)
  if (limit === 'follow') expireFollow(work, plan, key)
  if (limit === 'group') settleGroup(work, key, work.nowMs, plan?.group)
  if (limit === 'quiet') expireQuiet(work, key, plan?.quiet)
}
