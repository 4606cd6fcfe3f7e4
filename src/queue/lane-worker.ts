import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { redactMessage } from '../redact.ts'
import type { Message, Outcome } from '../sink/index.ts'
import type { AttemptTrace, LineTracer } from '../trace.ts'
import type { Acknowledgement, DeadReason, FailureNote } from './ack-script.ts'
import type { Acks } from './acks.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Caller } from './call-sink.ts'
import {
  expiry,
  failsAlone,
  isExpired,
  judge,
  type Policy,
  type Retry,
  type Verdict,
} from './delivery-policy.ts'
import { encodeEntries } from './entry.ts'
import type { Keys } from './keys.ts'
import { chainHashOf, parkedLane, sinkOf } from './lane-names.ts'
import { type Item, itemOf, type LaneEntryRead, readLane } from './lane-reader.ts'
import { LaneWindow } from './lane-window.ts'
import type { Outages } from './outages.ts'
import type { ParkedChains } from './parked-chains.ts'
import { isRefusal, sayFault } from './redis-fault.ts'
import {
  adaptBatchSize,
  failsAsAWhole,
  noteDead,
  noteFailure,
  noteOutcomes,
  notePassed,
  noteRetry,
  noteUnreadable,
  type SinkState,
} from './sink-state.ts'
import type { Troubles } from './troubles.ts'

/** delivery → message for its sink */
export type Render = (delivery: Delivery, attempt: number) => Message

/** What lanes of one process share. */
export interface LaneContext {
  redis: Redis
  keys: Keys
  render: Render
  policy: Policy
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  random(): number
  troubles: Troubles
  /** Undefined where traces are off. */
  trace?: LineTracer['attempt'] | undefined
  caller: Caller
  acks: Acks
  budget: ByteBudget
  outages: Outages
  parked: ParkedChains
  stateOf(sink: string): SinkState | undefined
  /** The sink's bound of age, in milliseconds. */
  maxAgeMs(sink: string): number
  /** May calls begin? Not without the lease of the worker, and not while it stops. */
  mayStart(): boolean
  isFormer(lane: string): boolean
  /** Stored deliveries of the version before go first. */
  waitsForFormer(lane: string): boolean
  /** Hashes of the chains that the version before left parked, and that go before those of this lane. */
  formerChains(lane: string): ReadonlySet<string>
  /** Another worker has the lane's slot. */
  onFenced(lane: string): void
  /** Nothing is left in the lane, as far as this process knows. */
  onEmpty(lane: LaneWorker): void
  /** The breaker of this sink is open: its lanes go on when it admits calls. */
  onOpen(state: SinkState): void
  /** The sink takes deliveries again. */
  onPassed(state: SinkState): void
}

/** So many deliveries in memory are enough to go on with. */
const ENOUGH = 256
/** What one read takes, in bytes of the budget, about. */
const READ_BYTES = 1024 * 1024
const MOST_ENTRIES = 16
/** What an entry is taken for before the first was read. */
const UNKNOWN_BYTES = 512 * 1024
/** A call that takes longer waits for a slow object or a slow sink, and no longer counts. */
export const SLOW_MS = 3_000
/** Deliveries under way, or made and not acknowledged: so many of a lane may come again after a crash. */
const MOST_BEGUN = 20
/** Of a sink that sends several deliveries in one request. */
const JOINED_CALLS = 4
const MOST_SLOW_CALLS = 8
const MOST_CALLS = 128
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const READ_AGAIN_MS = 500
const NEWER_MS = 15_000

interface Call {
  items: readonly Item[]
  startedMs: number
  probe: boolean
  /** The breaker knows what came of it. */
  noted: boolean
}

/** An entry of which something is not acknowledged yet, as far as this process knows. */
interface Entry {
  count: number
  settled: Set<number>
  /** Places in the window. */
  open: Set<number>
}

/**
 * One lane of a slot that this worker owns: read ─▶ render ─▶ deliver ─▶ acknowledge. Each object has its own chain; several chains
 * are under way at once, one call per chain at a time. What a commit of this process wrote is fed in memory.
 */
