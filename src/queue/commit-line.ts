import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import { isTransient, rootOf, sayFault } from './redis-fault.ts'

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

  function report(error: unknown): void {
    const { message } = rootOf(error)
    if (message.startsWith('OOM')) onOutOfMemory()
    if (trouble === undefined) log.warn({ error: sayFault(error) }, 'cannot write to Redis; watches wait')
    trouble = sayFault(error)
  }

  async function persist<T>(work: (redis: Redis) => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      signal.throwIfAborted()
      try {
        const result = await work(redis)
        if (trouble !== undefined) log.info({}, 'Redis takes commits again')
        trouble = undefined
        return result
      } catch (error) {
        if (!isTransient(error)) throw error
        report(error)
        await pause(pauseMs, undefined, { signal })
      }
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
    run: (work, signal) => inTurn(() => persist(work, signal), signal),
    async commit(work, signal) {
      await room(signal)
      return inTurn(() => persist(work, signal), signal)
    },
    trouble: () => trouble,
  }
}
