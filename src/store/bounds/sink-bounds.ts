import type { Redis } from 'ioredis'
import type { QueueStatus } from '../../model/status.ts'
import { type Logger, withFields } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { writtenDuration } from '../../sink/duration.ts'
import type { Enqueued } from '../entry.ts'
import { type Keys, sinkOf } from '../keys.ts'
import type { DeadReason } from '../lanes/ack-script.ts'
import type { DeliveringSince } from '../lanes/delivering-since.ts'
import { LAST_FAILURE } from '../lanes/delivery-policy.ts'
import type { Item } from '../lanes/lane-entries.ts'
import type { LaneWorker } from '../lanes/lane-worker.ts'
import { readLane } from '../lanes/read-lane.ts'
import { describeFault, isRefusal, type Troubles } from '../redis/redis-fault.ts'
import { BoundReport } from './bound-report.ts'
import { LaneSizes, Turns, type Waiting } from './lane-sizes.ts'
import { type QueueBounds, type Quota, tooManyOf, tooOldOf } from './queue-bounds.ts'

interface SinkBoundsParts {
  redis: Redis
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  troubles: Troubles
  /** The bounds in force of all sinks that this process delivers to; none while they are not known. */
  bounds(): ReadonlyMap<string, QueueBounds>
  deliveringSince: DeliveringSince
  /** Gives up deliveries of a lane that this process owns; undefined for any other. */
  giveUpOf(lane: string): LaneWorker['giveUp'] | undefined
  /** The register of lanes has to be read before its time. */
  onDue(): void
  /** Why the sink failed last. */
  lastError(sink: string): string | undefined
  /** Called with the estimated bytes of deliveries that became dead letters. */
  onGivenUp(bytes: number): void
}

/** Keeps what waits for each sink within its bounds, whether the sink fails, hangs or is slow. No sink is asked for it. */
export interface SinkBounds {
  /** What a commit of this process wrote: counted until the next measurement. */
  enqueued(lanes: readonly Enqueued[]): void
  /**
   * Measures the lanes in which something waits, and gives up what is beyond the bounds. At most one is under way. `isSoon`: it
   * comes before its time, so that fewer lanes are measured.
   */
  look(waiting: Waiting, isSoon?: boolean): Promise<void>
  status(sink: string): QueueStatus | undefined
}

const TROUBLE = 'bounds of queues'
/** Maximum number of lanes that one check measures, regularly and before its time; the next check measures others. */
const MOST_MEASURED = 1_000
const MOST_MEASURED_SOON = 100
/** Entries are rarely packed to less than this part. */
const PACKED = 1 / 8
/** How long one look gives up deliveries; the next one goes on. */
const GIVING_UP_MS = 1_000
const CONCURRENT_LANES = 4
/** Bytes of entries that one read takes, about, and entries. */
const READ_BYTES = 512 * 1024
const MOST_ENTRIES = 32
/** Deliveries of one read, about: each is packed alone, and holds up the event loop for some 50 µs. */
const MOST_DELIVERIES = 128

type GivenUp = Extract<DeadReason, 'expired' | 'queue-full'>

interface KnownSink {
  report: BoundReport<GivenUp>
  /** Bytes that this process enqueued since, rather more than they take in Redis. */
  enqueued: number
  /** What a delivery adds on the average; 0 before one was measured. */
  perDelivery: number
}

interface LaneQuota extends Quota {
  reason: GivenUp
  detail: string
}

