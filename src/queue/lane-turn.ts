import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Message, Outcome, Sink } from '../sink/index.ts'
import type { Breaker } from './breaker.ts'
import { encodeEntries } from './entry.ts'
import type { Keys } from './keys.ts'
import { encodePlaces, type Head, type Item, readHead, triesField } from './lane-batch.ts'
import { checkedOutcomes, failure, judge, type Policy, type Verdict } from './outcomes.ts'
import { settle } from './settle.ts'

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

/** When a lane last failed, to tell an outage from an event that fails alone. */
export type LaneMemory = Map<string, number>

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
    let head = await readHead(redis, keys, lane)
    while (!signal.aborted) {
      if (head.items.length === 0) head = await readHead(redis, keys, lane)
      if (head.items.length === 0) return { kind: 'empty' }
      const batch = head.items.slice(0, probing ? 1 : outlet.batchSize)
      const startedMs = clock.now()
      const verdict = await deliverBatch(
        parts,
        outlet,
        batch,
        memory.get(lane) ?? Number.POSITIVE_INFINITY,
        signal,
      )
      if (!probing) adaptBatchSize(outlet, clock.now() - startedMs)
      const next = newToken()
      const settled = await settle(
        redis,
        keys,
        settlementOf(outlet.name, lane, head, verdict, clock.now()),
        token,
        next,
      )
      if (settled === 'fenced') return { kind: 'delayed', detail: 'another worker took this lane over' }
      token = next
      note(parts, outlet, verdict)
      if (signal.aborted) break
      if (verdict.retry) return delayed(parts, lane, outlet, memory, verdict.retry)
      memory.delete(lane)
      head.items = head.items.slice(batch.length)
      probing = false
      if (clock.now() >= untilMs) return { kind: 'more' }
    }
    return { kind: 'more' }
  } finally {
    if (admission.kind === 'probe') outlet.breaker.released()
  }
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
  batch: readonly Item[],
  lastFailedMs: number,
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
  const answers = messages.length === 0 ? [] : await callSink(parts, outlet.sink, messages, signal)
  for (const [at, i] of places.entries()) outcomes[i] = answers[at] as Outcome
  const othersSucceed = (outlet.lastDeliveredMs ?? 0) > lastFailedMs
  return judge(batch, outcomes, parts.policy, parts.clock.now(), othersSucceed)
}

/** Never throws, never takes longer than the deadline, always one outcome per message. */
async function callSink(
  parts: TurnParts,
  sink: Sink,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<Outcome[]> {
  const deadline = AbortSignal.timeout(parts.deliverTimeoutMs)
  const either = AbortSignal.any([signal, deadline])
  const all = (outcome: Outcome) => messages.map(() => outcome)
  const late = new Promise<Outcome[]>((resolve) => {
    // A sink gets a moment after the abort to say what it had sent already.
    const giveUp = () =>
      setTimeout(() => resolve(all(failure('timeout', 'the sink did not answer in time'))), 1_000).unref()
    either.addEventListener('abort', giveUp, { once: true })
  })
  try {
    return checkedOutcomes(await Promise.race([sink.deliver(messages, either), late]), messages.length)
  } catch (error) {
    parts.log.error({ error }, 'a sink threw; its deliveries will be tried again')
    return all(failure('unknown', `the sink threw: ${(error as Error)?.message ?? error}`))
  }
}

function settlementOf(sink: string, lane: string, head: Head, verdict: Verdict<Item>, nowMs: number) {
  const settled = [...verdict.delivered, ...verdict.dead.map(({ item }) => item)]
  const tries = new Map(verdict.tried.map(({ item, tries }) => [triesField(item), tries]))
  const partial = new Map<string, string>()
  const finished: string[] = []
  for (const item of settled) {
    head.entries.get(item.entryId)?.settled.add(item.place)
    if (item.tries > 0) tries.set(triesField(item), 0)
  }
  for (const id of new Set(settled.map(({ entryId }) => entryId))) {
    const entry = head.entries.get(id)
    if (!entry) continue
    if (entry.settled.size === entry.count) finished.push(id)
    else partial.set(id, encodePlaces(entry.settled))
  }
  const dead = verdict.dead.map(({ item, reason, detail }) => ({
    rule: item.delivery.rule,
    reason,
    detail: detail.slice(0, 2_048),
    atMs: nowMs,
    payload: (encodeEntries([item.delivery])[0] as { payload: Buffer }).payload,
  }))
  return { sink, lane, finished, partial, tries, delivered: verdict.delivered.length, dead }
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
    outlet.breaker.succeeded()
    if (!outlet.healthy) log.info({ sink }, 'the sink takes deliveries again')
    outlet.healthy = true
  }
  for (const { item, reason, detail } of verdict.dead) {
    metrics.dead.inc({ sink, reason })
    log.warn({ sink, reason, detail: detail.slice(0, 300), event: item.delivery.event.id }, 'dead letter')
  }
}

function delayed(
  { metrics, clock, log }: TurnParts,
  lane: string,
  outlet: Outlet,
  memory: LaneMemory,
  retry: NonNullable<Verdict<Item>['retry']>,
): TurnEnd {
  const { reason, detail, wholeSink, afterMs } = retry
  metrics.retried.inc({ sink: outlet.name, reason })
  memory.set(lane, clock.now())
  outlet.lastError = `${reason}: ${detail}`
  outlet.lastErrorMs = clock.now()
  // A failure of single events while nothing succeeds is one of the sink, too.
  const othersSucceed = (outlet.lastDeliveredMs ?? 0) > clock.now() - RECENTLY_MS
  if (!wholeSink && othersSucceed)
    return { kind: 'delayed', ...(afterMs !== undefined && { afterMs }), detail }
  if (outlet.healthy) log.warn({ sink: outlet.name, reason, detail }, 'the sink fails; its deliveries wait')
  outlet.healthy = false
  return { kind: 'delayed', afterMs: outlet.breaker.failed(afterMs), detail }
}
