import { quarantineLane } from '../keys.ts'
import type { Acknowledgement, FailureNote } from './ack-script.ts'
import { type Call, type LaneCalls, SLOW_MS } from './calls.ts'
import type { Item, LaneEntries } from './lane-entries.ts'
import type { LaneWindow } from './lane-window.ts'
import type { LaneServices } from './owned-lanes.ts'
import type { Quarantine } from './quarantine.ts'
import type { SinkState } from './sink-state.ts'

/** A call that takes longer may prevent its lane from being read. One of several objects gets the time that makes each of them slow. */
const STALLED_MS = 1_000
/** The part of a lane's deliveries in memory that waits behind calls: less prevents nothing from being read. */
const STALLED_PART = 1 / 4

/** Deliveries that move from a lane into quarantine. Acknowledge them, and give their cost back. */
export interface QuarantineMoves {
  acks: Acknowledgement[]
  items: readonly Item[]
}

/** A chain that waits for its call, or until its next attempt. */
interface Held {
  chain: string
  waiting: readonly Item[]
  call?: Call
  dueMs?: number
}

/** Decides which chains of a lane move into quarantine. */
export class LaneQuarantine {
  readonly #services: Pick<LaneServices, 'budget' | 'clock' | 'log'>
  readonly #quarantine: Quarantine
  readonly #lane: string
  readonly #token: string
  readonly #window: LaneWindow
  readonly #entries: LaneEntries

  constructor(
    services: LaneServices,
    quarantine: Quarantine,
    {
      lane,
      token,
      window,
      entries,
    }: { lane: string; token: string; window: LaneWindow; entries: LaneEntries },
  ) {
    this.#services = services
    this.#quarantine = quarantine
    this.#lane = lane
    this.#token = token
    this.#window = window
    this.#entries = entries
  }

  has(chain: string): boolean {
    return this.#quarantine.has(this.#lane, chain)
  }

  /** Moves deliveries behind those that their chains have in quarantine. */
  follow(items: readonly Item[], note?: FailureNote): Acknowledgement[] {
    for (const item of items) this.#quarantine.moving(this.#laneOf(item), 1)
    return this.#entries.moved(items, (item) => this.#laneOf(item), note)
  }

  /** These moves are durable, or refused. */
  moved(acks: readonly Acknowledgement[]): void {
    for (const { move } of acks) if (move) this.#quarantine.moving(move.to, -1)
  }

  /** Moves the chain of a delivery that fails alone. */
  failed(state: SinkState, item: Item): QuarantineMoves {
    const note: FailureNote = { tries: state.failsAsAWhole ? 0 : 1, sinceMs: this.#services.clock.now() }
    this.#quarantine.add(this.#laneOf(item), this.#token, { failed: true, cost: item.cost })
    this.#log(state, item, 'an object fails while others succeed: its deliveries move to quarantine')
    const items = this.#window.waiting(item.chain)
    this.#window.remove(items)
    return { acks: this.follow(items, note), items }
  }

  /**
   * Moves chains that prevent the lane, or others of its sink, from being read: chains of calls that take long while others succeed, and
   * chains that were asked to wait. A chain moves if much waits behind it, or behind several such chains while others succeed quickly. Calls
   * in flight move with their deliveries, and their outcomes apply there. While nothing succeeds, only what prevents other attempts moves.
   * While a read of the sink waits for memory, each chain that was asked to wait moves, and each large object that has failed.
   */
  stalled(state: SinkState, calls: LaneCalls): QuarantineMoves | undefined {
    const nowMs = performance.now()
    const isFull = this.#services.budget.waitsMs(state.name) > 0
    const least = Math.max(2, this.#window.size * STALLED_PART)
    const pausing = this.#window
      .pausing(nowMs + STALLED_MS)
      .map(({ chain, notBeforeMs }) => this.#held(chain, { dueMs: notBeforeMs }))
    const held = pausing.filter(({ chain }) => state.passedMs > (this.#window.failedMs(chain) ?? 0))
    for (const call of calls) {
      if (call.startedMs > nowMs - (state.joins ? SLOW_MS : STALLED_MS)) continue
      if (call.startedMs > state.passedMs && !isFull) continue
      for (const chain of new Set(call.items.map((it) => it.chain))) held.push(this.#held(chain, { call }))
    }
    const together = held.filter(({ call }) => !call || call.startedMs < state.quickMs)
    const isMuch = together.reduce((sum, { waiting }) => sum + waiting.length, 0) >= least
    const leaving = held.filter((it) => it.waiting.length >= least || (isMuch && together.includes(it)))
    for (const it of isFull ? [...pausing, ...this.#large()] : [])
      if (!leaving.some(({ chain }) => chain === it.chain)) leaving.push(it)
    const acks: Acknowledgement[] = []
    const items: Item[] = []
    for (const { chain, waiting, call, dueMs } of leaving) {
      const called = call?.items.filter((it) => it.chain === chain) ?? []
      const first = called[0] ?? waiting[0]
      if (!first || waiting.length === 0) continue
      const cause = call
        ? { inFlight: calls.handOver(call, chain) }
        : { dueMs: dueMs ?? nowMs, cost: first.cost }
      this.#quarantine.add(this.#laneOf(first), this.#token, cause)
      this.#log(state, first, 'an object prevents others from being read: its deliveries move to quarantine')
      acks.push(...this.follow([...called, ...waiting]))
      items.push(...waiting)
      this.#window.remove([...called, ...waiting])
    }
    return acks.length > 0 ? { acks, items } : undefined
  }

  /** Failing chains whose next delivery takes much of the sink's memory. */
  #large(): Held[] {
    const most = this.#quarantine.mostBytes()
    return this.#window
      .suspects()
      .map(({ chain, notBeforeMs }) => this.#held(chain, { dueMs: notBeforeMs }))
      .filter(({ waiting: [first] }) => first !== undefined && first.cost > most)
  }

  #held(chain: string, by: Pick<Held, 'call' | 'dueMs'>): Held {
    return { chain, waiting: this.#window.waiting(chain), ...by }
  }

  #laneOf({ chain }: Item): string {
    return quarantineLane(this.#lane, chain)
  }

  #log(state: SinkState, { delivery: { event } }: Item, message: string): void {
    const { kind, namespace, name } = event
    this.#services.log.info({ sink: state.name, kind, object: `${namespace}/${name}` }, message)
  }
}