export function createSinkBounds(parts: SinkBoundsParts): SinkBounds {
  const { redis, keys, metrics, log, clock } = parts
  const sinks = new Map<string, KnownSink>()
  const lanes = new LaneSizes(redis, keys)
  let bounds = parts.bounds()
  let running: Promise<void> | undefined
  /** A check became due while another one ran: the next one measures as many lanes as a regular check. */
  let isDue = false
  const [givingSinks, givingLanes] = [new Turns(), new Turns()]

  function sinkStateOf(sink: string): KnownSink {
    const known = sinks.get(sink)
    if (known) return known
    const it: KnownSink = { report: reportOf(sink), enqueued: 0, perDelivery: 0 }
    sinks.set(sink, it)
    return it
  }

  function reportOf(sink: string): BoundReport<GivenUp> {
    return new BoundReport({
      log: withFields(log, { sink }),
      clock,
      publish({ bytes, maxBytes, maxAgeMs }) {
        metrics.queueBytes.set({ sink }, bytes)
        metrics.queueMaxBytes.set({ sink }, maxBytes)
        metrics.queueMaxAge.set({ sink }, maxAgeMs / 1_000)
      },
      soon: () => 'the queue of the sink reaches its maxBytes: then its oldest become dead letters',
      removed: (reason) => ({
        message: 'the oldest deliveries of the sink became dead letters',
        fields: { reason },
      }),
    })
  }

  async function look(waiting: Waiting, most: number): Promise<void> {
    bounds = parts.bounds()
    const bySink = new Map([...bounds.keys()].map((sink): [string, string[]] => [sink, []]))
    for (const lane of waiting.keys()) bySink.get(sinkOf(lane))?.push(lane)
    for (const sink of sinks.keys()) if (!bounds.has(sink)) forget(sink)
    await parts.deliveringSince.note([...bounds.keys()])
    const measured = await lanes.measure([...bySink.values()].flat(), waiting, most)
    givingSinks.keep(bounds.keys())
    givingLanes.keep([...bySink.values()].flat())
    const left = new Map([...waiting, ...measured])
    const tooMany = () =>
      [...bounds].flatMap(([sink, bound]) => beyondBytes(sink, bound, bySink.get(sink) ?? [], left))
    for (const [sink, own] of bySink) noteAverage(sink, own)
    // Nothing is given up by an estimate: the sizes, and the newest of each lane, may be others since.
    const beyond = new Set(tooMany().map(({ lane }) => lane))
    const estimated = givingLanes.inOrder().filter((lane) => beyond.has(lane) && !measured.has(lane))
    const counted = await lanes.measureNow(estimated.slice(0, most), left)
    for (const [lane, count] of counted) left.set(lane, count)
    const startedMs = performance.now()
    for (const [sink, bound] of bounds) note(sink, bound, bySink.get(sink) ?? [], left)
    const tooOld = [...bounds].flatMap(([sink, bound]) =>
      beyondAge(sink, bound, bySink.get(sink) ?? [], left),
    )
    const others = await giveUpAll(tooOld, left, startedMs + GIVING_UP_MS / 2)
    const isMeasured = ({ lane }: LaneQuota) => measured.has(lane) || counted.has(lane)
    await giveUpAll(tooMany().filter(isMeasured), left, startedMs + GIVING_UP_MS)
    await giveUpAll(others, left, startedMs + GIVING_UP_MS)
    for (const { report } of sinks.values()) report.logRemoved(report.status?.bytes ?? 0)
  }

  function noteAverage(sink: string, own: readonly string[]): void {
    const state = sinkStateOf(sink)
    state.perDelivery = lanes.perDelivery(own) ?? state.perDelivery
  }

  /** Counts what waits for a sink. */
  function note(sink: string, bound: QueueBounds, own: readonly string[], waiting: Waiting): void {
    noteAverage(sink, own)
    const state = sinkStateOf(sink)
    const bytes = lanes.extents(own, waiting).reduce((sum, it) => sum + it.bytes, 0)
    state.report.measured(bytes + lanes.unmeasured(own, waiting, state.perDelivery), bound)
    state.enqueued = 0
  }

  function beyondAge(
    sink: string,
    { maxAgeMs }: QueueBounds,
    own: readonly string[],
    waiting: Waiting,
  ): LaneQuota[] {
    const beforeMs = parts.deliveringSince.expiredBefore(sink, maxAgeMs)
    const detail = `waited for longer than the queue's maxAge of ${writtenDuration(maxAgeMs)}${becauseOf(sink)}`
    const quotas = tooOldOf(lanes.extents(own, waiting), beforeMs)
    return quotas.map((quota) => ({ ...quota, reason: 'expired', detail }))
  }

  function beyondBytes(
    sink: string,
    { maxBytes }: QueueBounds,
    own: readonly string[],
    waiting: Waiting,
  ): LaneQuota[] {
    const unmeasured = lanes.unmeasured(own, waiting, sinkStateOf(sink).perDelivery)
    const detail = `more than the queue's maxBytes of ${maxBytes} bytes waited, and this was among the oldest${becauseOf(sink)}`
    const quotas = tooManyOf(lanes.extents(own, waiting), unmeasured, maxBytes)
    return quotas.map((quota) => ({ ...quota, reason: 'queue-full', detail }))
  }

  function becauseOf(sink: string): string {
    const failure = parts.lastError(sink)
    return failure === undefined ? '' : `${LAST_FAILURE}${failure}`
  }

  /**
   * Turns deliveries beyond the bounds into dead letters. Returns the quotas for which there was no time. Sinks, and the lanes of each sink,
   * are processed round-robin, so that one with many expired deliveries does not delay the others.
   */
  async function giveUpAll(
    quotas: readonly LaneQuota[],
    left: Map<string, number>,
    untilMs: number,
  ): Promise<LaneQuota[]> {
    const byLane = Map.groupBy(quotas, ({ lane }) => lane)
    const ordered = givingLanes.inOrder().filter((lane) => byLane.has(lane))
    const bySink = Map.groupBy(ordered, sinkOf)
    const bySinkInOrder = givingSinks.inOrder().map((sink) => bySink.get(sink) ?? [])
    const most = bySinkInOrder.reduce((max, { length }) => Math.max(max, length), 0)
    const queue = Array.from({ length: most }, (_, i) =>
      bySinkInOrder.flatMap((some) => some[i] ?? []),
    ).flat()
    let given = 0
    const work = async () => {
      for (let lane = queue.shift(); lane && performance.now() < untilMs; lane = queue.shift()) {
        givingLanes.served(lane)
        givingSinks.served(sinkOf(lane))
        for (const quota of byLane.get(lane) ?? []) {
          const some = await giveUpIn(quota, untilMs)
          left.set(lane, Math.max(0, (left.get(lane) ?? 0) - some))
          given += some
        }
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_LANES }, work))
    if (given > 0) parts.onDue()
    return queue.flatMap((lane) => byLane.get(lane) ?? [])
  }

  /** Reads the lane in parts, from its beginning. Returns the number of deliveries that became dead letters. */
  async function giveUpIn(quota: LaneQuota, untilMs: number): Promise<number> {
    const { lane, reason, detail, beforeMs } = quota
    const sink = sinkOf(lane)
    const { bytes: perDelivery, perEntry } = lanes.averageOf(lane)
    const most = Math.min(READ_BYTES / perDelivery, MOST_DELIVERIES) / perEntry
    const count = Math.min(Math.max(Math.floor(most), 1), MOST_ENTRIES)
    let left = quota.most
    let given = 0
    /** They leave by themselves: nothing newer is given up in their place. */
    let leaving = 0
    let start = '-'
    while (left > 0 && performance.now() < untilMs) {
      const giveUp = parts.giveUpOf(lane)
      if (!giveUp) break
      let next: string | undefined
      const read = async () => {
        const [{ entries, more }, waiting] = await Promise.all([
          readLane(redis, keys, lane, start, count),
          redis.hget(keys.pending, lane),
        ])
        const gone = quota.waiting - Number(waiting)
        left = quota.most - Math.max(given + leaving, gone)
        const last = entries.at(-1)
        const isDue = last?.items.every(({ observedAtMs }) => observedAtMs < beforeMs) ?? false
        next = more && last && isDue ? `(${last.id}` : undefined
        return entries
      }
      let selected = 0
      const isExpired = ({ observedAtMs }: Item, isLeaving: boolean) => {
        if (observedAtMs >= beforeMs || selected >= left) return false
        if (isLeaving) leaving++
        selected++
        return true
      }
      const items = await giveUp(read, isExpired, reason, detail).catch((error) => {
        log.debug({ error, lane }, 'deliveries beyond the bounds could not be made dead letters; will retry')
        return []
      })
      given += items.length
      left = quota.most - given - leaving
      if (items.length > 0) {
        lanes.gaveUp(lane, items.at(-1)?.observedAtMs ?? 0)
        metrics.dead.inc({ sink, reason }, items.length)
        sinkStateOf(sink).report.count(reason, items.length)
        parts.onGivenUp(Math.round(items.length * perDelivery))
      }
      if (next === undefined) break
      start = next
    }
    return given
  }

  function forget(sink: string): void {
    sinks.delete(sink)
    for (const gauge of [metrics.queueBytes, metrics.queueMaxBytes, metrics.queueMaxAge])
      gauge.remove({ sink })
  }

  return {
    enqueued(some) {
      for (const { sink, stored } of some) {
        const bound = bounds.get(sink)
        if (!bound) continue
        const state = sinkStateOf(sink)
        for (const { deliveries } of stored?.entries ?? [])
          for (const { objectJson } of deliveries) state.enqueued += costOf(state, objectJson.length)
        const bytes = state.report.status?.bytes ?? 0
        if (bytes + state.enqueued > bound.maxBytes) parts.onDue()
      }
    },
    look(waiting, isSoon = false) {
      isDue ||= !isSoon
      if (running) return running
      const most = isDue ? MOST_MEASURED : MOST_MEASURED_SOON
      isDue = false
      running = look(waiting, most)
        .then(() => parts.troubles.over(TROUBLE))
        .catch((error) => {
          if (isRefusal(error)) parts.troubles.note(TROUBLE, describeFault(error))
          else log.debug({ error }, 'the bounds of queues were not looked at; they are again')
        })
        .finally(() => {
          running = undefined
        })
      return running
    },
    status(sink) {
      const [known, bound] = [sinks.get(sink), bounds.get(sink)]
      if (!known || !bound) return undefined
      const { maxBytes, maxAgeMs } = bound
      return { bytes: 0, ...known.report.status, maxBytes, maxAgeMs }
    },
  }
}

/** Returns the estimated bytes that a delivery takes in Redis, as a rule an upper limit. `rawBytes` is the size of its object's JSON. */
function costOf({ perDelivery }: KnownSink, rawBytes: number): number {
  return perDelivery === 0 ? rawBytes : Math.max(perDelivery, rawBytes * PACKED)
}
