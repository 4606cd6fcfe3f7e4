import type { EmptyLanes } from './empty-lanes.ts'
import type { LaneContext } from './lane-context.ts'
import { type Enqueued, FeedSequence } from './lane-feed.ts'
import { chainHashOf, isByName, isParked, sinkOf, slotOf } from './lane-names.ts'
import type { LaneSlots } from './lane-slots.ts'
import { LaneWorker } from './lane-worker.ts'
import type { ParkedLanes } from './parked-chains.ts'

export interface OwnedLanesParts {
  context: LaneContext
  slots: Pick<LaneSlots, 'token' | 'held' | 'isDraining'>
  parked: ParkedLanes
  empty: EmptyLanes
  /** Others have enqueued: the register has to be read. */
  onGap(): void
}

/** So many deliveries that wait are no backlog. */
const FEW = 2

/** The lanes of the slots that this worker owns: a worker for each that has something. */
export class OwnedLanes {
  readonly #parts: OwnedLanesParts
  readonly #workers = new Map<string, LaneWorker>()
  readonly #feed = new FeedSequence()
  /** Slot → the token with which its parked chains, and all that waited, were read from the register. */
  readonly #ready = new Map<string, string>()
  /** Lanes that got something before their slot was ready, or while it may go to another worker. */
  readonly #missed = new Set<string>()

