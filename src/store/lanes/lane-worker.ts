import type { Outcome } from '../sink/index.ts'
import type { AttemptTrace } from '../trace.ts'
import type { Acknowledgement, DeadReason } from './ack-script.ts'
import { judge } from './delivery-policy.ts'
import { type Call, LaneCalls } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import { LaneEntries, unreadableAck } from './lane-entries.ts'
import { sinkOf } from './lane-names.ts'
import { LaneOutcomes } from './lane-outcomes.ts'
import { LaneParking, type Parked } from './lane-parking.ts'
import { type Item, itemOf, type LaneEntryRead } from './lane-reader.ts'
import { costOfAll, type FedEntry, LaneReading } from './lane-reading.ts'
import { LaneWindow } from './lane-window.ts'
import { noteDead, noteOutcomes, noteUnreadable, type SinkState } from './sink-state.ts'

/** Deliveries of a sink that fails which a lane keeps in memory, each of another object. */
const KEPT_FOR_PROBES = 3

/**
 * One lane of a slot that this worker owns: read ─▶ render ─▶ deliver ─▶ acknowledge. Each object has its own chain; several chains
 * are under way at once, one call per chain at a time. What a commit of this process wrote is fed in memory.
 */
export class LaneWorker {
  readonly name: string
  readonly sink: string
  readonly #token: string
  readonly #context: LaneContext
  readonly #reading: LaneReading
  readonly #entries = new LaneEntries()
  readonly #window = new LaneWindow()
  readonly #calls = new LaneCalls()
  readonly #outcomes: LaneOutcomes
  readonly #parking: LaneParking
  #acknowledging = 0
  #timer: NodeJS.Timeout | undefined
  #timerMs = Number.POSITIVE_INFINITY
  #dropped = false
  #drained: (() => void) | undefined

