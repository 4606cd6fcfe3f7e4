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

/** A chain that cannot go on now: its call takes long, it waits for its next attempt, or its large first delivery has failed. */
export type Held = { chain: string; waiting: readonly Item[] } & (
  | { why: 'call'; call: Call }
  | { why: 'pause'; dueMs: number; failedMs: number }
  | { why: 'large'; dueMs: number }
)

/** Times are of a clock that never jumps. */
interface LaneFacts {
  /** Number of deliveries in memory. */
  size: number
  /** The last success of the sink, and the last one of a call that took less than a second. */
  passedMs: number
  quickMs: number
  /** A read of the sink waits for memory. */
  isFull: boolean
}

/**
 * Returns those of `held` that prevent the lane, or others of its sink, from being read.
 *
 * - Much waits behind one chain, while others succeed.
 * - Much waits behind several of them together, while others succeed quickly.
 * - Memory is full: each that is not called now, and calls also while nothing succeeds.
 */
export function chainsToMove(held: readonly Held[], { size, passedMs, quickMs, isFull }: LaneFacts): Held[] {
  const much = Math.max(2, size * STALLED_PART)
  const othersPass = (it: Held) => {
    if (it.why === 'large') return false
    return it.why === 'call' ? it.call.startedMs <= passedMs || isFull : it.failedMs < passedMs
  }
  const othersPassQuickly = (it: Held) => othersPass(it) && (it.why !== 'call' || it.call.startedMs < quickMs)
  const together = held.filter(othersPassQuickly)
  const isMuchTogether = together.reduce((sum, { waiting }) => sum + waiting.length, 0) >= much
  return held.filter(
    (it) =>
      (othersPass(it) && it.waiting.length >= much) ||
      (othersPassQuickly(it) && isMuchTogether) ||
      (isFull && it.why !== 'call'),
  )
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

  /** Moves chains that prevent others from being read. Calls in flight move with their deliveries, and their outcomes apply there. */
  stalled(state: SinkState, calls: LaneCalls): QuarantineMoves | undefined {
    const nowMs = performance.now()
    const isFull = this.#services.budget.waitsMs(state.name) > 0
    const held = [...this.#pausing(nowMs), ...this.#called(state, calls, nowMs)]
    for (const it of isFull ? this.#large() : [])
      if (!held.some(({ chain }) => chain === it.chain)) held.push(it)
    const { passedMs, quickMs } = state
    const acks: Acknowledgement[] = []
    const items: Item[] = []
    for (const it of chainsToMove(held, { size: this.#window.size, passedMs, quickMs, isFull })) {
      const { chain, waiting } = it
      const called = it.why === 'call' ? it.call.items.filter((item) => item.chain === chain) : []
      const first = called[0] ?? waiting[0]
      if (!first || waiting.length === 0) continue
      const cause =
        it.why === 'call'
          ? { inFlight: calls.handOver(it.call, chain) }
          : { dueMs: it.dueMs, cost: first.cost }
      this.#quarantine.add(this.#laneOf(first), this.#token, cause)
      this.#log(state, first, 'an object prevents others from being read: its deliveries move to quarantine')
      acks.push(...this.follow([...called, ...waiting]))
      items.push(...waiting)
      this.#window.remove([...called, ...waiting])
    }
    return acks.length > 0 ? { acks, items } : undefined
  }

  /** Returns chains that were asked to wait for long. */
  #pausing(nowMs: number): Held[] {
    return this.#window.pausing(nowMs + STALLED_MS).map(({ chain, notBeforeMs: dueMs }) => {
      const failedMs = this.#window.failedMs(chain) ?? 0
      return { why: 'pause', chain, waiting: this.#window.waiting(chain), dueMs, failedMs }
    })
  }

  /** Returns the chains of calls that take long. */
  #called({ joins }: SinkState, calls: LaneCalls, nowMs: number): Held[] {
    const long = [...calls].filter(({ startedMs }) => startedMs <= nowMs - (joins ? SLOW_MS : STALLED_MS))
    return long.flatMap((call) => {
      const chains = new Set(call.items.map(({ chain }) => chain))
      return [...chains].map(
        (chain): Held => ({ why: 'call', chain, waiting: this.#window.waiting(chain), call }),
      )
    })
  }

  /** Returns chains that failed and whose next delivery takes much of the sink's memory. */
  #large(): Held[] {
    const most = this.#quarantine.mostBytes()
    return this.#window
      .suspects()
      .map(
        ({ chain, notBeforeMs: dueMs }): Held => ({
          why: 'large',
          chain,
          waiting: this.#window.waiting(chain),
          dueMs,
        }),
      )
      .filter(({ waiting: [first] }) => first !== undefined && first.cost > most)
  }

  #laneOf({ chain }: Item): string {
    return quarantineLane(this.#lane, chain)
  }

  #log(state: SinkState, { delivery: { event } }: Item, message: string): void {
    const { kind, namespace, name } = event
    this.#services.log.info({ sink: state.name, kind, object: `${namespace}/${name}` }, message)
  }
}
