import type { ContainerLog } from '../../model/delivery.ts'
import { sinkOf } from '../keys.ts'
import type { Acknowledgement, DeadReason } from './ack-script.ts'
import { type Call, LaneCalls } from './calls.ts'
import { classifyOutcomes, isOfPeer, LaneOutcomes, type Verdict } from './delivery-policy.ts'
import {
  costOfAll,
  type FedEntry,
  fedEntries,
  type IsSelected,
  type Item,
  LaneEntries,
  type LaneEntryRead,
  unreadableAck,
} from './lane-entries.ts'
import { LaneMemory } from './lane-memory.ts'
import { LaneQuarantine, type QuarantineMoves } from './lane-quarantine.ts'
import { LaneReading } from './lane-reader.ts'
import { LaneWindow } from './lane-window.ts'
import type { LaneOwner, LaneServices } from './owned-lanes.ts'
import type { Quarantine } from './quarantine.ts'
import type { SinkState } from './sink-state.ts'

/** A sink that accepted or rejected a delivery in this time is expected to do so with those in flight. */
const PASSES_MS = 2_000

/** What a log counts in the byte budget: at most 16 KiB, and copies of it. */
const LOG_COST = 64 * 1024

/**
 * Processes one lane of a slot that this process owns: read ─▶ render ─▶ deliver ─▶ acknowledge. Each object has its own chain; calls of
 * several chains are concurrent, those of one chain are not. Entries that a commit of this process wrote are fed in memory.
 */
export class LaneWorker {
  readonly name: string
  readonly sink: string
  readonly #token: string
  readonly #services: LaneServices
  readonly #owner: LaneOwner
  readonly #reading: LaneReading
  readonly #memory: LaneMemory
  readonly #entries: LaneEntries
  readonly #window = new LaneWindow()
  readonly #calls = new LaneCalls()
  readonly #outcomes: LaneOutcomes
  readonly #quarantine: LaneQuarantine
  #timer: NodeJS.Timeout | undefined
  #timerMs = Number.POSITIVE_INFINITY
  #acknowledging = 0
  #dropped = false
  #drained: PromiseWithResolvers<void> | undefined

