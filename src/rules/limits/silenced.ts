import type { Silence, SilencedEvent, Silences } from '../../model/control.ts'
import { RETEST_MS, type Suppression } from '../../model/limit.ts'
import { silencedEvent } from '../silences/silence-match.ts'
import { silencedUntil } from '../silences/silences.ts'
import type { LimitTransaction } from './limit-transaction.ts'
import type { RulePlan } from './rule-plan.ts'
import type { StoredEmission } from './states.ts'

interface Silenced {
  rule: string
  sinks: readonly string[]
  event: Suppression['event']
  /** The same event as silences test it. */
  tested: SilencedEvent
}

/** Returns the sinks that are not silenced. The others are recorded; an event without any left counts as suppressed by `silence`. */
export function withoutSilenced(tx: LimitTransaction, it: Silenced, atMs: number): readonly string[] {
  const { silences } = tx
  if (!silences) return it.sinks
  const { rule, sinks, event, tested } = it
  const { left, silenced, untested } = splitSilenced(silences, { rule, sinks, event: tested }, atMs)
  tx.untested(untested)
  if (silenced.size === 0) return sinks
  for (const [silence, some] of silenced) tx.silence(rule, silence, { event, sinks: some })
  if (left.length === 0) tx.counters.suppress(rule, 'silence')
  return left
}

/** Returns the sinks that are not silenced, the others by their silences, and the silences that cannot test the event. */
export function splitSilenced(
  silences: Silences,
  { rule, sinks, event }: { rule: string; sinks: readonly string[]; event: SilencedEvent },
  atMs: number,
): {
  left: readonly string[]
  silenced: ReadonlyMap<Silence, readonly string[]>
  untested: ReadonlySet<Silence>
} {
  const left: string[] = []
  const silenced = new Map<Silence, string[]>()
  const untested = new Set<Silence>()
  for (const sink of sinks) {
    const silence = silences.find(rule, sink, event, atMs, (it) => untested.add(it))
    if (silence) silenced.set(silence, [...(silenced.get(silence) ?? []), sink])
    else left.push(sink)
  }
  return { left, silenced, untested }
}

/** The same for an event that waited. */
export function storedWithoutSilenced(
  tx: LimitTransaction,
  rule: string,
  { header, object, sinks }: StoredEmission,
  atMs: number,
): readonly string[] {
  if (!tx.silences) return sinks
  return withoutSilenced(tx, { rule, sinks, event: header, tested: silencedEvent(header, object) }, atMs)
}

/** Returns the silence that suppresses a waiting event at a time, if all of its sinks are silenced. */
export function silenceOf(
  { silences }: LimitTransaction,
  rule: string,
  { header, object, sinks }: StoredEmission,
  atMs: number,
): Silence | undefined {
  if (!silences) return undefined
  const event = silencedEvent(header, object)
  const found = sinks.map((sink) => silences.find(rule, sink, event, atMs))
  return found.includes(undefined) ? undefined : found[0]
}

const MOST_STEPS = 1_000

/** Returns the first time from `atMs` at which a waiting event is neither muted nor silenced for all of its sinks. */
export function quietUntil(
  { silences }: Pick<LimitTransaction, 'silences'>,
  { name: rule, muted }: Pick<RulePlan, 'name' | 'muted'>,
  { header, object, sinks }: StoredEmission,
  atMs: number,
): number {
  const unmuted = (ms: number) => muted?.endsAt(ms) ?? ms
  let untilMs = unmuted(atMs)
  if (!silences) return untilMs
  const waiting = { rule, sinks, event: silencedEvent(header, object) }
  for (let step = 0; step < MOST_STEPS; step++) {
    const next = unmuted(silencedUntil(silences, waiting, untilMs))
    if (next === untilMs) break
    untilMs = next
  }
  return untilMs
}

/** Returns when to evaluate a state that is due at `dueMs`: soon, if silences delay it. */
export function timerMs({ silences, nowMs }: LimitTransaction, dueMs: number, isSilenced: boolean): number {
  return silences && isSilenced ? Math.min(dueMs, nowMs + RETEST_MS) : dueMs
}
