import type { Silences } from './control.ts'
import type { Delivery } from './delivery.ts'
import type { ClusterEvent, EventHeader } from './event.ts'

/** The result of a rule with limits for one event: an event that it matches, or one of an object whose state it tracks. */
export interface LimitedMatch {
  rule: string
  /** Sinks that no earlier rule has taken; empty if the rule does not match. */
  sinks: readonly string[]
  /** Whether the object's state matches. False only for rules that track an object's state. */
  holds: boolean
  /** Whether `holds` is true and the conditions on the change (`changed`, `from`, `condition`) match too. */
  entered: boolean
}

/** An event with its rules with limits, from top to bottom. */
export interface Limited {
  event: ClusterEvent
  matches: readonly LimitedMatch[]
}

/** Keys of the limit states that an evaluation needs. */
export interface LimitKeys {
  /** `<rule>:<hash of the group key>`: any source can change them. */
  shared: readonly string[]
  /** `<uid>:<rule>`: states of objects of one source. */
  own: readonly string[]
}

/** The stored limit states: JSON by key. */
export interface LimitStates {
  shared(key: string): string | undefined
  own(key: string): string | undefined
  /** Returns who acknowledged the incident of a single object's state, as it is stored. */
  acknowledged?(key: string): string | undefined
  /** The source whose events are evaluated; absent for timers, and in dry runs. */
  readonly source?: string | undefined
  /** Whether changes of a source until now are known to be unread. */
  isUnread?(source: string): boolean
  /** Returns the number of shared states of a rule; without it they are unbounded. */
  size?(rule: string): number
}

/** Maximum number of shared states of a rule: group keys contain data that others write. */
export const MOST_STATES = 10_000

/** The new value of a state; null deletes it with its timer. */
export interface LimitState {
  /** JSON, including waiting deliveries. */
  text: string
  /** The state expires after this time without a write. */
  expiresAfterMs: number
  /** When it is due. A state with waiting events has such a time. */
  dueMs?: number
  /** Number of waiting events of its rule; default 0. */
  waiting?: number
}

/** A waiting event is tested again after this time: a reload, or a silence that is ended early, can make it due before its stored time. */
export const RETEST_MS = 300_000

/** Returns when to evaluate a state with `expire`: when it is due, or earlier, if an event waits in it. Undefined without a due time. */
export function evaluateMs({ dueMs, waiting }: LimitState, nowMs: number): number | undefined {
  return dueMs !== undefined && waiting ? Math.min(dueMs, nowMs + RETEST_MS) : dueMs
}

export interface LimitWrites {
  shared: ReadonlyMap<string, LimitState | null>
  own: ReadonlyMap<string, LimitState | null>
}

/** All limits, and `gone`. */
export const LIMIT_NAMES = [
  'mute',
  'silence',
  'sample',
  'count',
  'debounce',
  'after',
  'throttle',
  'for',
  'resolve',
  'acknowledged',
  'gone',
] as const

/**
 * The limit that suppressed an event. `silence`: a silence that was added at run time; `debounce`: a newer event replaced it; `for`: the state did not last, or a newer event of the object replaced it; `resolve`: the
 * incident is open already; `acknowledged`: somebody has taken over the incident; `gone`: the rule or the watch was removed.
 */
export type LimitName = (typeof LIMIT_NAMES)[number]

/** Why a match sends nothing: a limit, or `drop`. */
export const SUPPRESSED_BY = [...LIMIT_NAMES, 'drop'] as const
export type SuppressedBy = (typeof SUPPRESSED_BY)[number]

/** Outcomes of the events that a rule matched: `matched = sent + digested + waiting + all of suppressed`. */
export interface RuleCounts {
  matched: number
  /** Sent as single notifications. */
  sent: number
  /** Sent in a digest. */
  digested: number
  /** Waiting for a digest, for `for` or for `debounce`. */
  waiting: number
  suppressed: Readonly<Partial<Record<SuppressedBy, number>>>
  /** Digests and resolve notifications, which are sent in addition. */
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

/** Returns the sums of all fields. */
export function sumOfCounts(a: RuleCounts, b: RuleCounts): RuleCounts {
  const suppressed: Partial<Record<SuppressedBy, number>> = { ...a.suppressed }
  for (const [by, count = 0] of Object.entries(b.suppressed) as [SuppressedBy, number][])
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

/** An event that a limit suppressed, for the history. */
export interface Suppression {
  rule: string
  limit: LimitName
  /** Those that it would have gone to. */
  sinks: readonly string[]
  /** Until when the limit suppresses, Unix milliseconds; absent if it has no end that is known. */
  untilMs?: number
  /** The id of the silence. */
  silence?: string
  /** Who silenced or acknowledged, and why. */
  detail?: string
  event: Pick<
    ClusterEvent | EventHeader,
    'id' | 'type' | 'apiVersion' | 'kind' | 'namespace' | 'name' | 'event'
  >
}

/** The result of limits; `rules` has changes of counts, not sums. */
export interface LimitOutcome {
  deliveries: readonly Delivery[]
  /** For each `Limited`, in order: whether it made a delivery immediately. */
  emitted: readonly boolean[]
  rules: ReadonlyMap<string, RuleCounts>
  /** Those of which the event is known: not of states that are gone. */
  suppressed: readonly Suppression[]
  /** The ids of silences that could not test an event, once for each event of a rule. */
  untested?: readonly string[]
  writes: LimitWrites
  /** Rule → number of limits that could not create another state. */
  atCapacity?: ReadonlyMap<string, number>
}

/**
 * The limits of a configuration's rules: pure, all state goes in and comes out. A key that was not named before may be asked
 * of the states, too: `apply` or `expire` is then called once more, when it is read.
 */
export interface Limits {
  /** The states that must be read before these are evaluated. */
  keysOf(events: readonly Limited[]): LimitKeys
  apply(
    events: readonly Limited[],
    states: LimitStates,
    nowMs: number,
    silences?: Silences | undefined,
  ): LimitOutcome
  /** Decides states whose time has come. One that is not due (any more) is left as it is. */
  expire(due: LimitKeys, states: LimitStates, nowMs: number, silences?: Silences | undefined): LimitOutcome
}
