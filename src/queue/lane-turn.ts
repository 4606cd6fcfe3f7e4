import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { redactText } from '../redact.ts'
import type { Message, Outcome, Sink } from '../sink/index.ts'
import type { Breaker } from './breaker.ts'
import { callSink } from './call-sink.ts'
import type { Keys } from './keys.ts'
import { type Head, type Item, readHead } from './lane-batch.ts'
import {
  expired,
  type Failure,
  isExpired,
  judge,
  type LaneState,
  type Policy,
  type Verdict,
} from './outcomes.ts'
import { settle } from './settle.ts'
import { settlementOf } from './settlement.ts'
import type { Suspects } from './suspects.ts'

/** delivery → message for its sink, or what is wrong with its template. */
export type Render = (
  delivery: Delivery,
  attempt: number,
) => { kind: 'message'; message: Message } | { kind: 'fault'; detail: string }

/** A sink that lanes deliver to, with what this process knows of it. */
export interface Outlet {
  name: string
  sink: Sink
  breaker: Breaker
  suspects: Suspects
  healthy: boolean
  /** How many deliveries the next batch takes: as many as the sink manages in about a second. */
  batchSize: number
  lastDeliveredMs?: number
  lastError?: string
  lastErrorMs?: number
}

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
}

/** Why a turn ended: nothing left; more left, but others are due; the sink needs a pause. */
export type TurnEnd =
  | { kind: 'empty' }
  | { kind: 'more' }
  | { kind: 'delayed'; afterMs?: number; detail: string }

/** When a lane last failed, and whether nothing got through then: it goes on with one delivery at a time. */
export type LaneMemory = Map<string, { failedMs: number; nothing: boolean }>

/** read ─▶ render ─▶ deliver ─▶ settle, until the lane is empty or its time is up. */
export async function takeTurn(
  parts: TurnParts,
  lane: string,
  outlet: Outlet,
  memory: LaneMemory,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const { redis, keys, clock } = parts
  const admission = outlet.breaker.admit()
  if (admission.kind === 'wait')
    return { kind: 'delayed', afterMs: admission.ms, detail: 'the sink is failing' }
  const untilMs = clock.now() + parts.budgetMs
  let token = newToken()
  let probing = admission.kind === 'probe'
  try {
    await redis.set(keys.owner(lane), token)
    let head = NOTHING_READ
    while (!signal.aborted) {
      const nowMs = clock.now()
      const single = probing || (memory.get(lane)?.nothing ?? false)
      const pick = () => outlet.suspects.pick(head.items, { size: outlet.batchSize, single, nowMs })
      if (pick().length === 0) head = await readHead(redis, keys, lane)
      const batch = pick()
      // What is set aside is left to the sweeper's next call.
      if (batch.length === 0) return { kind: 'empty' }
      if (probing && admission.kind === 'probe' && leavesToOthers(outlet, batch[0], admission.lateMs))
        return { kind: 'delayed', afterMs: PROBE_GRACE_MS / 2, detail: 'the sink is failing' }
      const verdict = await deliverBatch(parts, outlet, head, batch, memory.get(lane)?.failedMs, signal)
      if (!single) adaptBatchSize(outlet, clock.now() - nowMs)
      const next = newToken()
      const settlement = settlementOf(outlet.name, lane, head, verdict, signal, clock.now())
      const settled = await settle(redis, keys, settlement, token, next)
      if (settled === 'fenced') return { kind: 'delayed', detail: 'another worker took this lane over' }
      token = next
      note(parts, outlet, verdict)
      if (signal.aborted) break
      head.items = withoutSettled(head.items, verdict)
      if (verdict.failure && !setAside(parts, outlet, verdict, verdict.failure)) {
        if (batch.length === 1) outlet.suspects.failed((batch[0] as Item).uid, clock.now())
        memory.set(lane, { failedMs: clock.now(), nothing: !verdict.answered })
        return delayed(parts, outlet, verdict.failure)
      }
      if (verdict.answered) {
        memory.delete(lane)
        probing = false
        head.failingSinceMs = undefined
      }
      if (clock.now() >= untilMs) return { kind: 'more' }
    }
    return { kind: 'more' }
  } finally {
    // Only while it is this lane's probe: another one may be under way by now.
    if (probing) outlet.breaker.released()
  }
}

const PROBE_GRACE_MS = 1_000

/** A delivery that failed before says little of the sink: for a moment, lanes with others may ask first. */
function leavesToOthers({ suspects }: Outlet, item: Item | undefined, lateMs: number): boolean {
  return item !== undefined && suspects.isKnown(item.uid) && lateMs < PROBE_GRACE_MS
}

const NOTHING_READ: Head = { items: [], failingSinceMs: undefined, entries: new Map() }

/** Deliveries that fail while others succeed go on alone, later; true when that is all that failed. */
function setAside(
  { metrics, clock }: TurnParts,
  outlet: Outlet,
  { tried }: Verdict<Item>,
  { reason, detail, scope, afterMs }: Failure,
): boolean {
  for (const { item } of tried) outlet.suspects.setAside(item.uid, clock.now(), afterMs)
  if (scope !== 'event' || tried.length === 0) return false
  metrics.retried.inc({ sink: outlet.name, reason }, tried.length)
  outlet.lastError = redactText(`${reason}: ${detail}`)
  outlet.lastErrorMs = clock.now()
  return true
}

