import type { Note, Outcome, Reason, Scope } from '../sink/index.ts'

/** One delivery of a batch, and how often it failed alone before. */
export interface Tried {
  uid: string
  observedAtMs: number
  tries: number
}

export interface Verdict<T extends Tried> {
  delivered: T[]
  dead: { item: T; reason: Reason; detail: string }[]
  /** Those whose count of tries changed. */
  tried: { item: T; tries: number }[]
  /** The sink took or refused something: it is there. */
  answered: boolean
  /** How many were delivered in an unusual way. */
  notes: ReadonlyMap<Note, number>
  /** How many failures may have been deliveries. */
  ambiguous: number
  /** Set when the sink left something for later by its own pacing. */
  laterMs?: number
  /** Set when something must be tried again, or was given up because nothing gets through: the lane pauses. */
  failure?: Failure
}

/** Why a lane has to pause; of several failures, the first one's words and the widest scope. */
export interface Failure {
  reason: Reason
  detail: string
  scope: Scope
  afterMs?: number
}

export interface Policy {
  /** How long a lane may fail without one success before what waited as long becomes dead letters. */
  maxAgeMs: number
  /** How often a delivery may fail while others succeed; twice as often if it fails as a sink does that is down. */
  maxTries: number
}

/** What else is known of the lane when a batch is judged. */
export interface LaneState {
  nowMs: number
  /** Other deliveries of the sink succeeded since this lane, or the only object of the batch, failed last. */
  othersSucceed: boolean
  /** The batch is a single delivery: what failed is known for sure. */
  alone: boolean
  /** Since when every attempt of this lane failed; undefined while it succeeds. */
  failingSinceMs: number | undefined
}

/**
 * Turns outcomes into what happens to each delivery. An outage burns no attempts, only time: that of the outage, not of
 * the delivery, which may have waited for a process that was stopped. A failure of one event counts as a try when others
 * succeeded meanwhile, whatever the sink says of its reach: a receiver may cut the connection, or answer 403, for this
 * one alone. What waits behind an earlier delivery of its object was not sent and does not count.
 */
export function judge<T extends Tried>(
  batch: readonly T[],
  outcomes: readonly Outcome[],
  policy: Policy,
  lane: LaneState,
): Verdict<T> {
  const succeeded = outcomes.some(({ kind }) => kind === 'delivered')
  const refused = outcomes.some((it) => it.kind === 'rejected' && it.reason !== 'render')
  const verdict: Verdict<T> = {
    delivered: [],
    dead: [],
    tried: [],
    answered: succeeded || refused,
    notes: notesOf(outcomes),
    ambiguous: outcomes.filter((it) => it.kind === 'retry' && it.ambiguous).length,
  }
  const alive = lane.othersSucceed || succeeded
  const blocked = new Set<string>()
  for (const [i, item] of batch.entries()) {
    const outcome = outcomes[i] as Outcome
    if (outcome.kind === 'delivered') verdict.delivered.push(item)
    else if (outcome.kind === 'rejected') {
      const { reason, detail } = outcome
      verdict.dead.push({ item, reason, detail })
    } else if (outcome.kind === 'later') {
      blocked.add(item.uid)
      verdict.laterMs = Math.max(verdict.laterMs ?? 0, outcome.afterMs)
    } else if (!blocked.has(item.uid)) {
      blocked.add(item.uid)
      if (!succeeded && isExpired(item, policy, lane)) {
        verdict.dead.push(expired(item, outcome.detail))
        fail(verdict, outcome)
      } else again(verdict, item, outcome, alive && isOwn(outcome, lane), policy)
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

/** Nothing got through for as long as the policy allows, and this one waited all that time. */
export function isExpired(
  { observedAtMs }: Tried,
  { maxAgeMs }: Policy,
  { nowMs, failingSinceMs }: LaneState,
): boolean {
  return failingSinceMs !== undefined && nowMs - Math.max(observedAtMs, failingSinceMs) > maxAgeMs
}

export function expired<T>(item: T, detail: string): { item: T; reason: Reason; detail: string } {
  return { item, reason: 'expired', detail: `waited too long; last failure: ${detail}` }
}

type Retry = Extract<Outcome, { kind: 'retry' }>

function again<T extends Tried>(
  verdict: Verdict<T>,
  item: T,
  outcome: Retry,
  own: boolean,
  policy: Policy,
): void {
  if (!own) return fail(verdict, outcome)
  const { reason, detail, scope } = outcome
  const tries = item.tries + 1
  if (tries >= (scope === 'event' ? policy.maxTries : 2 * policy.maxTries)) {
    verdict.dead.push({ item, reason, detail: `failed ${tries} times while others succeeded: ${detail}` })
    return
  }
  verdict.tried.push({ item, tries })
  fail(verdict, { ...outcome, scope: 'event' })
}

/** May it be the event's own fault? */
function isOwn({ scope, reason }: Retry, { alone }: LaneState): boolean {
  return scope === 'event' || (scope === 'sink' && alone && reason !== 'rate-limited')
}

const WIDTH: Record<Scope, number> = { event: 0, target: 1, sink: 2 }

function fail<T extends Tried>(verdict: Verdict<T>, { reason, detail, scope, afterMs = 0 }: Retry): void {
  const known = verdict.failure
  const longer = Math.max(known?.afterMs ?? 0, afterMs)
  verdict.failure = {
    reason: known?.reason ?? reason,
    detail: known?.detail ?? detail,
    scope: known && WIDTH[known.scope] > WIDTH[scope] ? known.scope : scope,
    ...(longer > 0 && { afterMs: longer }),
  }
}
