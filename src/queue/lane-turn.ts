import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Message } from '../sink/index.ts'
import type { AttemptTrace, LineTracer } from '../trace.ts'
import { callSink } from './call-sink.ts'
import type { Keys } from './keys.ts'
import { type Head, type Item, NOTHING_READ, readHead, readOn } from './lane-batch.ts'
import { expired, isExpired, judge, type LaneState, type Policy, type Verdict } from './outcomes.ts'
import { adaptBatchSize, delayMs, note, noteUnreadable, type Outlet, setAside } from './outlet.ts'
import { ForeignKeyError, isRefusal, rootOf, sayFault } from './redis-fault.ts'
import { claim, type Settlement, settle } from './settle.ts'
import { settlementOf, settlementOfUnreadable } from './settlement.ts'
import type { Troubles } from './troubles.ts'

/** delivery → message for its sink */
export type Render = (delivery: Delivery, attempt: number) => Message

export interface TurnParts {
  redis: Redis
  keys: Keys
  render: Render
  policy: Policy
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  /** A batch that takes longer is abandoned and tried again; sinks have tighter limits of their own. */
  deliverTimeoutMs: number
  /** How long a lane may go on before others get their turn. */
  budgetMs: number
  troubles: Troubles
  /** Undefined where traces are off. */
  trace?: LineTracer['attempt'] | undefined
}

/** Why a turn ended: nothing left; more left, but others are due; the sink needs a pause. */
export type TurnEnd =
  | { kind: 'empty' }
  | { kind: 'more' }
  | { kind: 'delayed'; afterMs?: number; detail: string }

/** When a lane last failed, and whether nothing got through then: it goes on with one delivery at a time. */
export type LaneMemory = Map<string, { failedMs: number; nothing: boolean }>

/** As `deliverLane`. What Redis refuses is noted, and the lane comes again. */
export async function takeTurn(
  parts: TurnParts,
  lane: string,
  outlet: Outlet,
  memory: LaneMemory,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const { troubles } = parts
  try {
    const end = await deliverLane(parts, lane, outlet, memory, signal)
    troubles.over(`lane ${lane}`)
    return end
  } catch (error) {
    if (!isRefusal(error)) throw error
    troubles.note(partOf(lane, error), sayFault(error))
    return { kind: 'delayed', detail: sayFault(error) }
  }
}

const DELIVERIES = 'deliveries'

/** What is wrong with keys may be wrong with one lane alone; what Redis refuses otherwise, it refuses to all. */
function partOf(lane: string, error: unknown): string {
  return rootOf(error) instanceof ForeignKeyError ? `lane ${lane}` : DELIVERIES
}

/** read ─▶ render ─▶ deliver ─▶ settle, until the lane is empty or its time is up. */
async function deliverLane(
  parts: TurnParts,
  lane: string,
  outlet: Outlet,
  memory: LaneMemory,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const { redis, keys, clock } = parts
  const { suspects, breaker } = outlet
  const admission = breaker.admit()
  if (admission.kind === 'wait')
    return { kind: 'delayed', afterMs: admission.ms, detail: 'the sink is failing' }
  const untilMs = performance.now() + parts.budgetMs
  let token = newToken()
  let probing = admission.kind === 'probe'
  let othersFirst = false
  try {
    await claim(redis, keys, lane, token)
    parts.troubles.over(DELIVERIES)
    let head = NOTHING_READ
    while (!signal.aborted) {
      const startedMs = performance.now()
      // A wall clock that jumps while the sink is asked, as that of a machine that slept, is no part of an outage.
      const askedAtMs = clock.now()
      const single = probing || (memory.get(lane)?.nothing ?? false)
      const pick = () =>
        suspects.pick(head.items, { size: outlet.batchSize, single, othersFirst, nowMs: startedMs })
      let batch = pick()
      if (batch.length === 0) {
        head = await readHead(redis, keys, lane, clock.now())
        batch = pick()
      }
      for (; wantsMore(batch, head, single ? 1 : outlet.batchSize); batch = pick())
        head = await readOn(redis, keys, lane, head, clock.now())
      if (head.unreadable.length + head.finished.length > 0) {
        const next = newToken()
        const settlement = settlementOfUnreadable(outlet.name, lane, head, askedAtMs)
        const settled = await settleOnceTaken(parts, settlement, token, next, signal)
        if (settled === 'fenced') return { kind: 'delayed', detail: 'another worker took this lane over' }
        token = next
        noteUnreadable(parts, outlet, lane, head.unreadable)
        Object.assign(head, { unreadable: [], finished: [] })
      }
      const [first] = batch
      // What is set aside is left to the sweeper's next call.
      if (!first) {
        if (head.awaitsNewer) return awaitNewer(parts, lane)
        if (head.items.length === 0) forget(outlet, lane, memory)
        return { kind: 'empty' }
      }
      if (probing && admission.kind === 'probe' && leavesToOthers(outlet, first, admission.lateMs))
        return { kind: 'delayed', afterMs: PROBE_GRACE_MS / 2, detail: 'the sink is failing' }
      if (outlet.replaced) return { kind: 'more' }
      const wasAside = suspects.isAside(first.uid)
      using trace = parts.trace?.(outlet.name, lane, batch)
      const verdict = await deliverBatch(
        parts,
        outlet,
        head,
        batch,
        memory.get(lane)?.failedMs,
        askedAtMs,
        signal,
        trace,
      )
      if (!single && !wasAside) adaptBatchSize(outlet, performance.now() - startedMs)
      const next = newToken()
      const settlement = settlementOf(outlet.name, lane, head, verdict, signal, askedAtMs)
      const settled = await settleOnceTaken(parts, settlement, token, next, signal)
      if (settled === 'fenced') return { kind: 'delayed', detail: 'another worker took this lane over' }
      token = next
      trace?.settled(verdict)
      note(parts, outlet, lane, verdict, startedMs)
      if (signal.aborted) break
      head.items = withoutSettled(head.items, verdict)
      othersFirst = wasAside
      if (
        verdict.failure &&
        !setAside(parts, outlet, verdict, verdict.failure, wasAside ? first : undefined)
      ) {
        if (batch.length === 1) suspects.failed(first.uid, performance.now())
        memory.set(lane, { failedMs: performance.now(), nothing: !verdict.answered })
        return { kind: 'delayed', ...delayMs(parts, outlet, lane, verdict.failure) }
      }
      if (verdict.answered) {
        memory.delete(lane)
        probing = false
        head.failingSinceMs = undefined
      }
      if (verdict.laterMs !== undefined)
        return { kind: 'delayed', afterMs: verdict.laterMs, detail: 'the sink paces itself' }
      if (performance.now() >= untilMs) return { kind: 'more' }
    }
    return { kind: 'more' }
  } finally {
    // Only while it is this lane's probe: another one may be under way by now.
    if (probing) breaker.released()
  }
}

