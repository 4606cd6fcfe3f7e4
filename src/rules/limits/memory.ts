import type { Silences } from '../../model/control.ts'
import {
  type Limited,
  type LimitKeys,
  type LimitOutcome,
  type LimitState,
  type LimitStates,
  type Limits,
  NO_RULE_COUNTS,
  type RuleCounts,
  sumOfCounts,
} from '../../model/limit.ts'
import type { Scope } from './limit-transaction.ts'

const SCOPES: readonly Scope[] = ['shared', 'own']

/** Limits with their states in this process, with the same results as with Redis. For dry runs. */
export class MemoryLimits {
  /** Those in force; they can be replaced. */
  silences: Silences | undefined
  readonly #limits: Limits
  readonly #states = {
    shared: new Map<string, LimitState & { endsMs: number }>(),
    own: new Map<string, LimitState & { endsMs: number }>(),
  }
  readonly #counts = new Map<string, RuleCounts>()

  constructor(limits: Limits, silences?: Silences) {
    this.#limits = limits
    this.silences = silences
  }

  apply(events: readonly Limited[], nowMs: number): LimitOutcome {
    return this.#stored(this.#limits.apply(events, this.#statesAt(nowMs), nowMs, this.silences), nowMs)
  }

  /** Evaluates the states that are due by `toMs`, each at its due time. */
  advance(toMs: number): readonly { atMs: number; outcome: LimitOutcome }[] {
    const steps: { atMs: number; outcome: LimitOutcome }[] = []
    for (let dueMs = this.nextDueMs(); dueMs !== undefined && dueMs <= toMs; dueMs = this.nextDueMs()) {
      const outcome = this.expire(dueMs)
      steps.push({ atMs: dueMs, outcome })
      // A due state that does not change would be due forever.
      if (outcome.writes.shared.size + outcome.writes.own.size === 0) break
    }
    return steps
  }

  nextDueMs(): number | undefined {
    let next: number | undefined
    for (const scope of SCOPES)
      for (const { dueMs } of this.#states[scope].values())
        if (dueMs !== undefined && (next === undefined || dueMs < next)) next = dueMs
    return next
  }

  /** Evaluates the states that are due, all at `nowMs`. */
  expire(nowMs: number): LimitOutcome {
    const dueIn = (scope: Scope) =>
      [...this.#states[scope]].flatMap(([key, { dueMs }]) =>
        dueMs !== undefined && dueMs <= nowMs ? key : [],
      )
    const due: LimitKeys = { shared: dueIn('shared'), own: dueIn('own') }
    return this.#stored(this.#limits.expire(due, this.#statesAt(nowMs), nowMs, this.silences), nowMs)
  }

  /** Sums by rule since the start. */
  counts(): ReadonlyMap<string, RuleCounts> {
    return this.#counts
  }

  /** Number of states. */
  get size(): number {
    return this.#states.shared.size + this.#states.own.size
  }

  #statesAt(nowMs: number): LimitStates {
    const { shared, own } = this.#states
    for (const states of [shared, own])
      for (const [key, { endsMs }] of states) if (endsMs <= nowMs) states.delete(key)
    return {
      shared: (key) => shared.get(key)?.text,
      own: (key) => own.get(key)?.text,
      size: (rule) => [...shared.keys()].filter((key) => key.startsWith(`${rule}:`)).length,
    }
  }

  #stored(outcome: LimitOutcome, nowMs: number): LimitOutcome {
    for (const scope of SCOPES)
      for (const [key, state] of outcome.writes[scope]) {
        if (state === null) this.#states[scope].delete(key)
        else this.#states[scope].set(key, { ...state, endsMs: nowMs + state.expiresAfterMs })
      }
    for (const [rule, more] of outcome.rules)
      this.#counts.set(rule, sumOfCounts(this.#counts.get(rule) ?? NO_RULE_COUNTS, more))
    return outcome
  }
}
