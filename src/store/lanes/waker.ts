import { Queue, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import { type Keys, slotOf } from '../keys.ts'
import { describeFault, type Troubles } from '../redis/redis-fault.ts'
import { workerOf } from './slot-plan.ts'

/** Wakes the workers of other processes: a job of theirs names a lane that has work. Within a process no job is needed. */
export interface Waker {
  /** Returns immediately; a wake-up that gets lost is made up for by the worker's next look at the register. */
  wake(lanes: readonly string[]): void
  /** Forgets how others are woken that are gone. */
  close(): Promise<void>
}

export interface WakerParts {
  redis: Redis
  keys: Keys
  log: Logger
  troubles: Troubles
  /** Connections of their own for BullMQ: one for commands, one for the worker, which blocks. */
  queueConnection: Redis
  workerConnection: Redis
  onOutOfMemory(): void
}

const QUEUES_KEPT = 64

export function createWaker(parts: WakerParts): Waker {
  const { redis, keys, log } = parts
  const asked = new Set<string>()
  const queues = new Map<string, Queue>()
  let running: Promise<void> | undefined

  function queueOf(worker: string): Queue {
    const known = queues.get(worker)
    if (known) return known
    const [oldest] = queues.keys()
    if (queues.size >= QUEUES_KEPT && oldest !== undefined) drop(oldest)
    const queue = openQueue(parts, worker)
    queues.set(worker, queue)
    return queue
  }

  /** A queue that is not closed keeps its listeners at the connection. */
  function drop(worker: string): void {
    const queue = queues.get(worker)
    queues.delete(worker)
    void queue?.close().catch(() => {})
  }

  async function flush(): Promise<void> {
    while (asked.size > 0) {
      const lanes = [...asked]
      asked.clear()
      try {
        const tokens = await redis.hmget(keys.slots, ...lanes.map(slotOf))
        const byWorker = Map.groupBy(lanes, (_, i) => workerOf(tokens[i]))
        for (const [worker, some] of byWorker) {
          if (worker === undefined) continue
          await queueOf(worker).addBulk(
            some.map((lane) => ({ name: 'lane', data: { lane }, opts: optionsOf(lane) })),
          )
          // It is dead: its keys may have been freed just before, and nobody frees them again.
          if ((await redis.hexists(keys.workers, worker)) === 1) continue
          drop(worker)
          await forgetWakeUps(parts, worker)
        }
      } catch (error) {
        log.debug({ error }, 'a wake-up failed; the worker looks by itself')
      }
    }
  }

  return {
    wake(lanes) {
      for (const lane of lanes) asked.add(lane)
      if (lanes.length === 0) return
      running ??= flush().finally(() => {
        running = undefined
      })
    },
    async close() {
      await running
      await Promise.all([...queues.values()].map((queue) => queue.close()))
    },
  }
}

function optionsOf(lane: string) {
  return { deduplication: { id: lane }, attempts: 1, removeOnComplete: true, removeOnFail: true }
}

function openQueue({ queueConnection, keys }: WakerParts, worker: string): Queue {
  const queue = new Queue(nameOf(worker), {
    connection: queueConnection,
    prefix: keys.bullmq,
    skipMetasUpdate: true,
    streams: { events: { maxLen: 10 } },
  })
  queue.on('error', () => {}) // the connection reports it
  return queue
}

function nameOf(worker: string): string {
  return `wake-${worker}`
}

/** Deletes what the wake-ups of a worker that is gone left behind. */
export async function forgetWakeUps(parts: WakerParts, worker: string): Promise<void> {
  const queue = openQueue(parts, worker)
  try {
    await queue.obliterate({ force: true })
  } finally {
    await queue.close()
  }
}

/** Takes the wake-ups of others. */
export function listen(
  parts: WakerParts,
  id: string,
  onLane: (lane: string) => void,
): { close(): Promise<void> } {
  const worker = new Worker<{ lane: string }>(nameOf(id), async ({ data }) => onLane(data.lane), {
    connection: parts.workerConnection,
    prefix: parts.keys.bullmq,
    concurrency: 100,
    runRetryDelay: 1_000,
    skipStalledCheck: true,
    skipLockRenewal: true,
  })
  worker.on(
    'error',
    calm(worker, parts, () => forgetWakeUps(parts, id)),
  )
  return {
    async close() {
      await worker.close(true)
      await forgetWakeUps(parts, id).catch(() => {})
    },
  }
}

/** What Redis refuses for a while: it is full, a replica, without replicas, or its slots are on the move. */
const REFUSED =
  /\b(OOM|READONLY|NOREPLICAS|MISCONF|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|LOADING|NOPERM)\b/

const FETCH = 'wake-ups of lanes'
/** How long no fetch was refused before fetching counts as working again. */
const FETCHES_AGAIN_MS = 5_000
const PAUSE_MS = 500

/**
 * BullMQ repeats a failing fetch immediately: when Redis refuses, that would spin. A pause keeps it calm. A wake-up whose end Redis
 * refused stays active, and its lane could not be woken any more: so `forget` deletes all before the worker goes on.
 */
function calm(
  worker: Worker,
  { onOutOfMemory, troubles, log }: WakerParts,
  forget: () => Promise<void>,
): (error: Error) => void {
  let paused = false
  let well: NodeJS.Timeout | undefined

  function note(error: Error): void {
    troubles.note(FETCH, describeFault(error))
    clearTimeout(well)
    well = setTimeout(() => troubles.over(FETCH), FETCHES_AGAIN_MS).unref()
  }

  async function goOn(): Promise<void> {
    try {
      await forget()
      paused = false
      if (!worker.closing) void worker.resume()
    } catch (error) {
      if (worker.closing) return
      note(error as Error)
      if ((error as Error).message.includes('OOM')) onOutOfMemory()
      setTimeout(goOn, PAUSE_MS)
    }
  }

  return (error) => {
    log.debug({ error }, 'the worker could not fetch')
    // Its scripts have the refusal of a command in the middle of their message.
    if (!REFUSED.test(error.message)) return
    note(error)
    if (paused) return
    if (error.message.includes('OOM')) onOutOfMemory()
    paused = true
    worker
      .pause(true)
      .catch(() => {})
      .finally(() => setTimeout(goOn, PAUSE_MS))
  }
}