  constructor(parts: OwnedLanesParts) {
    this.#parts = parts
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
      else if (it.stored && order === 'contiguous') this.#give(it.lane, token.held, it.stored.entries)
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
      else if (!isParked(lane)) this.#workerOf(lane, token.held).poke()
    }
    return others
  }

  /** Call before the register is read, and the result with what waits. */
  beginScan(): (waiting: ReadonlyMap<string, number>) => void {
    const { slots, parked } = this.#parts
    const isFed = this.#feed.beginScan()
    const ended = parked.endedFromNow()
    const held = (slot: string) => slots.token(slot)
    const before = new Map<string, string>()
    const tokenBefore = (slot: string) => {
      const token = before.get(slot)
      return token !== undefined && token === held(slot) ? token : undefined
    }
    for (const slot of slots.held()) {
      const token = held(slot)
      if (token !== undefined) before.set(slot, token)
    }
    return (waiting) => {
      // Parked chains first: what comes for them must not overtake. Of one that ended meanwhile more may be under way in its lane.
      for (const lane of waiting.keys()) {
        const token = isParked(lane) && !ended.has(lane) ? tokenBefore(slotOf(lane)) : undefined
        if (token !== undefined) parked.add(lane, token)
      }
      for (const slot of before.keys()) {
        const token = tokenBefore(slot)
        if (token !== undefined) this.#ready.set(slot, token)
      }
      isFed()
      const lanes = [...waiting].filter(([lane]) => !isParked(lane))
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

  /** Is the lane ours, and hardly anything waits in it? */
  keepsUp(lane: string): boolean {
    const { context } = this.#parts
    if (typeof this.#tokenOf(lane) !== 'object' || context.stateOf(sinkOf(lane))?.breaker.isOpen())
      return false
    return (this.#workers.get(lane)?.size ?? 0) < FEW && !context.waitsForFormer(lane)
  }

  /** No call of the lane begins before, by a clock that never jumps. */
  pausedUntilMs(lane: string): number {
    return this.#workers.get(lane)?.pausedUntilMs ?? 0
  }

  /** Gives up deliveries of a lane, as `LaneWorker.giveUp` does; undefined where the lane is not ours, or waits for others. */
  giverOf(lane: string): LaneWorker['giveUp'] | undefined {
    const { context, parked } = this.#parts
    const token = this.#tokenOf(lane)
    if (typeof token !== 'object' || !context.mayStart()) return undefined
    if (context.acks.isBlocked(lane) || context.waitsForFormer(lane)) return undefined
    if (isParked(lane)) return (...args) => parked.giveUp(lane, ...args)
    const worker = this.#workerOf(lane, token.held)
    return (...args) => worker.giveUp(...args)
  }

  /** Nothing is left in the lane. */
  remove(lane: string): void {
    if (this.#workers.delete(lane)) this.#parts.empty.note(lane)
  }

  /** Goes on with all lanes, or those of a sink: whatever they waited for may be over. */
  pump(sink?: string): void {
    const workers = [...this.#workers.values()].filter((it) => sink === undefined || it.sink === sink)
    // The probes of a sink that fails are few: not always those of the same lanes.
    const first = Math.floor(this.#parts.context.random() * workers.length)
    for (const worker of [...workers.slice(first), ...workers.slice(0, first)]) worker.pump()
  }

  hurry(sink: string): void {
    for (const worker of [...this.#workers.values()]) if (worker.sink === sink) worker.hurry()
  }

  /** Ends what is under way in these slots, or in all. */
  async drain(slots?: readonly string[]): Promise<void> {
    const { workers, tokens } = this.#in(slots)
    await Promise.all([...workers.map((worker) => worker.drain()), this.#parts.parked.drain(tokens)])
  }

  /** Goes on with a slot that was to be drained. */
  resume(slot: string): void {
    const { workers, tokens } = this.#in([slot])
    this.#parts.parked.resume(tokens)
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
    for (const [lane, worker] of [...this.#workers]) {
      if (!lost.has(slotOf(lane))) continue
      this.#workers.delete(lane)
      worker.drop()
    }
    this.#parts.parked.drop(lost)
    this.#parts.parked.resume(tokens)
  }

  /** A lane by name waits while its sink has lanes of the version before; a parked chain, while it is parked there. */
  waitsFor(lane: string, former: ReadonlySet<string>): boolean {
    if (!this.#isByName(lane)) return false
    const [sink, hash] = [sinkOf(lane), chainHashOf(lane)]
    for (const it of former) {
      if (sinkOf(it) !== sink || isByName(it)) continue
      if (!isParked(it) || (hash !== undefined && chainHashOf(it) === hash)) return true
    }
    return false
  }

  /** Hashes of the chains of lanes by uid that are parked, for a lane by name of their sink. */
  formerChains(lane: string, former: ReadonlySet<string>): ReadonlySet<string> {
    const hashes = new Set<string>()
    if (former.size === 0 || isParked(lane) || !this.#isByName(lane)) return hashes
    for (const it of former) {
      const hash = chainHashOf(it)
      if (hash !== undefined && sinkOf(it) === sinkOf(lane) && !isByName(it)) hashes.add(hash)
    }
    return hashes
  }

  /** Where the sink's type names the lanes, `n7` is a target, and `7` another one: neither waits for the other. */
  #isByName(lane: string): boolean {
    return isByName(lane) && !this.#parts.context.stateOf(sinkOf(lane))?.ordered
  }

  /** `none`: another worker's, or on its way to one. `later`: ours, but the register was not read since. */
  #tokenOf(lane: string): 'none' | 'later' | { held: string } {
    const slot = slotOf(lane)
    const held = this.#parts.slots.token(slot)
    if (held === undefined) return 'none'
    return this.#ready.get(slot) === held ? { held } : 'later'
  }

  /** Another worker has the lane, or may have it soon. */
  #leave(lane: string, others: string[]): void {
    others.push(lane)
    if (this.#parts.slots.isDraining(slotOf(lane))) this.#missed.add(lane)
  }

  #workerOf(lane: string, token: string): LaneWorker {
    const known = this.#workers.get(lane)
    if (known) return known
    const worker = new LaneWorker(this.#parts.context, lane, token)
    this.#workers.set(lane, worker)
    return worker
  }

  #give(lane: string, token: string, entries: NonNullable<Enqueued['stored']>['entries']): void {
    const known = this.#workers.get(lane)
    if (known) return known.feed(entries)
    if (!this.#feed.isScanned(sinkOf(lane))) return this.#workerOf(lane, token).poke()
    const worker = new LaneWorker(this.#parts.context, lane, token, { isEmpty: true })
    this.#workers.set(lane, worker)
    worker.feed(entries)
  }

  /** Others enqueued, or Redis went back to an older state. */
  #reread(sink: string, order: 'gap' | 'back'): void {
    for (const worker of this.#workers.values()) {
      if (worker.sink !== sink) continue
      if (order === 'back') worker.resync()
      else worker.poke()
    }
    this.#parts.onGap()
  }
}
