import { Queue, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { SinkStatus } from '../status.ts'
import { type LaneMemory, type TurnEnd, type TurnParts, takeTurn } from './lane-turn.ts'
import { findOrphans, undertaker } from './orphans.ts'
import type { Outlet } from './outlet.ts'
import { createOutlets, type OutletsParts, statusOf } from './outlets.ts'
import { sinkOf } from './pending.ts'
import { sayFault } from './redis-fault.ts'
import { createShare } from './share.ts'
import { Sweep, watchClock } from './sweeper.ts'
import { createWaker } from './waker.ts'

export interface Lanes {
  /** Says that these lanes have work. Returns at once; a wake-up that gets lost is made up for by the sweeper. */
  wake(lanes: readonly string[]): void
  statuses(): SinkStatus[]
  /**
   * The sinks to deliver to from now on, `anew` of them another one under its name. What waits for a removed one is still
   * delivered, by the sink that it was, as long as this process lives.
   */
  use(sinks: readonly string[], anew: ReadonlySet<string>): void
  /** The options of these sinks changed: whatever made their lanes wait may be over. */
  tryNow(sinks: readonly string[]): void
  /** Stops taking turns, gives those under way `graceMs`, and hands the rest to other processes. */
  close(graceMs: number): Promise<void>
}

/** Without any sinks, this process only wakes lanes. */
export interface LanesParts extends TurnParts, OutletsParts {
  /** Connections of their own for BullMQ: one for commands, one for the worker. */
  queueConnection: Redis
  workerConnection: Redis
  onOutOfMemory(): void
  /** How many processes deliver, this one included. */
  deliverers(): Promise<number>
}

const QUEUE = 'lanes'

/** Turns under way at once. They mostly wait for sinks; one that hangs must not keep others from their turn. */
const CONCURRENCY = 512

/** A killed worker's lanes go to another after at most the lock and one check: within 15 s. */
const LOCK_MS = 8_000
const STALLED_CHECK_MS = 4_000

const FIRST_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 15_000
const SWEEP_MS = 2_000
const OFFERS = 5
const HAND_OVER_MS = 50

/**
 * Lanes, scheduled by BullMQ: a job says "this lane has work". Deduplication lets one job exist per lane, so one worker
 * at a time delivers from it; locks, stalled recovery and delays are BullMQ's. Events and their order live in the streams.
 */
export function createLanes(parts: LanesParts): Lanes {
  const { keys, log } = parts
  const queue = new Queue(QUEUE, {
    connection: parts.queueConnection,
    prefix: keys.bullmq,
    streams: { events: { maxLen: 100 } },
  })
  queue.on('error', () => {}) // the connection reports it
  const outlets = createOutlets(parts)
  outlets.use([...parts.sinks.keys()], new Set())
  const waker = createWaker(queue, parts)
  const worker = outlets.size > 0 ? startWorker(parts, outlets, waker.wake) : undefined
  const told = new Set<string>()
  const jumped = watchClock(parts.clock)
  const sweep = new Sweep(parts, waker.wake)
  let isSweeping = false
  const sweeper = setInterval(() => {
    // Delays are kept as wall-clock times: after a jump backwards they would last as long as the jump.
    if (jumped()) queue.promoteJobs().catch(() => {})
    if (isSweeping) return
    isSweeping = true
    void sweep
      .sweep(outlets, told)
      .then(async (waiting) => {
        await worker?.share.update(waiting?.lanes)
        if (!waiting || !worker) return
        outlets.waiting(waiting.sinks)
        await buryOrphans(waiting.sinks).catch((error) => log.debug({ error }, 'orphans were not looked for'))
      })
      .finally(() => {
        isSweeping = false
      })
  }, SWEEP_MS)

  async function buryOrphans(waiting: ReadonlySet<string>): Promise<void> {
    const { policy, clock, redis } = parts
    const limit = { maxAgeMs: policy.maxAgeMs, nowMs: clock.now() }
    // Standing in for a sink is not having it: the mark stays until a process takes it away that has.
    const own = { has: (sink: string) => outlets.has(sink) && !outlets.isBuried(sink) }
    const orphans = new Set(await findOrphans(redis, keys, waiting, own, limit))
    for (const sink of waiting) if (!orphans.has(sink)) outlets.exhume(sink)
    for (const sink of orphans) {
      if (outlets.has(sink)) continue
      log.warn({ sink }, 'no process has had this sink for too long: what waits for it becomes dead letters')
      outlets.bury(sink, undertaker(sink, { maxAgeMs: policy.maxAgeMs, clock }))
    }
  }

  return {
    wake: waker.wake,
    statuses: () => [...outlets.values()].map(statusOf),
    use(sinks, anew) {
      outlets.use(sinks, anew)
      for (const sink of sinks) told.delete(sink)
    },
    tryNow(sinks) {
      for (const sink of sinks) outlets.get(sink)?.breaker.reset()
      queue.promoteJobs().catch(() => {})
    },
    async close(graceMs) {
      clearInterval(sweeper)
      await worker?.close(graceMs)
      await waker.idle()
      await queue.close()
      log.debug({}, 'lanes closed')
    },
  }
}

/** Tells BullMQ to try a lane again later; not an error. */
class LaneDelayed extends Error {
  override name = 'LaneDelayed'
  readonly afterMs: number | undefined

  constructor(detail: string, afterMs: number | undefined) {
    super(detail)
    this.afterMs = afterMs
  }
}

function startWorker(parts: LanesParts, outlets: ReadonlyMap<string, Outlet>, wake: Lanes['wake']) {
  const { keys, log } = parts
  const closing = new AbortController()
  const memory: LaneMemory = new Map()
  const share = createShare(parts)
  function turn(lane: string, outlet: Outlet, lost: AbortSignal | undefined): Promise<TurnEnd> {
    const signal = lost ? AbortSignal.any([closing.signal, lost]) : closing.signal
    return takeTurn(parts, lane, outlet, memory, signal)
  }

  const worker = new Worker<{ lane: string }>(
    QUEUE,
    async (job, _token, lost) => {
      const { lane } = job.data
      const outlet = outlets.get(sinkOf(lane))
      if (!outlet) {
        // Another configuration's: offered to the others a few times, then left until one of them asks for it.
        if (job.attemptsMade < OFFERS) throw new LaneDelayed(`no sink ${sinkOf(lane)} in this process`, 0)
        return
      }
      // Whoever ends a job takes the next along with it: one that came later would get nothing.
      if (share.isExceeded()) throw new LaneDelayed('others have fewer lanes', HAND_OVER_MS * parts.random())
      const end = await share.during(() => turn(lane, outlet, lost))
      if (end.kind === 'delayed') throw new LaneDelayed(end.detail, end.afterMs)
      if (end.kind === 'more') wake([lane])
    },
    {
      connection: parts.workerConnection,
      prefix: keys.bullmq,
      concurrency: CONCURRENCY,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      runRetryDelay: 1_000,
      settings: { backoffStrategy: (attempts, _type, error) => backoffMs(attempts, error, parts.random) },
    },
  )
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost')
  })
  worker.on('failed', (_job, error) => {
    if (!(error instanceof LaneDelayed)) log.error({ error }, 'a turn failed; its lane will be tried again')
  })
  worker.on('error', calm(worker, parts))
  return {
    share,
    async close(graceMs: number) {
      const hurry = setTimeout(() => closing.abort(), graceMs)
      await worker.close()
      clearTimeout(hurry)
    },
  }
}

