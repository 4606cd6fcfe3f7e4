import type { Acknowledgement, FailureNote } from './ack-script.ts'
import { type Call, type LaneCalls, SLOW_MS } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import type { LaneEntries } from './lane-entries.ts'
import { chainHashOf, parkedLane } from './lane-names.ts'
import type { Item } from './lane-reader.ts'
import type { LaneWindow } from './lane-window.ts'
import { failsAsAWhole, type SinkState } from './sink-state.ts'

/** A call that takes longer may keep its lane from being read. One of several objects gets the time that makes each of them slow. */
const STALLED_MS = 1_000
/** The part of what a lane has in memory that waits behind calls: less keeps nobody from being read. */
const STALLED_PART = 1 / 4

/** What leaves a lane for the lane of its chain. Acknowledge it, and give its cost back. */
export interface Parked {
  acks: Acknowledgement[]
  items: readonly Item[]
}

/** A chain that waits for its call, or until it may be tried. */
interface Held {
  chain: string
  waiting: readonly Item[]
  call?: Call
  dueMs?: number
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
   * Parks what keeps the lane, or others of its sink, from being read: chains of calls that take long while others pass, and chains
   * that were asked to wait. Each of which much waits goes; and all together, where others pass quickly. Calls under way move with
   * their deliveries, and what comes of them decides there. While nothing passes, only what keeps others from trying moves.
   */
  stalled(state: SinkState, calls: LaneCalls): Parked | undefined {
    const nowMs = performance.now()
    const isCrowded = this.#context.budget.waitsMs(state.name) > 0
    const least = Math.max(2, this.#window.size * STALLED_PART)
    const held: Held[] = this.#window
      .pausing(nowMs + STALLED_MS)
      .filter(({ chain }) => state.passedMs > (this.#window.failedMs(chain) ?? 0))
      .map(({ chain, notBeforeMs }) => this.#held(chain, { dueMs: notBeforeMs }))
    for (const call of calls) {
      if (call.startedMs > nowMs - (state.joins ? SLOW_MS : STALLED_MS)) continue
      if (call.startedMs > state.passedMs && !isCrowded) continue
      for (const chain of new Set(call.items.map((it) => it.chain))) held.push(this.#held(chain, { call }))
    }
    const together = held.filter(({ call }) => !call || call.startedMs < state.quickMs)
    const isMuch = together.reduce((sum, { waiting }) => sum + waiting.length, 0) >= least
    const leaving = held.filter((it) => it.waiting.length >= least || (isMuch && together.includes(it)))
    const acks: Acknowledgement[] = []
    const items: Item[] = []
    for (const { chain, waiting, call, dueMs } of leaving) {
      const underway = call?.items.filter((it) => it.chain === chain) ?? []
      const first = underway[0] ?? waiting[0]
      if (!first || waiting.length === 0) continue
      const cause = call ? { underway: calls.handOver(call, chain) } : { dueMs: dueMs ?? nowMs }
      this.#context.parked.add(this.#laneOf(first), this.#token, cause)
      this.#say(state, first, 'an object takes long while others pass: parked')
      acks.push(...this.follow([...underway, ...waiting]))
      items.push(...waiting)
      this.#window.remove([...underway, ...waiting])
    }
    return acks.length > 0 ? { acks, items } : undefined
  }

  #held(chain: string, by: Pick<Held, 'call' | 'dueMs'>): Held {
    return { chain, waiting: this.#window.waiting(chain), ...by }
  }

  #laneOf({ chain }: Item): string {
    return parkedLane(this.#lane, chain)
  }

  #say(state: SinkState, { delivery: { event } }: Item, message: string): void {
    const { kind, namespace, name } = event
    this.#context.log.info({ sink: state.name, kind, object: `${namespace}/${name}` }, message)
  }
}
