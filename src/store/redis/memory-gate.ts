import { EventEmitter, once } from 'node:events'
import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { noteHistoryLoss } from '../history/read-history.ts'
import type { Keys } from '../keys.ts'
import { PreviousRoom } from './previous-room.ts'
import { describeFault, isRefusal, type Troubles } from './redis-fault.ts'
import { evictionOf, parseInfo, redisCli } from './requirements.ts'

/** Keeps room in Redis for the workers: closes before it is full, so that watches pause and deliveries go on. */
export interface MemoryGate {
  /** Resolves when there is room. */
  room(signal: AbortSignal): Promise<void>
  isClosed(): boolean
  /** Whether previous objects leave room for large ones. */
  hasRoomForPrevious(): boolean
  /** The memory limit of Redis in bytes, as of the last sample: 0 where there is none, undefined while it is not known. */
  maxmemory(): number | undefined
  /** Resolves when Redis was asked once, whatever it answered. */
  sampled: Promise<void>
  /** Redis refused a write: gives it the ballast's room, so that workers can settle. */
  onOutOfMemory(): void
  close(): void
}

const SAMPLE_MS = 1_000
/** Where less is used, previous objects need no bound. */
const BOUND_ABOVE = 0.5
const FREE_BELOW = 0.45
const EVICTION = 'what waits'
const MEMORY = 'how full Redis is'
const CLOSE_AT = 0.8
const OPEN_AT = 0.75
const BALLAST_AGAIN_AT = 0.6
/** Time without a fall of memory use, while the gate is closed, after which deliveries count as making no room. */
const PATIENCE_MS = 10_000
/** Connections take and free as much. */
const NOISE_BYTES = 256 * 1024

/** One percent of the limit, within these. */
const MIN_BALLAST_BYTES = 512 * 1024
const MAX_BALLAST_BYTES = 16 * 1024 * 1024

export function createMemoryGate(parts: {
  redis: Redis
  keys: Keys
  troubles: Troubles
  metrics: Metrics
  log: Logger
  /** This cluster's part of `maxmemory`. */
  share?(): number
}): MemoryGate {
  const { redis, keys, troubles, metrics, log, share: ownShare = () => 1 } = parts
  const door = new EventEmitter().setMaxListeners(0)
  let closed = false
  let hasBallast = false
  let maxmemory: number | undefined
  /** The least since the gate closed, and since when. */
  let least = { bytes: Number.POSITIVE_INFINITY, sinceMs: 0 }
  const previous = new PreviousRoom({ redis, keys, log })

  function setClosed(next: boolean, share: number): void {
    if (next === closed) return
    closed = next
    least = { bytes: Number.POSITIVE_INFINITY, sinceMs: performance.now() }
    metrics.backPressure.set(closed ? 1 : 0)
    const usedPercent = Math.round(share * 100)
    if (closed) {
      giveUpRecords()
      log.warn({ usedPercent }, 'Redis is nearly full: watches pause until deliveries make room')
    } else {
      door.emit('open')
      log.info({ usedPercent }, 'Redis has free memory again: watches continue')
    }
  }

  /** Journal and history are deleted first: no delivery depends on them. */
  function giveUpRecords(): void {
    const giveUp = async () => {
      const [journal, history] = [
        await redis.unlink(keys.journal, keys.journalBytes),
        await redis.unlink(keys.history, keys.suppressed),
      ]
      if (journal + history > 0)
        log.warn({}, 'Redis is nearly full: journal and history are given up and begin again')
      if (history > 0) await noteHistoryLoss(redis, keys, { atMs: Date.now(), why: 'full' })
    }
    giveUp().catch((error) => log.debug({ error }, 'journal and history stay for now'))
  }

  /** While the gate is closed: what deliveries do not free, previous objects may. */
  async function makeRoom(used: number, limit: number): Promise<void> {
    const nowMs = performance.now()
    if (used < least.bytes - NOISE_BYTES) least = { bytes: used, sinceMs: nowMs }
    if (nowMs - least.sinceMs <= PATIENCE_MS) return
    least = { bytes: used, sinceMs: nowMs }
    // Clusters that share a Redis make room together.
    await previous.giveUp((used - OPEN_AT * limit) * ownShare())
  }

  async function sample(): Promise<void> {
    const [[failed, text] = [], [, ballastBytes] = []] =
      (await redis.pipeline().info('memory').strlen(keys.ballast).exec()) ?? []
    if (failed) throw failed
    const info = parseInfo(String(text))
    const used = Number(info['used_memory'] ?? 0)
    const limit = Number(info['maxmemory'] ?? 0)
    metrics.redisUp.set(1)
    metrics.redisMemory.set(used)
    metrics.redisMaxMemory.set(limit)
    maxmemory = limit
    noteEviction(info)
    troubles.over(MEMORY)
    const share = limit === 0 ? 0 : used / limit
    setClosed(closed ? share > OPEN_AT : share >= CLOSE_AT, share)
    // A refusal is about these keys: how full Redis is, is known.
    const bounds = closed
      ? makeRoom(used, limit)
      : previous.sample(share < (previous.isFull ? FREE_BELOW : BOUND_ABOVE) ? 0 : limit * ownShare())
    await bounds.catch((error) => log.debug({ error }, 'previous objects stay as they are'))
    hasBallast = Number(ballastBytes) > 0
    if (limit > 0 && !hasBallast && share < BALLAST_AGAIN_AT) await fillBallast(limit)
  }

  /** The policy may be changed while Redis runs, and is another one after a failover. */
  function noteEviction(info: Readonly<Record<string, string>>): void {
    const eviction = evictionOf(info, redisCli(redis))
    if (eviction === undefined) troubles.over(EVICTION)
    else troubles.note(EVICTION, eviction)
  }

  async function fillBallast(limit: number): Promise<void> {
    const bytes = Math.min(Math.max(limit / 100, MIN_BALLAST_BYTES), MAX_BALLAST_BYTES)
    await redis.setrange(keys.ballast, Math.floor(bytes) - 1, '\0')
    hasBallast = true
  }

  const tick = () =>
    sample().catch((error) => {
      if (!isRefusal(error)) {
        metrics.redisUp.set(0)
        log.debug({ error }, 'cannot read the memory of Redis')
        return
      }
      // Opens the gate, because a refusal may be permanent. If Redis is full, commits will report it.
      troubles.note(MEMORY, describeFault(error))
      setClosed(false, 0)
    })
  const timer = setInterval(() => void tick(), SAMPLE_MS)
  const sampled = tick()

  return {
    async room(signal) {
      signal.throwIfAborted()
      while (closed) await once(door, 'open', { signal })
    },
    isClosed: () => closed,
    hasRoomForPrevious: () => !previous.isFull,
    maxmemory: () => maxmemory,
    sampled,
    onOutOfMemory() {
      setClosed(true, 1)
      if (!hasBallast) return
      hasBallast = false
      log.warn(
        {},
        'Redis is full: the memory that was reserved (ballast) is freed, so that deliveries can go on',
      )
      redis.unlink(keys.ballast).catch((error) => log.debug({ error }, 'the ballast stays for now'))
    },
    close: () => clearInterval(timer),
  }
}