/** What Redis refuses for a while: it is full, a replica, without replicas, or its slots are on the move. */
const REFUSED =
  /\b(OOM|READONLY|NOREPLICAS|MISCONF|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|LOADING|NOPERM)\b/

const FETCH = 'lanes that wait'
/** Who was refused for so long no more, fetches again. */
const FETCHES_AGAIN_MS = 5_000

/** BullMQ repeats a failing fetch at once: when Redis refuses, that would spin. A pause keeps it calm. */
function calm(worker: Worker, { onOutOfMemory, troubles, log }: LanesParts): (error: Error) => void {
  let paused = false
  let well: NodeJS.Timeout | undefined
  return (error) => {
    log.debug({ error }, 'the worker could not fetch')
    // Its scripts say what a command of theirs was refused with in the middle of a sentence.
    if (!REFUSED.test(error.message)) return
    troubles.note(FETCH, sayFault(error))
    clearTimeout(well)
    well = setTimeout(() => troubles.over(FETCH), FETCHES_AGAIN_MS).unref()
    if (paused) return
    if (error.message.includes('OOM')) onOutOfMemory()
    paused = true
    const goOn = () => {
      paused = false
      if (!worker.closing) void worker.resume()
    }
    worker
      .pause(true)
      .catch(() => {})
      .finally(() => setTimeout(goOn, 500))
  }
}

function backoffMs(attempts: number, error: Error | undefined, random: () => number): number {
  if (error instanceof LaneDelayed && error.afterMs !== undefined)
    return Math.ceil(error.afterMs + random() * 200)
  const capMs = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(attempts - 1, 10), MAX_BACKOFF_MS)
  return Math.ceil(capMs * (0.5 + random() / 2))
}
