import type { Delivery } from './delivery.ts'
import type { ClusterEvent } from './event.ts'

/** What a rule with limits makes of one event: one that it matches, or one of an object whose state it follows. */
export interface LimitedMatch {
  rule: string
  /** Those that no rule above has taken; [] where it does not hold. */
  sinks: readonly string[]
  /** All that the rule asks of the object as it is now. False only of rules that follow an object's state. */
  holds: boolean
  /** It holds, and what the rule asks of the change (`changed`, `from`, `condition`) is so, too. */
  entered: boolean
}

/** An event with the rules with limits that have something to say of it, from top to bottom. */
export interface Limited {
  event: ClusterEvent
  matches: readonly LimitedMatch[]
}

/** Names of states that a decision depends on. */
export interface LimitKeys {
  /** `<rule>:<hash of what it counts by>`: any source may change them. */
  shared: readonly string[]
  /** `<uid>:<rule>`: of one source's own objects. */
  own: readonly string[]
}

/** What is known from before: JSON by key. */
export interface LimitStates {
  shared(key: string): string | undefined
  own(key: string): string | undefined
  /** How many shared states a rule has; without it nothing bounds them. */
  size?(rule: string): number
}

/** So many shared states a rule may have; what it counts by is written by strangers. */
export const MOST_STATES = 10_000

/** A state as it will be; null forgets it, and its timer. */
export interface LimitState {
  /** JSON; holds deliveries that wait, too. */
  text: string
  /** It is of no use after so long without being touched. */
  expiresAfterMs: number
  /** When `expire` is to be asked for it. A state in which events wait has one. */
  dueMs?: number
  /** How many events of its rule wait in it; default 0. */
  waiting?: number
}

export interface LimitWrites {
  shared: ReadonlyMap<string, LimitState | null>
  own: ReadonlyMap<string, LimitState | null>
}

/** All of them. */
export const LIMIT_NAMES = ['mute', 'sample', 'count', 'after', 'throttle', 'for', 'resolve', 'gone'] as const

/**
 * Which limit held an event back. `for`: it did not last, or a newer event of the object took its place; `resolve`: what it tells
 * was told, and is not over yet; `gone`: the rule, or the watch, is not there any more.
 */
export type LimitName = (typeof LIMIT_NAMES)[number]

/** Why nothing of a match is told: a limit, or the rule drops. */
export const WAYS_HELD = [...LIMIT_NAMES, 'drop'] as const
export type HeldBy = (typeof WAYS_HELD)[number]

/** What became of the events that a rule matched: `matched = sent + digested + waiting + all of suppressed`. */
export interface RuleCounts {
  matched: number
  /** Told by themselves. */
  sent: number
  /** Told within a digest. */
  digested: number
  /** Wait for a digest, or to have lasted. */
  waiting: number
  suppressed: Readonly<Partial<Record<HeldBy, number>>>
  /** Digests and notices that something is over: sent besides. */
  notices: number
}

export const NO_RULE_COUNTS: RuleCounts = {
  matched: 0,
  sent: 0,
  digested: 0,
  waiting: 0,
  suppressed: {},
  notices: 0,
}

/** Both together. */
export function sumOfCounts(a: RuleCounts, b: RuleCounts): RuleCounts {
  const suppressed: Partial<Record<HeldBy, number>> = { ...a.suppressed }
  for (const [by, count = 0] of Object.entries(b.suppressed) as [HeldBy, number][])
    suppressed[by] = (suppressed[by] ?? 0) + count
  return {
    matched: a.matched + b.matched,
    sent: a.sent + b.sent,
    digested: a.digested + b.digested,
    waiting: a.waiting + b.waiting,
    suppressed,
    notices: a.notices + b.notices,
  }
}

/** What limits decide; changes of counts, not sums. */
export interface LimitOutcome {
  deliveries: readonly Delivery[]
  /** For each `Limited`, in order: did it make a delivery at once? */
  told: readonly boolean[]
  rules: ReadonlyMap<string, RuleCounts>
  writes: LimitWrites
  /** Rule → limits that had no room for a state of their own. */
  crowded?: ReadonlyMap<string, number>
}

/**
 * The limits of a configuration's rules: pure, all state goes in and comes out. A key that was not named before may be asked
 * of the states, too: `apply` or `expire` is then called once more, when it is read.
 */
export interface Limits {
  /** What must be read before these can be decided. */
  keysOf(events: readonly Limited[]): LimitKeys
  apply(events: readonly Limited[], states: LimitStates, nowMs: number): LimitOutcome
  /** Decides states whose time has come. One that is not due (any more) is left as it is. */
  expire(due: LimitKeys, states: LimitStates, nowMs: number): LimitOutcome
}
