import type { FailingNamespaces } from './failing-namespaces.ts'
import type { Item } from './lane-entries.ts'

/** The deliveries of one object that wait, in order. */
interface Chain {
  key: string
  items: Item[]
  /** How many of its first items are under way. */
  busy: number
  /** Earliest time of the next attempt, by a clock that never jumps. */
  notBeforeMs: number
}

interface Picking {
  size: number
  nowMs: number
  /** Keep the order of the whole lane within a batch. Otherwise chains take turns. */
  ordered: boolean
  /** Deliveries of several chains go in one call; otherwise each call is of one chain, so that a slow one holds up no other. */
  joined: boolean
  /** A probe: a chain that has not failed, of a namespace that does not fail, is preferred. */
  probe: boolean
  failing: FailingNamespaces
}

/** Maximum number of chains whose failures are remembered. The oldest is forgotten first; its next failure is noted as any other. */
const MOST_REMEMBERED = 1_000

/** What a lane holds in memory, by chain: one call per chain at a time, in order; chains are independent. */
export class LaneWindow {
  readonly #chains = new Map<string, Chain>()
  /** Chains that wait for their next attempt. Some have left, or may be called by now. */
  readonly #pausing = new Set<Chain>()
  /** Chains whose last call took long: they are called alone. */
  readonly #slow = new Map<string, true>()
  /** When chains failed last, by a clock that never jumps; also of those that were let go of meanwhile. */
  readonly #failed = new Map<string, number>()
  /** Chains whose last failure may be their own fault: they are called alone. */
  readonly #suspects = new Map<string, true>()
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
  pick({ size, nowMs, ordered, joined, probe, failing }: Picking): Item[] {
    const ready: Chain[] = []
    for (const chain of this.#chains.values()) {
      if (!isReady(chain, nowMs)) continue
      ready.push(chain)
      if (!ordered && !probe && ready.length >= (joined ? size : 1)) break
    }
    let [first] = ready
    if (probe) [first] = this.#byTrust(ready, failing)
    // Also a chain that is called alone has its turn, however much comes of those before it.
    else if (ordered) first = this.#earliest(ready)
    if (!first) return []
    if (probe || (size === 1 && !ordered)) return this.#take(first, 1)
    const isAlone = ({ key }: Chain) => this.#suspects.has(key) || this.#slow.has(key)
    const together = ready.filter((chain) => !isAlone(chain))
    if (together.length === 0 || isAlone(first)) return this.#take(first, 1)
    if (!joined) return this.#take(first, size)
    if (ordered) return this.#inOrder(together, size)
    const each = Math.max(1, Math.floor(size / together.length))
    return together.flatMap((chain) => this.#take(chain, each))
  }

  #take(chain: Chain, most: number): Item[] {
    const items = startOf(chain, most)
    chain.busy = items.length
    // Behind the others: each gets its turn.
    this.#chains.delete(chain.key)
    this.#chains.set(chain.key, chain)
    return items
  }

