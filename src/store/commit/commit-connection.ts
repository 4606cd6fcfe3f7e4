import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import { ForeignKeyError, isOutOfMemory, isTransient, rootOf, sayFault } from './redis-fault.ts'

/** The one connection on which commits happen, one at a time: WATCH belongs to a connection. */
export interface CommitLine {
  /** Runs something that may be repeated, until Redis did it; waits while Redis is away. */
  run<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T>
  /** The same for a commit: waits also while Redis is nearly full. */
  commit<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Why nothing can be committed at this moment; undefined when all is well. */
  trouble(): string | undefined
}

export interface CommitLineParts {
  redis: Redis
  /** Resolves when there is room for more. */
  room(signal: AbortSignal): Promise<void>
  onOutOfMemory(): void
  log: Logger
}

const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 1_000

export function createCommitLine({ redis, room, onOutOfMemory, log }: CommitLineParts): CommitLine {
  let tail: Promise<unknown> = Promise.resolve()
  let trouble: string | undefined
  /** What waits for a key that another program wrote, each with why. */
  const foreign = new Map<object, string>()

  function report(error: unknown): void {
    if (isOutOfMemory(error)) onOutOfMemory()
    if (trouble === undefined) log.warn({ error: sayFault(error) }, 'cannot write to Redis; watches wait')
    trouble = sayFault(error)
  }

  /** What was read under WATCH before it failed is nothing to the next one. */
  async function unwatched(error: unknown): Promise<never> {
    if (rootOf(error) instanceof ForeignKeyError) await redis.unwatch()
    throw error
  }

  async function persist<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      signal.throwIfAborted()
      try {
        const result = await work(redis).catch(unwatched)
        if (trouble !== undefined) log.info({}, 'Redis takes commits again')
        trouble = undefined
        return result
      } catch (error) {
        if (rootOf(error) instanceof ForeignKeyError || !isTransient(error)) throw error
        report(error)
        await pause(pauseMs, undefined, { signal })
      }
    }
  }

  /** A key that another program wrote holds up only what would write it: others have their turns meanwhile. */
  async function inTurns<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      for (;;) {
        try {
          const result = await inTurn(() => persist(work, signal), signal)
          if (foreign.has(work)) log.info({}, 'Redis takes commits again')
          return result
        } catch (error) {
          if (!(rootOf(error) instanceof ForeignKeyError)) throw error
          const said = sayFault(error)
          if (foreign.get(work) !== said)
            log.warn({ error: said }, 'cannot write to Redis; what writes this key waits')
          foreign.set(work, said)
          await pause(MAX_PAUSE_MS, undefined, { signal })
        }
      }
    } finally {
      foreign.delete(work)
    }
  }

  /** Who is asked to stop leaves the queue at once, unless it is its turn: one before it may wait for Redis for ever. */
  function inTurn<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    const turn = tail.then(() => {
      signal.removeEventListener('abort', leave)
      return work()
    })
    tail = turn.catch(() => {})
    turn.then(resolve, reject)
    return promise
  }

  return {
    run: inTurns,
    async commit(work, signal) {
      await room(signal)
      return inTurns(work, signal)
    },
    trouble: () => trouble ?? foreign.values().next().value,
  }
}
