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
} from '../limit.ts'

/** Limits with their states in this process, which do what they do with Redis. */
export interface MemoryLimits {
  apply(events: readonly Limited[], nowMs: number): LimitOutcome
  /** When the next state is due; undefined when none is. */
  nextDueMs(): number | undefined
  /** Decides what is due by then, at that time. */
  expire(nowMs: number): LimitOutcome
  /** Lets time pass: decides what is due by then, each at its own time, in that order. */
  advance(toMs: number): readonly { atMs: number; outcome: LimitOutcome }[]
  /** Of each rule, since the beginning. */
  counts(): ReadonlyMap<string, RuleCounts>
  /** How many states there are. */
  readonly size: number
}

type Scope = 'shared' | 'own'
const SCOPES: readonly Scope[] = ['shared', 'own']
type Kept = LimitState & { endsMs: number }

export function createMemoryLimits(limits: Limits): MemoryLimits {
  const kept = { shared: new Map<string, Kept>(), own: new Map<string, Kept>() }
  const counts = new Map<string, RuleCounts>()

  function statesAt(nowMs: number): LimitStates {
    for (const scope of SCOPES)
      for (const [key, { endsMs }] of kept[scope]) if (endsMs <= nowMs) kept[scope].delete(key)
    return {
      shared: (key) => kept.shared.get(key)?.text,
      own: (key) => kept.own.get(key)?.text,
      size: (rule) => [...kept.shared.keys()].filter((key) => key.startsWith(`${rule}:`)).length,
    }
  }

  function decided(outcome: LimitOutcome, nowMs: number): LimitOutcome {
    for (const scope of SCOPES)
      for (const [key, state] of outcome.writes[scope]) {
        if (state === null) kept[scope].delete(key)
        else kept[scope].set(key, { ...state, endsMs: nowMs + state.expiresAfterMs })
      }
    for (const [rule, more] of outcome.rules)
      counts.set(rule, sumOfCounts(counts.get(rule) ?? NO_RULE_COUNTS, more))
    return outcome
  }

  function nextDueMs(): number | undefined {
    let next: number | undefined
    for (const scope of SCOPES)
      for (const { dueMs } of kept[scope].values())
        if (dueMs !== undefined && (next === undefined || dueMs < next)) next = dueMs
    return next
  }

  function expire(nowMs: number): LimitOutcome {
    const dueIn = (scope: Scope) =>
      [...kept[scope]].filter(([, { dueMs }]) => dueMs !== undefined && dueMs <= nowMs).map(([key]) => key)
    const due: LimitKeys = { shared: dueIn('shared'), own: dueIn('own') }
    return decided(limits.expire(due, statesAt(nowMs), nowMs), nowMs)
  }

  return {
    apply: (events, nowMs) => decided(limits.apply(events, statesAt(nowMs), nowMs), nowMs),
    nextDueMs,
    expire,
    advance(toMs) {
      const steps: { atMs: number; outcome: LimitOutcome }[] = []
      for (let dueMs = nextDueMs(); dueMs !== undefined && dueMs <= toMs; dueMs = nextDueMs()) {
        const outcome = expire(dueMs)
        steps.push({ atMs: dueMs, outcome })
        // What is due, and left as it is, would be due for ever.
        if (outcome.writes.shared.size + outcome.writes.own.size === 0) break
      }
      return steps
    },
    counts: () => counts,
    get size() {
      return kept.shared.size + kept.own.size
    },
  }
}
