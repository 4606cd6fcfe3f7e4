import type { Redis } from 'ioredis'
import type { Evaluation, Evaluator, PendingLimits, Source } from '../../model/change.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { LimitKeys, LimitOutcome, RuleCounts, Suppression } from '../../model/limit.ts'
import { type PackedLanes, packLanes } from '../entry.ts'
import type { Keys } from '../keys.ts'
import {
  gone,
  type OwnLimits,
  ReadStates,
  ruleOfOwn,
  ruleOfShared,
  type StoredState,
} from '../limits/limit-states.ts'
import { joinRules } from '../limits/rule-counts.ts'
import type { Plan } from './commit-plan.ts'

/** The evaluation with the result of its limits: everything that one transaction writes. */
export interface Evaluated {
  unmatched: number
  dropped: number
  matched: number
  limited: number
  rules: ReadonlyMap<string, RuleCounts>
  limits: LimitOutcome | undefined
  /** By limits and silences; for the history. */
  suppressed: readonly Suppression[]
  /** The ids of silences that could not test an event, once for each event of a rule. */
  untested: readonly string[]
  lanes: PackedLanes
  trace: Evaluation['trace']
  /** Timers to evaluate again later. */
  postponed?: Postponed
  /** Time of the evaluation. */
  nowMs: number
  /** If shared states were read under WATCH: the commit that asked to run alone. */
  watched?: { turnOf: string | null } | undefined
}

/** Keys of states and their new due times. */
export interface Postponed {
  shared: readonly (readonly [string, number])[]
  own: readonly (readonly [string, number])[]
}

interface Expired {
  outcome: LimitOutcome
  postponed: Postponed
  nowMs: number
  watched: Evaluated['watched']
}

/** States of a rule that is not configured are evaluated without it after this time: another process may still have the rule. */
export const GONE_AFTER_MS = 300_000

/** Usual upper bound of the time from an event to its commit. */
const LATE_MS = 1_000

/** When a state that was due, and did not change, is evaluated again. */
const AGAIN_MS = 30_000

interface EvaluateParts {
  redis: Redis
  keys: Keys
  evaluator: Evaluator
  /** The source whose own states are read. */
  source: OwnLimits | undefined
  clock: { now(): number }
  /** Whether a source has changes that nobody has read. */
  isUnread?: ((source: string) => boolean) | undefined
}

/** Evaluates a commit's transitions; reads the limit states, under WATCH. */
export async function evaluateCommit(parts: EvaluateParts, source: Source, plan: Plan): Promise<Evaluated> {
  const { evaluator, clock } = parts
  if (plan.due) {
    const { outcome, postponed, nowMs, watched } = await expire(parts, { shared: [], own: plan.due })
    return { ...evaluatedWith(evaluator, NOTHING, outcome, nowMs), postponed, watched }
  }
  if (plan.gone)
    return evaluatedWith(evaluator, NOTHING, await forget(parts, { shared: [], own: plan.gone }), clock.now())
  const { transitions, deselected } = plan
  const evaluation = evaluator.evaluate(source, deselected ? [...transitions, ...deselected] : transitions)
  const { limits } = evaluation
  if (!limits) return evaluatedWith(evaluator, evaluation, undefined, clock.now())
  const states = statesOf(parts, source.key)
  const outcome = await states.evaluate(limits.keys, () => limits.apply(states, states.nowMs))
  return { ...evaluatedWith(evaluator, evaluation, outcome, states.nowMs), watched: watchedBy(states) }
}

/**
 * Evaluates due states. Those of a rule that this process does not have are left to other processes for a while. Then
 * limits evaluate them without the rule: complete notifications are emitted, and the rest counts as gone.
 */
export async function expire(parts: EvaluateParts, due: LimitKeys): Promise<Expired> {
  const { evaluator } = parts
  const { expire, rules } = evaluator
  const isKnown = (rule: string) => expire !== undefined && rules?.has(rule) !== false
  const known = {
    shared: due.shared.filter((key) => isKnown(ruleOfShared(key))),
    own: due.own.filter((key) => isKnown(ruleOfOwn(key))),
  }
  const states = statesOf(parts)
  const outcome = await states.evaluate(due, (read) => {
    const { nowMs } = read
    const over = {
      shared: due.shared.filter((key) => isOver(read.storedShared(key), known.shared.includes(key), nowMs)),
      own: due.own.filter((key) => isOver(read.storedOwn(key), known.own.includes(key), nowMs)),
    }
    const ready = {
      shared: [...new Set([...known.shared, ...over.shared])],
      own: [...new Set([...known.own, ...over.own])],
    }
    const evaluated = expire?.(ready, read, nowMs)
    const left = {
      shared: over.shared.filter((key) => !evaluated?.writes.shared.has(key)),
      own: over.own.filter((key) => !evaluated?.writes.own.has(key)),
    }
    return merged(evaluated, gone(left, read))
  })
  const { writes } = outcome
  const { nowMs } = states
  const later = (key: string, stored: StoredState | undefined): [string, number] => {
    const dueMs = stored?.dueMs ?? 0
    return [key, dueMs > nowMs ? dueMs : nowMs + AGAIN_MS]
  }
  return {
    outcome,
    nowMs,
    watched: watchedBy(states),
    // Timers that were due, but changed no state, get a later time: otherwise every commit would evaluate them again. The timer of a rule that
    // this process does not have can be due long before its state.
    postponed: {
      shared: due.shared
        .filter((key) => !writes.shared.has(key))
        .map((key) => later(key, states.storedShared(key))),
      own: due.own.filter((key) => !writes.own.has(key)).map((key) => later(key, states.storedOwn(key))),
    },
  }
}

