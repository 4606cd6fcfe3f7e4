import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import { createSemaphore } from '../../sink/order.ts'
import {
  describeFault,
  ForeignKeyError,
  isOutOfMemory,
  isRefusal,
  isTransient,
  rootOf,
} from '../redis/redis-fault.ts'

/** The connection for commits, which run one at a time, because WATCH is a state of the connection. */
export interface CommitConnection {
  /** Runs idempotent work, and retries it while Redis is unavailable. */
  run<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Like `run`, for a commit: also waits while Redis is nearly full. */
  commit<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Why commits currently fail; undefined if they succeed. */
  trouble(): string | undefined
  /** Whether they fail although Redis answers. */
  isRefused(): boolean
  /** Whether all commits wait: for Redis, or for memory in it. */
  isHeldUp(): boolean
}

interface CommitConnectionParts {
  redis: Redis
  /** Resolves when Redis has memory for more. */
  room(signal: AbortSignal): Promise<void>
  onOutOfMemory(): void
  log: Logger
}

const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 1_000

export function createCommitConnection({
  redis,
  room,
  onOutOfMemory,
  log,
}: CommitConnectionParts): CommitConnection {
  const turns = createSemaphore(1)
  let trouble: string | undefined
  let isRefused = false
  /** Commits that wait for memory. */
  let waiting = 0
  /** Work that waits because another program wrote one of its keys, with the error. */
  const foreign = new Map<object, string>()

  function report(error: unknown): void {
    if (isOutOfMemory(error)) onOutOfMemory()
    if (trouble === undefined)
      log.warn({ error: describeFault(error) }, 'cannot write to Redis; watches wait')
    trouble = describeFault(error)
    isRefused = isRefusal(error)
  }

  /** Ends WATCH after a failure, so that the keys of this work do not abort the next one. */
  async function unwatched(error: unknown): Promise<never> {
    if (rootOf(error) instanceof ForeignKeyError) await redis.unwatch()
    throw error
  }

  async function persist<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
        signal.throwIfAborted()
        try {
          const result = await work(redis).catch(unwatched)
          if (trouble !== undefined) log.info({}, 'Redis takes commits again')
          return result
        } catch (error) {
          if (rootOf(error) instanceof ForeignKeyError || !isTransient(error)) throw error
          report(error)
          await pause(pauseMs, undefined, { signal })
        }
      }
    } finally {
      // Also for work that is aborted, which does not see Redis return: the next work finds out.
      trouble = undefined
    }
  }

  /** Retries work that fails because another program wrote one of its keys; other work runs meanwhile. */
  async function runSerially<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      for (;;) {
        try {
          // An abort ends the wait: earlier work may wait for Redis forever.
          const result = await turns.run(() => persist(work, signal), signal)
          if (foreign.has(work)) log.info({}, 'Redis takes commits again')
          return result
        } catch (error) {
          if (!(rootOf(error) instanceof ForeignKeyError)) throw error
          const message = describeFault(error)
          if (foreign.get(work) !== message)
            log.warn({ error: message }, 'cannot write to this key of Redis; commits that need it wait')
          foreign.set(work, message)
          await pause(MAX_PAUSE_MS, undefined, { signal })
        }
      }
    } finally {
      foreign.delete(work)
    }
  }

  return {
    run: runSerially,
    async commit(work, signal) {
      waiting++
      await room(signal).finally(() => waiting--)
      return runSerially(work, signal)
    },
    trouble: () => trouble ?? foreign.values().next().value,
    isRefused: () => (trouble !== undefined && isRefused) || foreign.size > 0,
    isHeldUp: () => trouble !== undefined || waiting > 0,
  }
}