const NEWER_MS = 15_000

function awaitNewer({ log }: TurnParts, lane: string): TurnEnd {
  const detail = 'the next entry is of a newer version, which has to deliver it'
  log.warn({ lane }, detail)
  return { kind: 'delayed', afterMs: NEWER_MS, detail }
}

/** Nothing waits in it any more, whatever became of it: lanes come and go with the names in templates. */
function forget({ targets }: Outlet, lane: string, memory: LaneMemory): void {
  memory.delete(lane)
  targets.passed(lane)
}

const SETTLE_AGAIN_MS = 100

/** What is delivered and not settled is delivered again: so a Redis that refuses, as slots move or it loads, is asked until it takes it. */
async function settleOnceTaken(
  { redis, keys, troubles }: TurnParts,
  settlement: Settlement,
  token: string,
  next: string,
  signal: AbortSignal,
): Promise<'settled' | 'fenced'> {
  let noted: string | undefined
  for (;;) {
    try {
      const settled = await settle(redis, keys, settlement, token, next)
      if (noted !== undefined) troubles.over(noted)
      return settled
    } catch (error) {
      if (!isRefusal(error) || signal.aborted) throw error
      noted = partOf(settlement.lane, error)
      troubles.note(noted, sayFault(error))
      await pause(SETTLE_AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
}

const PROBE_GRACE_MS = 1_000

/** A delivery that failed before says little of the sink: for a moment, lanes with others may ask first. */
function leavesToOthers({ suspects }: Outlet, item: Item, lateMs: number): boolean {
  return suspects.isKnown(item.uid) && lateMs < PROBE_GRACE_MS
}

/** Entries that were written one by one are many for a batch; large ones are enough sooner. */
const ENOUGH_BYTES = 4 * 1024 * 1024

function wantsMore(batch: readonly Item[], head: Head, size: number): boolean {
  if (!head.more || batch.length >= size) return false
  return batch.length === 0 || head.bytes < ENOUGH_BYTES
}

/** What is left, in order: what waits behind an event that was given up was not sent with its batch. */
function withoutSettled(items: readonly Item[], { delivered, dead }: Verdict<Item>): Item[] {
  const settled = new Set([...delivered, ...dead.map(({ item }) => item)])
  return items.filter((item) => !settled.has(item))
}

function newToken(): string {
  return randomBytes(8).toString('hex')
}

async function deliverBatch(
  parts: TurnParts,
  outlet: Outlet,
  head: Head,
  batch: readonly Item[],
  laneFailedMs: number | undefined,
  nowMs: number,
  signal: AbortSignal,
  trace: AttemptTrace | undefined,
): Promise<Verdict<Item>> {
  const messages = batch.map(({ delivery, tries }, place) => {
    const message = parts.render(delivery, tries)
    return trace ? trace.traced(place, message) : message
  })
  const startedMs = performance.now()
  const outcomes = await callSink(outlet.sink, messages, parts, signal)
  trace?.answered(outcomes)
  const sink = outlet.name
  parts.metrics.batchSeconds.observe({ sink }, (performance.now() - startedMs) / 1_000)
  parts.metrics.batchDeliveries.observe({ sink }, batch.length)
  const alone = batch.length === 1
  const lane: LaneState = {
    nowMs,
    othersSucceed: alone
      ? outlet.suspects.failsAlone((batch[0] as Item).uid, outlet.passedMs)
      : outlet.passedMs > (laneFailedMs ?? Number.POSITIVE_INFINITY),
    alone,
    // A failure because we are asked to stop says nothing of the sink.
    failingSinceMs: signal.aborted ? undefined : head.failingSinceMs,
  }
  const verdict = judge(batch, outcomes, parts.policy, lane)
  const { failure, answered } = verdict
  if (failure?.scope === 'sink' && !answered) {
    // The rest of the head would expire in the same way, one probe after the other.
    const inBatch = new Set(batch)
    const rest = head.items.filter((item) => !inBatch.has(item) && isExpired(item, parts.policy, lane))
    verdict.dead.push(...rest.map((item) => expired(item, failure.detail)))
  }
  return verdict
}
