import type { Delivery } from '../../model/delivery.ts'
import type { SinkStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { AttemptTrace, PipelineTracer } from '../../observe/trace.ts'
import type { Message, Outcome, Reason, Sink } from '../../sink/index.ts'
import { redactMessage } from '../../text/redact.ts'
import { noteAttempt } from '../history/history.ts'
import type { Caller } from './calls.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { Retry, Verdict } from './delivery-policy.ts'
import { FailingNamespaces } from './failing-namespaces.ts'
import type { Item, UnreadableItem } from './lane-entries.ts'

/** `shownTitle`: the title of its content as plain text, if the sink has read that. `renderedMs`: how long rendering took. */
type RenderedMessage = Message & {
  readonly shownTitle?: string | undefined
  readonly renderedMs?: number | undefined
}

export interface SinkStateParts {
  /** delivery → message for its sink */
  render(delivery: Delivery, attempt: number): RenderedMessage
  caller: Caller
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  random(): number
  /** Undefined if traces are off. */
  trace?: PipelineTracer['attempt'] | undefined
  /** The sink's breaker closed, or admits a probe: its lanes continue. */
  onAvailable(sink: string): void
}

interface SinkTraits {
  /** Maximum number of deliveries that it combines into one. */
  maxBatch?: number | undefined
  /** It sends deliveries of several objects in one request: they go in one call. */
  joins?: boolean
  /** Its lanes are logs: one call of a lane at a time, in the lane's order, unless a call is slow. */
  ordered?: boolean
}

const FIRST_BATCH = 32
const MAX_BATCH = 128
/** A call that ends earlier is quick. */
const QUICK_MS = 1_000
const SLOW_BATCH_MS = 1_000
const QUICK_BATCH_MS = 200
const RECENTLY_MS = 10_000
/** Beyond this share the failures are not those of a few objects: no attempt counts against an object. */
const SINK_FAILS_AT = 0.3

/** A wait for memory that takes longer, while nothing passes, is logged. */
const LONG_WAIT_MS = 60_000

/** A sink that lanes deliver to: its breaker, its health, its batch size, and the metrics of its deliveries. */
export class SinkState {
  readonly name: string
  readonly breaker: CircuitBreaker
  readonly failingLanes = new FailingLanes()
  readonly failingNamespaces = new FailingNamespaces()
  /** The share of failures among the attempts of its lanes, without those in quarantine. */
  readonly failureShare = new FailureShare()
  readonly takesAll: boolean
  readonly ordered: boolean
  /** Its calls may contain several objects. */
  joins = false
  /** The configuration no longer has it: waiting deliveries are still delivered. */
  removed = false
  /** Another sink has its name now. */
  replaced = false
  /** Maximum number of deliveries of the next batch: as many as the sink accepts in about a second. */
  batchSize: number
  /** Its last success, by a clock that never jumps; and the last one within a second of the call's begin. */
  passedMs = Number.NEGATIVE_INFINITY
  quickMs = Number.NEGATIVE_INFINITY
  /** It has failed twice without a success: `Outages` has the time. */
  isDown = false
  /** Approximate bytes of an entry in the byte budget; undefined before one was read. */
  entryCost: number | undefined
  lastError: string | undefined
  readonly #parts: SinkStateParts
  readonly #sink: Sink | ((item: Item) => Outcome)
  #isHealthy = true
  #lacksMemory = false
  #failure: string | undefined
  #lastDeliveredMs: number | undefined
  #lastErrorMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** `sink` may be a function that returns the outcome of a delivery, where there is no sink to call. */
  constructor(
    parts: SinkStateParts,
    name: string,
    sink: Sink | ((item: Item) => Outcome),
    traits: SinkTraits = {},
  ) {
    const { maxBatch, joins = false, ordered = false } = traits
    this.#parts = parts
    this.#sink = sink
    this.name = name
    this.batchSize = maxBatch ?? FIRST_BATCH
    this.takesAll = maxBatch !== undefined
    this.ordered = ordered
    this.setJoins(joins)
    this.breaker = new CircuitBreaker(performance, parts.random)
  }

  /** Options of the same sink may change it. */
  setJoins(joins: boolean): void {
    this.joins = this.ordered || this.takesAll || joins
  }

  /** Renders and delivers. Returns an outcome for each item. */
  async deliver(items: readonly Item[], trace: AttemptTrace | undefined): Promise<Outcome[]> {
    const { render, caller, clock } = this.#parts
    const rendered = items.map(({ delivery, tries }) => render(delivery, tries))
    const messages = trace ? rendered.map((it, place) => trace.traced(place, it)) : rendered
    const startedMs = performance.now()
    const atMs = clock.now()
    const sink = this.#sink
    const outcomes = typeof sink === 'function' ? items.map(sink) : await caller.call(sink, messages)
    trace?.answered(outcomes)
    const tookMs = performance.now() - startedMs
    for (const [i, item] of items.entries()) {
      const { shownTitle: title, renderedMs } = rendered[i] as RenderedMessage
      noteAttempt(item, outcomes[i] as Outcome, { atMs, tookMs, title, renderedMs })
    }
    return outcomes
  }

  trace(lane: string, items: readonly Item[]): AttemptTrace | undefined {
    return this.#parts.trace?.(this.name, lane, items)
  }

  /** Calls are aborted because the process stops: their failures do not count for the sink. */
  get isAborted(): boolean {
    return this.#parts.caller.aborted
  }

  noteBatch(deliveries: number, tookMs: number): void {
    const { metrics } = this.#parts
    metrics.batchSeconds.observe({ sink: this.name }, tookMs / 1_000)
    metrics.batchDeliveries.observe({ sink: this.name }, deliveries)
  }

  /** A small batch repeats little after a crash, a large one costs little: the duration decides. */
  adaptBatchSize(tookMs: number): void {
    if (this.takesAll) return
    if (tookMs > SLOW_BATCH_MS) this.batchSize = Math.max(1, this.batchSize >> 1)
    else if (tookMs < QUICK_BATCH_MS) this.batchSize = Math.min(MAX_BATCH, this.batchSize * 2)
  }

  get failsAsAWhole(): boolean {
    return this.breaker.isOpen() || this.failureShare.value >= SINK_FAILS_AT
  }

  /** The sink accepted or rejected a delivery of a call that began at `calledMs`. */
  passed(calledMs: number): void {
    const wasOpen = this.breaker.isOpen()
    const nowMs = performance.now()
    this.breaker.succeeded(calledMs)
    this.passedMs = nowMs
    if (nowMs - calledMs < QUICK_MS) this.quickMs = nowMs
    if (this.breaker.isOpen()) return
    if (!this.#isHealthy) this.#parts.log.info({ sink: this.name }, 'the sink accepts deliveries again')
    this.#setHealthy(true)
    if (wasOpen) this.#parts.onAvailable(this.name)
  }

  /** Counts a failed attempt. */
  retried({ reason, detail }: Retry): void {
    this.#parts.metrics.retried.inc({ sink: this.name, reason })
    this.#noteError(redactMessage(`${reason}: ${detail}`))
  }

  /** A call failed as a whole, and not because of an object. */
  failed(lane: string, { reason, detail: text, scope }: Retry): void {
    const { log } = this.#parts
    const detail = redactMessage(text)
    const othersSucceed = this.passedMs > performance.now() - RECENTLY_MS
    if (scope === 'target' && reason !== 'rate-limited') {
      if (this.failingLanes.failed(lane, reason))
        log.warn({ sink: this.name, lane, reason, detail }, 'a target of the sink fails; its deliveries wait')
      if (!othersSucceed) this.#setHealthy(false)
    }
    if (scope === 'target' || (othersSucceed && !this.breaker.isOpen())) return
    if (this.#isHealthy || this.#failure !== reason)
      log.warn({ sink: this.name, reason, detail }, 'the sink fails; its deliveries wait')
    this.#failure = reason
    this.#setHealthy(false)
  }

  /** A read of its lanes has waited for memory for `waitedMs`; 0 if none waits. Logged once, until something passes or none waits. */
  awaitsMemory(waitedMs: number): void {
    if (waitedMs === 0 || this.passedMs > performance.now() - LONG_WAIT_MS) this.#lacksMemory = false
    else if (waitedMs > LONG_WAIT_MS && !this.#lacksMemory) {
      this.#lacksMemory = true
      const fields = { sink: this.name, waitedMs: Math.round(waitedMs) }
      this.#parts.log.warn(fields, 'deliveries of the sink wait for memory that others of it hold')
    }
  }

  /** Another process has a lane now, and knows whether its target fails; with the last lane also whether the sink does. */
  handedOver(lane: string, isLast: boolean): void {
    this.failingLanes.passed(lane)
    if (isLast) this.#setHealthy(true)
  }

  /** The breaker is open: the sink's lanes continue when it may admit a probe. */
  awaitBreaker(): void {
    if (this.#closed) return
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        this.#parts.onAvailable(this.name)
      },
      Math.max(1, this.breaker.nextMs()),
    )
  }

  /** Counts acknowledged outcomes. */
  acknowledged(lane: string, { delivered, notes, ambiguous, dead }: Verdict<Item>): void {
    const { metrics, clock, log } = this.#parts
    const sink = this.name
    const nowMs = clock.now()
    for (const { observedAtMs } of delivered)
      metrics.latency.observe({ sink }, Math.max(0, nowMs - observedAtMs) / 1_000)
    if (delivered.length > 0) {
      metrics.delivered.inc({ sink }, delivered.length)
      this.#lastDeliveredMs = nowMs
      if (this.failingLanes.passed(lane)) log.info({ sink, lane }, 'the target accepts deliveries again')
    }
    for (const [note, n] of notes) metrics.noted.inc({ sink, note }, n)
    if (ambiguous > 0) metrics.ambiguous.inc({ sink }, ambiguous)
    for (const { item, reason, detail } of dead) this.becameDeadLetter(item, reason, detail)
  }

  becameDeadLetter({ delivery: { event, rule } }: Item, reason: Reason, detail: string): void {
    const { metrics, log } = this.#parts
    const sink = this.name
    this.#noteError(redactMessage(`${reason}: ${detail}`))
    metrics.dead.inc({ sink, reason })
    const what = { kind: event.kind, object: `${event.namespace}/${event.name}`, id: event.id }
    log.warn({ sink, rule, reason, detail: redactMessage(detail).slice(0, 300), ...what }, 'dead letter')
  }

  /** Counts and logs deliveries that cannot be read. */
  unreadable(lane: string, entry: string, { places, detail, payload }: UnreadableItem): void {
    const { metrics, log } = this.#parts
    const sink = this.name
    this.#noteError(`unreadable: ${detail}`)
    metrics.dead.inc({ sink, reason: 'unreadable' }, places.length)
    const what = { sink, lane, entry, deliveries: places.length, bytes: payload.length, detail }
    log.error(what, 'deliveries in Redis cannot be read: they become a dead letter')
  }

  /** `quarantined` is the number of objects that fail alone. */
  status(quarantined: number): SinkStatus {
    return {
      sink: this.name,
      healthy: this.#isHealthy,
      ...(this.removed && { removed: true }),
      quarantined,
      failingTargets: this.failingLanes.count(),
      ...(this.#lastDeliveredMs !== undefined && { lastDeliveredMs: this.#lastDeliveredMs }),
      ...(this.lastError !== undefined && { lastError: this.lastError }),
      ...(this.#lastErrorMs !== undefined && { lastErrorMs: this.#lastErrorMs }),
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #noteError(error: string): void {
    this.lastError = error
    this.#lastErrorMs = this.#parts.clock.now()
  }

  #setHealthy(healthy: boolean): void {
    if (this.#isHealthy === healthy) return
    this.#isHealthy = healthy
    // The gauge belongs to the state that replaced this one.
    if (!this.#closed) this.#parts.metrics.sinkHealthy.set({ sink: this.name }, healthy ? 1 : 0)
  }
}

/** The share of failures among the last deliveries, each counting half as much after 30 s. */
class FailureShare {
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

/** Sinks may ask for pauses of an hour; a lane that did not fail for longer belongs to another process by now. */
const FORGET_MS = 7_200_000

/** Lanes whose target (a channel, a topic) fails while the sink itself may work; each is logged once. */
export class FailingLanes {
  readonly #nowMs: () => number
  /** The lane that failed longest ago comes first. */
  readonly #failing = new Map<string, { reason: Reason; atMs: number }>()

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  count(): number {
    this.#forgetOld()
    return this.#failing.size
  }

  /** Returns true if the lane did not fail before, or failed for another reason. */
  failed(lane: string, reason: Reason): boolean {
    this.#forgetOld()
    const before = this.#failing.get(lane)
    this.#failing.delete(lane)
    this.#failing.set(lane, { reason, atMs: this.#nowMs() })
    return before?.reason !== reason
  }

  /** Returns true if the lane had failed. */
  passed(lane: string): boolean {
    return this.#failing.delete(lane)
  }

  #forgetOld(): void {
    const since = this.#nowMs() - FORGET_MS
    for (const [lane, { atMs }] of this.#failing) {
      if (atMs > since) return
      this.#failing.delete(lane)
    }
  }
}
