import type {
  Limited,
  LimitKeys,
  LimitOutcome,
  LimitState,
  LimitStates,
  Limits,
  LimitWrites,
} from '../limit.ts'

/** Limits with their states in this process. */
export interface LimitMemory {
  apply(events: readonly Limited[], nowMs: number): LimitOutcome
  /** When the next state is due; undefined when none is. */
  nextDueMs(): number | undefined
  /** Decides what is due by then. */
  expire(nowMs: number): LimitOutcome
}

type Scope = 'shared' | 'own'
interface Held extends LimitState {
  scope: Scope
  key: string
  forgottenAtMs: number
}

export function createLimitMemory(limits: Limits): LimitMemory {
  const held = { shared: new Map<string, Held>(), own: new Map<string, Held>() }

  function statesAt(nowMs: number): LimitStates {
    const read = (scope: Scope) => (key: string) => {
      const state = held[scope].get(key)
      if (state && state.forgottenAtMs <= nowMs && state.dueMs === undefined) held[scope].delete(key)
      return held[scope].get(key)?.text
    }
    return { shared: read('shared'), own: read('own') }
  }

  function keep(writes: LimitWrites, nowMs: number): void {
    for (const scope of ['shared', 'own'] as const)
      for (const [key, state] of writes[scope]) {
        if (state === null) held[scope].delete(key)
        else held[scope].set(key, { ...state, scope, key, forgottenAtMs: nowMs + state.expiresAfterMs })
      }
  }

  function* timers(): Generator<Held & { dueMs: number }> {
    for (const scope of [held.shared, held.own])
      for (const state of scope.values())
        if (state.dueMs !== undefined) yield state as Held & { dueMs: number }
  }

  function decided(outcome: LimitOutcome, nowMs: number): LimitOutcome {
    keep(outcome.writes, nowMs)
    return outcome
  }

  return {
    apply: (events, nowMs) => decided(limits.apply(events, statesAt(nowMs), nowMs), nowMs),
    nextDueMs() {
      let next: number | undefined
      for (const { dueMs } of timers()) next = Math.min(dueMs, next ?? dueMs)
      return next
    },
    expire(nowMs) {
      const due: Held[] = [...timers()].filter(({ dueMs }) => dueMs <= nowMs)
      const keysIn = (wanted: Scope) => due.filter(({ scope }) => scope === wanted).map(({ key }) => key)
      const keys: LimitKeys = { shared: keysIn('shared'), own: keysIn('own') }
      return decided(limits.expire(keys, statesAt(nowMs), nowMs), nowMs)
    },
  }
}
