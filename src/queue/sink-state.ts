import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { redactMessage } from '../redact.ts'
import type { Reason, Sink } from '../sink/index.ts'
import type { Breaker } from './breaker.ts'
import type { Retry, Verdict } from './delivery-policy.ts'
import type { FailingLanes } from './failing-lanes.ts'
import type { Item, UnreadableItem } from './lane-reader.ts'

/** A sink that lanes deliver to, with what this process knows of it. */
export interface SinkState {
  name: string
  sink: Sink
  breaker: Breaker
  failingLanes: FailingLanes
  /** Of deliveries that are tried for the first time. */
  failureShare: FailureShare
  healthy: boolean
  /** The configuration does not have it any more: what waits is still delivered. */
  removed: boolean
  /** Another one has its name now. */
  replaced: boolean
  /** How many deliveries the next batch takes: as many as the sink manages in about a second. */
  batchSize: number
  /** It makes one thing of many deliveries: it gets as many as wait, whatever time that takes. */
  takesAll: boolean
  /** It sends deliveries of several objects in one request: they go in one call. */
  joins: boolean
  /** Its lanes are logs: one call of a lane at a time, in the lane's order. */
  ordered: boolean
  /** When it took something last, by a clock that never jumps. */
  passedMs: number
  /** When it took something last within a second of the call's begin. */
  quickMs: number
  /** Since when all attempts failed, in Unix milliseconds, once that was confirmed by a second failure. */
  failingSinceMs: number | undefined
  /** Bytes that a delivery's entry counts, about; undefined before one was read. */
  entryCost: number | undefined
  /** Why it fails. */
  failure?: string
  lastDeliveredMs?: number
  lastError?: string
  lastErrorMs?: number
}

interface SinkStateParts {
  metrics: Metrics
  log: Logger
  clock: { now(): number }
}

export const FIRST_BATCH = 32
const MAX_BATCH = 128
/** A call that ends earlier is quick. */
const QUICK_MS = 1_000
const SLOW_BATCH_MS = 1_000
const QUICK_BATCH_MS = 200
const RECENTLY_MS = 10_000

/** A small batch repeats little after a crash, a large one costs little: time decides. */
export function adaptBatchSize(state: SinkState, tookMs: number): void {
  if (state.takesAll) return
  if (tookMs > SLOW_BATCH_MS) state.batchSize = Math.max(1, state.batchSize >> 1)
  else if (tookMs < QUICK_BATCH_MS) state.batchSize = Math.min(MAX_BATCH, state.batchSize * 2)
}

/** The share of failures among the last deliveries, each counting half as much after 30 s. */
export class FailureShare {
  #passed = 0
  #failed = 0
  #atMs = 0

