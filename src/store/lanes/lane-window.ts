import type { Item } from './lane-reader.ts'

/** The deliveries of one object that wait, in order. */
interface Chain {
  key: string
  items: Item[]
  /** How many of its first items are under way. */
  busy: number
  /** It is not tried before. */
  notBeforeMs: number
}

export interface Picking {
  size: number
  nowMs: number
  /** Keep the order of the whole lane within a batch. Otherwise chains take turns. */
  ordered: boolean
  /** Deliveries of several chains go in one call; otherwise each call is of one chain, so that a slow one holds up no other. */
  joined: boolean
  /** A probe: a chain that has not failed is preferred. */
  probe: boolean
}

/** Beyond that the oldest are forgotten: they are found again. */
const MOST_REMEMBERED = 1_000

/** What a lane holds in memory, by chain: one call per chain at a time, in order; chains are independent. */
export class LaneWindow {
  readonly #chains = new Map<string, Chain>()
  /** Those that are not tried before a while is over; some are gone, or may go again. */
  readonly #pausing = new Set<Chain>()
  /** Chains whose last call took long: they are called alone. */
  readonly #slow = new Map<string, true>()
  /** When chains failed last, by a clock that never jumps; also of those that were let go of meanwhile. */
  readonly #failed = new Map<string, number>()
  /** The order of the lane. */
  readonly #places = new WeakMap<Item, number>()
  #size = 0
  #count = 0

  /** How many deliveries there are, those under way included. */
  get size(): number {
    return this.#size
  }

  add(item: Item): void {
    const chain = this.#chains.get(item.chain)
    if (chain) chain.items.push(item)
    else {
      this.#chains.set(item.chain, {
        key: item.chain,
        items: [item],
        busy: 0,
        notBeforeMs: 0,
      })
    }
    this.#places.set(item, this.#count++)
    this.#size++
  }

  /** Takes the deliveries of one call; their chains are busy until `release`. */
  pick({ size, nowMs, ordered, joined, probe }: Picking): Item[] {
    const ready: Chain[] = []
    for (const chain of this.#chains.values()) {
      if (chain.busy > 0 || chain.notBeforeMs > nowMs) continue
      ready.push(chain)
      if (!ordered && !probe && ready.length >= (joined ? size : 1)) break
    }
    const [first] = probe ? ready.toSorted((a, b) => this.#failedAt(a) - this.#failedAt(b)) : ready
    if (!first) return []
    if (probe || size === 1) return this.#take(first, 1)
    const isAlone = ({ key }: Chain) => this.#failed.has(key) || this.#slow.has(key)
    const together = ready.filter((chain) => !isAlone(chain))
    if (together.length === 0 || isAlone(first)) return this.#take(first, 1)
    if (!joined) return this.#take(first, size)
    if (ordered) return this.#inOrder(together, size)
    const each = Math.max(1, Math.floor(size / together.length))
    return together.flatMap((chain) => this.#take(chain, each))
  }

  #take(chain: Chain, most: number): Item[] {
    const items = chain.items.slice(0, most)
    chain.busy = items.length
    // Behind the others: each gets its turn.
    this.#chains.delete(chain.key)
    this.#chains.set(chain.key, chain)
    return items
  }

  #inOrder(chains: readonly Chain[], size: number): Item[] {
    const place = (item: Item) => this.#places.get(item) ?? 0
    const items = chains
      .flatMap((chain) => chain.items.slice(0, size))
      .toSorted((a, b) => place(a) - place(b))
      .slice(0, size)
    for (const { chain } of items) (this.#chains.get(chain) as Chain).busy++
    return items
  }

  /** A call ended: these were acknowledged, moved or given up. */
  remove(items: Iterable<Item>): void {
    const some = [...items]
    const gone = new Set(some)
    for (const key of new Set(some.map(({ chain }) => chain))) {
      const chain = this.#chains.get(key)
      if (!chain) continue
      const left = chain.items.filter((item) => !gone.has(item))
      this.#size -= chain.items.length - left.length
      chain.items = left
      if (left.length > 0) continue
      this.#chains.delete(key)
      this.#pausing.delete(chain)
    }
  }

  /** A call ended: its chains may go on. */
  release(items: Iterable<Item>): void {
    for (const { chain } of items) {
      const it = this.#chains.get(chain)
      if (it) it.busy = 0
    }
  }

  isSlow(chain: string): boolean {
    return this.#slow.has(chain)
  }

  setSlow(chain: string, slow: boolean): void {
    this.#slow.delete(chain)
    if (slow) remember(this.#slow, chain, true)
  }

  failedMs(chain: string): number | undefined {
    return this.#failed.get(chain)
  }

  failed(chain: string, nowMs: number, pauseMs: number): void {
    remember(this.#failed, chain, nowMs)
    const it = this.#chains.get(chain)
    if (!it) return
    it.notBeforeMs = nowMs + pauseMs
    this.#pausing.add(it)
  }

  passed(chain: string): void {
    this.#failed.delete(chain)
  }

  /** Is there a chain that has not failed? */
  hasUntried(): boolean {
    return this.#chains.keys().some((key) => !this.#failed.has(key))
  }

  /** All that is not under way, but the first delivery of so many chains: those that failed longest ago, or not at all. */
  *allBut(count: number): Generator<Item> {
    const kept = new Set(
      [...this.#chains.values()].toSorted((a, b) => this.#failedAt(a) - this.#failedAt(b)).slice(0, count),
    )
    for (const chain of [...this.#chains.values()])
      yield* chain.items.slice(Math.max(chain.busy, kept.has(chain) ? 1 : 0))
  }

  #failedAt({ key }: Chain): number {
    return this.#failed.get(key) ?? 0
  }

  /** All of a chain that is not under way. */
  waiting(chain: string): readonly Item[] {
    const it = this.#chains.get(chain)
    return it ? it.items.slice(it.busy) : []
  }

  /** All that is not under way. */
  *idle(): Generator<Item> {
    for (const { items, busy } of this.#chains.values()) yield* items.slice(busy)
  }

  /** When the next chain that failed may be tried again; undefined when none waits. */
  nextMs(nowMs: number): number | undefined {
    let next: number | undefined
    for (const chain of this.#pausing) {
      const { busy, notBeforeMs } = chain
      if (notBeforeMs <= nowMs) this.#pausing.delete(chain)
      else if (busy === 0) next = Math.min(next ?? notBeforeMs, notBeforeMs)
    }
    return next
  }

  /** Chains that are not tried before `untilMs`, and until when they wait. */
  pausing(untilMs: number): { chain: string; notBeforeMs: number }[] {
    return [...this.#pausing]
      .filter(({ busy, notBeforeMs }) => busy === 0 && notBeforeMs > untilMs)
      .map(({ key, notBeforeMs }) => ({ chain: key, notBeforeMs }))
  }

  /** Is there a chain that could go now? */
  hasReady(nowMs: number): boolean {
    for (const { busy, notBeforeMs } of this.#chains.values())
      if (busy === 0 && notBeforeMs <= nowMs) return true
    return false
  }

  /** Pauses are over. */
  hurry(): void {
    for (const chain of this.#pausing) chain.notBeforeMs = 0
  }
}

function remember<T>(known: Map<string, T>, chain: string, value: T): void {
  known.delete(chain)
  known.set(chain, value)
  const [oldest] = known.keys()
  if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest)
}
