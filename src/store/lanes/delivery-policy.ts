import type { Note, Outcome, Reason } from '../../sink/index.ts'
import { type Call, SLOW_MS } from './calls.ts'
import type { Item } from './lane-entries.ts'
import type { LaneWindow } from './lane-window.ts'
import type { LaneServices } from './owned-lanes.ts'
import type { SinkState } from './sink-state.ts'

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const RECENTLY_MS = 10_000

/** Applies the outcomes of a lane's calls: pauses of the lane, failures of its target and its sink, expiry. */
export class LaneOutcomes {
  readonly #services: Pick<LaneServices, 'random' | 'clock' | 'outages' | 'jumps' | 'maxAgeMs'>
  readonly #lane: string
  readonly #window: LaneWindow
  #pausedUntilMs = 0
  #targetFailures = 0
  /** The lane's target has failed twice without a success. */
  #targetIsDown = false
  #lastFailure = ''

  constructor(services: LaneServices, lane: string, window: LaneWindow) {
    this.#services = services
    this.#lane = lane
    this.#window = window
  }

  /** No call begins before this time, by a clock that never jumps. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs
  }

  /** The last attempt of which the target's state is known failed because of it. */
  get isTargetFailing(): boolean {
    return this.#targetFailures > 0
  }

  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, performance.now() + ms)
  }

  hurry(): void {
    this.#pausedUntilMs = 0
    this.#window.hurry()
  }

  /** Chains of a slow call are called alone from then on, to find the slow one among them. */
  took(state: SinkState, { items, startedMs, probe }: Call, outcomes: readonly Outcome[]): void {
    const tookMs = performance.now() - startedMs
    const isSlow = tookMs > SLOW_MS
    if (isSlow || items.length === 1)
      for (const [i, { chain }] of items.entries())
        if (isSlow ? mayBeSlow(outcomes[i] as Outcome) : this.#window.isSlow(chain))
          this.#window.setSlow(chain, isSlow)
    if (!probe && (items.length > 1 || !isSlow)) state.adaptBatchSize(tookMs)
  }

  /** The sink accepted or rejected a delivery of this call. */
  passed(state: SinkState, call: Call): void {
    const { outages } = this.#services
    call.noted = true
    state.isDown = false
    this.#targetIsDown = false
    this.#targetFailures = 0
    outages.passed(state.name)
    outages.passed(this.#lane)
    state.passed(call.startedMs)
  }

  /** Returns the deliveries whose chains fail alone. */
  retries(state: SinkState, call: Call, verdict: Verdict<Item>): Item[] {
    const nowMs = performance.now()
    const alone: Item[] = []
    let failure: Retry | undefined
    let target: Retry | undefined
    const namespaces = state.failingNamespaces
    const ofFailing = verdict.retries.every(({ item }) => namespaces.has(item.delivery.event.namespace))
    for (const { item, outcome } of verdict.retries) {
      state.retried(outcome)
      item.tries++
      const { chain, delivery } = item
      // The breaker waits for a pause of the sink alone: after another one probes of the namespace must go on.
      const askedMs = outcome.scope === 'sink' ? outcome.afterMs : undefined
      if (mayBeOwnFault(outcome)) namespaces.failed(delivery.event.namespace, askedMs)
      const facts = { passedMs: state.passedMs, failedBeforeMs: this.#window.failedMs(chain) }
      this.#lastFailure = outcome.detail
      if (failsAlone(outcome, { ...facts, calledMs: call.startedMs })) {
        alone.push(item)
        continue
      }
      const pauseMs = outcome.scope === 'target' ? 0 : FIRST_PAUSE_MS * (0.5 + this.#services.random() / 2)
      this.#window.failed(chain, nowMs, Math.max(pauseMs, outcome.afterMs ?? 0), mayBeOwnFault(outcome))
      if (outcome.scope === 'target') target ??= outcome
      else if (!failure || outcome.scope === 'sink') failure = outcome
    }
    if (target) this.#targetFailed(state, target)
    if (failure && !verdict.answered) this.#sinkFailed(state, failure, { call, ofFailing })
    return alone
  }

  #targetFailed(state: SinkState, failure: Retry): void {
    const { random, outages } = this.#services
    const backoffMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#targetFailures++, 10), MAX_PAUSE_MS)
    this.pause(failure.afterMs ?? backoffMs * (0.5 + random() / 2))
    this.#window.hurry()
    state.failed(this.#lane, failure)
    this.#targetIsDown = outages.failed(this.#lane) !== undefined
  }

  #sinkFailed(
    state: SinkState,
    failure: Retry,
    { call, ofFailing }: { call: Call; ofFailing: boolean },
  ): void {
    const { breaker } = state
    const isPassing = state.passedMs >= call.startedMs
    call.noted = true
    breaker.failed(ofFailing)
    // If others succeed meanwhile, the requested pause is for this object alone.
    if (failure.scope === 'sink' && failure.afterMs !== undefined && !isPassing) {
      // The pause may be for one object even if others succeeded only just before: a probe of another object finds out. A rate limit is for all.
      const isOfAll = failure.reason === 'rate-limited' || state.passedMs < performance.now() - RECENTLY_MS
      const pauseMs = isOfAll ? failure.afterMs : Math.min(failure.afterMs, MAX_PAUSE_MS)
      breaker.pause(pauseMs, ofFailing && failure.reason !== 'rate-limited')
    }
    state.failed(this.#lane, failure)
    if (!isPassing) state.isDown = this.#services.outages.failed(state.name) !== undefined
    if (breaker.isOpen()) state.awaitBreaker()
  }

  /** Returns deliveries that have waited too long while the sink, or the lane's target, has failed, with the reason. */
  expired(state: SinkState) {
    const { clock, jumps, outages } = this.#services
    if (!state.isDown && !this.#targetIsDown) return undefined
    const failingSinceMs = outages.since(state.isDown ? state.name : this.#lane)
    if (failingSinceMs === undefined) return undefined
    const maxAgeMs = this.#services.maxAgeMs(state.name)
    const outage = { failingForMs: clock.now() - failingSinceMs, beforeMs: jumps.agoMs(maxAgeMs) }
    const items = [...this.#window.idle()].filter((item) => isExpired(item, { maxAgeMs }, outage))
    return items.length > 0 ? { items, ...expiry(this.#lastFailure || (state.lastError ?? '')) } : undefined
  }
}

/** One delivery of a batch. */
interface Tried {
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

/** True for the reasons for which a receiver rejects a delivery; the others are found before it is asked: they do not show that it is up. */
export function isOfPeer(reason: Reason): boolean {
  return reason !== 'render' && reason !== 'config'
}

/** Sorts the outcomes of one call. */
export function classifyOutcomes<T extends Tried>(
  batch: readonly T[],
  outcomes: readonly Outcome[],
): Verdict<T> {
  const verdict: Verdict<T> = {
    delivered: [],
    dead: [],
    retries: [],
    answered: outcomes.some(
      (it) => it.kind === 'delivered' || (it.kind === 'rejected' && isOfPeer(it.reason)),
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
interface SinkFacts {
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

/** A slow digest, or a slow target, is not the fault of objects in the call. */
function mayBeSlow(outcome: Outcome): boolean {
  if (outcome.kind === 'delivered') return outcome.note !== 'digest'
  return outcome.kind !== 'retry' || outcome.scope !== 'target'
}

/**
 * Returns true if the object fails alone, and so is quarantined. Whatever the sink answers of its reach, a failure is the object's own when others
 * succeeded since it failed before: a receiver may cut the connection, or answer 403, for this one alone. The first failure is the
 * object's own where the sink reports the scope `event` and others succeeded during the call.
 */
export function failsAlone(failure: Retry, { passedMs, failedBeforeMs, calledMs }: SinkFacts): boolean {
  if (!mayBeOwnFault(failure)) return false
  if (failedBeforeMs !== undefined) return passedMs > failedBeforeMs
  return failure.scope === 'event' && passedMs > calledMs
}

/** The failures of a quarantined delivery. */
interface QuarantineFacts {
  /** How often it failed while others succeeded, this time included. */
  tries: number
  /** Unix time, in milliseconds: of its first failure, or since when processes deliver without a gap. */
  sinceMs: number
  nowMs: number
}

/** Returns why a quarantined delivery is given up; undefined while it is tried again. */
export function giveUp(
  { reason, detail }: Retry,
  { tries, sinceMs, nowMs }: QuarantineFacts,
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

/** Before the last failure of a sink, of whichever object, in the text of a dead letter: not every reader may read what is behind it. */
export const LAST_FAILURE = '; last failure: '

function expiry(detail: string): { reason: Reason; detail: string } {
  return { reason: 'expired', detail: `waited too long${LAST_FAILURE}${detail}` }
}

/** Returns the pause before the next attempt of a quarantined object, in milliseconds. */
export function quarantinePauseMs(
  { firstPauseMs, maxPauseMs }: Policy,
  failures: number,
  afterMs: number | undefined,
  random: () => number,
): number {
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 20), maxPauseMs)
  return Math.max(afterMs ?? 0, pauseMs * (0.75 + random() / 2))
}
