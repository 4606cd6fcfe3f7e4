import type { Acknowledgement, FailureNote } from './ack-script.ts'
import { type LaneCalls, SLOW_MS } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import type { LaneEntries } from './lane-entries.ts'
import { chainHashOf, parkedLane } from './lane-names.ts'
import type { Item } from './lane-reader.ts'
import type { LaneWindow } from './lane-window.ts'
import { failsAsAWhole, type SinkState } from './sink-state.ts'

/** A call that takes longer may keep its lane from being read. One of several objects gets the time that makes each of them slow. */
const STALLED_MS = 1_000
/** The part of what a lane has in memory that waits behind one call: less keeps nobody from being read. */
const STALLED_PART = 1 / 4

/** What leaves a lane for the lane of its chain. Acknowledge it, and give its cost back. */
export interface Parked {
  acks: Acknowledgement[]
  items: readonly Item[]
}

/** Moves chains of a lane to lanes of their own. */
export class LaneParking {
  readonly #context: LaneContext
  readonly #lane: string
  readonly #token: string
  readonly #window: LaneWindow
  readonly #entries: LaneEntries

  constructor(
    context: LaneContext,
    about: { lane: string; token: string; window: LaneWindow; entries: LaneEntries },
  ) {
    this.#context = context
    this.#lane = about.lane
    this.#token = about.token
    this.#window = about.window
    this.#entries = about.entries
  }

  /** They go behind what their chains have parked. */
  follow(items: readonly Item[], note?: FailureNote): Acknowledgement[] {
    for (const item of items) this.#context.parked.moving(this.#laneOf(item), 1)
    return this.#entries.moved(items, (item) => this.#laneOf(item), note)
  }

  /** The chain of a delivery that fails alone. */
  failed(state: SinkState, item: Item): Parked {
    const { parked, clock } = this.#context
    const note: FailureNote = { tries: failsAsAWhole(state) ? 0 : 1, sinceMs: clock.now() }
    parked.add(this.#laneOf(item), this.#token, { failed: true })
    this.#say(state, item, 'an object fails while others pass: parked')
    const items = this.#window.waiting(item.chain)
    this.#window.remove(items)
    return { acks: this.follow(items, note), items }
  }

  /** What follows chains that the version before left parked waits for them there. */
  former(): Parked | undefined {
    const { formerChains, parked } = this.#context
    const hashes = formerChains(this.#lane)
    if (hashes.size === 0) return undefined
    const items = [...this.#window.idle()].filter((it) => hashes.has(chainHashOf(this.#laneOf(it)) ?? ''))
    if (items.length === 0) return undefined
    for (const item of items) parked.add(this.#laneOf(item), this.#token)
    this.#window.remove(items)
    return { acks: this.follow(items), items }
  }

  /**
   * Chains of calls that take long while others pass, where so much waits behind them that the lane cannot be read on; or while
   * nothing passes, where other lanes have no room in memory to try. They are parked with the deliveries under way; what comes of
   * those decides there.
   */
  stalled(state: SinkState, calls: LaneCalls): Parked | undefined {
    const isCrowded = this.#context.budget.waitsMs(state.name) > 0
    const beforeMs = performance.now() - (state.joins ? SLOW_MS : STALLED_MS)
    const least = Math.max(2, this.#window.size * STALLED_PART)
    const acks: Acknowledgement[] = []
    const items: Item[] = []
    for (const call of calls) {
      if (call.startedMs > beforeMs || (call.startedMs > state.passedMs && !isCrowded)) continue
      for (const [chain, underway] of Map.groupBy(call.items, (it) => it.chain)) {
        const waiting = this.#window.waiting(chain)
        if (waiting.length < least) continue
        const [first] = underway as [Item]
        this.#context.parked.add(this.#laneOf(first), this.#token, { underway: calls.handOver(call, chain) })
        this.#say(state, first, 'a call of an object takes long while others pass: parked')
        acks.push(...this.follow([...underway, ...waiting]))
        items.push(...waiting)
        this.#window.remove([...underway, ...waiting])
      }
    }
    return acks.length > 0 ? { acks, items } : undefined
  }

  #laneOf({ chain }: Item): string {
    return parkedLane(this.#lane, chain)
  }

  #say(state: SinkState, { delivery: { event } }: Item, message: string): void {
    const { kind, namespace, name } = event
    this.#context.log.info({ sink: state.name, kind, object: `${namespace}/${name}` }, message)
  }
}
