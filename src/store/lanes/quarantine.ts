import { baseOf, quarantineLane, sinkOf, slotOf } from '../keys.ts'
import type { DeadReason } from './ack-script.ts'
import type { InFlight } from './calls.ts'
import { quarantinePauseMs } from './delivery-policy.ts'
import type { Item, LaneEntryRead } from './lane-entries.ts'
import { deadLetterOf, type IsSelected } from './lane-entries.ts'
import type { LaneOwner, LaneServices } from './owned-lanes.ts'
import { QuarantineAttempts, type QuarantinedChain } from './quarantine-attempt.ts'

/** Deliveries that move into a quarantine lane at the moment, and the number that ever began to. */
interface Moves {
  now: number
  begun: number
}

/** Why a chain comes into quarantine. */
interface QuarantineCause {
  /** Its object has just failed. */
  failed?: boolean
  /** Its first deliveries are in flight: their outcomes are those of its first attempts. */
  inFlight?: readonly InFlight[]
  /** It was asked to wait until then, by a clock that never jumps. */
  dueMs?: number
  /** Bytes of its first delivery in the byte budget. */
  cost?: number
}

const TICK_MS = 100
/** Concurrent attempts of chains of one sink, and the part of the sink's memory that they, or a delivery that fails, may take. */
const MAX_BUSY_CHAINS = 32
const MOST_OF_SHARE = 1 / 4

/**
 * Chains whose object fails while others succeed. Each has a lane of its own; memory holds their names and the time of the next
 * attempt. The first delivery of a chain is attempted alone, with growing pauses; the chain returns to its lane when it is empty.
 */
export class Quarantine {
  readonly #services: LaneServices
  readonly #owner: LaneOwner
  readonly #attempts: QuarantineAttempts
  readonly #chains = new Map<string, QuarantinedChain>()
  /** Lane → its quarantine lanes, and until when their target asked to wait. */
  readonly #byBase = new Map<string, { lanes: Set<string>; pausedUntilMs: number }>()
  readonly #moves = new Map<string, Moves>()
  readonly #busyBySink = new Map<string, Set<QuarantinedChain>>()
  #timer: NodeJS.Timeout | undefined
  /** Called when an attempt has ended. */
  #waiting: (() => void)[] = []
  readonly #draining = new Set<string>()
  #ended = new Set<string>()

  constructor(services: LaneServices, owner: LaneOwner) {
    this.#services = services
    this.#owner = owner
    this.#attempts = new QuarantineAttempts(services, owner, this)
  }

  /** Whether this chain of the lane is in quarantine: later deliveries of it must follow. */
  has(lane: string, chain: string): boolean {
    return this.#byBase.has(lane) && this.#chains.has(quarantineLane(lane, chain))
  }

