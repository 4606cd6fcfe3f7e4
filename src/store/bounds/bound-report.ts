import type { QueueStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import { isSoon, type Measured, type QueueBounds, reachedInMs, withMeasured } from './queue-bounds.ts'

interface BoundReportParts<Reason> {
  log: Logger
  clock: { now(): number }
  /** Sets the gauges. */
  publish(status: QueueStatus): void
  /** Returns the message of the warning that `maxBytes` will be reached. */
  soon(): string
  /** Returns the message, and further fields, of the log line for deliveries removed for this reason. */
  removed(reason: Reason): { message: string; fields?: object }
}

const LOG_MS = 60_000

/** Reports the size of a queue, or of the dead letters, against its bounds, and what was removed to keep them: as status, gauges and log lines. */
export class BoundReport<Reason extends string> {
  readonly #parts: BoundReportParts<Reason>
  #status: QueueStatus | undefined
  #trend: Measured[] = []
  #isSoon = false
  /** Number of deliveries removed since the last log line. */
  readonly #unlogged = new Map<Reason, number>()
  /** Time of the last log line, in `performance.now()` milliseconds. */
  #loggedMs = Number.NEGATIVE_INFINITY

  constructor(parts: BoundReportParts<Reason>) {
    this.#parts = parts
  }

  /** The status of the last measurement; undefined before the first. */
  get status(): QueueStatus | undefined {
    return this.#status
  }

  /** Records a measurement. Logs a warning when the bound in bytes begins to be near. */
  measured(bytes: number, { maxBytes, maxAgeMs }: QueueBounds): void {
    const { log, clock, publish, soon } = this.#parts
    this.#trend = withMeasured(this.#trend, { atMs: clock.now(), bytes })
    const reachedMs = bytes >= maxBytes ? 0 : reachedInMs(this.#trend, maxBytes)
    this.#status = { bytes, maxBytes, maxAgeMs, ...(reachedMs !== undefined && { reachedMs }) }
    publish(this.#status)
    const wasSoon = this.#isSoon
    this.#isSoon = isSoon(bytes, maxBytes, reachedMs)
    if (!this.#isSoon || wasSoon) return
    log.warn({ bytes, maxBytes, inMinutes: Math.round((reachedMs ?? 0) / 60_000) }, soon())
  }

  /** Counts deliveries that were removed, for the next log line. */
  count(reason: Reason, deliveries: number): void {
    this.#unlogged.set(reason, (this.#unlogged.get(reason) ?? 0) + deliveries)
  }

  /** Logs what was removed, one line for each reason, at most once a minute. `bytes` is the present size. */
  logRemoved(bytes: number): void {
    if (this.#unlogged.size === 0 || performance.now() - this.#loggedMs < LOG_MS) return
    const { log, removed } = this.#parts
    for (const [reason, deliveries] of this.#unlogged) {
      const { message, fields } = removed(reason)
      log.warn({ ...fields, deliveries, bytes }, message)
    }
    this.#unlogged.clear()
    this.#loggedMs = performance.now()
  }
}
