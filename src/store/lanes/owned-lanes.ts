import type { Redis } from 'ioredis'
import type { ContainerLog, Delivery } from '../../model/delivery.ts'
import type { Logger } from '../../observe/log.ts'
import type { Enqueued } from '../entry.ts'
import type { RecordOf } from '../history/history.ts'
import { isQuarantine, type Keys, sinkOf, slotOf } from '../keys.ts'
import type { Troubles } from '../redis/redis-fault.ts'
import type { Acks } from './acks.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { ClockJumps } from './clock-jumps.ts'
import type { DeliveringSince } from './delivering-since.ts'
import type { Policy } from './delivery-policy.ts'
import type { LaneSlots } from './lane-slots.ts'
import { LaneWorker } from './lane-worker.ts'
import type { Outages } from './outages.ts'
import { Quarantine } from './quarantine.ts'
import type { EmptyLanes } from './register.ts'
import type { SinkRegistry } from './sink-registry.ts'

/** The logs of containers that deliveries show. */
export interface DeliveryLogs {
  /**
   * Returns undefined if the delivery needs none, or has it. The promise never rejects and settles within seconds; with undefined when
   * the process stops.
   */
  of(delivery: Delivery): Promise<ContainerLog | undefined> | undefined
}

/** The parts that the lanes of a process share. */
export interface LaneServices {
  redis: Redis
  keys: Keys
  sinks: SinkRegistry
  policy: Policy
  acks: Acks
  budget: ByteBudget
  outages: Outages
  deliveringSince: DeliveringSince
  jumps: ClockJumps
  troubles: Troubles
  log: Logger
  clock: { now(): number }
  random(): number
  /** What the history keeps of a delivery. */
  recordOf: RecordOf
  /** Undefined where no delivery waits for a log. */
  logs?: DeliveryLogs
  /** Returns the maximum age of a sink's deliveries, in milliseconds. */
  maxAgeMs(sink: string): number
}

/** The owner of a lane's slot. */
export interface LaneOwner {
  /** Whether calls may begin: only with the worker's lease, and not while it stops. */
  mayStart(): boolean
  /** Until when the lane's target asked to wait, by a clock that never jumps. */
  pausedUntilMs(lane: string): number
  /** An acknowledgement with this token was refused: another worker owns the lane's slot. */
  fenced(lane: string, token: string): void
  /** No delivery waits in the lane, as far as this process knows. */
  emptied(lane: string): void
}

type OwnedSlots = Pick<LaneSlots, 'token' | 'held' | 'isDraining' | 'hasLease' | 'lost'>

/** Fewer waiting deliveries are no backlog. */
const FEW = 2

/** The lanes of the slots that this process owns: a `LaneWorker` for each in which deliveries wait. */
export class OwnedLanes implements LaneOwner {
  readonly quarantine: Quarantine
  readonly #services: LaneServices
  readonly #slots: OwnedSlots
  readonly #empty: EmptyLanes
  readonly #onGap: () => void
  readonly #workers = new Map<string, LaneWorker>()
  readonly #feed = new FeedSequence()
  /** Slot → the token with which its quarantined chains, and all that waited, were read from the register. */
  readonly #ready = new Map<string, string>()
  /** Lanes that got something before their slot was ready, or while it may go to another worker. */
  readonly #missed = new Set<string>()

  /** `onGap` is called when another process has enqueued: the register has to be read. */
  constructor(services: LaneServices, slots: OwnedSlots, empty: EmptyLanes, onGap: () => void) {
    this.#services = services
    this.#slots = slots
    this.#empty = empty
    this.#onGap = onGap
    this.quarantine = new Quarantine(services, this)
  }

  /** Returns the lanes that other workers own. */
  enqueued(lanes: readonly Enqueued[]): string[] {
    const others: string[] = []
    for (const it of lanes) {
      const order = this.#feed.note(it)
      if (order !== 'contiguous') this.#reread(it.sink, order)
      const token = this.#tokenOf(it.lane)
      if (token === 'none') this.#leave(it.lane, others)
      else if (token === 'later') this.#missed.add(it.lane)
      else if (it.stored && order === 'contiguous') this.#feedLane(it.lane, token.held, it.stored.entries)
      else this.#workerOf(it.lane, token.held).poke()
    }
    return others
  }

