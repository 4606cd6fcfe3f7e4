import { type Emission, fromStored, sumOfSuppressed, toStored } from './emission.ts'
import { keysForSinks, withNamedSinks } from './group-key.ts'
import { applyLimitChain } from './limit-chain.ts'
import { KEEP_MS, type LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'
import { quietUntil, storedWithoutSilenced, timerMs } from './silenced.ts'
import type { DebounceState, StateKeys } from './states.ts'

/**
 * Stores an event as the waiting one of its key. Suppresses the one that waited, unless that was already due. The order is that of arrival,
 * not of times, so an earlier state never replaces a later one.
 */
export function debounce(
  tx: LimitTransaction,
  plan: RulePlan,
  key: string,
  { emission, places, atMs }: { emission: Emission; places: StateKeys; atMs: number },
): void {
  const before = flushDebounced(tx, plan, key, atMs)
  const replaced = before && { count: 1, sinceMs: before.firstMs }
  const suppressed = sumOfSuppressed(
    sumOfSuppressed(before?.newest.suppressed, replaced),
    emission.suppressed,
  )
  const state: DebounceState = {
    v: 1,
    limit: 'debounce',
    rule: plan.name,
    waiting: 1,
    firstMs: before?.firstMs ?? atMs,
    lastMs: Math.max(atMs, before?.lastMs ?? atMs),
    newest: toStored({ ...emission, suppressed }),
    places,
    ...(tx.source !== undefined && { source: tx.source }),
  }
  const dueMs = keep(tx, plan, key, state)
  if (before) suppressWaiting(tx, before, 'debounce', dueMs)
  tx.counters.count(plan.name, 'waiting')
}

/** Returns when the waiting event is due. */
function keep(tx: LimitTransaction, plan: RulePlan, key: string, state: DebounceState): number {
  const dueMs = debounceDueMs(tx, plan, state)
  const unsilenced = { silences: undefined, nowMs: tx.nowMs }
  const isSilenced = tx.silences !== undefined && dueMs > debounceDueMs(unsilenced, plan, state)
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

/**
 * A newer event of a key under which one can still wait since before a reload. One of the same object is replaced, as it was before; the
 * newer one is returned with the number of suppressed events. One of another object, which is due without the limit, is emitted first.
 */
export function replaceFormer(tx: LimitTransaction, plan: RulePlan, key: string, newer: Emission): Emission {
  const state = tx.read('shared', key, 'debounce')
  if (!state) return newer
  if (!isSameObject(state.newest.header, newer.content.event)) {
    flushDebounced(tx, plan, key, tx.nowMs)
    return newer
  }
  suppressWaiting(tx, state, 'debounce')
  tx.forget('shared', key)
  const replaced = sumOfSuppressed(state.newest.suppressed, { count: 1, sinceMs: state.firstMs })
  return { ...newer, suppressed: sumOfSuppressed(replaced, newer.suppressed) }
}

/** Also of one that was created again under the same name. */
function isSameObject(one: Emission['content']['event'], other: Emission['content']['event']): boolean {
  return (
    one.apiVersion === other.apiVersion &&
    one.kind === other.kind &&
    one.namespace === other.namespace &&
    one.name === other.name
  )
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
  const named = plan && withNamedSinks(plan, read.newest, read.places)
  // Times after now come from a clock that was set back.
  const state = {
    ...read,
    ...(named && { newest: named.emission, places: named.places }),
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
  const { rule, newest, source } = state
  const sinks = storedWithoutSilenced(tx, rule, newest, dueMs)
  if (sinks.length === 0) return undefined
  const emission = { ...fromStored(newest), sinks }
  const keys = plan && keysForSinks(rule, state.places, newest.sinks, sinks)
  if (plan && keys) applyLimitChain(tx, plan, keys, emission, dueMs, { source })
  else {
    tx.counters.count(state.rule, 'sent')
    tx.emit(state.rule, emission)
  }
  return undefined
}

/**
 * Returns when the waiting event is due, neither in `mute` nor silenced. If its rule no longer has the limit, that is now or when these
 * end; if the rule is gone, now.
 */
export function debounceDueMs(
  tx: Pick<LimitTransaction, 'silences' | 'nowMs'>,
  plan: RulePlan | undefined,
  { firstMs, lastMs, newest }: Pick<DebounceState, 'firstMs' | 'lastMs' | 'newest'>,
): number {
  if (!plan) return tx.nowMs
  const { debounce: limit } = plan
  const calmMs = limit ? Math.min(firstMs + limit.atMostMs, lastMs + limit.quietMs) : tx.nowMs
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