/** What is left, in order: what waits behind an event that was given up was not sent with its batch. */
function withoutSettled(items: readonly Item[], { delivered, dead }: Verdict<Item>): Item[] {
  const settled = new Set([...delivered, ...dead.map(({ item }) => item)])
  return items.filter((item) => !settled.has(item))
}

export const FIRST_BATCH = 32
const MAX_BATCH = 128
const SLOW_BATCH_MS = 1_000
const QUICK_BATCH_MS = 200
const RECENTLY_MS = 10_000

/** A small batch repeats little after a crash, a large one costs little: time decides. */
function adaptBatchSize(outlet: Outlet, tookMs: number): void {
  if (tookMs > SLOW_BATCH_MS) outlet.batchSize = Math.max(1, outlet.batchSize >> 1)
  else if (tookMs < QUICK_BATCH_MS) outlet.batchSize = Math.min(MAX_BATCH, outlet.batchSize * 2)
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
  signal: AbortSignal,
): Promise<Verdict<Item>> {
  const outcomes: Outcome[] = []
  const messages: Message[] = []
  const places: number[] = []
  for (const [i, item] of batch.entries()) {
    const rendered = parts.render(item.delivery, item.tries)
    if (rendered.kind === 'fault')
      outcomes[i] = { kind: 'rejected', reason: 'render', detail: rendered.detail }
    else places[messages.push(rendered.message) - 1] = i
  }
  const answers = messages.length === 0 ? [] : await callSink(outlet.sink, messages, parts, signal)
  for (const [at, i] of places.entries()) outcomes[i] = answers[at] as Outcome
  const alone = batch.length === 1
  const lane: LaneState = {
    nowMs: parts.clock.now(),
    othersSucceed: alone
      ? outlet.suspects.failsAlone((batch[0] as Item).uid, outlet.lastDeliveredMs)
      : (outlet.lastDeliveredMs ?? 0) > (laneFailedMs ?? Number.POSITIVE_INFINITY),
    alone,
    // A failure because we are asked to stop says nothing of the sink.
    failingSinceMs: signal.aborted ? undefined : head.failingSinceMs,
  }
  const verdict = judge(batch, outcomes, parts.policy, lane)
  const { failure, answered } = verdict
  if (failure?.scope === 'sink' && !answered) {
    // The rest of the head would expire in the same way, one probe after the other.
    const rest = head.items.slice(batch.length).filter((item) => isExpired(item, parts.policy, lane))
    verdict.dead.push(...rest.map((item) => expired(item, failure.detail)))
  }
  return verdict
}

/** Counts what was settled, and keeps what this process knows of the sink. */
function note({ metrics, clock, log }: TurnParts, outlet: Outlet, verdict: Verdict<Item>): void {
  const sink = outlet.name
  const now = clock.now()
  for (const { observedAtMs } of verdict.delivered)
    metrics.latency.observe({ sink }, Math.max(0, now - observedAtMs) / 1_000)
  if (verdict.delivered.length > 0) {
    metrics.delivered.inc({ sink }, verdict.delivered.length)
    outlet.lastDeliveredMs = now
  }
  if (verdict.answered) {
    outlet.breaker.succeeded()
    if (!outlet.healthy) log.info({ sink }, 'the sink takes deliveries again')
    setHealthy(metrics, outlet, true)
  }
  for (const { uid } of verdict.delivered) outlet.suspects.passed(uid)
  for (const { item, reason, detail } of verdict.dead) {
    outlet.suspects.passed(item.uid)
    metrics.dead.inc({ sink, reason })
    const { event, rule } = item.delivery
    const what = { kind: event.kind, object: `${event.namespace}/${event.name}`, id: event.id }
    log.warn({ sink, rule, reason, detail: redactText(detail).slice(0, 300), ...what }, 'dead letter')
  }
}

/** What the sink's last answer says of it; a gauge shows it. */
export function setHealthy(metrics: Metrics, outlet: Outlet, healthy: boolean): void {
  outlet.healthy = healthy
  metrics.sinkHealthy.set({ sink: outlet.name }, healthy ? 1 : 0)
}

function delayed(
  { metrics, clock, log }: TurnParts,
  outlet: Outlet,
  { reason, detail: said, scope, afterMs }: Failure,
): TurnEnd {
  const detail = redactText(said)
  metrics.retried.inc({ sink: outlet.name, reason })
  outlet.lastError = `${reason}: ${detail}`
  outlet.lastErrorMs = clock.now()
  // A failure of single events while nothing succeeds is one of the sink, too; one of a target stays with its lane.
  const othersSucceed = (outlet.lastDeliveredMs ?? 0) > clock.now() - RECENTLY_MS
  if (scope === 'target' || (scope === 'event' && othersSucceed))
    return { kind: 'delayed', ...(afterMs !== undefined && { afterMs }), detail }
  if (outlet.healthy) log.warn({ sink: outlet.name, reason, detail }, 'the sink fails; its deliveries wait')
  setHealthy(metrics, outlet, false)
  return { kind: 'delayed', afterMs: outlet.breaker.failed(afterMs), detail }
}
