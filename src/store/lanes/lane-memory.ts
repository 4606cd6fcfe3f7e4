import type { ContainerLog } from '../../model/delivery.ts'
import { sinkOf } from '../keys.ts'
import type { Acknowledgement } from './ack-script.ts'
import { costOfAll, type Item, LaneEntries, type LaneEntryRead, unreadableAck } from './lane-entries.ts'
import type { LaneReading } from './lane-reader.ts'
import { LaneWindow } from './lane-window.ts'
import type { LaneServices } from './owned-lanes.ts'
import type { SinkState } from './sink-state.ts'

/** Number of deliveries, each of another object, that a lane keeps in memory for probes while its sink fails. */
const KEPT_FOR_PROBES = 3

/** What a log counts in the byte budget: at most 16 KiB, and copies of it. */
const LOG_COST = 64 * 1024

/** What came into memory: what is to be acknowledged, and deliveries that follow their chain into quarantine. */
interface Taken {
  acks: Acknowledgement[]
  moved: Item[]
}

/** Deliveries of a lane in memory, each counted in the byte budget. All of them are in Redis, so that they can be let go of and read again. */
export class LaneMemory {
  readonly window = new LaneWindow()
  readonly entries: LaneEntries
  readonly #services: LaneServices
  readonly #lane: string
  readonly #sink: string
  readonly #reading: LaneReading
  readonly #logCame: () => void

  /** `logCame` is called when a delivery that waited for its log can be sent. */
  constructor(services: LaneServices, lane: string, reading: LaneReading, logCame: () => void) {
    this.#services = services
    this.#lane = lane
    this.#sink = sinkOf(lane)
    this.#reading = reading
    this.#logCame = logCame
    this.entries = new LaneEntries(services.recordOf)
  }

  /** Takes entries that were read or fed. `isQuarantined`: whether a chain is in quarantine. */
  take(read: readonly LaneEntryRead[], isQuarantined: (chain: string) => boolean): Taken {
    const { budget, clock, sinks, logs } = this.#services
    const state = sinks.get(this.#sink)
    const taken: Taken = { acks: [], moved: [] }
    const passedOver: Item[] = []
    for (const entry of read) {
      const { id, count } = entry
      const { items, unreadable, isSettled } = this.entries.take(entry)
      this.#reading.reached(id)
      for (const it of unreadable) {
        state?.unreadable(this.#lane, id, it)
        taken.acks.push(unreadableAck(id, count, it, clock.now()))
      }
      for (const item of items) {
        if (!this.#reading.takes(item, state?.failingNamespaces)) {
          passedOver.push(item)
          continue
        }
        const follows = isQuarantined(item.chain)
        const log = follows ? undefined : logs?.of(item.delivery)
        if (log) this.#awaitLog(item, log)
        budget.add(this.#sink, item.cost)
        if (follows) taken.moved.push(item)
        else this.window.add(item)
      }
      if (isSettled) taken.acks.push({ entryId: id, count, places: [] })
    }
    if (passedOver.length > 0) {
      this.entries.forget(passedOver)
      this.#reading.passOver(passedOver, state)
    }
    return taken
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
      this.#logCame()
    })
  }

  /** Lets go of deliveries; they stay in Redis. */
  forget(items: Iterable<Item>): void {
    const some = [...items]
    this.window.remove(some)
    this.entries.forget(some)
    this.#services.budget.give(this.#sink, costOfAll(some))
  }

  /**
   * Frees the memory of deliveries of a failing sink, or of a target that is failing, for other lanes; they are read again later. Where others
   * wait for it, none of those that fail stays. Not while calls are under way.
   */
  shrink(state: SinkState, isTargetFailing: boolean): void {
    const isFailing = state.breaker.isOpen() || isTargetFailing
    const { isPassingOver } = this.#reading
    const kept = isFailing && this.#reading.lacksMemory(this.#sink) ? Number(isPassingOver) : KEPT_FOR_PROBES
    const rest = [...this.window.allBut(kept, state.failingNamespaces)]
    if (rest.length === 0) return
    this.forget(rest)
    if (isPassingOver) this.#reading.passOver(rest, state)
    else this.#reading.restart()
  }

  /** Looks behind deliveries of failing namespaces for one of another, as long as the breaker is open. Not while calls are under way. */
  passOver(state: SinkState): void {
    if (!this.#reading.mayPassOver(state, this.window)) return
    const rest = [...this.window.allBut(KEPT_FOR_PROBES, state.failingNamespaces)]
    this.forget(rest)
    this.#reading.passOver(rest, state)
  }

  /** Ends passing over where the breaker closed, nothing is left, or deliveries that may be tried again were passed over. Returns whether it did. */
  endsPassingOver({ breaker, failingNamespaces }: SinkState): boolean {
    if (!this.#reading.isPassingOver) return false
    // The pause after the last read was for a sink that fails.
    if (!breaker.isOpen()) this.#reading.hurry()
    else if (this.window.size > 0 && !this.#reading.hasPassedOver(failingNamespaces, this.window))
      return false
    this.#reading.restart()
    return true
  }
}
