import { costOfAll, type Item, type LaneEntries } from './lane-entries.ts'
import type { LaneReading } from './lane-reader.ts'
import type { LaneWindow } from './lane-window.ts'
import type { LaneServices } from './owned-lanes.ts'
import type { SinkState } from './sink-state.ts'

/** Number of deliveries, each of another object, that a lane keeps in memory for probes while its sink fails. */
const KEPT_FOR_PROBES = 3

/** Decides which deliveries of a lane stay in memory while its sink, or its target, fails. All of them are in Redis, and are read again. */
export class LaneMemory {
  readonly #services: Pick<LaneServices, 'budget'>
  readonly #sink: string
  readonly #window: LaneWindow
  readonly #entries: LaneEntries
  readonly #reading: LaneReading

  constructor(
    services: Pick<LaneServices, 'budget'>,
    lane: { sink: string; window: LaneWindow; entries: LaneEntries; reading: LaneReading },
  ) {
    this.#services = services
    this.#sink = lane.sink
    this.#window = lane.window
    this.#entries = lane.entries
    this.#reading = lane.reading
  }

  /** Lets go of deliveries; they stay in Redis. */
  forget(items: Iterable<Item>): void {
    const some = [...items]
    this.#window.remove(some)
    this.#entries.forget(some)
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
    const rest = [...this.#window.allBut(kept, state.failingNamespaces)]
    if (rest.length === 0) return
    this.forget(rest)
    if (isPassingOver) this.#reading.passOver(rest, state)
    else this.#reading.restart()
  }

  /** Looks behind deliveries of failing namespaces for one of another, as long as the breaker is open. Not while calls are under way. */
  passOver(state: SinkState): void {
    if (!this.#reading.mayPassOver(state, this.#window)) return
    const rest = [...this.#window.allBut(KEPT_FOR_PROBES, state.failingNamespaces)]
    this.forget(rest)
    this.#reading.passOver(rest, state)
  }

  /** Ends passing over where the breaker closed, nothing is left, or deliveries that may be tried again were passed over. Returns whether it did. */
  endsPassingOver({ breaker, failingNamespaces }: SinkState): boolean {
    if (!this.#reading.isPassingOver) return false
    // The pause after the last read was for a sink that fails.
    if (!breaker.isOpen()) this.#reading.hurry()
    else if (this.#window.size > 0 && !this.#reading.hasPassedOver(failingNamespaces, this.#window))
      return false
    this.#reading.restart()
    return true
  }
}
