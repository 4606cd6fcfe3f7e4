import { expiry, failsAlone, isExpired, type Retry, type Verdict } from './delivery-policy.ts'
import { type Call, SLOW_MS } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import type { Item } from './lane-reader.ts'
import type { LaneWindow } from './lane-window.ts'
import { adaptBatchSize, noteFailure, notePassed, noteRetry, type SinkState } from './sink-state.ts'

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const RECENTLY_MS = 10_000

/** What the outcomes of calls mean for the lane, its target and its sink: who waits, and how long. */
export class LaneOutcomes {
  readonly #context: LaneContext
  readonly #lane: string
  readonly #window: LaneWindow
  #pausedUntilMs = 0
  #targetFailures = 0
  /** Since when the lane's target fails, in Unix milliseconds, once that is confirmed. */
  #targetSinceMs: number | undefined
  #last = ''

  constructor(context: LaneContext, lane: string, window: LaneWindow) {
    this.#context = context
    this.#lane = lane
    this.#window = window
  }

  /** No call begins before, by a clock that never jumps. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs
  }

  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, performance.now() + ms)
  }

  hurry(): void {
    this.#pausedUntilMs = 0
    this.#window.hurry()
  }

  /** Chains of a slow call are called alone from then on, to find the slow one among them. */
  took(state: SinkState, { items, startedMs, probe }: Call): void {
    const tookMs = performance.now() - startedMs
    const isSlow = tookMs > SLOW_MS
    if (isSlow || items.length === 1)
      for (const { chain } of items)
        if (isSlow || this.#window.isSlow(chain)) this.#window.setSlow(chain, isSlow)
    if (!probe && (items.length > 1 || !isSlow)) adaptBatchSize(state, tookMs)
  }

  /** The sink took or refused something. */
  passed(state: SinkState, call: Call): void {
    const { outages, onPassed } = this.#context
    const wasOpen = state.breaker.isOpen()
    call.noted = true
    notePassed(this.#context, state, call.startedMs)
    state.failingSinceMs = undefined
    this.#targetSinceMs = undefined
    this.#targetFailures = 0
    outages.passed(state.name)
    outages.passed(this.#lane)
    if (wasOpen && !state.breaker.isOpen()) onPassed(state)
  }

  /** Returns the deliveries whose chains fail alone. */
  retries(state: SinkState, call: Call, verdict: Verdict<Item>): Item[] {
    const context = this.#context
    const nowMs = performance.now()
    const alone: Item[] = []
    let failure: Retry | undefined
    let target: Retry | undefined
    for (const { item, outcome } of verdict.retries) {
      noteRetry(context, state, outcome)
      item.tries++
      const { chain } = item
      const facts = { passedMs: state.passedMs, failedBeforeMs: this.#window.failedMs(chain) }
      this.#last = outcome.detail
      if (failsAlone(outcome, { ...facts, calledMs: call.startedMs })) {
        alone.push(item)
        continue
      }
      const pauseMs = outcome.scope === 'target' ? 0 : FIRST_PAUSE_MS * (0.5 + context.random() / 2)
      this.#window.failed(chain, nowMs, Math.max(pauseMs, outcome.afterMs ?? 0))
      if (outcome.scope === 'target') target ??= outcome
      else if (!failure || outcome.scope === 'sink') failure = outcome
    }
    if (target) this.#targetFailed(state, target)
    if (failure && !verdict.answered) this.#sinkFailed(state, failure, call)
    return alone
  }

  #targetFailed(state: SinkState, failure: Retry): void {
    const { random, outages } = this.#context
    const backoffMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#targetFailures++, 10), MAX_PAUSE_MS)
    this.pause(failure.afterMs ?? backoffMs * (0.5 + random() / 2))
    this.#window.hurry()
    noteFailure(this.#context, state, this.#lane, failure)
    this.#targetSinceMs = outages.failed(this.#lane)
  }

  #sinkFailed(state: SinkState, failure: Retry, call: Call): void {
    const { outages, onOpen } = this.#context
    const { breaker } = state
    const calledMs = call.startedMs
    call.noted = true
    breaker.failed()
    // Where others get through meanwhile, what the sink asks for is this object's alone.
    if (failure.scope === 'sink' && failure.afterMs !== undefined && state.passedMs < calledMs) {
      // It may be even where they only did just now: another one finds out. A limit of requests is everybody's.
      const isOfAll = failure.reason === 'rate-limited' || state.passedMs < performance.now() - RECENTLY_MS
      breaker.pause(isOfAll ? failure.afterMs : Math.min(failure.afterMs, MAX_PAUSE_MS))
    }
    noteFailure(this.#context, state, this.#lane, failure)
    if (state.passedMs < calledMs) state.failingSinceMs = outages.failed(state.name)
    if (breaker.isOpen()) onOpen(state)
  }

  /** Returns what has waited for too long while the sink, or the lane's target, has failed, and the reason. */
  expired(state: SinkState) {
    const { clock, jumps, outages } = this.#context
    const isConfirmed = state.failingSinceMs !== undefined || this.#targetSinceMs !== undefined
    if (!isConfirmed) return undefined
    const failingSinceMs = outages.since(state.failingSinceMs === undefined ? this.#lane : state.name)
    if (failingSinceMs === undefined) return undefined
    const maxAgeMs = this.#context.maxAgeMs(state.name)
    const outage = { failingForMs: clock.now() - failingSinceMs, beforeMs: jumps.agoMs(maxAgeMs) }
    const items = [...this.#window.idle()].filter((item) => isExpired(item, { maxAgeMs }, outage))
    return items.length > 0 ? { items, ...expiry(this.#last || (state.lastError ?? '')) } : undefined
  }
}
