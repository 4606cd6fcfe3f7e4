import type { DeadReason } from './ack-script.ts'
import { deadLetterOf } from './acknowledgements.ts'
import { parkedPauseMs } from './delivery-policy.ts'
import type { Underway } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import { baseOf, parkedLane, sinkOf, slotOf } from './lane-names.ts'
import type { Item, LaneEntryRead } from './lane-reader.ts'
import { type Chains, type Moves, type Parked, ParkedAttempts } from './parked-attempt.ts'

/** What the lanes of a process need to know of parked chains. */
export interface ParkedChains {
  /** Is this chain of the lane parked? Then what comes for it goes behind it. */
  has(lane: string, chain: string): boolean
  /** A parked lane exists from now on. */
  add(parked: string, token: string, cause?: ParkedCause): void
  /** So many deliveries are on their way into it; negative when they have arrived. */
  moving(parked: string, n: number): void
}

/** Why a chain was parked just now. */
export interface ParkedCause {
  /** Its object has just failed. */
  failed?: boolean
  /** Its first deliveries are under way: what comes of them is that of its first attempts. */
  underway?: readonly Underway[]
  /** It was asked to wait until then, by a clock that never jumps. */
  dueMs?: number
}

const TICK_MS = 100
/** Attempts of parked chains of one sink under way at once, and the part of the sink's memory that they may take. */
const MOST_AT_ONCE = 32
const MOST_OF_SHARE = 1 / 4

/**
 * Chains whose object fails while others pass. Each has a lane of its own; memory holds their names and when they are tried
 * next. One is tried with its first delivery alone, with growing pauses, and returns to its lane when nothing is left of it.
 */
export class ParkedLanes implements ParkedChains, Chains {
  readonly #context: () => LaneContext
  readonly #attempts: ParkedAttempts
  readonly #parked = new Map<string, Parked>()
  /** Lane → its parked ones, and until when their target asked them to wait. */
  readonly #byBase = new Map<string, { lanes: Set<string>; pausedUntilMs: number }>()
  /** Lane → deliveries on their way into it, and how many have ever been. */
  readonly #moves = new Map<string, Moves>()
  readonly #busyBySink = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  /** Who waits until attempts have ended. */
  #waiting: (() => void)[] = []
  readonly #draining = new Set<string>()
  #ended = new Set<string>()

  constructor(context: () => LaneContext) {
    this.#context = context
    this.#attempts = new ParkedAttempts(context, this)
  }

  has(lane: string, chain: string): boolean {
    return this.#byBase.has(lane) && this.#parked.has(parkedLane(lane, chain))
  }