export class LaneWorker {
  readonly name: string
  readonly sink: string
  readonly #token: string
  readonly #context: LaneContext
  readonly #window = new LaneWindow()
  readonly #entries = new Map<string, Entry>()
  readonly #calls = new Set<Call>()
  #lastId = '0-0'
  /** There may be entries that were not read. */
  #dirty = true
  #fromStart = true
  #reading = false
  #givingUp = false
  /** Entries that ended while a read was under way, which may bring them again. */
  readonly #ended = new Set<string>()
  /** Counts how often deliveries were let go of: what was being read then is not what follows. */
  #generation = 0
  #acknowledging = 0
  #unacknowledged = 0
  #pausedUntilMs = 0
  #readAgainMs = 0
  #targetFailures = 0
  /** Since when the lane's target fails, once that is confirmed. */
  #failingSinceMs: number | undefined
  #lastFailure = ''
  #timer: NodeJS.Timeout | undefined
  #timerMs = Number.POSITIVE_INFINITY
  #dropped = false
  #drained: (() => void) | undefined
  #draining = false

  constructor(context: LaneContext, name: string, token: string) {
    this.#context = context
    this.name = name
    this.sink = sinkOf(name)
    this.#token = token
  }

  /** A lane that is known to be empty in Redis, so that it can be fed. */
  static empty(context: LaneContext, name: string, token: string): LaneWorker {
    const worker = new LaneWorker(context, name, token)
    worker.#dirty = false
    worker.#fromStart = false
    return worker
  }

  /** How many deliveries it has in memory. */
  get size(): number {
    return this.#window.size
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0 && !this.#dirty && !this.#reading && this.#calls.size === 0
  }

