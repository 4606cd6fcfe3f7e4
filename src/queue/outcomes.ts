import type { Outcome, Reason } from '../sink/index.ts'

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
  /** Set when something must be tried again. */
  retry?: { reason: Reason; detail: string; wholeSink: boolean; afterMs?: number }
}

export interface Policy {
  /** How long an outage may last before its deliveries become dead letters. */
  maxAgeMs: number
  /** How often a delivery may fail alone, while others succeed. */
  maxTries: number
}

/**
 * Turns outcomes into what happens to each delivery. An outage burns no attempts, only age. A failure of one event counts
 * as a try when others succeeded meanwhile. What waits behind an earlier delivery of its object does not count.
 */
export function judge<T extends Tried>(
  batch: readonly T[],
  outcomes: readonly Outcome[],
  policy: Policy,
  nowMs: number,
  othersSucceed: boolean,
): Verdict<T> {
  const verdict: Verdict<T> = { delivered: [], dead: [], tried: [] }
  const alive = othersSucceed || outcomes.some(({ kind }) => kind === 'delivered')
  const blocked = new Set<string>()
  for (const [i, item] of batch.entries()) {
    const outcome = outcomes[i] as Outcome
    if (outcome.kind === 'delivered') verdict.delivered.push(item)
    else if (outcome.kind === 'rejected')
      verdict.dead.push({ item, reason: outcome.reason, detail: outcome.detail })
    else if (nowMs - item.observedAtMs > policy.maxAgeMs) verdict.dead.push(expired(item, outcome.detail))
    else {
      const first = !blocked.has(item.uid)
      blocked.add(item.uid)
      if (first) again(verdict, item, outcome, alive, policy)
    }
  }
  return verdict
}

type Retry = Extract<Outcome, { kind: 'retry' }>

function again<T extends Tried>(
  verdict: Verdict<T>,
  item: T,
  outcome: Retry,
  alive: boolean,
  policy: Policy,
): void {
  const { reason, detail, scope, afterMs } = outcome
  if (scope === 'event' && alive) {
    const tries = item.tries + 1
    if (tries >= policy.maxTries) {
      verdict.dead.push({ item, reason, detail: `failed ${tries} times while others succeeded: ${detail}` })
      return
    }
    verdict.tried.push({ item, tries })
  }
  const known = verdict.retry
  const longer = Math.max(known?.afterMs ?? 0, afterMs ?? 0)
  verdict.retry = {
    reason: known?.reason ?? reason,
    detail: known?.detail ?? detail,
    wholeSink: (known?.wholeSink ?? false) || scope === 'sink',
    ...(longer > 0 && { afterMs: longer }),
  }
}

function expired<T>(item: T, detail: string): { item: T; reason: Reason; detail: string } {
  return { item, reason: 'expired', detail: `waited too long; last failure: ${detail}` }
}

/** Makes of whatever a sink answered one outcome per message. */
export function checkedOutcomes(answer: unknown, length: number): Outcome[] {
  const outcomes = Array.isArray(answer) ? answer : []
  return Array.from({ length }, (_, i) => {
    const outcome = outcomes[i] as Outcome | undefined
    const known = outcome?.kind === 'delivered' || outcome?.kind === 'retry' || outcome?.kind === 'rejected'
    return known ? outcome : failure('unknown', 'the sink gave no outcome for this message')
  })
}

/** A retry that is the sink's fault as a whole. */
export function failure(reason: Reason, detail: string): Outcome {
  return { kind: 'retry', reason, detail: detail.slice(0, 2_048), scope: 'sink' }
}
