import { describeFault, isRefusal } from '../redis/redis-fault.ts'
import type { FailingNamespaces } from './failing-namespaces.ts'
import { costOfAll, type FedEntry, type Item, type LaneEntryRead } from './lane-entries.ts'
import type { LaneWindow } from './lane-window.ts'
import type { LaneServices } from './owned-lanes.ts'
import { PassedOver } from './passed-over.ts'
import { readLane } from './read-lane.ts'
import type { SinkState } from './sink-state.ts'

const ENOUGH = 256
const ENOUGH_TO_PROBE = 32
/** Entries that are kept while the lane is read. */
const MOST_FED = 64
/** What one read takes of the budget, about: in bytes, and of the share of its sink. */
const READ_BYTES = 1024 * 1024
const READ_PART = 1 / 4
const MOST_ENTRIES = 16
/** A read stops after this multiple of the reserved bytes: entries may be larger than those before. */
const MOST_OF_RESERVED = 4
/** Assumed size of an entry until one was read. */
const UNKNOWN_BYTES = 512 * 1024
/** A sink of which a read waits longer for room in the byte budget is held up by what it has in memory. */
const HELD_UP_MS = 1_000
const READ_AGAIN_MS = 500
/** Between two reads of what is passed over, while the sink accepts deliveries of others. */
const PASS_OVER_MS = 20
/** Otherwise, and more for each byte: a backlog of a sink that fails for all takes little processor time. */
const PASS_OVER_SLOWLY_MS = 100
const PASS_OVER_BYTES_PER_MS = 1_024
const PASSED_MS = 60_000
const NEWER_MS = 15_000

/** Where a lane is read from next, and whether there may be entries that were not read. */
export class LaneReading {
  readonly #services: Pick<LaneServices, 'redis' | 'keys' | 'troubles' | 'log' | 'budget'>
  readonly #lane: string
  /** The last entry that this process knows. */
  #lastId = '0-0'
  /** The last one that was read. Others may lie between those that were fed since: no counter shows that a dead letter was retried. */
  #readId = '0-0'
  #isBehind: boolean
  #fromStart: boolean
  #isReading = false
  #againMs = 0
  /** Entries that ended while a read was under way, which may bring them again. */
  readonly #ended = new Set<string>()
  /** What commits wrote while the lane was read. */
  #fed: FedEntry[] = []
  /** Redis refused the last read. */
  #isRefused = false
  /** Reads besides that of the lane. */
  #besides = 0
  /** Counts how often deliveries were let go of: what was being read then is not what follows. */
  #generation = 0
  #passedOver: PassedOver | undefined

  /** `isEmpty`: the lane is known to be empty in Redis. */
  constructor(services: LaneServices, lane: string, isEmpty: boolean) {
    this.#services = services
    this.#lane = lane
    this.#isBehind = !isEmpty
    this.#fromStart = !isEmpty
  }

  /** Nothing is left to read, as far as this process knows. */
  get isDone(): boolean {
    return !this.#isBehind && !this.#isReading
  }

  /** There are deliveries of which no read has begun, as far as this process knows. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /** True while `readOutOfOrder` reads. Its caller may still claim entries, so the lane must not count as empty. */
  get isReadOutOfOrder(): boolean {
    return this.#besides > 0
  }

  /** When it is read again after a fault; undefined when it does not wait for that. */
  againMs(nowMs: number): number | undefined {
    return this.#isBehind && this.#againMs > nowMs ? this.#againMs : undefined
  }

  /** Returns true if a read is under way, or due without a pause. */
  goesOn(nowMs: number): boolean {
    return !this.isDone && this.#againMs <= nowMs
  }

  /** There may be entries that are not read; `anywhere`: also before those that are known, which are read again after passing over anyway. */
  poke(anywhere: boolean): void {
    this.#isBehind = true
    if (anywhere && !this.isPassingOver) this.#fromStart = true
  }

