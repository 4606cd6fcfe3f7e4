import type { Note, Outcome, Reason } from '../sink/index.ts'

/** One delivery of a batch. */
export interface Tried {
  /** The chain that it is kept in order with. */
  chain: string
  observedAtMs: number
}

export type Retry = Extract<Outcome, { kind: 'retry' }>

export interface Verdict<T extends Tried> {
  delivered: T[]
  dead: { item: T; reason: Reason; detail: string }[]
  /** The first of each chain that has to be tried again; what is behind it was not sent. */
  retries: { item: T; outcome: Retry }[]
  /** The sink took or refused something: it is there. */
  answered: boolean
  /** How many were delivered in an unusual way. */
  notes: ReadonlyMap<Note, number>
  /** How many failures may have been deliveries. */
  ambiguous: number
  /** Set when the sink left something for later by its own pacing. */
  laterMs?: number
}

export interface Policy {
  /** How long a sink, or an object, may fail without one success before what waited as long becomes dead letters. */
  maxAgeMs: number
  /** How often, and for how long, a delivery must fail while others succeed before it is given up. */
  maxTries: number
  minFailingMs: number
  /** Pauses between attempts of an object that fails alone; they double. */
  firstPauseMs: number
  maxPauseMs: number
}

/** Sorts the outcomes of one call. */
export function judge<T extends Tried>(batch: readonly T[], outcomes: readonly Outcome[]): Verdict<T> {
  const verdict: Verdict<T> = {
    delivered: [],
    dead: [],
    retries: [],
    answered: outcomes.some(
      (it) => it.kind === 'delivered' || (it.kind === 'rejected' && it.reason !== 'render'),
    ),
    notes: notesOf(outcomes),
    ambiguous: outcomes.filter((it) => it.kind === 'retry' && it.ambiguous).length,
  }
  const blocked = new Set<string>()
  for (const [i, item] of batch.entries()) {
    const outcome = outcomes[i] as Outcome
    if (outcome.kind === 'delivered') verdict.delivered.push(item)
    else if (outcome.kind === 'rejected') {
      const { reason, detail } = outcome
      verdict.dead.push({ item, reason, detail })
    } else if (outcome.kind === 'later') {
      blocked.add(item.chain)
      verdict.laterMs = Math.max(verdict.laterMs ?? 0, outcome.afterMs)
    } else if (!blocked.has(item.chain)) {
      blocked.add(item.chain)
      verdict.retries.push({ item, outcome })
    }
  }
  return verdict
}

function notesOf(outcomes: readonly Outcome[]): Map<Note, number> {
  const notes = new Map<Note, number>()
  for (const outcome of outcomes)
    if (outcome.kind === 'delivered' && outcome.note)
      notes.set(outcome.note, (notes.get(outcome.note) ?? 0) + 1)
  return notes
}

/** What is known of the sink when a delivery fails. Times are of a clock that never jumps. */
export interface SinkFacts {
  /** When others succeeded last. */
  passedMs: number
  /** When this object failed last; undefined for the first time. */
  failedBeforeMs: number | undefined
  /** When this call began. */
  calledMs: number
}

/** A limit of requests, and a target that is not there, are never an object's fault. */
export function mayBeOwnFault({ scope, reason }: Retry): boolean {
  return reason !== 'rate-limited' && scope !== 'target'
}

/**
 * Does the object fail alone? Then it is parked. Whatever the sink answers of its reach, a failure is the object's own when others
 * succeeded since it failed before: a receiver may cut the connection, or answer 403, for this one alone. The first failure is the
 * object's own where the sink says so and others succeeded during the call.
 */
export function failsAlone(failure: Retry, { passedMs, failedBeforeMs, calledMs }: SinkFacts): boolean {
  if (!mayBeOwnFault(failure)) return false
  if (failedBeforeMs !== undefined) return passedMs > failedBeforeMs
  return failure.scope === 'event' && passedMs > calledMs
}

/** Of a parked delivery. */
export interface ParkedFacts {
  /** How often it failed while others succeeded, this time included. */
  tries: number
  /** Unix time, in milliseconds, of its first failure. */
  sinceMs: number
  nowMs: number
}

/** Returns why a parked delivery is given up; undefined while it is tried again. */
export function giveUp(
  { reason, detail }: Retry,
  { tries, sinceMs, nowMs }: ParkedFacts,
  { maxTries, minFailingMs, maxAgeMs }: Policy,
): { reason: Reason; detail: string } | undefined {
  const forMs = nowMs - sinceMs
  if (tries >= maxTries && forMs >= minFailingMs)
    return { reason, detail: `failed ${tries} times while others succeeded: ${detail}` }
  return forMs > maxAgeMs ? expiry(detail) : undefined
}

/**
 * The sink failed for as long as the policy allows, and this one waited all that time: it was observed before `beforeMs`, which is
 * as long ago. Unix times in milliseconds.
 */
export function isExpired(
  { observedAtMs }: Pick<Tried, 'observedAtMs'>,
  { maxAgeMs }: Pick<Policy, 'maxAgeMs'>,
  { failingForMs, beforeMs }: { failingForMs: number; beforeMs: number },
): boolean {
  return failingForMs > maxAgeMs && observedAtMs < beforeMs
}

export function expiry(detail: string): { reason: Reason; detail: string } {
  return { reason: 'expired', detail: `waited too long; last failure: ${detail}` }
}

/** Returns the pause before the next attempt of a parked object, in milliseconds. */
export function parkedPauseMs(
  { firstPauseMs, maxPauseMs }: Policy,
  failures: number,
  afterMs: number | undefined,
  random: () => number,
): number {
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 20), maxPauseMs)
  return Math.max(afterMs ?? 0, pauseMs * (0.75 + random() / 2))
}