  /** `isEmpty`: the lane is known to be empty in Redis, so that it can be fed. */
  constructor(
    services: LaneServices,
    owner: LaneOwner,
    quarantine: Quarantine,
    lane: { name: string; token: string; isEmpty: boolean },
  ) {
    const { name, token, isEmpty } = lane
    this.#services = services
    this.#owner = owner
    this.name = name
    this.sink = sinkOf(name)
    this.#token = token
    this.#reading = new LaneReading(services, name, isEmpty)
    this.#entries = new LaneEntries(services.recordOf)
    this.#memory = new LaneMemory(services, {
      sink: this.sink,
      window: this.#window,
      entries: this.#entries,
      reading: this.#reading,
    })
    this.#outcomes = new LaneOutcomes(services, name, this.#window)
    this.#quarantine = new LaneQuarantine(services, quarantine, {
      lane: name,
      token,
      window: this.#window,
      entries: this.#entries,
    })
  }

  /** Number of deliveries in memory. */
  get size(): number {
    return this.#window.size
  }

  /** Deliveries of the lane are not in memory. */
  get isBehind(): boolean {
    return this.#reading.isBehind || this.#reading.isPassingOver
  }

  get pausedUntilMs(): number {
    return this.#outcomes.pausedUntilMs
  }

  /** Reads, and begins the calls that are possible now. */
  pump(): void {
    if (this.#dropped || this.#drained) return
    const state = this.#services.sinks.get(this.sink)
    if (!state) return
    this.#expire(state)
    if (!this.#memory.endsPassingOver(state) && this.#calls.size === 0) this.#memory.passOver(state)
    const isPaused = this.#outcomes.pausedUntilMs > performance.now()
    if (this.#reading.isHeldUp(state, this.#window.size)) {
      this.#move(this.#quarantine.stalled(state, this.#calls))
      if (isPaused) this.#shrink(state)
    }
    if (this.#reading.wantsMore(state, this.#window, isPaused)) void this.#read(state)
    for (let call = this.#nextCall(state); call; call = this.#nextCall(state)) void this.#deliver(state, call)
    this.#arm()
  }

  async #read(state: SinkState): Promise<void> {
    const { budget } = this.#services
    const { count, reserved } = this.#reading.begin(state)
    await budget.take(this.sink, reserved)
    try {
      if (this.#dropped) return
      const entries = await this.#reading.read(state, count, reserved)
      if (entries && !this.#dropped) this.#accept(entries)
    } catch (error) {
      if (!this.#dropped) this.#reading.failed(error)
    } finally {
      budget.give(this.sink, reserved)
      this.#reading.end()
      const fed = this.#reading.fedMeanwhile()
      if (fed.length > 0) this.feed(fed)
      else this.pump()
      this.#checkEmpty()
    }
  }

  /** Takes entries that were read or fed into memory. Deliveries of a chain in quarantine follow it there. */
  #accept(read: readonly LaneEntryRead[]): void {
    const { budget, clock, sinks, logs } = this.#services
    const state = sinks.get(this.sink)
    const acks: Acknowledgement[] = []
    const moved: Item[] = []
    const passedOver: Item[] = []
    for (const entry of read) {
      const { id, count } = entry
      const { items, unreadable, isSettled } = this.#entries.take(entry)
      this.#reading.reached(id)
      for (const it of unreadable) {
        state?.unreadable(this.name, id, it)
        acks.push(unreadableAck(id, count, it, clock.now()))
      }
      for (const item of items) {
        if (!this.#reading.takes(item, state?.failingNamespaces)) {
          passedOver.push(item)
          continue
        }
        const follows = this.#quarantine.has(item.chain)
        const log = follows ? undefined : logs?.of(item.delivery)
        if (log) this.#awaitLog(item, log)
        budget.add(this.sink, item.cost)
        if (follows) moved.push(item)
        else this.#window.add(item)
      }
      if (isSettled) acks.push({ entryId: id, count, places: [] })
    }
    if (passedOver.length > 0) {
      this.#entries.forget(passedOver)
      this.#reading.passOver(passedOver, state)
    }
    if (moved.length > 0) acks.push(...this.#quarantine.follow(moved))
    if (acks.length > 0) void this.#acknowledge(acks, moved)
  }

  /** Holds a delivery, and with it its chain, until its log is there. */
  #awaitLog(item: Item, log: Promise<ContainerLog | undefined>): void {
    item.awaitsLog = true
    item.cost += LOG_COST
    void log.then((it) => {
      // The process stops: another one delivers.
      if (!it) return
      item.delivery.logs = it
      item.awaitsLog = false
      this.pump()
    })
  }

  /** Takes the deliveries of the next call; undefined if none can begin now. */
  #nextCall(state: SinkState): Call | undefined {
    const { acks } = this.#services
    const nowMs = performance.now()
    if (this.#outcomes.pausedUntilMs > nowMs) return undefined
    if (!this.#owner.mayStart() || acks.isBlocked(this.name)) return undefined
    if (!this.#calls.isFree(state, nowMs) || !this.#window.hasReady(nowMs)) return undefined
    if (this.#awaitsMore(state, nowMs)) return undefined
    const failing = state.failingNamespaces
    const ofFailing = state.breaker.isOpen() && !this.#window.hasReady(nowMs, failing)
    const admission = state.breaker.admit(ofFailing)
    if (admission.kind === 'wait') {
      state.awaitBreaker()
      return undefined
    }
    const probe = admission.kind === 'probe' ? admission.probe : undefined
    // Half of the room at most, so that an object whose call hangs leaves some for others.
    const room = Math.ceil(this.#calls.room(state, nowMs) / 2)
    const size = probe ? 1 : Math.min(state.batchSize, room)
    const { ordered, joins: joined } = state
    const items = this.#window.pick({ size, nowMs, ordered, joined, probe: probe !== undefined, failing })
    if (items.length === 0) {
      state.breaker.ended(probe)
      return undefined
    }
    const call = { items, startedMs: nowMs, probe, noted: false }
    this.#calls.add(call)
    return call
  }

  /** A sink that combines many deliveries into one gets all that wait. A read that waits for memory brings none: calls free it. */
  #awaitsMore({ takesAll, batchSize, breaker }: SinkState, nowMs: number): boolean {
    if (!takesAll || this.#window.size >= batchSize || breaker.isOpen()) return false
    return this.#reading.goesOn(nowMs) && !this.#services.budget.waits(this.sink)
  }

  async #deliver(state: SinkState, call: Call): Promise<void> {
    using trace = state.trace(this.name, call.items)
    const outcomes = await state.deliver(call.items, trace)
    state.breaker.ended(call.probe)
    state.noteBatch(call.items.length, performance.now() - call.startedMs)
    const own = this.#calls.end(call, outcomes)
    this.#services.budget.give(this.sink, costOfAll(own.handedOver))
    const verdict = classifyOutcomes(own.items, own.outcomes)
    if (this.#dropped) return this.#memory.forget(own.items)
    this.#outcomes.took(state, { ...call, items: own.items }, own.outcomes)
    const end = this.#apply(state, { ...call, items: own.items }, verdict)
    this.pump()
    this.#checkDrained()
    if ((await end) === 'fenced') return
    trace?.settled(verdict)
    if (end) state.acknowledged(this.name, verdict)
  }

  /** Applies the outcomes of a call to lane and sink, and acknowledges the deliveries that are final or move. */
  #apply(state: SinkState, call: Call, verdict: Verdict<Item>): Promise<'done' | 'fenced'> | undefined {
    const { delivered, dead, retries, answered, laterMs } = verdict
    const settled = [...delivered, ...dead.map(({ item }) => item)]
    this.#window.remove(settled)
    this.#window.release(call.items)
    for (const { chain } of settled) this.#window.passed(chain)
    for (const { delivery } of delivered) state.failingNamespaces.passed(delivery.event.namespace)
    for (const { item, reason } of dead)
      if (isOfPeer(reason)) state.failingNamespaces.passed(item.delivery.event.namespace)
    const passed = delivered.length + dead.filter(({ reason }) => isOfPeer(reason)).length
    state.failureShare.note(passed, retries.length, performance.now())
    if (answered) this.#outcomes.passed(state, call)
    const acks = this.#entries.delivered(delivered)
    for (const { item, reason, detail } of dead) acks.push(this.#dead(item, reason, detail))
    const moved: Item[] = []
    if (!state.isAborted) {
      for (const item of this.#outcomes.retries(state, call, verdict)) {
        const moves = this.#quarantine.failed(state, item)
        moved.push(...moves.items)
        acks.push(...moves.acks)
      }
      if (call.noted && state.breaker.isOpen()) this.#shrink(state)
    }
    if (laterMs !== undefined) this.#outcomes.pause(laterMs)
    return acks.length > 0 ? this.#acknowledge(acks, [...settled, ...moved]) : undefined
  }

  async #acknowledge(acks: readonly Acknowledgement[], items: readonly Item[]): Promise<'done' | 'fenced'> {
    const services = this.#services
    this.#acknowledging++
    this.#calls.acknowledging(items.length)
    const end = await services.acks.add({ lane: this.name, token: this.#token, acks })
    this.#acknowledging--
    this.#calls.acknowledging(-items.length)
    services.budget.give(this.sink, costOfAll(items))
    this.#quarantine.moved(acks)
    if (end === 'fenced') {
      if (!this.#dropped) this.#owner.fenced(this.name, this.#token)
      return 'fenced'
    }
    this.#reading.ended(this.#entries.end(acks))
    if (end === 'missing' && !this.#dropped) this.resync()
    this.#checkDrained()
    if (!this.#dropped && !services.acks.isBlocked(this.name) && this.#window.size > 0) this.pump()
    this.#checkEmpty()
    return 'done'
  }

  #move(moves: QuarantineMoves | undefined): void {
    if (moves) void this.#acknowledge(moves.acks, moves.items)
  }

  #dead(item: Item, reason: DeadReason, detail: string): Acknowledgement {
    return this.#entries.dead(item, reason, detail, this.#services.clock.now())
  }

  /** Gives up deliveries that waited too long while the sink, or the lane's target, failed. */
  #expire(state: SinkState): void {
    if (!this.#owner.mayStart()) return
    const expired = this.#outcomes.expired(state)
    if (!expired) return
    const { items, reason, detail } = expired
    this.#window.remove(items)
    const acks = items.map((item) => this.#dead(item, reason, detail))
    void this.#acknowledge(acks, items).then((end) => {
      if (end === 'fenced') return
      for (const item of items) state.becameDeadLetter(item, reason, detail)
      this.pump()
    })
  }

  /** Calls that are under way hold what they have. */
  #shrink(state: SinkState): void {
    if (this.#calls.size === 0) this.#memory.shrink(state, this.#outcomes.isTargetFailing)
  }

  /** Takes the entries that a commit of this process wrote, without entries of others before them. */
  feed(entries: readonly FedEntry[]): void {
    const { budget } = this.#services
    if (this.#dropped || this.#reading.keep(entries)) return
    const first = entries[0]
    if (!first || !this.#reading.isFollowedBy(first.id, this.#window.size)) return this.poke()
    const read = fedEntries(entries)
    const cost = read.reduce((sum, { items }) => sum + costOfAll(items), 0)
    if (!budget.tryTake(this.sink, cost)) return this.poke()
    budget.give(this.sink, cost)
    this.#accept(read)
    this.pump()
  }

  /** There may be entries that were not read; `anywhere`: also before the known ones. */
  poke(anywhere = false): void {
    this.#reading.poke(anywhere || this.#entries.size === 0)
    this.pump()
  }

  /** Redis went back to an older state: deliveries that are not in flight are read again. */
  resync(): void {
    this.#memory.forget(this.#window.idle())
    this.#entries.forgetAcknowledged()
    this.#reading.restart()
    this.pump()
  }

  /** Ends the pauses that this process made. */
  hurry(): void {
    this.#reading.hurry()
    this.#outcomes.hurry()
    this.pump()
  }

  /** Begins no more calls; resolves when none is in flight. */
  drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers()
    this.#checkDrained()
    return this.#drained.promise
  }

  /** Begins calls again, because the slot stays. Reads what was written meanwhile. */
  resume(): void {
    this.#drained?.resolve()
    this.#drained = undefined
    this.poke()
  }

  /** Forgets everything, because another worker owns the lane. */
  drop(): void {
    this.#dropped = true
    this.#disarm()
    this.#memory.forget(this.#window.idle())
    this.#reading.leave()
    this.#drained?.resolve()
  }

  /**
   * Makes dead letters of the selected deliveries of `read` that are not in flight, in memory or not. Resolves to
   * them when that is durable; to none if another worker owns the lane.
   */
  async giveUp(
    read: () => Promise<readonly LaneEntryRead[]>,
    isSelected: IsSelected,
    reason: DeadReason,
    detail: string,
  ): Promise<readonly Item[]> {
    const entries = await this.#reading.readOutOfOrder(read)
    if (this.#dropped || this.#drained) return []
    const state = this.#services.sinks.get(this.sink)
    const passes = state !== undefined && state.passedMs > performance.now() - PASSES_MS
    const { held, fresh } = this.#entries.claim(entries, this.#window.idle(), isSelected, { passes })
    this.#window.remove(held)
    for (const { cost } of fresh) this.#services.budget.add(this.sink, cost)
    const items = [...held, ...fresh]
    if (items.length === 0) {
      this.#checkEmpty()
      return items
    }
    const acks = items.map((item) => this.#dead(item, reason, detail))
    return (await this.#acknowledge(acks, items)) === 'fenced' ? [] : items
  }

  #checkEmpty(): void {
    const { isDone, isReadOutOfOrder, isPassingOver } = this.#reading
    if (this.#dropped || this.#acknowledging > 0 || this.#entries.size > 0 || this.#calls.size > 0) return
    if (!isDone || isReadOutOfOrder || isPassingOver) return
    this.#services.sinks.get(this.sink)?.failingLanes.passed(this.name)
    this.#disarm()
    this.#owner.emptied(this.name)
  }

  #checkDrained(): void {
    if (this.#calls.size === 0 && this.#acknowledging === 0) this.#drained?.resolve()
  }

  /** One timer for everything that the lane waits for. */
  #arm(): void {
    const nowMs = performance.now()
    let dueMs = Number.POSITIVE_INFINITY
    const wait = (ms: number | undefined) => {
      if (ms !== undefined && ms > nowMs && ms < dueMs) dueMs = ms
    }
    wait(this.#reading.againMs(nowMs))
    if (this.#window.size > 0 || !this.#reading.isDone) wait(this.#outcomes.pausedUntilMs)
    if (this.#window.size > 0) {
      wait(this.#window.nextMs(nowMs))
      if (this.#window.hasReady(nowMs)) wait(this.#calls.slowMs(nowMs))
    }
    // A timer that is too early costs less than a new one for each call.
    if (dueMs >= this.#timerMs) return
    clearTimeout(this.#timer)
    this.#timerMs = dueMs
    const go = () => {
      this.#timerMs = Number.POSITIVE_INFINITY
      this.pump()
    }
    this.#timer = setTimeout(go, dueMs - nowMs + 1)
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    this.#timerMs = Number.POSITIVE_INFINITY
  }
}