  add(lane: string, token: string, { failed = false, underway = [], dueMs }: ParkedCause = {}): void {
    if (this.#parked.has(lane)) return
    const { policy, random, jumps } = this.#context()
    const nowMs = performance.now()
    const failures = failed ? 1 : 0
    // After a start all of them are due: spread over the first pause.
    const pauseMs = failed
      ? parkedPauseMs(policy, failures, undefined, random)
      : policy.firstPauseMs * random()
    const [sink, base] = [sinkOf(lane), baseOf(lane)]
    const lastFailedMs = failed ? nowMs : Number.NEGATIVE_INFINITY
    const parked = {
      lane,
      sink,
      token,
      dueMs: dueMs ?? (underway.length > 0 ? nowMs : nowMs + pauseMs),
      failures,
      lastFailedMs,
      jumpedMs: jumps.totalMs(),
      busy: false,
      underway: new Map(underway.map((it) => [it.id, it])),
    }
    this.#parked.set(lane, parked)
    const siblings = this.#byBase.get(base)
    if (siblings) siblings.lanes.add(lane)
    else this.#byBase.set(base, { lanes: new Set([lane]), pausedUntilMs: 0 })
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
  }

  /** Returns the parked lanes that end from now on, until the next call: what was read of them before is over. */
  endedFromNow(): ReadonlySet<string> {
    this.#ended = new Set()
    return this.#ended
  }

  moving(lane: string, n: number): void {
    const { now, begun } = this.#moves.get(lane) ?? { now: 0, begun: 0 }
    this.#moves.set(lane, { now: now + n, begun: begun + Math.max(n, 0) })
    if (now + n === 0 && !this.#parked.has(lane)) this.#moves.delete(lane)
  }

  /** How many objects of a sink are parked. */
  count(sink: string): number {
    return this.#parked.values().reduce((sum, it) => sum + (it.sink === sink ? 1 : 0), 0)
  }

  /** All parked chains of these sinks are due. */
  hurry(sink: string): void {
    for (const it of this.#parked.values()) if (it.sink === sink) it.dueMs = 0
    for (const [base, it] of this.#byBase) if (sinkOf(base) === sink) it.pausedUntilMs = 0
  }

  /**
   * Makes dead letters of those deliveries of `read` that are meant. Returns them when that is durable; none while an attempt is
   * under way, or where the lane is not ours.
   */
  async giveUp(
    lane: string,
    read: () => Promise<readonly LaneEntryRead[]>,
    isMeant: (item: Item) => boolean,
    reason: DeadReason,
    detail: string,
  ): Promise<readonly Item[]> {
    const parked = this.#parked.get(lane)
    if (!parked || isUnderway(parked) || this.#draining.has(parked.token)) return []
    parked.busy = true
    try {
      const entries = await read()
      if (this.#parked.get(lane) !== parked) return []
      const items: Item[] = []
      const acks = entries.flatMap((entry) => {
        const meant = entry.items.filter(isMeant)
        items.push(...meant)
        return meant.map((item) => ({
          ...{ entryId: entry.id, count: entry.count, places: [item.place] },
          dead: deadLetterOf(item, { reason, detail, atMs: this.#context().clock.now() }),
        }))
      })
      return acks.length > 0 && (await this.#attempts.acknowledge(parked, acks)) ? items : []
    } finally {
      parked.busy = false
      this.#goOn()
    }
  }

  /** Forgets those of slots that another worker has taken. */
  drop(slots: ReadonlySet<string>): void {
    for (const it of [...this.#parked.values()]) if (slots.has(slotOf(it.lane))) this.#remove(it)
  }

  /** Begins no attempt with these tokens; resolves when none is under way, and what was under way is acknowledged. */
  async drain(tokens: ReadonlySet<string>): Promise<void> {
    for (const token of tokens) this.#draining.add(token)
    const isBusy = () => this.#parked.values().some((it) => isUnderway(it) && tokens.has(it.token))
    while (isBusy()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Begins attempts with these tokens again. */
  resume(tokens: ReadonlySet<string>): void {
    for (const token of tokens) this.#draining.delete(token)
    this.#goOn()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #remove({ lane }: Parked): void {
    this.#parked.delete(lane)
    this.#ended.add(lane)
    if (this.#moves.get(lane)?.now === 0) this.#moves.delete(lane)
    const base = baseOf(lane)
    const siblings = this.#byBase.get(base)
    siblings?.lanes.delete(lane)
    if (siblings?.lanes.size === 0) this.#byBase.delete(base)
    if (this.#parked.size === 0) this.close()
    this.#goOn()
  }

  #goOn(): void {
    for (const go of this.#waiting.splice(0)) go()
  }

  #tick(): void {
    const nowMs = performance.now()
    for (const parked of this.#parked.values()) {
      if (parked.busy || parked.dueMs > nowMs || !this.mayTry(parked)) continue
      const busy = this.#busyBySink.get(parked.sink) ?? 0
      if (parked.underway.size === 0 && busy >= this.#mostAtOnce(parked.sink)) continue
      this.#busyBySink.set(parked.sink, busy + 1)
      parked.busy = true
      // Behind the others: each gets its turn.
      this.#parked.delete(parked.lane)
      this.#parked.set(parked.lane, parked)
      void this.#attempts.run(parked).finally(() => {
        parked.busy = false
        this.#busyBySink.set(parked.sink, (this.#busyBySink.get(parked.sink) ?? 1) - 1)
        this.#goOn()
      })
    }
  }

  #mostAtOnce(sink: string): number {
    const { budget } = this.#context()
    return Math.min(
      MOST_AT_ONCE,
      Math.max(1, Math.floor((budget.share() * MOST_OF_SHARE) / this.#attempts.costOf(sink))),
    )
  }

  mayTry(parked: Parked): boolean {
    const context = this.#context()
    if (this.#parked.get(parked.lane) !== parked || context.acks.isBlocked(parked.lane)) return false
    if (parked.underway.size > 0) return true
    if (!this.mayBegin(parked)) return false
    if ((context.stateOf(parked.sink)?.breaker.waitMs() ?? 0) > 0) return false
    const base = baseOf(parked.lane)
    const untilMs = Math.max(this.#byBase.get(base)?.pausedUntilMs ?? 0, context.pausedUntilMs(base))
    return untilMs <= performance.now()
  }

  mayBegin({ token }: Parked): boolean {
    return !this.#draining.has(token) && this.#context().mayStart()
  }

  movesTo(lane: string): Moves | undefined {
    return this.#moves.get(lane)
  }

  ended(parked: Parked): void {
    if (this.#parked.get(parked.lane) === parked) this.#remove(parked)
  }

  pauseTarget({ lane }: Parked, ms: number): void {
    const siblings = this.#byBase.get(baseOf(lane))
    if (siblings) siblings.pausedUntilMs = Math.max(siblings.pausedUntilMs, performance.now() + ms)
  }
}

function isUnderway({ busy, underway }: Parked): boolean {
  return busy || underway.size > 0
}
