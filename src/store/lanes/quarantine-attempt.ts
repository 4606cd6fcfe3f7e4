import type { HistoryRecord } from '../../model/history-record.ts'
import type { Outcome } from '../../sink/index.ts'
import { noteAttempt } from '../history/history.ts'
import { baseOf } from '../keys.ts'
import type { Acknowledgement, FailureNote } from './ack-script.ts'
import type { InFlight } from './calls.ts'
import { classifyOutcomes, giveUp, mayBeOwnFault, quarantinePauseMs, type Retry } from './delivery-policy.ts'
import { deadLetterOf, type Item, type LaneEntryRead, unreadableAck } from './lane-entries.ts'
import type { LaneOwner, LaneServices } from './owned-lanes.ts'
import type { Quarantine } from './quarantine.ts'
import { readLane } from './read-lane.ts'
import type { SinkState } from './sink-state.ts'

/** A chain in quarantine. Times are of a clock that never jumps. */
export interface QuarantinedChain {
  lane: string
  sink: string
  token: string
  dueMs: number
  failures: number
  lastFailedMs: number
  /** How far the wall clock had jumped then. */
  jumpedMs: number
  busy: boolean
  /** Bytes of its next delivery in the byte budget: those of the last one that is known. */
  cost: number | undefined
  /** Deliveries whose calls began in the lane that they came from, by the event's id. */
  inFlight: Map<string, InFlight>
}

const AGAIN_MS = 1_000
const ARRIVES_MS = 100
const NEWER_MS = 15_000
const READ_BYTES = 64 * 1024

/** Attempts of chains in quarantine: read ─▶ render ─▶ deliver ─▶ acknowledge, the first delivery of each alone. */
export class QuarantineAttempts {
  readonly #services: LaneServices
  readonly #owner: LaneOwner
  readonly #quarantine: Quarantine

  constructor(services: LaneServices, owner: LaneOwner, quarantine: Quarantine) {
    this.#services = services
    this.#owner = owner
    this.#quarantine = quarantine
  }

  /** Approximate bytes of an attempt. */
  costOf({ sink, cost }: QuarantinedChain): number {
    return cost ?? this.#services.sinks.get(sink)?.entryCost ?? READ_BYTES
  }