  /** A quarantine lane exists from now on. */
  add(
    lane: string,
    token: string,
    { failed = false, inFlight = [], dueMs, cost }: QuarantineCause = {},
  ): void {
    if (this.#chains.has(lane)) return
    const { policy, random, jumps } = this.#services
    const nowMs = performance.now()
    const failures = failed ? 1 : 0
    // After a start all of them are due: their attempts are spread over the first pause.
    const pauseMs = failed
      ? quarantinePauseMs(policy, failures, undefined, random)
      : policy.firstPauseMs * random()
    const base = baseOf(lane)
    this.#chains.set(lane, {
      lane,
      sink: sinkOf(lane),
      token,
      failures,
      busy: false,
      cost,
      jumpedMs: jumps.totalMs(),
      dueMs: dueMs ?? (inFlight.length > 0 ? nowMs : nowMs + pauseMs),
      lastFailedMs: failed ? nowMs : Number.NEGATIVE_INFINITY,
      inFlight: new Map(inFlight.map((it) => [it.id, it])),
    })
    const siblings = this.#byBase.get(base)
    if (siblings) siblings.lanes.add(lane)
    else this.#byBase.set(base, { lanes: new Set([lane]), pausedUntilMs: 0 })
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
  }

  /** Returns the quarantine lanes that end from now on, until the next call: what was read of them before is void. */
  endedFromNow(): ReadonlySet<string> {
    this.#ended = new Set()
    return this.#ended
  }

  /** `n` more deliveries are on their way into the lane; negative when they have arrived. */
  moving(lane: string, n: number): void {
    const { now, begun } = this.#moves.get(lane) ?? { now: 0, begun: 0 }
    this.#moves.set(lane, { now: now + n, begun: begun + Math.max(n, 0) })
    if (now + n === 0 && !this.#chains.has(lane)) this.#moves.delete(lane)
  }

  movesTo(lane: string): Moves | undefined {
    return this.#moves.get(lane)
  }

  /** Number of objects of a sink in quarantine. */
  count(sink: string): number {
    return this.#chains.values().reduce((sum, it) => sum + (it.sink === sink ? 1 : 0), 0)
  }

  /** All chains of this sink are due. */
  hurry(sink: string): void {
    for (const it of this.#chains.values()) if (it.sink === sink) it.dueMs = 0
    for (const [base, it] of this.#byBase) if (sinkOf(base) === sink) it.pausedUntilMs = 0
  }

  /**
   * Makes dead letters of the selected deliveries of `read`. Resolves to them when that is durable; to none while an attempt is
   * in flight, or if the lane belongs to another worker.
   */
  async giveUp(
    lane: string,
    read: () => Promise<readonly LaneEntryRead[]>,
    isSelected: IsSelected,
    reason: DeadReason,
    detail: string,
  ): Promise<readonly Item[]> {
    const chain = this.#chains.get(lane)
    if (!chain || isInFlight(chain) || this.#draining.has(chain.token)) return []
    chain.busy = true
    try {
      const entries = await read()
      if (this.#chains.get(lane) !== chain) return []
      const items: Item[] = []
      const atMs = this.#services.clock.now()
      const acks = entries.flatMap((entry) => {
        const selected = entry.items.filter((item) => isSelected(item, false))
        items.push(...selected)
        return selected.map((item) => ({
          entryId: entry.id,
          count: entry.count,
          places: [item.place],
          dead: deadLetterOf(item, { reason, detail, atMs }),
          records: this.#services.recordOf(item, { outcome: 'dead', reason, detail }),
        }))
      })
      return acks.length > 0 && (await this.#attempts.acknowledge(chain, acks)) ? items : []
    } finally {
      chain.busy = false
      this.#continue()
    }
  }

  /** Forgets the chains of slots that belong to another worker. */
  drop(slots: ReadonlySet<string>): void {
    for (const it of [...this.#chains.values()]) if (slots.has(slotOf(it.lane))) this.#remove(it)
  }

  /** Begins no attempt with these tokens; resolves when none is in flight, and those that were are acknowledged. */
  async drain(tokens: ReadonlySet<string>): Promise<void> {
    for (const token of tokens) this.#draining.add(token)
    const isBusy = () => this.#chains.values().some((it) => isInFlight(it) && tokens.has(it.token))
    while (isBusy()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Begins attempts with these tokens again. */
  resume(tokens: ReadonlySet<string>): void {
    for (const token of tokens) this.#draining.delete(token)
    this.#continue()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Whether an attempt may begin: the chain is ours, and neither worker, sink nor target forbids it. A call in flight needs no other one. */
  mayTry(chain: QuarantinedChain): boolean {
    const { acks, sinks } = this.#services
    if (this.#chains.get(chain.lane) !== chain || acks.isBlocked(chain.lane)) return false
    if (chain.inFlight.size > 0) return true
    if (!this.mayBegin(chain)) return false
    if ((sinks.get(chain.sink)?.breaker.waitMs(true) ?? 0) > 0) return false
    const base = baseOf(chain.lane)
    const untilMs = Math.max(this.#byBase.get(base)?.pausedUntilMs ?? 0, this.#owner.pausedUntilMs(base))
    return untilMs <= performance.now()
  }

  /** Whether anything may begin in its slot. */
  mayBegin({ token }: QuarantinedChain): boolean {
    return !this.#draining.has(token) && this.#owner.mayStart()
  }

  /** The chain is empty. */
  ended(chain: QuarantinedChain): void {
    if (this.#chains.get(chain.lane) === chain) this.#remove(chain)
  }

  /** The target asked to wait: the chains of the same lane have the same target. */
  pauseTarget({ lane }: QuarantinedChain, ms: number): void {
    const siblings = this.#byBase.get(baseOf(lane))
    if (siblings) siblings.pausedUntilMs = Math.max(siblings.pausedUntilMs, performance.now() + ms)
  }

  #tick(): void {
    const nowMs = performance.now()
    for (const chain of this.#chains.values()) {
      if (chain.busy || chain.dueMs > nowMs || !this.mayTry(chain)) continue
      const busy = this.#busyBySink.get(chain.sink) ?? new Set()
      if (chain.inFlight.size === 0 && !this.#hasRoom(chain, busy)) continue
      this.#busyBySink.set(chain.sink, busy.add(chain))
      chain.busy = true
      // To the end, so that all get their attempts.
      this.#chains.delete(chain.lane)
      this.#chains.set(chain.lane, chain)
      void this.#attempts.run(chain).finally(() => {
        chain.busy = false
        busy.delete(chain)
        this.#continue()
      })
    }
  }

  /** The most that the attempts of a sink's chains may take, in bytes. A delivery that is larger is attempted without another such one. */
  mostBytes(): number {
    return this.#services.budget.share() * MOST_OF_SHARE
  }

  #hasRoom(chain: QuarantinedChain, busy: ReadonlySet<QuarantinedChain>): boolean {
    if (busy.size >= MAX_BUSY_CHAINS) return false
    const most = this.mostBytes()
    const own = this.#attempts.costOf(chain)
    const others = [...busy].map((it) => this.#attempts.costOf(it)).filter((it) => it > most === own > most)
    return others.length === 0 || others.reduce((sum, it) => sum + it, own) <= most
  }

  #remove({ lane }: QuarantinedChain): void {
    this.#chains.delete(lane)
    this.#ended.add(lane)
    if (this.#moves.get(lane)?.now === 0) this.#moves.delete(lane)
    const base = baseOf(lane)
    const siblings = this.#byBase.get(base)
    siblings?.lanes.delete(lane)
    if (siblings?.lanes.size === 0) this.#byBase.delete(base)
    if (this.#chains.size === 0) this.close()
    this.#continue()
  }

  #continue(): void {
    for (const go of this.#waiting.splice(0)) go()
  }
}

function isInFlight({ busy, inFlight }: QuarantinedChain): boolean {
  return busy || inFlight.size > 0
}