/** Deletes the timer of a state that no longer exists, and states of rules that no process has had for a long time. */
function isOver(stored: StoredState | undefined, known: boolean, nowMs: number): boolean {
  if (!stored) return true
  return !known && (stored.dueMs ?? 0) + GONE_AFTER_MS <= nowMs
}

async function forget(parts: EvaluateParts, keys: LimitKeys): Promise<LimitOutcome> {
  return statesOf(parts).evaluate(keys, (states) => gone(keys, states))
}

function watchedBy({ watches, turnOf }: ReadStates): Evaluated['watched'] {
  return watches ? { turnOf } : undefined
}

function statesOf({ redis, keys, source, clock, isUnread }: EvaluateParts, evaluated?: string): ReadStates {
  return new ReadStates(redis, keys, source, clock, {
    isUnread,
    ...(evaluated !== undefined && { evaluated }),
  })
}

function merged(a: LimitOutcome | undefined, b: LimitOutcome): LimitOutcome {
  if (!a) return b
  return {
    deliveries: a.deliveries,
    emitted: a.emitted,
    suppressed: [...a.suppressed, ...b.suppressed],
    untested: [...(a.untested ?? []), ...(b.untested ?? [])],
    ...(a.atCapacity && { atCapacity: a.atCapacity }),
    rules: joinRules(a.rules, b.rules),
    writes: {
      shared: new Map([...b.writes.shared, ...a.writes.shared]),
      own: new Map([...b.writes.own, ...a.writes.own]),
    },
  }
}

export const NOTHING: Evaluation = { deliveries: [], unmatched: 0, dropped: 0, matched: 0 }

export function evaluatedWith(
  evaluator: Evaluator,
  evaluation: Evaluation,
  limits: LimitOutcome | undefined,
  nowMs: number,
): Evaluated {
  const { unmatched, dropped, matched, trace } = evaluation
  const open = evaluation.limits?.counted.flatMap((counted, i) =>
    counted ? [] : [limits?.emitted[i] ?? false],
  )
  const emitted = open?.filter(Boolean).length ?? 0
  return {
    unmatched,
    dropped,
    matched: matched + emitted,
    limited: (open?.length ?? 0) - emitted + (evaluation.limited ?? 0),
    rules: joinRules(evaluation.rules, limits?.rules),
    limits,
    suppressed: [...(evaluation.suppressed ?? []), ...(limits?.suppressed ?? [])],
    untested: [...(evaluation.untested ?? []), ...(limits?.untested ?? [])],
    lanes: packLanes(inOrder(evaluation, limits, nowMs), evaluator.laneOf, evaluator.keepsUp),
    trace,
    nowMs,
  }
}

/** Returns all deliveries in the order of their events: two of one object must not overtake each other. */
function inOrder(
  { deliveries, limits }: Evaluation,
  outcome: LimitOutcome | undefined,
  nowMs: number,
): readonly Delivery[] {
  if (!outcome || outcome.deliveries.length === 0) return deliveries
  const released = outcome.deliveries.map((delivery) => release(delivery, nowMs))
  return deliveries.length === 0 ? released : merge(deliveries, released, limits)
}

/** A delivery that a limit delayed begins to wait for its sink now. */
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
    // A digest's event can be of an earlier commit: it is placed with the deliveries around it.
    const place = limits?.places.get(eventIdOf(delivery)) ?? taken
    for (; taken < place; taken++) all.push(deliveries[taken] as Delivery)
    all.push(delivery)
  }
  return [...all, ...deliveries.slice(taken)]
}

/** The id of a digest or resolve notification: the event's id, followed by kind and rule. */
function eventIdOf({ event, notice, rule }: Delivery): string {
  const suffix = notice && `/${notice.kind}/${rule}`
  return suffix && event.id.endsWith(suffix) ? event.id.slice(0, -suffix.length) : event.id
}