  /** Delivers from a chain until it fails or is empty. Never rejects. */
  async run(chain: QuarantinedChain): Promise<void> {
    const { sinks, log } = this.#services
    chain.dueMs = performance.now() + AGAIN_MS
    try {
      while (this.#quarantine.mayTry(chain)) {
        const state = sinks.get(chain.sink)
        if (!state || !(await this.#deliverFirst(chain, state))) return
      }
    } catch (error) {
      log.debug({ error, lane: chain.lane }, 'a quarantine lane was not read; it is read again')
    }
  }

  /** Returns false when the chain has to wait, or is empty. */
  async #deliverFirst(chain: QuarantinedChain, state: SinkState): Promise<boolean> {
    const { redis, keys, budget, clock } = this.#services
    const expected = this.costOf(chain)
    // A large delivery that hangs leaves the sink's lanes the rest of its memory.
    const cost = Math.min(expected, this.#quarantine.mostBytes())
    await budget.take(chain.sink, cost)
    try {
      const before = this.#quarantine.movesTo(chain.lane)
      const [read, [tries, since]] = await Promise.all([
        readLane(redis, keys, chain.lane, '-', 1),
        redis.hmget(keys.progress(chain.lane), 'tries', 'since'),
      ])
      if (read.awaitsNewer) return this.#wait(chain, NEWER_MS)
      const entry = read.entries[0]
      if (!entry) {
        const after = this.#quarantine.movesTo(chain.lane)
        if (after && after.now > 0) return this.#wait(chain, ARRIVES_MS)
        // A delivery that was moving during the read may have arrived since: it is read before anything overtakes it.
        if (before?.now || before?.begun !== after?.begun) return true
        this.#quarantine.ended(chain)
        return false
      }
      const [item] = entry.items
      if (!item) return await this.#acknowledgeRest(chain, state, entry)
      chain.cost = item.cost
      const isBegun = chain.inFlight.has(item.delivery.event.id)
      // It is larger than expected: it waits until there is room for it.
      if (!isBegun && item.cost > Math.max(expected, this.#quarantine.mostBytes()))
        return this.#wait(chain, 0)
      const log = isBegun ? undefined : this.#services.logs?.of(item.delivery)
      if (log) {
        const found = await log
        // The process stops: another one delivers.
        if (!found) return this.#wait(chain, AGAIN_MS)
        item.delivery.logs = found
      }
      // The slot is being given away, and the call that this delivery was in has ended without delivering it: the others are not waited for.
      if (!this.#quarantine.mayBegin(chain) && !chain.inFlight.has(item.delivery.event.id))
        chain.inFlight.clear()
      // Much may have changed during the read: another worker owns the slot, or the target asked for a pause.
      if (!this.#quarantine.mayTry(chain)) return false
      const note = { tries: countOf(tries), sinceMs: countOf(since) || clock.now() }
      // A delivery with a note was attempted before, even if its attempts did not count.
      const triesBefore = countOf(since) > 0 ? Math.max(note.tries, 1) : 0
      return await this.#deliver(chain, state, entry.count, { ...item, tries: triesBefore }, note)
    } finally {
      budget.give(chain.sink, cost)
    }
  }

  async #deliver(
    chain: QuarantinedChain,
    state: SinkState,
    count: number,
    item: Item,
    note: FailureNote,
  ): Promise<boolean> {
    const begun = chain.inFlight.get(item.delivery.event.id)
    chain.inFlight.delete(item.delivery.event.id)
    const admission = begun ? { kind: 'go' as const } : state.breaker.admit(true)
    if (admission.kind === 'wait') return this.#wait(chain, admission.ms)
    const items = [item]
    using trace = begun ? undefined : state.trace(chain.lane, items)
    const startedMs = begun?.startedMs ?? performance.now()
    const outcomes = begun ? [await begun.outcome] : await state.deliver(items, trace)
    if (admission.kind === 'probe') state.breaker.ended(admission.probe)
    if (begun) this.#noteHandedOver(item, outcomes[0], startedMs)
    const verdict = classifyOutcomes(items, outcomes)
    const { dead, retries, laterMs } = verdict
    if (verdict.answered) {
      state.isDown = false
      this.#services.outages.passed(state.name)
      state.passed(startedMs)
      state.failingNamespaces.passed(item.delivery.event.namespace)
    }
    const failed = retries[0]
    if (begun && !verdict.answered) await forgetUndelivered(chain)
    if (admission.kind === 'probe' && failed && !state.isAborted) state.breaker.failed(true)
    if (failed) {
      if (state.isAborted) return false
      const end = this.#failed(chain, state, failed.outcome, { note, startedMs })
      if (!end.dead) {
        await this.acknowledge(chain, [], end.note, this.#services.recordOf(item, { outcome: 'failed' }))
        return this.#wait(chain, end.pauseMs)
      }
      dead.push({ item, ...end.dead })
    } else if (laterMs !== undefined) {
      this.#quarantine.pauseTarget(chain, laterMs)
      return this.#wait(chain, laterMs)
    }
    chain.failures = 0
    const ack: Acknowledgement = { entryId: item.entryId, count, places: [item.place] }
    ack.records = this.#services.recordOf(
      item,
      dead[0] ? { outcome: 'dead', ...dead[0] } : { outcome: 'delivered' },
    )
    if (dead[0]) ack.dead = deadLetterOf(item, { ...dead[0], atMs: this.#services.clock.now() })
    if (!(await this.acknowledge(chain, [ack]))) return false
    trace?.settled(verdict)
    state.acknowledged(chain.lane, verdict)
    return true
  }

  /** An attempt that the lane began. */
  #noteHandedOver(item: Item, outcome: Outcome | undefined, startedMs: number): void {
    const tookMs = performance.now() - startedMs
    if (outcome) noteAttempt(item, outcome, { atMs: this.#services.clock.now() - tookMs, tookMs })
  }

  #failed(
    chain: QuarantinedChain,
    state: SinkState,
    outcome: Retry,
    { note: before, startedMs }: { note: FailureNote; startedMs: number },
  ) {
    const { policy, clock, random, jumps, deliveringSince, maxAgeMs } = this.#services
    state.retried(outcome)
    const jumpMs = jumps.totalMs() - chain.jumpedMs
    chain.jumpedMs += jumpMs
    // An attempt counts if others succeeded since the one before, and the sink as a whole works.
    const isOwn = mayBeOwnFault(outcome) && !state.failsAsAWhole
    const counts = state.passedMs > chain.lastFailedMs && isOwn
    const note = { tries: before.tries + (counts ? 1 : 0), sinceMs: before.sinceMs + jumpMs }
    chain.lastFailedMs = performance.now()
    // If much fails, the next attempt is as likely to succeed as the first one.
    chain.failures = isOwn ? chain.failures + 1 : 1
    const pauseMs = quarantinePauseMs(policy, chain.failures, outcome.afterMs, random)
    if (outcome.scope === 'target') this.#quarantine.pauseTarget(chain, pauseMs)
    else if (outcome.afterMs !== undefined && !mayBeOwnFault(outcome) && state.passedMs < startedMs)
      state.breaker.pause(outcome.afterMs)
    const bounds = { ...policy, maxAgeMs: maxAgeMs(chain.sink) }
    const sinceMs = Math.max(note.sinceMs, deliveringSince.sinceMs(chain.sink))
    return { note, pauseMs, dead: giveUp(outcome, { ...note, sinceMs, nowMs: clock.now() }, bounds) }
  }

  /** Acknowledges an entry without readable deliveries: what cannot be read becomes a dead letter. */
  async #acknowledgeRest(
    chain: QuarantinedChain,
    state: SinkState,
    { id, count, unreadable }: LaneEntryRead,
  ): Promise<boolean> {
    const atMs = this.#services.clock.now()
    const acks = unreadable.map((it) => {
      state.unreadable(baseOf(chain.lane), id, it)
      return unreadableAck(id, count, it, atMs)
    })
    return this.acknowledge(chain, acks.length > 0 ? acks : [{ entryId: id, count, places: [] }])
  }

  /** Returns false if another worker owns the lane. */
  async acknowledge(
    { lane, token }: QuarantinedChain,
    acks: readonly Acknowledgement[],
    note?: FailureNote,
    records: readonly HistoryRecord[] = [],
  ): Promise<boolean> {
    const end = await this.#services.acks.add({ lane, token, acks, note, records, isUrgent: true })
    if (end === 'fenced') this.#owner.fenced(lane, token)
    return end !== 'fenced'
  }

  #wait(chain: QuarantinedChain, ms: number): false {
    chain.dueMs = performance.now() + ms
    return false
  }
}

/** The deliveries behind one that failed in a call of their lane were in the same call: they are sent again behind it. */
async function forgetUndelivered({ inFlight }: QuarantinedChain): Promise<void> {
  for (const [id, { outcome }] of [...inFlight]) {
    const { kind } = await outcome
    if (kind === 'retry' || kind === 'later') inFlight.delete(id)
  }
}

function countOf(text: string | null | undefined): number {
  const count = Number(text ?? 0)
  return Number.isSafeInteger(count) && count > 0 ? count : 0
}
