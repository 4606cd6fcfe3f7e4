import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../log.ts'
import { inPlainWords } from '../plain-words.ts'
import { reachRedis } from './connection.ts'
import type { Keys } from './keys.ts'
import { isTransient, LastingFault } from './redis-fault.ts'
import { addressOf, type RedisTarget } from './redis-target.ts'
import { type BytesBound, checkRedis, type RedisReport } from './requirements.ts'

/** Redis answers, and would lose what it is given, or holds keys that this version cannot use. */
export class RedisRefusedError extends Error {
  override name = 'RedisRefusedError'
  readonly refusals: readonly string[]

  constructor(refusals: readonly string[]) {
    super(refusals.join('; '))
    this.refusals = refusals
  }
}

export interface WaitForRedisParts {
  target: RedisTarget
  keys: Keys
  log: Logger
  /** Bounds that must be below the memory limit of Redis. */
  bounds?: readonly BytesBound[]
  /** Called with the reason after each attempt that failed. */
  onWaiting?(reason: string): void
  /** Ends the wait: the promise rejects. */
  signal?: AbortSignal | undefined
}

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1_000
/** A Redis that takes the connection and is silent is reported before the attempt ends. */
const SLOW_MS = 3_000
const FIRST_REMINDER_MS = 30_000
const MAX_REMINDER_MS = 30 * 60_000

/**
 * Waits until Redis can be used, as long as it takes, and returns what it is like. Throws `RedisRefusedError` or `LastingFault`
 * where waiting would not help: a wrong password, an eviction policy, a newer layout, a certificate that is not trusted.
 */
export async function waitForRedis(parts: WaitForRedisParts): Promise<RedisReport> {
  const { log, signal } = parts
  const sinceMs = performance.now()
  const waitedMs = () => Math.round(performance.now() - sinceMs)
  let reminder = { atMs: 0, afterMs: FIRST_REMINDER_MS }

  function onWaiting(error: string): void {
    parts.onWaiting?.(error)
    if (waitedMs() < reminder.atMs) return
    log.warn({ error, waitedMs: waitedMs() }, 'waiting for Redis')
    const { afterMs } = reminder
    reminder = { atMs: waitedMs() + afterMs, afterMs: Math.min(afterMs * 2, MAX_REMINDER_MS) }
  }

  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const result = await attempt(parts, onWaiting)
    if ('report' in result) {
      if (reminder.atMs > 0) log.info({ waitedMs: waitedMs() }, 'Redis answers')
      for (const warning of result.report.warnings) log.warn({}, warning)
      return result.report
    }
    onWaiting(result.reason)
    await pause(pauseMs, undefined, { ...(signal && { signal }) })
  }
}

/** The reason is why Redis cannot be used yet. */
type Attempt = { report: RedisReport } | { reason: string }

/** One attempt, which ends with the signal. */
async function attempt(parts: WaitForRedisParts, onWaiting: (reason: string) => void): Promise<Attempt> {
  const { target, signal } = parts
  signal?.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const noAnswer = `Redis at ${addressOf(target)} does not answer: no answer in time`
  const slow = setInterval(() => onWaiting(noAnswer), SLOW_MS)
  try {
    return await Promise.race([reachAndCheck(parts), aborted.promise])
  } finally {
    clearInterval(slow)
    signal?.removeEventListener('abort', abort)
  }
}

async function reachAndCheck({ target, keys, log, signal, bounds }: WaitForRedisParts): Promise<Attempt> {
  const redis = await reachRedis(target, signal).catch((error: Error) => error)
  if (redis instanceof LastingFault) throw redis
  if (redis instanceof Error) return { reason: redis.message }
  const cannot = (why: string) => `Redis at ${addressOf(target)} cannot be used: ${why}`
  try {
    const asCluster = target.cluster !== undefined
    const report = await checkRedis({ redis, keys, asCluster, ...(bounds && { bounds }) }, log)
    if (report.refusals.length > 0) throw new RedisRefusedError(report.refusals)
    return report.pending.length === 0 ? { report } : { reason: cannot(report.pending.join('; ')) }
  } catch (error) {
    if (error instanceof RedisRefusedError) throw error
    const message = cannot(inPlainWords((error as Error).message))
    if (isTransient(error)) return { reason: message }
    throw new Error(message, { cause: error })
  } finally {
    redis.disconnect()
  }
}