  /** The same for lanes that may have something. */
  wake(lanes: readonly string[]): string[] {
    const others: string[] = []
    for (const lane of lanes) {
      const token = this.#tokenOf(lane)
      if (token === 'none') this.#leave(lane, others)
      else if (token === 'later') this.#missed.add(lane)
      else if (!isQuarantine(lane)) this.#workerOf(lane, token.held).poke()
    }
    return others
  }

  /** Call before the register is read, and the result with what waits. */
  beginScan(): (waiting: ReadonlyMap<string, number>) => void {
    const { quarantine } = this
    const isFed = this.#feed.beginScan()
    const ended = quarantine.endedFromNow()
    const held = (slot: string) => this.#slots.token(slot)
    const before = new Map<string, string>()
    const tokenBefore = (slot: string) => {
      const token = before.get(slot)
      return token !== undefined && token === held(slot) ? token : undefined
    }
    for (const slot of this.#slots.held()) {
      const token = held(slot)
      if (token !== undefined) before.set(slot, token)
    }
    return (waiting) => {
      // Quarantined chains first: what comes for them must not overtake. Of one that ended meanwhile more may be under
      // way in its lane.
      for (const lane of waiting.keys()) {
        const token = isQuarantine(lane) && !ended.has(lane) ? tokenBefore(slotOf(lane)) : undefined
        if (token !== undefined) quarantine.add(lane, token)
      }
      for (const slot of before.keys()) {
        const token = tokenBefore(slot)
        if (token !== undefined) this.#ready.set(slot, token)
      }
      isFed()
      const lanes = [...waiting].filter(([lane]) => !isQuarantine(lane))
      for (const [lane, count] of lanes) {
        const token = this.#tokenOf(lane)
        if (typeof token !== 'object') continue
        const worker = this.#workers.get(lane)
        if (!worker || worker.size < count) this.#workerOf(lane, token.held).poke(true)
      }
      const missed = [...this.#missed]
      this.#missed.clear()
      this.wake(missed)
    }
  }

  /** Returns true if this process owns the lane and few deliveries wait in it. */
  keepsUp(lane: string): boolean {
    const state = this.#services.sinks.get(sinkOf(lane))
    if (typeof this.#tokenOf(lane) !== 'object' || state?.breaker.isOpen()) return false
    const worker = this.#workers.get(lane)
    return !worker || (!worker.isBehind && worker.size < FEW)
  }

  mayStart(): boolean {
    return this.#slots.hasLease()
  }

  fenced(lane: string, token: string): void {
    this.#slots.lost(slotOf(lane), token)
  }

  pausedUntilMs(lane: string): number {
    return this.#workers.get(lane)?.pausedUntilMs ?? 0
  }

  /** Gives up deliveries of a lane, as `LaneWorker.giveUp` does; undefined where the lane is not ours. */
  giveUpOf(lane: string): LaneWorker['giveUp'] | undefined {
    const token = this.#tokenOf(lane)
    if (typeof token !== 'object' || !this.mayStart() || this.#services.acks.isBlocked(lane)) return undefined
    if (isQuarantine(lane)) return (...args) => this.quarantine.giveUp(lane, ...args)
    const worker = this.#workerOf(lane, token.held)
    return (...args) => worker.giveUp(...args)
  }

  emptied(lane: string): void {
    if (this.#workers.delete(lane)) this.#empty.note(lane)
  }

  /** Goes on with all lanes, or those of a sink: whatever they waited for may be over. */
  pump(sink?: string): void {
    const workers = [...this.#workers.values()].filter((it) => sink === undefined || it.sink === sink)
    // The probes of a sink that fails are few: not always those of the same lanes.
    const first = Math.floor(this.#services.random() * workers.length)
    for (const worker of [...workers.slice(first), ...workers.slice(0, first)]) worker.pump()
  }

  /** Ends the pauses of a sink's lanes, and of its chains in quarantine. */
  hurry(sink: string): void {
    this.quarantine.hurry(sink)
    for (const worker of [...this.#workers.values()]) if (worker.sink === sink) worker.hurry()
  }

  /** Ends what is under way in these slots, or in all. */
  async drain(slots?: readonly string[]): Promise<void> {
    const { workers, tokens } = this.#in(slots)
    await Promise.all([...workers.map((worker) => worker.drain()), this.quarantine.drain(tokens)])
  }

  /** Goes on with a slot that was to be drained. */
  resume(slot: string): void {
    const { workers, tokens } = this.#in([slot])
    this.quarantine.resume(tokens)
    for (const worker of workers) worker.resume()
    const missed = [...this.#missed].filter((lane) => slotOf(lane) === slot)
    for (const lane of missed) this.#missed.delete(lane)
    this.wake(missed)
  }

  #in(slots?: readonly string[]): { workers: LaneWorker[]; tokens: ReadonlySet<string> } {
    const some = slots && new Set(slots)
    const workers = [...this.#workers.values()].filter(({ name }) => !some || some.has(slotOf(name)))
    const tokens = [...this.#ready].flatMap(([slot, token]) => (!some || some.has(slot) ? [token] : []))
    return { workers, tokens: new Set(tokens) }
  }

  /** Forgets these slots, or all: other workers have them. */
  drop(slots: readonly string[] = [...this.#ready.keys()]): void {
    const lost = new Set(slots)
    const { tokens } = this.#in(slots)
    for (const slot of lost) this.#ready.delete(slot)
    const dropped = [...this.#workers.values()].filter(({ name }) => lost.has(slotOf(name)))
    for (const worker of dropped) {
      this.#workers.delete(worker.name)
      worker.drop()
    }
    const kept = new Set([...this.#workers.values()].map(({ sink }) => sink))
    for (const { name, sink } of dropped) this.#services.sinks.get(sink)?.handedOver(name, !kept.has(sink))
    this.quarantine.drop(lost)
    this.quarantine.resume(tokens)
  }

  /** `none`: another worker's, or on its way to one. `later`: ours, but the register was not read since. */
  #tokenOf(lane: string): 'none' | 'later' | { held: string } {
    const slot = slotOf(lane)
    const held = this.#slots.token(slot)
    if (held === undefined) return 'none'
    return this.#ready.get(slot) === held ? { held } : 'later'
  }

  /** Another worker has the lane, or may have it soon. */
  #leave(lane: string, others: string[]): void {
    others.push(lane)
    if (this.#slots.isDraining(slotOf(lane))) this.#missed.add(lane)
  }

  #workerOf(lane: string, token: string): LaneWorker {
    return this.#workers.get(lane) ?? this.#addWorker(lane, token, false)
  }

  #feedLane(lane: string, token: string, entries: NonNullable<Enqueued['stored']>['entries']): void {
    const known = this.#workers.get(lane)
    if (known) return known.feed(entries)
    if (!this.#feed.isScanned(sinkOf(lane))) return this.#workerOf(lane, token).poke()
    this.#addWorker(lane, token, true).feed(entries)
  }

  #addWorker(name: string, token: string, isEmpty: boolean): LaneWorker {
    const worker = new LaneWorker(this.#services, this, this.quarantine, { name, token, isEmpty })
    this.#workers.set(name, worker)
    return worker
  }

  /** Others enqueued, or Redis went back to an older state. */
  #reread(sink: string, order: 'gap' | 'back'): void {
    for (const worker of this.#workers.values()) {
      if (worker.sink !== sink) continue
      if (order === 'back') worker.resync()
      else worker.poke()
    }
    this.#onGap()
  }
}

/**
 * Detects that others enqueued between two commits of this process: then the counter `enqueued` of a sink grew by more than ours.
 * Only what follows without a gap may be handed to lanes in memory.
 */
export class FeedSequence {
  readonly #sinks = new Map<string, { total: number | undefined; epoch: number; scanned: number }>()

  note({ sink, count, stored }: Enqueued): 'contiguous' | 'gap' | 'back' {
    const it = this.#of(sink)
    const before = it.total
    it.total = stored?.total
    if (stored && before === stored.total - count) return 'contiguous'
    it.epoch++
    return stored && before !== undefined && stored.total - count < before ? 'back' : 'gap'
  }

  /** Lanes that are not in memory are empty in Redis. */
  isScanned(sink: string): boolean {
    const it = this.#of(sink)
    return it.scanned === it.epoch
  }

  /** Call before the register is read. Call the result after it: sinks without a gap since then count as scanned. */
  beginScan(): () => void {
    const epochs = [...this.#sinks].map(([sink, { epoch }]) => ({ sink, epoch }))
    return () => {
      for (const { sink, epoch } of epochs) this.#of(sink).scanned = epoch
    }
  }

  #of(sink: string) {
    const known = this.#sinks.get(sink)
    if (known) return known
    const it = { total: undefined, epoch: 0, scanned: -1 }
    this.#sinks.set(sink, it)
    return it
  }
}
