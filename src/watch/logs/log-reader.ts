import type { LogSettings } from '../../model/delivery.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import type { LogTarget } from './log-target.ts'
import { type LogOutcome, type LogRead, readLog } from './read-log.ts'

interface LogReaderParts {
  client: ClusterClient
  /** Requests per second, at most. */
  rate: number
  onRead(outcome: LogOutcome): void
  clock?: { now(): number }
}

/** A read that would wait longer for its turn is refused. */
const MAX_QUEUE_MS = 2_000
/** From the begin of a read to its end, the wait for its turn included. */
const READ_MS = 4_000

/** Reads logs of containers at a steady pace: one request every `1 / rate` seconds, without bursts. */
export class LogReader {
  readonly #parts: LogReaderParts
  readonly #closing = new AbortController()
  #nextMs = 0

  constructor(parts: LogReaderParts) {
    this.#parts = parts
  }

  /** Returns the log, or why it could not be had, within about 4 s; undefined if the reader was closed meanwhile. */
  async read(target: LogTarget, settings: LogSettings): Promise<LogRead | undefined> {
    const { client, rate, onRead } = this.#parts
    const { signal: closing } = this.#closing
    const deadline = new AbortController()
    const timer = setTimeout(() => deadline.abort(), READ_MS)
    const signal = AbortSignal.any([closing, deadline.signal])
    try {
      const done = await readLog({ client, rate, turn: () => this.#turn(signal) }, target, settings, signal)
      onRead(done.outcome)
      return done
    } catch (error) {
      if (closing.aborted) return undefined
      const { container, previous } = target
      const isLate = deadline.signal.aborted
      const outcome = isLate ? 'timeout' : 'failed'
      onRead(outcome)
      const reason = isLate ? `no answer within ${READ_MS / 1_000} s` : (error as Error).message
      return { outcome, log: { ...(container !== undefined && { container }), previous, error: reason } }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Aborts all reads. */
  close(): void {
    this.#closing.abort()
  }

  async #turn(signal: AbortSignal): Promise<boolean> {
    const { rate, clock = performance } = this.#parts
    const nowMs = clock.now()
    const atMs = Math.max(nowMs, this.#nextMs)
    if (atMs - nowMs > MAX_QUEUE_MS) return false
    this.#nextMs = atMs + 1_000 / rate
    if (atMs > nowMs) await pause(atMs - nowMs, signal)
    return true
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const abort = () => {
    clearTimeout(timer)
    reject(signal.reason)
  }
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return promise.finally(() => signal.removeEventListener('abort', abort))
}
