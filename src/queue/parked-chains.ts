import type { Outcome } from '../sink/index.ts'
import type { AttemptTrace } from '../trace.ts'
import type { DeadReason, FailureNote } from './ack-script.ts'
import { deadLetterOf } from './acknowledgements.ts'
import { giveUp, judge, mayBeOwnFault, parkedPauseMs, type Retry } from './delivery-policy.ts'
import type { Underway } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import { unreadableAck } from './lane-entries.ts'
import { baseOf, parkedLane, sinkOf, slotOf } from './lane-names.ts'
import { type Item, type LaneEntryRead, readLane } from './lane-reader.ts'
import {
  failsAsAWhole,
  noteOutcomes,
  notePassed,
  noteRetry,
  noteUnreadable,
  type SinkState,
} from './sink-state.ts'

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

interface Parked {
  lane: string
  sink: string
  token: string
  dueMs: number
  failures: number
  lastFailedMs: number
  /** How far the wall clock had jumped then. */
  jumpedMs: number
  busy: boolean
  underway: Map<string, Underway>
}

const TICK_MS = 100
const AGAIN_MS = 1_000
const NEWER_MS = 15_000
/** Attempts of parked chains of one sink under way at once, and the part of the sink's memory that they may take. */
const MOST_AT_ONCE = 32
const MOST_OF_SHARE = 1 / 4
const READ_BYTES = 64 * 1024

/**
 * Chains whose object fails while others pass. Each has a lane of its own; memory holds their names and when they are tried
 * next. One is tried with its first delivery alone, with growing pauses, and returns to its lane when nothing is left of it.
 */
export class ParkedLanes implements ParkedChains {
  readonly #context: () => LaneContext
  readonly #parked = new Map<string, Parked>()
  /** Lane → its parked ones, and until when their target asked them to wait. */
  readonly #byBase = new Map<string, { lanes: Set<string>; pausedUntilMs: number }>()
  /** Lane → deliveries on their way into it, and how many have ever been. */
  readonly #moves = new Map<string, { now: number; begun: number }>()
  readonly #busyBySink = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  /** Who waits until attempts have ended. */
  #waiting: (() => void)[] = []
  readonly #draining = new Set<string>()
  #ended = new Set<string>()

