import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { redactMessage } from '../redact.ts'
import type { Sink } from '../sink/index.ts'
import type { Breaker } from './breaker.ts'
import type { Item, UnreadableItem } from './lane-batch.ts'
import type { Failure, Verdict } from './outcomes.ts'
import type { Suspects } from './suspects.ts'
import type { FailingTargets } from './targets.ts'

/** A sink that lanes deliver to, with what this process knows of it. */
export interface Outlet {
  name: string
  sink: Sink
  breaker: Breaker
  suspects: Suspects
  targets: FailingTargets
  healthy: boolean
  /** The configuration does not have it any more: what waits is still delivered. */
  removed: boolean
  /** Another one has its name now: a turn ends after its batch. */
  replaced: boolean
  /** How many deliveries the next batch takes: as many as the sink manages in about a second. */
  batchSize: number
  /** It makes one thing of many deliveries: it gets as many as wait, whatever time that takes. */
  takesAll: boolean
  /** When it took something last, by a clock that never jumps. */
  passedMs: number
  /** Why it fails. */
  failure?: string
  lastDeliveredMs?: number
  lastError?: string
  lastErrorMs?: number
}

interface OutletParts {
  metrics: Metrics
  log: Logger
  clock: { now(): number }
}

export const FIRST_BATCH = 32
const MAX_BATCH = 128
const SLOW_BATCH_MS = 1_000
const QUICK_BATCH_MS = 200
const RECENTLY_MS = 10_000

/** A small batch repeats little after a crash, a large one costs little: time decides. */
export function adaptBatchSize(outlet: Outlet, tookMs: number): void {
  if (outlet.takesAll) return
  if (tookMs > SLOW_BATCH_MS) outlet.batchSize = Math.max(1, outlet.batchSize >> 1)
  else if (tookMs < QUICK_BATCH_MS) outlet.batchSize = Math.min(MAX_BATCH, outlet.batchSize * 2)
}

/**
 * Deliveries that fail while others succeed go on alone, later; true when that is all that failed. One that was set aside
 * already stays so, and says nothing of the sink, also while nobody else has anything to deliver.
 */
export function setAside(
  { metrics, clock, log }: OutletParts,
  outlet: Outlet,
  { tried }: Verdict<Item>,
  { reason, detail: said, scope, afterMs }: Failure,
  again: Item | undefined,
): boolean {
  const items = tried.length > 0 ? tried.map(({ item }) => item) : again ? [again] : []
  const detail = redactMessage(`${reason}: ${said}`)
  for (const { uid, delivery } of items) {
    const { kind, namespace, name } = delivery.event
    const what = { sink: outlet.name, kind, object: `${namespace}/${name}`, detail: detail.slice(0, 300) }
    if (!outlet.suspects.isAside(uid))
      log.warn(what, 'one object fails while others pass: tried alone, with pauses')
    outlet.suspects.setAside(uid, performance.now(), afterMs)
  }
  if (items.length === 0 || (again === undefined && scope !== 'event')) return false
  metrics.retried.inc({ sink: outlet.name, reason }, items.length)
  outlet.lastError = detail
  outlet.lastErrorMs = clock.now()
  return true
}

/** Counts what was settled, and keeps what this process knows of the sink. */
export function note(
  { metrics, clock, log }: OutletParts,
  outlet: Outlet,
  lane: string,
  verdict: Verdict<Item>,
  startedMs: number,
): void {
  const sink = outlet.name
  const now = clock.now()
  for (const { observedAtMs } of verdict.delivered)
    metrics.latency.observe({ sink }, Math.max(0, now - observedAtMs) / 1_000)
  if (verdict.delivered.length > 0) {
    metrics.delivered.inc({ sink }, verdict.delivered.length)
    outlet.lastDeliveredMs = now
    outlet.passedMs = performance.now()
  }
  for (const [kind, n] of verdict.notes) metrics.noted.inc({ sink, note: kind }, n)
  if (verdict.ambiguous > 0) metrics.ambiguous.inc({ sink }, verdict.ambiguous)
  if (verdict.delivered.length > 0 && outlet.targets.passed(lane))
    log.info({ sink, lane }, 'the target takes deliveries again')
  if (verdict.answered && outlet.breaker.succeeded(startedMs)) {
    if (!outlet.healthy) log.info({ sink }, 'the sink takes deliveries again')
    setHealthy(metrics, outlet, true)
  }
  for (const { uid } of verdict.delivered) outlet.suspects.passed(uid)
  for (const { item, reason, detail } of verdict.dead) {
    outlet.suspects.passed(item.uid)
    outlet.lastError = redactMessage(`${reason}: ${detail}`)
    outlet.lastErrorMs = now
    metrics.dead.inc({ sink, reason })
    const { event, rule } = item.delivery
    const what = { kind: event.kind, object: `${event.namespace}/${event.name}`, id: event.id }
    log.warn({ sink, rule, reason, detail: redactMessage(detail).slice(0, 300), ...what }, 'dead letter')
  }
}

/** Counts and logs what was given up because it cannot be read. */
export function noteUnreadable(
  { metrics, clock, log }: OutletParts,
  outlet: Outlet,
  lane: string,
  unreadable: readonly UnreadableItem[],
): void {
  const sink = outlet.name
  for (const { entryId: entry, places, detail, payload } of unreadable) {
    outlet.lastError = `unreadable: ${detail}`
    outlet.lastErrorMs = clock.now()
    metrics.dead.inc({ sink, reason: 'unreadable' }, places.length)
    const what = { sink, lane, entry, deliveries: places.length, bytes: payload.length, detail }
    log.error(what, 'what waits in Redis cannot be read: it is kept as a dead letter')
  }
}

/** What the sink's last answer says of it; a gauge shows it. */
export function setHealthy(metrics: Metrics, outlet: Outlet, healthy: boolean): void {
  outlet.healthy = healthy
  metrics.sinkHealthy.set({ sink: outlet.name }, healthy ? 1 : 0)
}

/** Counts a failure of the lane and tells how long it pauses; undefined leaves that to the lane's own backoff. */
export function delayMs(
  { metrics, clock, log }: OutletParts,
  outlet: Outlet,
  lane: string,
  { reason, detail: said, scope, afterMs }: Failure,
): { afterMs?: number; detail: string } {
  const detail = redactMessage(said)
  metrics.retried.inc({ sink: outlet.name, reason })
  outlet.lastError = `${reason}: ${detail}`
  outlet.lastErrorMs = clock.now()
  // A failure of single events while nothing succeeds is one of the sink, too; one of a target stays with its lane.
  const othersSucceed = outlet.passedMs > performance.now() - RECENTLY_MS
  if (scope === 'target' && reason !== 'rate-limited') {
    if (outlet.targets.failed(lane, reason))
      log.warn({ sink: outlet.name, lane, reason, detail }, 'a target of the sink fails; its deliveries wait')
    if (!othersSucceed) setHealthy(metrics, outlet, false)
  }
  if (scope === 'target' || (scope === 'event' && othersSucceed))
    return { ...(afterMs !== undefined && { afterMs }), detail }
  if (outlet.healthy || outlet.failure !== reason)
    log.warn({ sink: outlet.name, reason, detail }, 'the sink fails; its deliveries wait')
  outlet.failure = reason
  setHealthy(metrics, outlet, false)
  return { afterMs: outlet.breaker.failed(afterMs), detail }
}
