import { type Emission, fromStored, sumOfSuppressed, toStored } from './emission.ts'
import { keysForSinks } from './group-key.ts'
import { applyLimitChain } from './limit-chain.ts'
import { KEEP_MS, type LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'
import { quietUntil, storedWithoutSilenced, timerMs } from './silenced.ts'
import type { DebounceState, StateKeys } from './states.ts'

/**
 * Makes an event the waiting one of its key; the one that waited is suppressed. The newest is the last to arrive, whatever their times are: so the
 * last state of an object is never replaced by an earlier one.
 */
export function debounce(
  tx: LimitTransaction,
  plan: RulePlan,
  key: string,
  { emission, places, atMs }: { emission: Emission; places: StateKeys; atMs: number },
): void {
  const before = flushDebounced(tx, plan, key, atMs)
  const replaced = before && { count: 1, sinceMs: before.firstMs }
  const heldBack = sumOfSuppressed(before?.newest.heldBack, replaced)
  const state: DebounceState = {
    v: 1,
    limit: 'debounce',
    rule: plan.name,
    waiting: 1,
    firstMs: before?.firstMs ?? atMs,
    lastMs: Math.max(atMs, before?.lastMs ?? atMs),
    newest: toStored({ ...emission, heldBack }),
    places,
  }
  const dueMs = keep(tx, plan, key, state)
  if (before) suppressWaiting(tx, before, 'debounce', dueMs)
  tx.counters.count(plan.name, 'waiting')
}

/** Returns when the waiting event is due. */
function keep(tx: LimitTransaction, plan: RulePlan, key: string, state: DebounceState): number {
  const dueMs = debounceDueMs(tx, plan, state)
  const isSilenced = tx.silences !== undefined && dueMs > debounceDueMs({ silences: undefined }, plan, state)
  tx.write('shared', key, state, Math.max(dueMs - tx.nowMs, 0) + KEEP_MS, timerMs(tx, dueMs, isSilenced))
  return dueMs
}

/** An earlier rule has taken all sinks of the newest event: what waits is outdated. */
export function endDebounced(tx: LimitTransaction, plan: RulePlan, key: string, atMs: number): void {
  const state = flushDebounced(tx, plan, key, atMs)
  if (!state) return
  suppressWaiting(tx, state, 'debounce')
  tx.forget('shared', key)
}

/** Emits what is due by `toMs`, through the further limits; else returns the state. Without a plan, because the rule is gone, it is emitted now. */
export function flushDebounced(
  tx: LimitTransaction,
  plan: RulePlan | undefined,
  key: string,
  toMs: number,
): DebounceState | undefined {
  const read = tx.read('shared', key, 'debounce')
  if (!read) return undefined
  // Times after now come from a clock that was set back.
  const state = {
    ...read,
    firstMs: Math.min(read.firstMs, tx.nowMs),
    lastMs: Math.min(read.lastMs, tx.nowMs),
  }
  const dueMs = debounceDueMs(tx, plan, state)
  if (dueMs > toMs) {
    if (plan && dueMs > tx.nowMs) keep(tx, plan, key, state)
    return state
  }
  tx.forget('shared', key)
  if (plan?.muted?.at(dueMs)) {
    suppressWaiting(tx, state, 'mute')
    return undefined
  }
  tx.counters.count(state.rule, 'waiting', -1)
  const { rule, newest } = state
  const sinks = storedWithoutSilenced(tx, rule, newest, plan ? dueMs : tx.nowMs)
  if (sinks.length === 0) return undefined
  const emission = { ...fromStored(newest), sinks }
  if (plan) applyLimitChain(tx, plan, keysForSinks(rule, state.places, newest.sinks, sinks), emission, dueMs)
  else {
    tx.counters.count(state.rule, 'sent')
    tx.emit(state.rule, emission)
  }
  return undefined
}

/** Returns when the waiting event is due, neither in `mute` nor silenced; 0 when its rule no longer has the limit. */
export function debounceDueMs(
  tx: Pick<LimitTransaction, 'silences'>,
  plan: RulePlan | undefined,
  { firstMs, lastMs, newest }: Pick<DebounceState, 'firstMs' | 'lastMs' | 'newest'>,
): number {
  if (!plan?.debounce) return 0
  const { quietMs, atMostMs } = plan.debounce
  const calmMs = Math.min(firstMs + atMostMs, lastMs + quietMs)
  return quietUntil(tx, plan, newest, calmMs)
}

function suppressWaiting(
  tx: LimitTransaction,
  { rule, newest }: DebounceState,
  limit: 'debounce' | 'mute',
  untilMs?: number,
): void {
  tx.counters.count(rule, 'waiting', -1)
  tx.suppress(rule, limit, { event: newest.header, sinks: newest.sinks, untilMs })
}