  /** The chain whose first delivery is the earliest of the lane. */
  #earliest(chains: readonly Chain[]): Chain | undefined {
    let earliest: Chain | undefined
    let leastPlace = Number.POSITIVE_INFINITY
    for (const chain of chains) {
      const place = this.#placeOf(chain.items[0] as Item)
      if (place >= leastPlace) continue
      earliest = chain
      leastPlace = place
    }
    return earliest
  }

  #placeOf(item: Item): number {
    return this.#places.get(item) ?? 0
  }

  #inOrder(chains: readonly Chain[], size: number): Item[] {
    const items = chains
      .flatMap((chain) => startOf(chain, size))
      .toSorted((a, b) => this.#placeOf(a) - this.#placeOf(b))
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

  /** `isOwnFault`: its failure may be, so that it is called alone from now on. */
  failed(chain: string, nowMs: number, pauseMs: number, isOwnFault: boolean): void {
    remember(this.#failed, chain, nowMs)
    if (isOwnFault) remember(this.#suspects, chain, true)
    const it = this.#chains.get(chain)
    if (!it) return
    it.notBeforeMs = nowMs + pauseMs
    this.#pausing.add(it)
  }

  passed(chain: string): void {
    this.#failed.delete(chain)
    this.#suspects.delete(chain)
  }

  hasOf(namespace: string): boolean {
    return this.#chains.values().some(({ items: [first] }) => namespaceOf(first) === namespace)
  }

  /** Returns true if a chain of a namespace that does not fail is under way, or may be. */
  hasCandidate(nowMs: number, failing: FailingNamespaces): boolean {
    return this.#chains.values().some((it) => it.notBeforeMs <= nowMs && !isFailing(it, failing))
  }

  /** Yields every delivery that is not under way, except the first one of each of the `count` chains that would be probed first. */
  *allBut(count: number, failing: FailingNamespaces): Generator<Item> {
    const kept = new Set(this.#byTrust([...this.#chains.values()], failing).slice(0, count))
    for (const chain of [...this.#chains.values()])
      yield* chain.items.slice(Math.max(chain.busy, kept.has(chain) ? 1 : 0))
  }

  /** First those of namespaces that do not fail, or failed least; of them, those that failed longest ago or not at all. */
  #byTrust(chains: readonly Chain[], failing: FailingNamespaces): Chain[] {
    const rankOf = (it: Chain): [number, number, number] => [
      Number(isFailing(it, failing)),
      failing.failures(namespaceOf(it.items[0])),
      this.#failed.get(it.key) ?? 0,
    ]
    const ranked = chains.map((chain) => ({ chain, rank: rankOf(chain) }))
    const compare = (a: readonly number[], b: readonly number[]) =>
      a.reduce((sign, it, i) => sign || it - (b[i] as number), 0)
    return ranked.toSorted((a, b) => compare(a.rank, b.rank)).map(({ chain }) => chain)
  }

  /** Returns the deliveries of a chain that are not under way. */
  waiting(chain: string): readonly Item[] {
    const it = this.#chains.get(chain)
    return it ? it.items.slice(it.busy) : []
  }

  /** Yields all deliveries that are not under way. */
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

  /** Chains whose last failure may be their own fault and that are not under way, and until when they wait. */
  suspects(): { chain: string; notBeforeMs: number }[] {
    return [...this.#suspects.keys()].flatMap((chain) => {
      const it = this.#chains.get(chain)
      return it && it.busy === 0 ? [{ chain, notBeforeMs: it.notBeforeMs }] : []
    })
  }

  /** Returns true if a chain may be called now; with `failing`, one of a namespace that does not fail. */
  hasReady(nowMs: number, failing?: FailingNamespaces): boolean {
    for (const it of this.#chains.values())
      if (isReady(it, nowMs) && !(failing && isFailing(it, failing))) return true
    return false
  }

  /** Pauses are over. */
  hurry(): void {
    for (const chain of this.#pausing) chain.notBeforeMs = 0
  }
}

function isReady({ busy, notBeforeMs, items }: Chain, nowMs: number): boolean {
  return busy === 0 && notBeforeMs <= nowMs && !items[0]?.awaitsLog
}

function isFailing({ items: [first] }: Chain, failing: FailingNamespaces): boolean {
  return first !== undefined && failing.has(namespaceOf(first))
}

function namespaceOf(item: Item | undefined): string {
  return item?.delivery.event.namespace ?? ''
}

/** The first deliveries of a chain, up to one that waits for its log. */
function startOf({ items }: Chain, most: number): Item[] {
  const first = items.slice(0, most)
  const waiting = first.findIndex(({ awaitsLog }) => awaitsLog)
  return waiting === -1 ? first : first.slice(0, waiting)
}

function remember<T>(known: Map<string, T>, chain: string, value: T): void {
  known.delete(chain)
  known.set(chain, value)
  const [oldest] = known.keys()
  if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest)
}