  /** There may be entries that are not read; `anywhere`: also before those that are known. */
  poke(anywhere = false): void {
    this.#dirty = true
    if (anywhere || this.#entries.size === 0) this.#fromStart = true
    this.pump()
  }

  /** Redis went back to an older state: what is not under way is read again. */
  resync(): void {
    this.#generation++
    this.#forget(this.#window.idle())
    this.#fromStart = true
    this.poke()
  }

  /** What a commit of this process has written, nothing of others before it. */
  feed(entries: readonly { id: string; deliveries: readonly Delivery[] }[]): void {
    const first = entries[0]
    const isContiguous = !this.#dirty && !this.#reading && first && isAfter(first.id, this.#lastId)
    if (!isContiguous || this.#window.size > 4 * ENOUGH) return this.poke()
    const read = entries.map(({ id, deliveries }): LaneEntryRead => {
      const items = deliveries.map((delivery, place) => itemOf(delivery, id, place))
      return { id, count: deliveries.length, settled: new Set(), items, unreadable: [] }
    })
    const cost = read.reduce((sum, { items }) => sum + costOfAll(items), 0)
    if (!this.#context.budget.tryTake(this.sink, cost)) return this.poke()
    this.#context.budget.give(this.sink, cost)
    this.#accept(read)
    this.pump()
  }

  /** Pauses are over, as far as this process made them. */
  hurry(): void {
    this.#pausedUntilMs = 0
    this.#readAgainMs = 0
    this.#window.hurry()
    this.pump()
  }

  /** Begins no call any more; resolves when nothing is under way. */
  drain(): Promise<void> {
    this.#draining = true
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained = resolve
    this.#checkDrained()
    return promise
  }

  /**
   * Makes dead letters of those deliveries of `read` that are meant and not under way, whether they are in memory or not. Returns
   * them when that is durable; none where another worker has the lane.
   */
  async giveUp(
    read: () => Promise<readonly LaneEntryRead[]>,
    isMeant: (item: Item) => boolean,
    reason: DeadReason,
    detail: string,
  ): Promise<readonly Item[]> {
    this.#givingUp = true
    const entries = await read().finally(() => {
      this.#givingUp = false
    })
    const items = this.#take(entries, isMeant)
    if (!this.#reading) this.#ended.clear()
    if (items.length === 0) return items
    const acks = items.map((item) => this.#dead(item, reason, detail))
    return (await this.#acknowledge(acks, items)) === 'fenced' ? [] : items
  }

  /** Takes deliveries that are not under way out of memory; those that are not in memory are known from now on. */
  #take(read: readonly LaneEntryRead[], isMeant: (item: Item) => boolean): Item[] {
    if (this.#dropped || this.#draining) return []
    const placeOf = ({ entryId, place }: Item) => `${entryId}/${place}`
    const idle = new Map(this.#window.idle().map((item) => [placeOf(item), item]))
    const taken: Item[] = []
    for (const { id, count, settled, items } of read) {
      const known = this.#entries.get(id)
      if (this.#ended.has(id)) continue
      const entry = known ?? { count, settled: new Set(settled), open: new Set<number>() }
      for (const item of items) {
        const isOpen = entry.open.has(item.place)
        const own = isOpen ? idle.get(placeOf(item)) : item
        if (!own || entry.settled.has(item.place) || !isMeant(item)) continue
        if (!isOpen) this.#context.budget.add(this.sink, item.cost)
        this.#entries.set(id, entry)
        taken.push(own)
      }
    }
    this.#window.remove(taken)
    return taken
  }

  /** The lane belongs to another worker: forgets all. */
  drop(): void {
    this.#dropped = true
    clearTimeout(this.#timer)
    this.#forget(this.#window.idle())
    this.#drained?.()
  }

  /** Reads and begins what it can. */
  pump(): void {
    if (this.#dropped || this.#draining) return
    const state = this.#context.stateOf(this.sink)
    if (!state) return
    this.#expire(state)
    this.#followFormer()
    if (this.#wantsMore(state)) void this.#read(state)
    while (this.#begin(state)) {}
    this.#arm()
  }

  /** What follows a chain that the version before left parked is parked as well, and waits for it there. */
  #followFormer(): void {
    const { formerChains, parked } = this.#context
    const hashes = formerChains(this.name)
    if (hashes.size === 0) return
    const laneOf = ({ chain }: Item) => parkedLane(this.name, chain)
    const items = [...this.#window.idle()].filter((item) => hashes.has(chainHashOf(laneOf(item)) ?? ''))
    if (items.length === 0) return
    for (const item of items) parked.add(laneOf(item), this.#token)
    this.#window.remove(items)
    void this.#acknowledge(this.#moves(items), items)
  }

  #wantsMore(state: SinkState): boolean {
    if (!this.#dirty || this.#reading || performance.now() < this.#readAgainMs) return false
    // What waits for a sink that fails takes no room from others.
    if (this.#window.size > 0 && state.breaker.isOpen()) return false
    return this.#window.size < Math.max(ENOUGH, 2 * state.batchSize)
  }

  async #read(state: SinkState): Promise<void> {
    const { budget, redis, keys, troubles, log } = this.#context
    this.#reading = true
    const entryCost = state.entryCost ?? UNKNOWN_BYTES
    const count = Math.min(Math.max(Math.floor(READ_BYTES / entryCost), 1), MOST_ENTRIES)
    const reserved = count * entryCost
    await budget.take(this.sink, reserved)
    try {
      if (this.#dropped) return
      if (this.#fromStart) this.#lastId = '0-0'
      const start = this.#fromStart ? '-' : `(${this.#lastId}`
      this.#dirty = false
      this.#fromStart = false
      const generation = this.#generation
      const read = await readLane(redis, keys, this.name, start, count)
      if (this.#dropped) return
      if (generation !== this.#generation) {
        this.#dirty = true
        this.#fromStart = true
        return
      }
      const { more, awaitsNewer } = read
      const entries = read.entries.filter(({ id }) => !this.#ended.has(id))
      troubles.over(`lane ${this.name}`)
      if (entries.length > 0) {
        const cost = entries.reduce((sum, { items }) => sum + costOfAll(items), 0)
        state.entryCost = Math.max(cost / entries.length, (state.entryCost ?? 0) / 2, 1)
      }
      if (more) this.#dirty = true
      if (awaitsNewer) {
        this.#readAgainMs = performance.now() + NEWER_MS
        log.warn({ lane: this.name }, 'the next entry is of a newer version, which has to deliver it')
      }
      this.#accept(entries)
    } catch (error) {
      this.#dirty = true
      this.#fromStart = true
      this.#readAgainMs = performance.now() + READ_AGAIN_MS
      if (isRefusal(error)) troubles.note(`lane ${this.name}`, sayFault(error))
      else log.debug({ error, lane: this.name }, 'the lane was not read; it is read again')
    } finally {
      budget.give(this.sink, reserved)
      this.#reading = false
      if (!this.#givingUp) this.#ended.clear()
      this.pump()
      this.#checkEmpty()
    }
  }

  /** Takes over what was read or fed; what is known already is passed over. */
  #accept(read: readonly LaneEntryRead[]): void {
    const { parked, budget } = this.#context
    const state = this.#context.stateOf(this.sink)
    const acks: Acknowledgement[] = []
    const moved: Item[] = []
    for (const { id, count, settled, items, unreadable } of read) {
      const entry = this.#entries.get(id) ?? { count, settled: new Set(settled), open: new Set<number>() }
      this.#entries.set(id, entry)
      if (isAfter(id, this.#lastId)) this.#lastId = id
      for (const it of unreadable) {
        if (it.places.some((place) => entry.settled.has(place))) continue
        for (const place of it.places) entry.settled.add(place)
        if (state) noteUnreadable(this.#context, state, this.name, id, it)
        acks.push({ entryId: id, count, places: it.places, dead: letterOf(it, this.#context.clock.now()) })
      }
      for (const item of items) {
        if (entry.open.has(item.place) || entry.settled.has(item.place)) continue
        entry.open.add(item.place)
        budget.add(this.sink, item.cost)
        if (parked.has(this.name, item.chain)) moved.push(item)
        else this.#window.add(item)
      }
      if (entry.settled.size === count && unreadable.length === 0)
        acks.push({ entryId: id, count, places: [] })
    }
    if (moved.length > 0) acks.push(...this.#moves(moved))
    if (acks.length > 0) void this.#acknowledge(acks, moved)
  }

  /** False when nothing more can begin now. */
  #begin(state: SinkState): boolean {
    const context = this.#context
    const nowMs = performance.now()
    if (nowMs < this.#pausedUntilMs || this.#window.size === 0) return false
    if (!context.mayStart() || context.acks.isBlocked(this.name) || context.waitsForFormer(this.name))
      return false
    if (!this.#hasCall(state, nowMs) || !this.#window.hasReady(nowMs)) return false
    if (this.#awaitsMore(state, nowMs)) return false
    const admission = state.breaker.admit()
    if (admission.kind === 'wait') {
      context.onOpen(state)
      return false
    }
    const probe = admission.kind === 'probe'
    const size = probe ? 1 : Math.min(state.batchSize, this.#room(state, nowMs))
    const items = this.#window.pick({ size, nowMs, ordered: state.ordered, joined: state.joins, probe })
    if (items.length === 0) {
      if (probe) state.breaker.released()
      return false
    }
    void this.#call(state, { items, startedMs: nowMs, probe, noted: false })
    return true
  }

  /** How many deliveries may begin. A sink that gets many in one request decides by its batches. */
  #room({ ordered, joins }: SinkState, nowMs: number): number {
    if (ordered || joins) return Number.POSITIVE_INFINITY
    let begun = this.#unacknowledged
    for (const { items, startedMs } of this.#calls) if (startedMs > nowMs - SLOW_MS) begun += items.length
    return MOST_BEGUN - begun
  }

  /** A sink that makes one thing of many gets as many as wait. */
  #awaitsMore(state: SinkState, nowMs: number): boolean {
    if (!state.takesAll || this.#window.size >= state.batchSize || state.breaker.isOpen()) return false
    return (this.#dirty || this.#reading) && this.#readAgainMs <= nowMs
  }

  /** Calls that take long do not count, as long as the sink answers others. */
  #hasCall(state: SinkState, nowMs: number): boolean {
    const since = nowMs - SLOW_MS
    let young = 0
    for (const { startedMs } of this.#calls) if (startedMs > since) young++
    const most = state.ordered ? 1 : state.joins ? JOINED_CALLS : MOST_BEGUN
    if (young >= most || this.#room(state, nowMs) <= 0 || this.#calls.size >= MOST_CALLS) return false
    return this.#calls.size - young < MOST_SLOW_CALLS || state.passedMs > since
  }

  async #call(state: SinkState, call: Call): Promise<void> {
    const { caller, render, metrics } = this.#context
    this.#calls.add(call)
    using trace = this.#context.trace?.(state.name, this.name, call.items)
    const messages = call.items.map(({ delivery, tries }, place) => {
      const message = render(delivery, tries)
      return trace ? trace.traced(place, message) : message
    })
    const outcomes = await caller.call(state.sink, messages)
    this.#calls.delete(call)
    trace?.answered(outcomes)
    metrics.batchSeconds.observe({ sink: state.name }, (performance.now() - call.startedMs) / 1_000)
    metrics.batchDeliveries.observe({ sink: state.name }, call.items.length)
    await this.#answered(state, call, outcomes, trace)
  }

  async #answered(
    state: SinkState,
    call: Call,
    outcomes: readonly Outcome[],
    trace: AttemptTrace | undefined,
  ): Promise<void> {
    const context = this.#context
    const { items, probe } = call
    const verdict = judge(items, outcomes)
    const settled = [...verdict.delivered, ...verdict.dead.map(({ item }) => item)]
    if (this.#dropped) return this.#forget(items)
    this.#noteSpeed(state, call)
    this.#window.remove(settled)
    this.#window.release(items)
    for (const { chain } of settled) this.#window.passed(chain)
    state.failureShare.note(settled.length, verdict.retries.length, performance.now())
    if (verdict.answered) this.#notePassed(state, call)
    const acks = this.#settle(verdict.delivered)
    for (const { item, reason, detail } of verdict.dead) acks.push(this.#dead(item, reason, detail))
    const moved: Item[] = []
    // A failure because we are asked to stop says nothing of the sink.
    if (!context.caller.aborted) {
      for (const item of this.#noteRetries(state, call, verdict)) {
        const chain = this.#window.waiting(item.chain)
        moved.push(...chain)
        acks.push(...this.#park(state, item, chain))
        this.#window.remove(chain)
      }
    }
    if (probe && !call.noted) state.breaker.released()
    if (verdict.laterMs !== undefined)
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, performance.now() + verdict.laterMs)
    const end = acks.length > 0 ? this.#acknowledge(acks, [...settled, ...moved]) : undefined
    this.pump()
    if ((await end) === 'fenced') return
    trace?.settled(verdict)
    if (end) noteOutcomes(context, state, this.name, verdict)
  }

  #noteSpeed(state: SinkState, { items, startedMs, probe }: Call): void {
    const tookMs = performance.now() - startedMs
    const isSlow = tookMs > SLOW_MS
    // Of several, each is tried alone to find the slow one.
    if (isSlow || items.length === 1)
      for (const { chain } of items)
        if (isSlow || this.#window.isSlow(chain)) this.#window.setSlow(chain, isSlow)
    if (!probe && items.length > 1) adaptBatchSize(state, tookMs)
    else if (!probe && !isSlow) adaptBatchSize(state, tookMs)
  }

  #notePassed(state: SinkState, call: Call): void {
    const { outages } = this.#context
    const wasOpen = state.breaker.isOpen()
    call.noted = true
    notePassed(this.#context, state, call.startedMs)
    state.failingSinceMs = undefined
    this.#failingSinceMs = undefined
    this.#targetFailures = 0
    outages.passed(state.name)
    outages.passed(this.name)
    if (wasOpen && !state.breaker.isOpen()) this.#context.onPassed(state)
  }

  /** Returns the deliveries whose chains fail alone. */
  #noteRetries(state: SinkState, call: Call, verdict: Verdict<Item>): Item[] {
    const context = this.#context
    const nowMs = performance.now()
    const alone: Item[] = []
    let failure: Retry | undefined
    let target: Retry | undefined
    for (const { item, outcome } of verdict.retries) {
      noteRetry(context, state, outcome)
      const { chain } = item
      const facts = { passedMs: state.passedMs, failedBeforeMs: this.#window.failedMs(chain) }
      this.#lastFailure = outcome.detail
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
    const pauseMs = failure.afterMs ?? backoffMs * (0.5 + random() / 2)
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, performance.now() + pauseMs)
    this.#window.hurry()
    noteFailure(this.#context, state, this.name, failure)
    this.#failingSinceMs = outages.failed(this.name)
  }

  #sinkFailed(state: SinkState, failure: Retry, call: Call): void {
    const { breaker } = state
    const calledMs = call.startedMs
    call.noted = true
    breaker.failed()
    // Where others get through meanwhile, what the sink asks for is this object's alone.
    if (failure.afterMs !== undefined && state.passedMs < calledMs) breaker.pause(failure.afterMs)
    noteFailure(this.#context, state, this.name, failure)
    if (state.passedMs < calledMs) state.failingSinceMs = this.#context.outages.failed(state.name)
    if (breaker.isOpen()) {
      this.#context.onOpen(state)
      this.#shrink()
    }
  }

  /** What waits for a sink that fails is read again when it is back: memory is for those that take something. */
  #shrink(): void {
    const [_first, ...rest] = [...this.#window.idle()]
    if (rest.length === 0 || this.#calls.size > 0) return
    this.#generation++
    this.#forget(rest)
    this.#dirty = true
    this.#fromStart = true
  }

  /** Gives up what waited for too long while the sink, or the lane's target, has failed. */
  #expire(state: SinkState): void {
    const { clock, maxAgeMs } = this.#context
    const failingSinceMs = state.failingSinceMs ?? this.#failingSinceMs
    if (failingSinceMs === undefined || !this.#context.mayStart()) return
    const limit = { nowMs: clock.now(), failingSinceMs }
    const items = [...this.#window.idle()].filter((item) =>
      isExpired(item, { maxAgeMs: maxAgeMs(this.sink) }, limit),
    )
    if (items.length === 0) return
    const { reason, detail } = expiry(this.#lastFailure || (state.lastError ?? ''))
    this.#window.remove(items)
    const acks = items.map((item) => this.#dead(item, reason, detail))
    void this.#acknowledge(acks, items).then((end) => {
      if (end === 'fenced') return
      for (const item of items) noteDead(this.#context, state, item, reason, detail)
      this.pump()
    })
  }

  #park(state: SinkState, item: Item, chain: readonly Item[]): Acknowledgement[] {
    const { parked, clock, log } = this.#context
    const note: FailureNote = { tries: failsAsAWhole(state) ? 0 : 1, sinceMs: clock.now() }
    const to = parkedLane(this.name, item.chain)
    parked.add(to, this.#token, { failed: true })
    const { kind, namespace, name } = item.delivery.event
    log.info(
      { sink: state.name, kind, object: `${namespace}/${name}` },
      'an object fails while others pass: parked',
    )
    const [head, ...rest] = chain
    return head ? [...this.#moves([head], note), ...this.#moves(rest)] : []
  }

  #moves(items: readonly Item[], note?: FailureNote): Acknowledgement[] {
    return items.map((item) => {
      const to = parkedLane(this.name, item.chain)
      const [encoded] = encodeEntries([item.delivery])
      const { observedAtMs, payload } = encoded as { observedAtMs: number; payload: Buffer }
      this.#mark(item)
      this.#context.parked.moving(to, 1)
      return {
        entryId: item.entryId,
        count: this.#countOf(item),
        places: [item.place],
        move: { to, observedAtMs, payload, note },
      }
    })
  }

  #dead(item: Item, reason: DeadReason, detail: string): Acknowledgement {
    this.#mark(item)
    const [encoded] = encodeEntries([item.delivery])
    const { rule } = item.delivery
    const payload = (encoded as { payload: Buffer }).payload
    const dead = {
      rule,
      reason,
      detail: redactMessage(detail),
      atMs: this.#context.clock.now(),
      payload,
      count: 1,
    }
    return { entryId: item.entryId, count: this.#countOf(item), places: [item.place], dead }
  }

  /** One acknowledgement for each entry. */
  #settle(items: readonly Item[]): Acknowledgement[] {
    for (const item of items) this.#mark(item)
    const byEntry = Map.groupBy(items, ({ entryId }) => entryId)
    return [...byEntry].map(([entryId, some]) => ({
      ...{ entryId, count: this.#countOf(some[0] as Item) },
      places: some.map(({ place }) => place),
    }))
  }

  #countOf({ entryId }: Item): number {
    return this.#entries.get(entryId)?.count ?? 1
  }

  #mark({ entryId, place }: Item): void {
    const entry = this.#entries.get(entryId)
    entry?.open.delete(place)
    entry?.settled.add(place)
  }

  async #acknowledge(acks: readonly Acknowledgement[], items: readonly Item[]): Promise<'done' | 'fenced'> {
    const context = this.#context
    this.#acknowledging++
    this.#unacknowledged += items.length
    const isFormer = context.isFormer(this.name)
    const end = await context.acks.add({ lane: this.name, token: this.#token, isFormer, acks })
    this.#acknowledging--
    this.#unacknowledged -= items.length
    context.budget.give(this.sink, costOfAll(items))
    for (const { move } of acks) if (move) context.parked.moving(move.to, -1)
    if (end === 'fenced') {
      if (!this.#dropped) context.onFenced(this.name)
      return 'fenced'
    }
    for (const { entryId } of acks) {
      const entry = this.#entries.get(entryId)
      if (!entry || entry.settled.size < entry.count) continue
      this.#entries.delete(entryId)
      if (this.#reading || this.#givingUp) this.#ended.add(entryId)
    }
    if (end === 'missing' && !this.#dropped) this.resync()
    this.#checkDrained()
    if (!this.#dropped && context.acks.isBlocked(this.name) === false && this.#window.size > 0) this.pump()
    this.#checkEmpty()
    return 'done'
  }

  #checkEmpty(): void {
    if (!this.#dropped && this.isEmpty && this.#acknowledging === 0) {
      this.#context.stateOf(this.sink)?.failingLanes.passed(this.name)
      clearTimeout(this.#timer)
      this.#timerMs = Number.POSITIVE_INFINITY
      this.#context.onEmpty(this)
    }
  }

  #checkDrained(): void {
    if (this.#draining && this.#calls.size === 0 && this.#acknowledging === 0) this.#drained?.()
  }

  /** Lets go of deliveries; they stay in Redis. */
  #forget(items: Iterable<Item>): void {
    const some = [...items]
    this.#window.remove(some)
    for (const { entryId, place, cost } of some) {
      this.#context.budget.give(this.sink, cost)
      const entry = this.#entries.get(entryId)
      entry?.open.delete(place)
      if (entry && entry.open.size === 0 && entry.settled.size === 0) this.#entries.delete(entryId)
    }
    this.#checkDrained()
  }

  /** One timer for all that the lane waits for; none while it waits for nothing. */
  #arm(): void {
    const nowMs = performance.now()
    let dueMs = Number.POSITIVE_INFINITY
    const consider = (ms: number | undefined) => {
      if (ms !== undefined && ms > nowMs) dueMs = Math.min(dueMs, ms)
    }
    if (this.#dirty && this.#readAgainMs > nowMs) consider(this.#readAgainMs)
    if (this.#window.size > 0) {
      consider(this.#pausedUntilMs)
      consider(this.#window.nextMs(nowMs))
      if (this.#window.hasReady(nowMs)) for (const { startedMs } of this.#calls) consider(startedMs + SLOW_MS)
    }
    if (dueMs === this.#timerMs) return
    clearTimeout(this.#timer)
    this.#timerMs = dueMs
    if (dueMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(
      () => {
        this.#timerMs = Number.POSITIVE_INFINITY
        this.pump()
      },
      dueMs - nowMs + 1,
    )
  }
}

function letterOf(
  { detail, payload, places }: { detail: string; payload: Buffer; places: readonly number[] },
  atMs: number,
) {
  return {
    rule: '',
    reason: 'unreadable' as const,
    detail: detail.slice(0, 2_048),
    atMs,
    payload,
    count: places.length,
  }
}

function costOfAll(items: readonly Item[]): number {
  return items.reduce((sum, { cost }) => sum + cost, 0)
}

/** Ids of stream entries: `<milliseconds>-<number>`. */
function isAfter(id: string, other: string): boolean {
  const [ms = 0, n = 0] = id.split('-').map(Number)
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number)
  return ms > otherMs || (ms === otherMs && n > otherN)
}