  /** Deliveries were let go of: they are read again. */
  restart(): void {
    this.#generation++
    this.#passedOver = undefined
    this.poke(true)
  }

  get isPassingOver(): boolean {
    return this.#passedOver !== undefined
  }

  /**
   * Returns true if memory is full of deliveries of failing namespaces while the breaker is open and more deliveries wait: one of another
   * namespace may be behind them, and its success would close the breaker.
   */
  mayPassOver({ breaker, ordered, failingNamespaces }: SinkState, window: LaneWindow): boolean {
    if (!breaker.isOpen() || ordered || !this.#isBehind || this.#isReading) return false
    return window.size >= ENOUGH_TO_PROBE && !window.hasCandidate(performance.now(), failingNamespaces)
  }

  /** These were let go of, and the lane is read on behind them until `restart`. */
  passOver(items: readonly Item[], state: SinkState | undefined): void {
    const nowMs = performance.now()
    this.#passedOver ??= new PassedOver()
    this.#passedOver.add(items, state?.failingNamespaces, nowMs)
    const isSlow = !state || state.passedMs < nowMs - PASSED_MS
    this.#againMs =
      nowMs + (isSlow ? PASS_OVER_SLOWLY_MS + costOfAll(items) / PASS_OVER_BYTES_PER_MS : PASS_OVER_MS)
  }

  /** Returns true if deliveries of a namespace that may be tried again were passed over, and memory has none of them. */
  hasPassedOver(failing: FailingNamespaces, window: LaneWindow): boolean {
    const namespaces = this.#passedOver?.mayBeTried(failing, performance.now()) ?? []
    return namespaces.some((namespace) => !window.hasOf(namespace))
  }

  /** Returns true if a delivery may be taken into memory. */
  takes(item: Item, failing: FailingNamespaces | undefined): boolean {
    return !this.#passedOver || this.#passedOver.takes(item, failing)
  }

  hurry(): void {
    this.#againMs = 0
  }

  /** Returns true if the entry `id`, which was not read, follows the last known one immediately. `held`: number of deliveries in memory. */
  isFollowedBy(id: string, held: number): boolean {
    return this.isDone && isAfter(id, this.#lastId) && held <= 4 * ENOUGH
  }

  /** Keeps what a commit wrote while the lane is read, for `fedMeanwhile`; false when it is to be read. */
  keep(entries: readonly FedEntry[]): boolean {
    if (!this.#isReading || this.#isBehind || this.#fed.length + entries.length > MOST_FED) return false
    this.#fed.push(...entries)
    return true
  }

  /** What was written after that which the last read has brought, when nothing else is left to read. */
  fedMeanwhile(): FedEntry[] {
    const fed = this.isDone ? this.#fed.filter(({ id }) => isAfter(id, this.#lastId)) : []
    this.#fed = []
    return fed
  }

  /** It knows this entry. */
  reached(id: string): void {
    if (isAfter(id, this.#lastId)) this.#lastId = id
  }

  /** All of these entries was acknowledged. */
  ended(ids: readonly string[]): void {
    if (this.#isReading || this.#besides > 0) for (const id of ids) this.#ended.add(id)
  }

  /** Returns true if a read may begin. `window` has what is in memory; `isPaused`: no call begins now. */
  wantsMore(
    { breaker, batchSize, failingNamespaces }: SinkState,
    window: LaneWindow,
    isPaused: boolean,
  ): boolean {
    if (!this.#isBehind || this.#isReading || isPaused || performance.now() < this.#againMs) return false
    // What waits for a sink that fails takes no room from others, but for an object that has not failed: it may be well.
    if (window.size > 0 && breaker.isOpen())
      return !window.hasCandidate(performance.now(), failingNamespaces) && window.size < ENOUGH_TO_PROBE
    return window.size < mostHeld(batchSize)
  }

  /** Returns true if deliveries wait in Redis and this lane, or the sink's share of memory, is full. `held`: number of deliveries in memory. */
  isHeldUp({ name, batchSize }: SinkState, held: number): boolean {
    return this.lacksMemory(name) || (this.#isBehind && held >= mostHeld(batchSize))
  }

  /** Returns true if a read of any lane of the sink has waited for room in the byte budget for more than a second. */
  lacksMemory(sink: string): boolean {
    return this.#services.budget.waitsMs(sink) > HELD_UP_MS
  }

  /** Call before `read`, and `end` after it. Returns how many entries to read, and the bytes to reserve for them. */
  begin({ entryCost = UNKNOWN_BYTES }: SinkState): { count: number; reserved: number } {
    this.#isReading = true
    const bytes = Math.min(READ_BYTES, this.#services.budget.share() * READ_PART)
    const count = Math.min(Math.max(Math.floor(bytes / entryCost), 1), MOST_ENTRIES)
    return { count, reserved: count * entryCost }
  }

  /** Returns the next entries; undefined when deliveries were let go of meanwhile. `count` and `reserved` are those of `begin`. */
  async read(state: SinkState, count: number, reserved: number): Promise<LaneEntryRead[] | undefined> {
    const { redis, keys, troubles, log } = this.#services
    if (this.#fromStart) {
      this.#lastId = '0-0'
      this.#readId = '0-0'
    }
    const start = `(${this.#readId}`
    this.#isBehind = false
    this.#fromStart = false
    const generation = this.#generation
    const { entries, more, awaitsNewer } = await readLane(
      redis,
      keys,
      this.#lane,
      start,
      count,
      MOST_OF_RESERVED * reserved,
    )
    if (generation !== this.#generation) {
      this.poke(true)
      return undefined
    }
    troubles.over(`lane ${this.#lane}`)
    this.#isRefused = false
    this.#readId = entries.at(-1)?.id ?? this.#readId
    if (more) this.#isBehind = true
    if (awaitsNewer) {
      this.#againMs = performance.now() + NEWER_MS
      log.warn({ lane: this.#lane }, 'the next entry is of a newer version, which has to deliver it')
    }
    const fresh = entries.filter(({ id }) => !this.#ended.has(id))
    if (fresh.length > 0) {
      const cost = fresh.reduce((sum, { items }) => sum + costOfAll(items), 0)
      state.entryCost = Math.max(cost / fresh.length, (state.entryCost ?? 0) / 2, 1)
    }
    return fresh
  }

  /** What was read is not known: it is read again. */
  failed(error: unknown): void {
    const { troubles, log } = this.#services
    this.poke(true)
    this.#againMs = performance.now() + READ_AGAIN_MS
    if (isRefusal(error)) {
      this.#isRefused = true
      troubles.note(`lane ${this.#lane}`, describeFault(error))
    } else log.debug({ error, lane: this.#lane }, 'the lane was not read; it is read again')
  }

  /** Another process owns the lane: what could not be read is not the trouble of this one. */
  leave(): void {
    if (this.#isRefused) this.#services.troubles.over(`lane ${this.#lane}`)
    this.#isRefused = false
  }

  end(): void {
    this.#isReading = false
    this.#forgetEnded()
  }

  /** Reads entries out of the usual order; those that ended meanwhile are left out. */
  async readOutOfOrder(read: () => Promise<readonly LaneEntryRead[]>): Promise<LaneEntryRead[]> {
    this.#besides++
    try {
      return (await read()).filter(({ id }) => !this.#ended.has(id))
    } finally {
      this.#besides--
      this.#forgetEnded()
    }
  }

  #forgetEnded(): void {
    if (!this.#isReading && this.#besides === 0) this.#ended.clear()
  }
}

/** How many deliveries in memory are enough to go on with. */
function mostHeld(batchSize: number): number {
  return Math.max(ENOUGH, 2 * batchSize)
}

/** Ids of stream entries: `<milliseconds>-<number>`. */
function isAfter(id: string, other: string): boolean {
  const [ms = 0, n = 0] = id.split('-').map(Number)
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number)
  return ms > otherMs || (ms === otherMs && n > otherN)
}
