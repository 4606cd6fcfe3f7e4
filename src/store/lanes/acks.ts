import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Logger } from '../../observe/log.ts'
import type { History } from '../history/history.ts'
import type { Keys } from '../keys.ts'
import { describeFault, ForeignKeyError, isRefusal, type Troubles } from '../redis/redis-fault.ts'
import { runScript } from '../redis/script.ts'
import {
  ACKNOWLEDGE,
  type Acknowledgement,
  type AckResult,
  ackArguments,
  ackResults,
  type FailureNote,
  type LaneAcks,
} from './ack-script.ts'

/** Acknowledgements of all lanes of a process: those of a moment go in one script. */
export interface Acks {
  /** Resolves when it is durable, or when the lane belongs to another worker. Repeated until Redis takes it. */
  add(group: AckGroup): Promise<AckEnd>
  /** Redis refuses acknowledgements at the moment: nothing more should be delivered. */
  isBlocked(lane: string): boolean
  /** Resolves when nothing is left to send, after `timeoutMs` at the latest. */
  idle(timeoutMs: number): Promise<void>
  /** Repeats nothing any more. */
  close(): void
}

interface AckGroup {
  lane: string
  token: string
  acks: readonly Acknowledgement[]
  note?: FailureNote | undefined
  /** What the history keeps besides the records of `acks`. */
  records?: readonly HistoryRecord[]
  /** Something waits for it. */
  isUrgent?: boolean
}

/** `missing`: Redis did not have some of the entries any more. */
type AckEnd = 'done' | 'missing' | 'fenced'

interface AcksParts {
  redis: Redis
  keys: Keys
  troubles: Troubles
  log: Logger
  history?: Pick<History, 'entryOf'>
  onOutOfMemory(): void
}

/** So much goes in one script: it holds up Redis while it runs. */
const MOST_ACKS = 500
const MOST_BYTES = 4 * 1024 * 1024
const AGAIN_MS = 100
/** How long a finished delivery waits for others to be acknowledged in the same script. A crash in this time repeats it. */
const GATHER_MS = 100
/** Number of finished deliveries, of a lane or of all, that are acknowledged without that wait. */
const MANY_OF_LANE = 8
const MANY = 64
const DELIVERIES = 'deliveries'

interface Waiting extends AckGroup {
  end(result: AckEnd): void
}