  constructor(context: () => LaneContext) {
    this.#context = context
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
      return acks.length > 0 && (await this.#acknowledge(parked, acks)) ? items : []
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
      if (parked.busy || parked.dueMs > nowMs || !this.#mayTry(parked)) continue
      const busy = this.#busyBySink.get(parked.sink) ?? 0
      if (parked.underway.size === 0 && busy >= this.#mostAtOnce(parked.sink)) continue
      this.#busyBySink.set(parked.sink, busy + 1)
      parked.busy = true
      // Behind the others: each gets its turn.
      this.#parked.delete(parked.lane)
      this.#parked.set(parked.lane, parked)
      void this.#attempt(parked).finally(() => {
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
      Math.max(1, Math.floor((budget.share() * MOST_OF_SHARE) / this.#costOf(sink))),
    )
  }

  /** What an attempt is taken for, in bytes of the budget. */
  #costOf(sink: string): number {
    return this.#context().stateOf(sink)?.entryCost ?? READ_BYTES
  }

  /** May it be tried now: is it ours, and do neither worker, sink nor target forbid a call? What is under way needs no other call. */
  #mayTry(parked: Parked): boolean {
    const context = this.#context()
    if (this.#parked.get(parked.lane) !== parked || context.acks.isBlocked(parked.lane)) return false
    if (parked.underway.size > 0) return true
    if (this.#draining.has(parked.token) || !context.mayStart()) return false
    if ((context.stateOf(parked.sink)?.breaker.waitMs() ?? 0) > 0) return false
    const base = baseOf(parked.lane)
    const untilMs = Math.max(this.#byBase.get(base)?.pausedUntilMs ?? 0, context.pausedUntilMs(base))
    return untilMs <= performance.now()
  }

  /** Delivers from a parked chain until it fails or nothing is left. */
  async #attempt(parked: Parked): Promise<void> {
    const context = this.#context()
    parked.dueMs = performance.now() + AGAIN_MS
    try {
      while (this.#mayTry(parked)) {
        const state = context.stateOf(parked.sink)
        if (!state || context.waitsForFormer(parked.lane)) return
        if (!(await this.#deliverFirst(parked, state))) return
      }
    } catch (error) {
      context.log.debug({ error, lane: parked.lane }, 'a parked chain was not read; it is tried again')
    }
  }

  /** False when the chain has to wait, or is at its end. */
  async #deliverFirst(parked: Parked, state: SinkState): Promise<boolean> {
    const context = this.#context()
    const { redis, keys, budget } = context
    const cost = this.#costOf(parked.sink)
    await budget.take(parked.sink, cost)
    try {
      const before = this.#moves.get(parked.lane)
      const [read, [tries, since]] = await Promise.all([
        readLane(redis, keys, parked.lane, '-', 1),
        redis.hmget(keys.progress(parked.lane), 'tries', 'since'),
      ])
      if (read.awaitsNewer) return this.#wait(parked, NEWER_MS)
      const entry = read.entries[0]
      if (!entry) {
        const after = this.#moves.get(parked.lane)
        if (after && after.now > 0) return this.#wait(parked, TICK_MS)
        // What was on its way when Redis was asked may have arrived since: it is read before anything overtakes it.
        if (before?.now || before?.begun !== after?.begun) return true
        if (this.#parked.get(parked.lane) === parked) this.#remove(parked)
        return false
      }
      const [item] = entry.items
      if (!item) return await this.#acknowledgeRest(parked, state, entry)
      // Nothing begins any more, and this is not what was under way: that call left it for later.
      const isEnding = this.#draining.has(parked.token) || !context.mayStart()
      if (isEnding && !parked.underway.has(item.delivery.event.id)) parked.underway.clear()
      // Much may have changed while it was read: a slot that another worker has taken, a pause that the target asked for.
      if (!this.#mayTry(parked)) return false
      const note = { tries: countOf(tries), sinceMs: countOf(since) || context.clock.now() }
      // What has a note was tried before, also where its attempts did not count.
      const triesBefore = countOf(since) > 0 ? Math.max(note.tries, 1) : 0
      return await this.#call(parked, state, entry, { ...item, tries: triesBefore }, note)
    } finally {
      budget.give(parked.sink, cost)
    }
  }

  async #call(
    parked: Parked,
    state: SinkState,
    { count }: LaneEntryRead,
    item: Item,
    note: FailureNote,
  ): Promise<boolean> {
    const context = this.#context()
    const underway = parked.underway.get(item.delivery.event.id)
    parked.underway.delete(item.delivery.event.id)
    const admission = underway ? { kind: 'go' as const } : state.breaker.admit()
    if (admission.kind === 'wait') return this.#wait(parked, admission.ms)
    const items = [item]
    using trace = underway ? undefined : context.trace?.(state.name, parked.lane, items)
    const startedMs = underway?.startedMs ?? performance.now()
    const outcomes = underway ? [await underway.outcome] : await this.#send(state, item, trace)
    trace?.answered(outcomes)
    const verdict = judge(items, outcomes)
    const { delivered, dead, retries, laterMs } = verdict
    if (verdict.answered) {
      const wasOpen = state.breaker.isOpen()
      notePassed(context, state, startedMs)
      if (wasOpen && !state.breaker.isOpen()) context.onPassed(state)
    }
    const failed = retries[0]
    if (!verdict.answered && admission.kind === 'probe')
      if (failed && !context.caller.aborted) state.breaker.failed()
      else state.breaker.released()
    if (failed) {
      if (context.caller.aborted) return false
      const end = this.#failed(parked, state, failed.outcome, { note, startedMs })
      if (!end.dead) {
        await this.#acknowledge(parked, [], end.note)
        return this.#wait(parked, end.pauseMs)
      }
      verdict.dead.push({ item: items[0] as Item, ...end.dead })
    } else if (laterMs !== undefined) {
      this.#pauseTarget(parked, laterMs)
      return this.#wait(parked, laterMs)
    }
    parked.failures = 0
    const about = { entryId: item.entryId, count, places: [item.place] }
    const atMs = context.clock.now()
    const letter = dead[0] && { ...about, dead: deadLetterOf(dead[0].item, { ...dead[0], atMs }) }
    const ended = await this.#acknowledge(parked, [letter ?? about])
    if (!ended) return false
    trace?.settled({ delivered, dead })
    noteOutcomes(context, state, parked.lane, verdict)
    return true
  }

  #send(state: SinkState, { delivery, tries }: Item, trace: AttemptTrace | undefined): Promise<Outcome[]> {
    const { render, caller } = this.#context()
    const message = render(delivery, tries)
    return caller.call(state.sink, [trace ? trace.traced(0, message) : message])
  }

  #failed(
    parked: Parked,
    state: SinkState,
    outcome: Retry,
    { note: before, startedMs }: { note: FailureNote; startedMs: number },
  ) {
    const context = this.#context()
    const { policy, clock, random, jumps } = context
    const maxAgeMs = context.maxAgeMs(parked.sink)
    noteRetry(context, state, outcome)
    const jumpMs = jumps.totalMs() - parked.jumpedMs
    parked.jumpedMs += jumpMs
    // An attempt counts where others succeeded since the one before, and the sink as a whole is well.
    const isOwn = mayBeOwnFault(outcome) && !failsAsAWhole(state)
    const counts = state.passedMs > parked.lastFailedMs && isOwn
    const note = { tries: before.tries + (counts ? 1 : 0), sinceMs: before.sinceMs + jumpMs }
    parked.lastFailedMs = performance.now()
    // Where much fails, the next attempt is as likely to pass as the first one.
    parked.failures = isOwn ? parked.failures + 1 : 1
    const pauseMs = parkedPauseMs(policy, parked.failures, outcome.afterMs, random)
    if (outcome.scope === 'target') this.#pauseTarget(parked, pauseMs)
    else if (outcome.afterMs !== undefined && !mayBeOwnFault(outcome) && state.passedMs < startedMs)
      state.breaker.pause(outcome.afterMs)
    return { note, pauseMs, dead: giveUp(outcome, { ...note, nowMs: clock.now() }, { ...policy, maxAgeMs }) }
  }

  /** Of an entry without a delivery: what cannot be read becomes a dead letter. */
  async #acknowledgeRest(
    parked: Parked,
    state: SinkState,
    { id, count, unreadable }: LaneEntryRead,
  ): Promise<boolean> {
    const context = this.#context()
    const atMs = context.clock.now()
    const acks = unreadable.map((it) => {
      noteUnreadable(context, state, baseOf(parked.lane), id, it)
      return unreadableAck(id, count, it, atMs)
    })
    return this.#acknowledge(parked, acks.length > 0 ? acks : [{ entryId: id, count, places: [] }])
  }

  /** False when another worker has the lane. */
  async #acknowledge(
    { lane, token }: Parked,
    acks: Parameters<LaneContext['acks']['add']>[0]['acks'],
    note?: FailureNote,
  ): Promise<boolean> {
    const context = this.#context()
    const group = { lane, token, isFormer: context.isFormer(lane), acks, note, isUrgent: true }
    const end = await context.acks.add(group)
    if (end === 'fenced') context.onFenced(lane, token)
    return end !== 'fenced'
  }

  /** Other parked chains of the lane have the same target. */
  #pauseTarget({ lane }: Parked, ms: number): void {
    const siblings = this.#byBase.get(baseOf(lane))
    if (siblings) siblings.pausedUntilMs = Math.max(siblings.pausedUntilMs, performance.now() + ms)
  }

  #wait(parked: Parked, ms: number): false {
    parked.dueMs = performance.now() + ms
    return false
  }
}

function isUnderway({ busy, underway }: Parked): boolean {
  return busy || underway.size > 0
}

function countOf(text: string | null | undefined): number {
  const count = Number(text ?? 0)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
