import type { Redis } from 'ioredis'
import type { Decision, PendingLimits, Routing, Source } from '../change.ts'
import type { Delivery } from '../delivery.ts'
import type { LimitKeys, LimitOutcome, RuleCounts } from '../limit.ts'
import type { Keys } from './keys.ts'
import { ruleOfOwn, ruleOfShared, type StoredState } from './limit-state.ts'
import { gone, type OwnLimits, ReadStates } from './limit-states.ts'
import type { Plan } from './overlay.ts'
import { type PackedLanes, packLanes } from './pack-lanes.ts'
import { joinRules } from './rule-counts.ts'

/** A decision with what limits made of it: all that one transaction writes. */
export interface Decided {
  unmatched: number
  dropped: number
  matched: number
  limited: number
  rules: ReadonlyMap<string, RuleCounts>
  limits: LimitOutcome | undefined
  lanes: PackedLanes
  trace: Decision['trace']
  /** Timers that are asked for again later. */
  postponed?: Postponed
  /** As of when. */
  nowMs: number
  /** Where shared states were read under WATCH: who asked to commit alone. */
  watched?: { turnOf: string | null } | undefined
}

/** Keys of states and new times. */
export interface Postponed {
  shared: readonly (readonly [string, number])[]
  own: readonly (readonly [string, number])[]
}

export interface Expired {
  outcome: LimitOutcome
  postponed: Postponed
  nowMs: number
  watched: Decided['watched']
}

/** States whose rule no configuration has are decided without it so long after their time: a process with another one may still know it. */
export const GONE_AFTER_MS = 300_000

/** From an event to its commit it takes no longer, as a rule. */
const LATE_MS = 1_000

/** When a timer that was left as it is comes again. */
const AGAIN_MS = 30_000

export interface DecideParts {
  redis: Redis
  keys: Keys
  routing: Routing
  /** Whose own states may be read. */
  source: OwnLimits | undefined
  clock: { now(): number }
}

/** What became of a commit's transitions; reads the states of limits, under WATCH. */
export async function decideCommit(parts: DecideParts, source: Source, plan: Plan): Promise<Decided> {
  const { routing, clock } = parts
  if (plan.due) {
    const { outcome, postponed, nowMs, watched } = await expire(parts, { shared: [], own: plan.due })
    return { ...decided(routing, NOTHING, outcome, nowMs), postponed, watched }
  }
  if (plan.gone)
    return decided(routing, NOTHING, await forget(parts, { shared: [], own: plan.gone }), clock.now())
  const { transitions, left } = plan
  const decision = routing.decide(source, left ? [...transitions, ...left] : transitions)
  const { limits } = decision
  if (!limits) return decided(routing, decision, undefined, clock.now())
  const states = statesOf(parts)
  const outcome = await states.decide(limits.keys, () => limits.apply(states, states.nowMs))
  return { ...decided(routing, decision, outcome, states.nowMs), watched: watchedBy(states) }
}

/**
 * What became of states whose time has come; those of a rule that is unknown here are left to who knows it, for a while. Then
 * limits decide them without it: what can be told by itself is, and what they leave as it is counts as gone.
 */
export async function expire(parts: DecideParts, due: LimitKeys): Promise<Expired> {
  const { routing } = parts
  const { expire, rules } = routing
  const isKnown = (rule: string) => expire !== undefined && rules?.has(rule) !== false
  const known = {
    shared: due.shared.filter((key) => isKnown(ruleOfShared(key))),
    own: due.own.filter((key) => isKnown(ruleOfOwn(key))),
  }
  const states = statesOf(parts)
  const outcome = await states.decide(due, (read) => {
    const { nowMs } = read
    const over = {
      shared: due.shared.filter((key) => isOver(read.storedShared(key), known.shared.includes(key), nowMs)),
      own: due.own.filter((key) => isOver(read.storedOwn(key), known.own.includes(key), nowMs)),
    }
    const ready = {
      shared: [...new Set([...known.shared, ...over.shared])],
      own: [...new Set([...known.own, ...over.own])],
    }
    const decided = expire?.(ready, read, nowMs)
    const left = {
      shared: over.shared.filter((key) => !decided?.writes.shared.has(key)),
      own: over.own.filter((key) => !decided?.writes.own.has(key)),
    }
    return together(decided, gone(left, read))
  })
  const { writes } = outcome
  const { nowMs } = states
  const later = (key: string, stored: StoredState | undefined): [string, number] => [
    key,
    Math.max(stored?.dueMs ?? 0, nowMs + AGAIN_MS),
  ]
  return {
    outcome,
    nowMs,
    watched: watchedBy(states),
    // A timer whose state is still as it was must not be asked for again and again.
    postponed: {
      shared: known.shared
        .filter((key) => !writes.shared.has(key))
        .map((key) => later(key, states.storedShared(key))),
      own: due.own.filter((key) => !writes.own.has(key)).map((key) => later(key, states.storedOwn(key))),
    },
  }
}