  note(passed: number, failed: number, nowMs: number): void {
    const part = 0.5 ** ((nowMs - this.#atMs) / 30_000)
    this.#atMs = nowMs
    this.#passed = this.#passed * part + passed
    this.#failed = this.#failed * part + failed
  }

  get value(): number {
    const all = this.#passed + this.#failed
    return all === 0 ? 0 : this.#failed / all
  }
}

/** So many failures are no longer those of a few objects: attempts count for none of them. */
const SINK_FAILS_AT = 0.3

export function failsAsAWhole({ breaker, failureShare }: SinkState): boolean {
  return breaker.isOpen() || failureShare.value >= SINK_FAILS_AT
}

/** Counts what was acknowledged, and keeps what this process knows of the sink. */
export function noteOutcomes(
  { metrics, clock, log }: SinkStateParts,
  state: SinkState,
  lane: string,
  verdict: Verdict<Item>,
): void {
  const sink = state.name
  const now = clock.now()
  for (const { observedAtMs } of verdict.delivered)
    metrics.latency.observe({ sink }, Math.max(0, now - observedAtMs) / 1_000)
  if (verdict.delivered.length > 0) {
    metrics.delivered.inc({ sink }, verdict.delivered.length)
    state.lastDeliveredMs = now
    if (state.failingLanes.passed(lane)) log.info({ sink, lane }, 'the target takes deliveries again')
  }
  for (const [kind, n] of verdict.notes) metrics.noted.inc({ sink, note: kind }, n)
  if (verdict.ambiguous > 0) metrics.ambiguous.inc({ sink }, verdict.ambiguous)
  for (const { item, reason, detail } of verdict.dead)
    noteDead({ metrics, clock, log }, state, item, reason, detail)
}

export function noteDead(
  { metrics, clock, log }: SinkStateParts,
  state: SinkState,
  { delivery: { event, rule } }: Item,
  reason: Reason,
  detail: string,
): void {
  const sink = state.name
  state.lastError = redactMessage(`${reason}: ${detail}`)
  state.lastErrorMs = clock.now()
  metrics.dead.inc({ sink, reason })
  const what = { kind: event.kind, object: `${event.namespace}/${event.name}`, id: event.id }
  log.warn({ sink, rule, reason, detail: redactMessage(detail).slice(0, 300), ...what }, 'dead letter')
}

/** Counts and logs what was given up because it cannot be read. */
export function noteUnreadable(
  { metrics, clock, log }: SinkStateParts,
  state: SinkState,
  lane: string,
  entry: string,
  { places, detail, payload }: UnreadableItem,
): void {
  const sink = state.name
  state.lastError = `unreadable: ${detail}`
  state.lastErrorMs = clock.now()
  metrics.dead.inc({ sink, reason: 'unreadable' }, places.length)
  const what = { sink, lane, entry, deliveries: places.length, bytes: payload.length, detail }
  log.error(what, 'what waits in Redis cannot be read: it is kept as a dead letter')
}

/** The sink took or refused something. */
export function notePassed({ metrics, log }: SinkStateParts, state: SinkState, calledMs: number): void {
  const nowMs = performance.now()
  const closed = state.breaker.succeeded(calledMs)
  state.passedMs = nowMs
  if (nowMs - calledMs < QUICK_MS) state.quickMs = nowMs
  if (!closed && state.breaker.isOpen()) return
  if (!state.healthy) log.info({ sink: state.name }, 'the sink takes deliveries again')
  setHealthy(metrics, state, true)
}

/** Counts a failure, and keeps it as the sink's last one. */
export function noteRetry(
  { metrics, clock }: SinkStateParts,
  state: SinkState,
  { reason, detail }: Retry,
): void {
  metrics.retried.inc({ sink: state.name, reason })
  state.lastError = redactMessage(`${reason}: ${detail}`)
  state.lastErrorMs = clock.now()
}

/** A call failed as a whole, by no fault of an object. `opened`: the breaker opened by it. */
export function noteFailure(
  { metrics, log }: SinkStateParts,
  state: SinkState,
  lane: string,
  { reason, detail: text, scope }: Retry,
): void {
  const detail = redactMessage(text)
  const othersSucceed = state.passedMs > performance.now() - RECENTLY_MS
  if (scope === 'target' && reason !== 'rate-limited') {
    if (state.failingLanes.failed(lane, reason))
      log.warn({ sink: state.name, lane, reason, detail }, 'a target of the sink fails; its deliveries wait')
    if (!othersSucceed) setHealthy(metrics, state, false)
  }
  if (scope === 'target' || (othersSucceed && !state.breaker.isOpen())) return
  if (state.healthy || state.failure !== reason)
    log.warn({ sink: state.name, reason, detail }, 'the sink fails; its deliveries wait')
  state.failure = reason
  setHealthy(metrics, state, false)
}

/** What the sink's last answer says of it; a gauge shows it. */
export function setHealthy(metrics: Metrics, state: SinkState, healthy: boolean): void {
  if (state.healthy === healthy) return
  state.healthy = healthy
  metrics.sinkHealthy.set({ sink: state.name }, healthy ? 1 : 0)
}
