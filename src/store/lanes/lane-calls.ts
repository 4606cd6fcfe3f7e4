import type { Outcome } from '../../sink/index.ts'
import type { Probe } from './circuit-breaker.ts'
import type { Item } from './lane-entries.ts'
import type { SinkState } from './sink-state.ts'

/** A call of the sink that is under way. */
export interface Call {
  items: readonly Item[]
  /** By a clock that never jumps. */
  startedMs: number
  /** Set if the open breaker admitted it. */
  probe: Probe | undefined
  /** The breaker was informed of its success or failure. */
  noted: boolean
}

/** A delivery under way that was handed over to its chain's own lane. */
export interface InFlight {
  /** The event's id. */
  id: string
  startedMs: number
  outcome: Promise<Outcome>
}

/** What a call came to, without the deliveries that were handed over. */
interface Ended {
  items: Item[]
  outcomes: Outcome[]
  handedOver: Item[]
}

interface HandedOver {
  chains: Set<string>
  answer: PromiseWithResolvers<readonly Outcome[]>
}

/** A call that takes longer waits for a slow object or a slow sink, and no longer counts. */
export const SLOW_MS = 3_000
/** Maximum number of deliveries of a lane that are under way, or finished and not acknowledged: a crash repeats them. */
const MOST_BEGUN = 20
/** Maximum number of calls of a lane whose sink sends several deliveries in one request. */
const JOINED_CALLS = 4
const MOST_SLOW_CALLS = 8
const MOST_CALLS = 128

/** The calls of a lane that are under way, and how much more may begin. */
export class LaneCalls {
  readonly #calls = new Set<Call>()
  readonly #handedOver = new Map<Call, HandedOver>()
  #unacknowledged = 0

  get size(): number {
    return this.#calls.size
  }

  add(call: Call): void {
    this.#calls.add(call)
  }

  [Symbol.iterator](): Iterator<Call> {
    return this.#calls.values()
  }

  /** From now on the outcomes of this chain's deliveries are no longer the lane's. */
  handOver(call: Call, chain: string): InFlight[] {
    const it = this.#handedOver.get(call) ?? { chains: new Set(), answer: Promise.withResolvers() }
    this.#handedOver.set(call, it)
    it.chains.add(chain)
    const { startedMs } = call
    return call.items.flatMap((item, i) => {
      if (item.chain !== chain) return []
      const outcome = it.answer.promise.then((outcomes) => outcomes[i] as Outcome)
      return [{ id: item.delivery.event.id, startedMs, outcome }]
    })
  }

  end(call: Call, outcomes: readonly Outcome[]): Ended {
    this.#calls.delete(call)
    const it = this.#handedOver.get(call)
    this.#handedOver.delete(call)
    it?.answer.resolve(outcomes)
    const isOwn = ({ chain }: Item) => !it?.chains.has(chain)
    return {
      items: call.items.filter(isOwn),
      outcomes: outcomes.filter((_, i) => isOwn(call.items[i] as Item)),
      handedOver: call.items.filter((item) => !isOwn(item)),
    }
  }

  /** `n` more deliveries are finished and not acknowledged; negative when they are acknowledged. */
  acknowledging(n: number): void {
    this.#unacknowledged += n
  }

  /** How many deliveries may begin. A sink that gets many in one request decides by its batches. */
  room({ ordered, joins }: SinkState, nowMs: number): number {
    if (ordered || joins) return Number.POSITIVE_INFINITY
    let begun = this.#unacknowledged
    for (const { items, startedMs } of this.#calls) if (startedMs > nowMs - SLOW_MS) begun += items.length
    return MOST_BEGUN - begun
  }

  /** Returns true if one more call may begin. Calls that take long do not count, as long as the sink answers others. */
  isFree(state: SinkState, nowMs: number): boolean {
    const since = nowMs - SLOW_MS
    let young = 0
    for (const { startedMs } of this.#calls) if (startedMs > since) young++
    const most = state.ordered ? 1 : state.joins ? JOINED_CALLS : MOST_BEGUN
    if (young >= most || this.room(state, nowMs) <= 0 || this.#calls.size >= MOST_CALLS) return false
    return this.#calls.size - young < MOST_SLOW_CALLS || state.passedMs > since
  }

  /** When the next call no longer counts; undefined when none does. */
  slowMs(nowMs: number): number | undefined {
    // They are in the order in which they began.
    for (const { startedMs } of this.#calls) if (startedMs > nowMs - SLOW_MS) return startedMs + SLOW_MS
    return undefined
  }
}