export function createAcks(parts: AcksParts): Acks {
  const { redis, keys, troubles, log, history } = parts
  let queue: Waiting[] = []
  let running: Promise<void> | undefined
  let closed = false
  let refused = false
  /** Lane → how many deliveries wait to be acknowledged. */
  const waitingOf = new Map<string, number>()
  let isUrgent = false
  let hurry: (() => void) | undefined
  /** Lanes of which a key is foreign, and when they are tried again. */
  const foreign = new Map<string, number>()

  /** Takes from the queue what goes in one script: of each lane one group after the other, in order. */
  function next(): Map<string, Waiting[]> {
    const lanes = new Map<string, Waiting[]>()
    const left: Waiting[] = []
    const passed = new Set<string>()
    const nowMs = performance.now()
    let [acks, bytes] = [0, 0]
    for (const it of queue) {
      const before = lanes.get(it.lane)
      const isFull = lanes.size > 0 && (acks + it.acks.length > MOST_ACKS || bytes > MOST_BYTES)
      // A note is of one group alone.
      const isApart = before && (it.note ?? before[0]?.note ?? (before[0]?.token !== it.token || undefined))
      if (isFull || isApart || passed.has(it.lane) || (foreign.get(it.lane) ?? 0) > nowMs) {
        passed.add(it.lane)
        left.push(it)
        continue
      }
      acks += it.acks.length
      for (const { dead, move } of it.acks) bytes += (dead ?? move)?.payload.length ?? 0
      if (before) before.push(it)
      else lanes.set(it.lane, [it])
    }
    queue = left
    return lanes
  }

  /** False when it has to be sent again. */
  async function send(lanes: readonly Waiting[][]): Promise<boolean> {
    const { names, args } = ackArguments(keys, lanes.map(joined), history?.entryOf(lanes.map(recordsOf)))
    try {
      const results = ackResults(await runScript(redis, ACKNOWLEDGE, names, args))
      if (refused) troubles.over(DELIVERIES)
      refused = false
      const again = lanes.filter((waiting, i) => !finish(waiting, results[i] as AckResult))
      queue = [...again.flat(), ...queue]
      return true
    } catch (error) {
      if ((error as Error).message.includes('OOM')) parts.onOutOfMemory()
      refused = true
      if (isRefusal(error)) troubles.note(DELIVERIES, describeFault(error))
      else log.debug({ error }, 'acknowledgements were not made; they are sent again')
      return false
    }
  }

  /** False when a key of the lane has to be mended first. */
  function finish(waiting: readonly Waiting[], result: AckResult): boolean {
    const { lane } = waiting[0] as Waiting
    if (result.kind === 'foreign') {
      foreign.set(lane, performance.now() + AGAIN_MS)
      troubles.note(`lane ${lane}`, faultOf(result.fault))
      return false
    }
    if (foreign.delete(lane)) troubles.over(`lane ${lane}`)
    const isMissing = result.kind === 'done' && result.missing > 0
    for (const it of waiting) it.end(result.kind === 'fenced' ? 'fenced' : isMissing ? 'missing' : 'done')
    return true
  }

  /** Nobody knows whether it was done: as if the lane were another's. */
  function end(left: readonly Waiting[]): void {
    for (const it of left) it.end('fenced')
  }

  /** Resolves when it is time to send; those of the same moment are in the queue then. */
  async function gather(): Promise<void> {
    if (!isUrgent) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, GATHER_MS)
      hurry = resolve
      await promise
      hurry = undefined
      clearTimeout(timer)
    }
    isUrgent = false
    waitingOf.clear()
    await new Promise((resolve) => setImmediate(resolve))
  }

  function note({ lane, acks, isUrgent: isAwaited }: AckGroup): void {
    const count = acks.reduce((sum, { places }) => sum + places.length, waitingOf.get(lane) ?? 0)
    waitingOf.set(lane, count)
    const isPlain = !isAwaited && acks.every(({ dead, move }) => !dead && !move)
    if (isPlain && count < MANY_OF_LANE && queue.length < MANY) return
    isUrgent = true
    hurry?.()
  }

  async function run(): Promise<void> {
    while (queue.length > 0 && !closed) {
      await gather()
      const lanes = [...next().values()]
      if (queue.length > 0) isUrgent = true
      if (lanes.length === 0) await pause(AGAIN_MS)
      else while (!(closed || (await send(lanes)))) await pause(AGAIN_MS)
      if (closed) end(lanes.flat())
    }
    if (closed) end(queue.splice(0))
  }

  /** One that is added between the last look at the queue and the end is sent as well. */
  function start(): void {
    running ??= run().finally(() => {
      running = undefined
      if (queue.length > 0) start()
    })
  }

  return {
    add(group) {
      const { promise, resolve } = Promise.withResolvers<AckEnd>()
      if (closed) return Promise.resolve('fenced')
      queue.push({ ...group, end: resolve })
      note(group)
      start()
      return promise
    },
    isBlocked: (lane) => refused || foreign.has(lane),
    async idle(timeoutMs) {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, timeoutMs)
      isUrgent = true
      hurry?.()
      let isLate = false
      void late.promise.then(() => {
        isLate = true
      })
      while (running && !isLate) await Promise.race([running, late.promise])
      clearTimeout(timer)
    },
    close() {
      closed = true
      hurry?.()
    },
  }
}

function recordsOf(waiting: readonly Waiting[]): HistoryRecord[] {
  return waiting.flatMap(({ acks, records = [] }) => [...acks.flatMap((it) => it.records ?? []), ...records])
}

function joined(waiting: readonly Waiting[]): LaneAcks {
  const { lane, token, note } = waiting[0] as Waiting
  return { lane, token, note, acks: waiting.flatMap(({ acks }) => acks) }
}

function faultOf(fault: string): string {
  const key = /^WRONGTYPE (.*)/.exec(fault)?.[1]
  return key === undefined ? fault : describeFault(new ForeignKeyError(key))
}