  /** `isEmpty`: the lane is known to be empty in Redis, so that it can be fed. */
  constructor(context: LaneContext, name: string, token: string, { isEmpty } = { isEmpty: false }) {
    this.#context = context
    this.name = name
    this.sink = sinkOf(name)
    this.#token = token
    this.#reading = new LaneReading(context, name, isEmpty)
    this.#outcomes = new LaneOutcomes(context, name, this.#window)
    this.#parking = new LaneParking(context, {
      ...{ lane: name, token, window: this.#window, entries: this.#entries },
    })
  }

  /** How many deliveries it has in memory. */
  get size(): number {
    return this.#window.size
  }

  /** No call begins before, by a clock that never jumps: its target asked for it. */
  get pausedUntilMs(): number {
    return this.#outcomes.pausedUntilMs
  }

  get isEmpty(): boolean {
    const { isDone, isReadBeside } = this.#reading
    return this.#entries.size === 0 && isDone && !isReadBeside && this.#calls.size === 0
  }

  /** There may be entries that are not read; `anywhere`: also before those that are known. */
  poke(anywhere = false): void {
    this.#reading.poke(anywhere || this.#entries.size === 0)
    this.pump()
  }

  /** Redis went back to an older state: what is not under way is read again. */
  resync(): void {
    this.#forget(this.#window.idle())
    this.#reading.restart()
    this.pump()
  }

  /** What a commit of this process has written, nothing of others before it. */
  feed(entries: readonly FedEntry[]): void {
    const { budget } = this.#context
    if (this.#dropped || this.#reading.keep(entries)) return
    const first = entries[0]
    if (!first || !this.#reading.isFollowedBy(first.id, this.#window.size)) return this.poke()
    const read = entries.map(({ id, deliveries }): LaneEntryRead => {
      const items = deliveries.map((delivery, place) => itemOf(delivery, id, place))
      return { id, count: deliveries.length, settled: new Set(), items, unreadable: [] }
    })
    const cost = read.reduce((sum, { items }) => sum + costOfAll(items), 0)
    if (!budget.tryTake(this.sink, cost)) return this.poke()
    budget.give(this.sink, cost)
    this.#accept(read)
    this.pump()
  }

  /** Pauses are over, as far as this process made them. */
  hurry(): void {
    this.#reading.hurry()
    this.#outcomes.hurry()
    this.pump()
  }

  /** Begins no call any more; resolves when nothing is under way. */
  drain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained = resolve
    this.#checkDrained()
    return promise
  }

  /** Begins calls again: the slot stays. What was written meanwhile is read. */
  resume(): void {
    this.#drained?.()
    this.#drained = undefined
    this.poke()
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
    const { budget, clock } = this.#context
    const entries = await this.#reading.beside(read)
    if (this.#dropped || this.#drained) return []
    const { held, fresh } = this.#entries.claim(entries, this.#window.idle(), isMeant)
    this.#window.remove(held)
    for (const { cost } of fresh) budget.add(this.sink, cost)
    const items = [...held, ...fresh]
    if (items.length === 0) {
      this.#checkEmpty()
      return items
    }
    const acks = items.map((item) => this.#entries.dead(item, reason, detail, clock.now()))
    return (await this.#acknowledge(acks, items)) === 'fenced' ? [] : items
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
    if (this.#dropped || this.#drained) return
    const state = this.#context.stateOf(this.sink)
    if (!state) return
    this.#expire(state)
    this.#leave(this.#parking.former())
    const isPaused = this.#outcomes.pausedUntilMs > performance.now()
    if (this.#reading.isHeldUp(state, this.#window.size)) {
      this.#leave(this.#parking.stalled(state, this.#calls))
      if (isPaused) this.#shrink()
    }
    if (this.#reading.wantsMore(state, this.#window, isPaused)) void this.#read(state)
    while (this.#begin(state)) {}
    this.#arm()
  }

  async #read(state: SinkState): Promise<void> {
    const { budget } = this.#context
    const { count, reserved } = this.#reading.begin(state)
    await budget.take(this.sink, reserved)
    try {
      if (this.#dropped) return
      const entries = await this.#reading.read(state, count)
      if (entries && !this.#dropped) this.#accept(entries)
    } catch (error) {
      this.#reading.failed(error)
    } finally {
      budget.give(this.sink, reserved)
      this.#reading.end()
      const fed = this.#reading.fedMeanwhile()
      if (fed.length > 0) this.feed(fed)
      else this.pump()
      this.#checkEmpty()
    }
  }

  /** Takes over what was read or fed. What follows a parked chain goes behind it. */
  #accept(read: readonly LaneEntryRead[]): void {
    const context = this.#context
    const state = context.stateOf(this.sink)
    const acks: Acknowledgement[] = []
    const moved: Item[] = []
    for (const entry of read) {
      const { id, count } = entry
      const { items, unreadable, isSettled } = this.#entries.take(entry)
      this.#reading.reached(id)
      for (const it of unreadable) {
        if (state) noteUnreadable(context, state, this.name, id, it)
        acks.push(unreadableAck(id, count, it, context.clock.now()))
      }
      for (const item of items) {
        context.budget.add(this.sink, item.cost)
        if (context.parked.has(this.name, item.chain)) moved.push(item)
        else this.#window.add(item)
      }
      if (isSettled) acks.push({ entryId: id, count, places: [] })
    }
    if (moved.length > 0) acks.push(...this.#parking.follow(moved))
    if (acks.length > 0) void this.#acknowledge(acks, moved)
  }

  #leave(parked: Parked | undefined): void {
    if (parked) void this.#acknowledge(parked.acks, parked.items)
  }

  /** False when nothing more can begin now. */
  #begin(state: SinkState): boolean {
    const context = this.#context
    const nowMs = performance.now()
    if (this.#outcomes.pausedUntilMs > nowMs) return false
    if (!context.mayStart() || context.acks.isBlocked(this.name) || context.waitsForFormer(this.name))
      return false
    if (!this.#calls.isFree(state, nowMs) || !this.#window.hasReady(nowMs)) return false
    if (this.#awaitsMore(state, nowMs)) return false
    const admission = state.breaker.admit()
    if (admission.kind === 'wait') {
      context.onOpen(state)
      return false
    }
    const probe = admission.kind === 'probe'
    // Half of the room at most: an object whose call hangs leaves some for others.
    const room = Math.ceil(this.#calls.room(state, nowMs) / 2)
    const size = probe ? 1 : Math.min(state.batchSize, room)
    const items = this.#window.pick({ size, nowMs, ordered: state.ordered, joined: state.joins, probe })
    if (items.length === 0) {
      if (probe) state.breaker.released()
      return false
    }
    void this.#call(state, { items, startedMs: nowMs, probe, noted: false })
    return true
  }

  /** A sink that makes one thing of many gets as many as wait. */
  #awaitsMore({ takesAll, batchSize, breaker }: SinkState, nowMs: number): boolean {
    if (!takesAll || this.#window.size >= batchSize || breaker.isOpen()) return false
    return this.#reading.goesOn(nowMs)
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
    trace?.answered(outcomes)
    metrics.batchSeconds.observe({ sink: state.name }, (performance.now() - call.startedMs) / 1_000)
    metrics.batchDeliveries.observe({ sink: state.name }, call.items.length)
    const own = this.#calls.end(call, outcomes)
    this.#context.budget.give(this.sink, costOfAll(own.handedOver))
    await this.#answered(state, { ...call, items: own.items }, own.outcomes, trace)
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
    if (this.#dropped) {
      if (probe) state.breaker.released()
      return this.#forget(items)
    }
    this.#outcomes.took(state, call)
    this.#window.remove(settled)
    this.#window.release(items)
    for (const { chain } of settled) this.#window.passed(chain)
    state.failureShare.note(settled.length, verdict.retries.length, performance.now())
    if (verdict.answered) this.#outcomes.passed(state, call)
    const acks = this.#entries.delivered(verdict.delivered)
    for (const { item, reason, detail } of verdict.dead)
      acks.push(this.#entries.dead(item, reason, detail, context.clock.now()))
    const moved: Item[] = []
    // A failure because we are asked to stop says nothing of the sink.
    if (!context.caller.aborted) {
      for (const item of this.#outcomes.retries(state, call, verdict)) {
        const parked = this.#parking.failed(state, item)
        moved.push(...parked.items)
        acks.push(...parked.acks)
      }
      if (call.noted && state.breaker.isOpen()) this.#shrink()
    }
    if (probe && !call.noted) state.breaker.released()
    if (verdict.laterMs !== undefined) this.#outcomes.pause(verdict.laterMs)
    const end = acks.length > 0 ? this.#acknowledge(acks, [...settled, ...moved]) : undefined
    this.pump()
    this.#checkDrained()
    if ((await end) === 'fenced') return
    trace?.settled(verdict)
    if (end) noteOutcomes(context, state, this.name, verdict)
  }

  /** What waits for a sink that fails, or a target that pauses, is read again when it is back: memory is for those that take something. */
  #shrink(): void {
    const rest = [...this.#window.allBut(KEPT_FOR_PROBES)]
    if (rest.length === 0 || this.#calls.size > 0) return
    this.#forget(rest)
    this.#reading.restart()
  }

  /** Gives up what waited for too long while the sink, or the lane's target, has failed. */
  #expire(state: SinkState): void {
    const context = this.#context
    if (!context.mayStart()) return
    const expired = this.#outcomes.expired(state)
    if (!expired) return
    const { items, reason, detail } = expired
    this.#window.remove(items)
    const acks = items.map((item) => this.#entries.dead(item, reason, detail, context.clock.now()))
    void this.#acknowledge(acks, items).then((end) => {
      if (end === 'fenced') return
      for (const item of items) noteDead(context, state, item, reason, detail)
      this.pump()
    })
  }

  async #acknowledge(acks: readonly Acknowledgement[], items: readonly Item[]): Promise<'done' | 'fenced'> {
    const context = this.#context
    this.#acknowledging++
    this.#calls.acknowledging(items.length)
    const isFormer = context.isFormer(this.name)
    const end = await context.acks.add({ lane: this.name, token: this.#token, isFormer, acks })
    this.#acknowledging--
    this.#calls.acknowledging(-items.length)
    context.budget.give(this.sink, costOfAll(items))
    for (const { move } of acks) if (move) context.parked.moving(move.to, -1)
    if (end === 'fenced') {
      if (!this.#dropped) context.onFenced(this.name, this.#token)
      return 'fenced'
    }
    this.#reading.ended(this.#entries.end(acks))
    if (end === 'missing' && !this.#dropped) this.resync()
    this.#checkDrained()
    if (!this.#dropped && context.acks.isBlocked(this.name) === false && this.#window.size > 0) this.pump()
    this.#checkEmpty()
    return 'done'
  }

  #checkEmpty(): void {
    if (this.#dropped || !this.isEmpty || this.#acknowledging > 0) return
    this.#context.stateOf(this.sink)?.failingLanes.passed(this.name)
    clearTimeout(this.#timer)
    this.#timerMs = Number.POSITIVE_INFINITY
    this.#context.onEmpty(this.name)
  }

  #checkDrained(): void {
    if (this.#calls.size === 0 && this.#acknowledging === 0) this.#drained?.()
  }

  /** Lets go of deliveries; they stay in Redis. */
  #forget(items: Iterable<Item>): void {
    const some = [...items]
    this.#window.remove(some)
    this.#entries.forget(some)
    this.#context.budget.give(this.sink, costOfAll(some))
    this.#checkDrained()
  }

  /** One timer for all that the lane waits for; none while it waits for nothing. */
  #arm(): void {
    const nowMs = performance.now()
    let dueMs = Number.POSITIVE_INFINITY
    const wait = (ms: number | undefined) => {
      if (ms !== undefined && ms > nowMs && ms < dueMs) dueMs = ms
    }
    wait(this.#reading.againMs(nowMs))
    if (this.#window.size > 0) {
      wait(this.#outcomes.pausedUntilMs)
      wait(this.#window.nextMs(nowMs))
      if (this.#window.hasReady(nowMs)) wait(this.#calls.slowMs(nowMs))
    }
    // One that is too early costs less than a new one for each call.
    if (dueMs >= this.#timerMs) return
    clearTimeout(this.#timer)
    this.#timerMs = dueMs
    const go = () => {
      this.#timerMs = Number.POSITIVE_INFINITY
      this.pump()
    }
    this.#timer = setTimeout(go, dueMs - nowMs + 1)
  }
}