/** A state that is not there any more leaves its timer behind; one of a rule that nobody knew for long is given up. */
function isOver(stored: StoredState | undefined, known: boolean, nowMs: number): boolean {
  if (!stored) return true
  return !known && (stored.dueMs ?? 0) + GONE_AFTER_MS <= nowMs
}

async function forget(parts: DecideParts, keys: LimitKeys): Promise<LimitOutcome> {
  return statesOf(parts).decide(keys, (states) => gone(keys, states))
}

function watchedBy({ watches, turnOf }: ReadStates): Decided['watched'] {
  return watches ? { turnOf } : undefined
}

function statesOf({ redis, keys, source, clock }: DecideParts): ReadStates {
  return new ReadStates(redis, keys, source, clock)
}

function together(a: LimitOutcome | undefined, b: LimitOutcome): LimitOutcome {
  if (!a) return b
  return {
    deliveries: a.deliveries,
    told: a.told,
    ...(a.crowded && { crowded: a.crowded }),
    rules: joinRules(a.rules, b.rules),
    writes: {
      shared: new Map([...b.writes.shared, ...a.writes.shared]),
      own: new Map([...b.writes.own, ...a.writes.own]),
    },
  }
}

export const NOTHING: Decision = { deliveries: [], unmatched: 0, dropped: 0, matched: 0 }

export function decided(
  routing: Routing,
  decision: Decision,
  limits: LimitOutcome | undefined,
  nowMs: number,
): Decided {
  const { unmatched, dropped, matched, trace } = decision
  const open = decision.limits?.counted.flatMap((counted, i) => (counted ? [] : [limits?.told[i] ?? false]))
  const told = open?.filter(Boolean).length ?? 0
  return {
    unmatched,
    dropped,
    matched: matched + told,
    limited: (open?.length ?? 0) - told,
    rules: joinRules(decision.rules, limits?.rules),
    limits,
    lanes: packLanes(inOrder(decision, limits, nowMs), routing.laneOf, routing.keepsUp),
    trace,
    nowMs,
  }
}

/** All deliveries in the order of their events: two of one object must not overtake each other. */
function inOrder(
  { deliveries, limits }: Decision,
  outcome: LimitOutcome | undefined,
  nowMs: number,
): readonly Delivery[] {
  if (!outcome || outcome.deliveries.length === 0) return deliveries
  const released = outcome.deliveries.map((delivery) => release(delivery, nowMs))
  return deliveries.length === 0 ? released : merge(deliveries, released, limits)
}

/** What limits kept for long counts as waiting for its sink only from now on. */
function release(delivery: Delivery, nowMs: number): Delivery {
  const isLate = Date.parse(delivery.event.time) + LATE_MS < nowMs
  return isLate ? { ...delivery, releasedAt: new Date(nowMs).toISOString() } : delivery
}

function merge(
  deliveries: readonly Delivery[],
  limited: readonly Delivery[],
  limits: PendingLimits | undefined,
): Delivery[] {
  const all: Delivery[] = []
  let taken = 0
  for (const delivery of limited) {
    // A digest's event may be one of an earlier commit: it comes with those around it.
    const place = limits?.places.get(eventIdOf(delivery)) ?? taken
    for (; taken < place; taken++) all.push(deliveries[taken] as Delivery)
    all.push(delivery)
  }
  return [...all, ...deliveries.slice(taken)]
}

/** A notice's id has its kind and rule behind that of its event. */
function eventIdOf({ event, notice, rule }: Delivery): string {
  const suffix = notice && `/${notice.kind}/${rule}`
  return suffix && event.id.endsWith(suffix) ? event.id.slice(0, -suffix.length) : event.id
}
