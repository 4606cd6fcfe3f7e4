import type { Outcome } from '../sink/index.ts'
import type { AttemptTrace } from '../trace.ts'
import type { FailureNote } from './ack-script.ts'
import { deadLetterOf } from './acknowledgements.ts'
import { giveUp, judge, mayBeOwnFault, parkedPauseMs, type Retry } from './delivery-policy.ts'
import type { Underway } from './lane-calls.ts'
import type { LaneContext } from './lane-context.ts'
import { unreadableAck } from './lane-entries.ts'
import { baseOf } from './lane-names.ts'
import { type Item, type LaneEntryRead, readLane } from './lane-reader.ts'
import {
  failsAsAWhole,
  noteOutcomes,
  notePassed,
  noteRetry,
  noteUnreadable,
  type SinkState,
} from './sink-state.ts'

/** A parked chain, as memory has it. Times are of a clock that never jumps. */
export interface Parked {
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

/** Deliveries on their way into a parked lane, and how many have ever been. */
export interface Moves {
  now: number
  begun: number
}

/** What an attempt asks of the other parked chains. */
export interface Chains {
  /** May it be tried now: is it ours, and do neither worker, sink nor target forbid a call? What is under way needs no other call. */
  mayTry(parked: Parked): boolean
  /** May anything begin in its slot? */
  mayBegin(parked: Parked): boolean
  movesTo(lane: string): Moves | undefined
  /** Other parked chains of its lane have the same target. */
  pauseTarget(parked: Parked, ms: number): void
  /** Nothing is left of it. */
  ended(parked: Parked): void
}

const AGAIN_MS = 1_000
const ARRIVES_MS = 100
const NEWER_MS = 15_000
const READ_BYTES = 64 * 1024

/** Attempts of parked chains: read ─▶ render ─▶ deliver ─▶ acknowledge, the first delivery of each alone. */
export class ParkedAttempts {
  readonly #context: () => LaneContext
  readonly #chains: Chains

  constructor(context: () => LaneContext, chains: Chains) {
    this.#context = context
    this.#chains = chains
  }

  /** What an attempt is taken for, in bytes of the budget. */
  costOf(sink: string): number {
    return this.#context().stateOf(sink)?.entryCost ?? READ_BYTES
  }

  /** Delivers from a parked chain until it fails or nothing is left. Never rejects. */
  async run(parked: Parked): Promise<void> {
    const context = this.#context()
    parked.dueMs = performance.now() + AGAIN_MS
    try {
      while (this.#chains.mayTry(parked)) {
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
    const cost = this.costOf(parked.sink)
    await budget.take(parked.sink, cost)
    try {
      const before = this.#chains.movesTo(parked.lane)
      const [read, [tries, since]] = await Promise.all([
        readLane(redis, keys, parked.lane, '-', 1),
        redis.hmget(keys.progress(parked.lane), 'tries', 'since'),
      ])
      if (read.awaitsNewer) return this.#wait(parked, NEWER_MS)
      const entry = read.entries[0]
      if (!entry) {
        const after = this.#chains.movesTo(parked.lane)
        if (after && after.now > 0) return this.#wait(parked, ARRIVES_MS)
        // What was on its way when Redis was asked may have arrived since: it is read before anything overtakes it.
        if (before?.now || before?.begun !== after?.begun) return true
        this.#chains.ended(parked)
        return false
      }
      const [item] = entry.items
      if (!item) return await this.#acknowledgeRest(parked, state, entry)
      // Nothing begins any more, and this is not what was under way: that call left it for later.
      if (!this.#chains.mayBegin(parked) && !parked.underway.has(item.delivery.event.id))
        parked.underway.clear()
      // Much may have changed while it was read: a slot that another worker has taken, a pause that the target asked for.
      if (!this.#chains.mayTry(parked)) return false
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
        await this.acknowledge(parked, [], end.note)
        return this.#wait(parked, end.pauseMs)
      }
      verdict.dead.push({ item: items[0] as Item, ...end.dead })
    } else if (laterMs !== undefined) {
      this.#chains.pauseTarget(parked, laterMs)
      return this.#wait(parked, laterMs)
    }
    parked.failures = 0
    const about = { entryId: item.entryId, count, places: [item.place] }
    const atMs = context.clock.now()
    const letter = dead[0] && { ...about, dead: deadLetterOf(dead[0].item, { ...dead[0], atMs }) }
    const ended = await this.acknowledge(parked, [letter ?? about])
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
    if (outcome.scope === 'target') this.#chains.pauseTarget(parked, pauseMs)
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
    return this.acknowledge(parked, acks.length > 0 ? acks : [{ entryId: id, count, places: [] }])
  }

  /** False when another worker has the lane. */
  async acknowledge(
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

  #wait(parked: Parked, ms: number): false {
    parked.dueMs = performance.now() + ms
    return false
  }
}

function countOf(text: string | null | undefined): number {
  const count = Number(text ?? 0)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
