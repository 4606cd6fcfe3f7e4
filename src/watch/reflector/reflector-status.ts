import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { redactMessage } from '../redact.ts'
import type { WatchStatus } from '../status.ts'
import { ApiFault, UNAUTHORIZED_ADVICE } from './api-fault.ts'
import type { RelistCause, Step } from './decide.ts'
import type { Oversized } from './oversized.ts'

export interface SourceReportParts {
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  report(status: Partial<WatchStatus>): void
}

/** Redis being away is a known reason to stand still for a while. */
export const WAITS_FOR_REDIS_MS = 600_000

const OVERSIZED_WARNING_MS = 10_000

/** What a source tells the world while it goes on: its status, its metrics, and one line for each thing that changes. */
export class SourceReport {
  readonly #parts: SourceReportParts
  readonly #watch: string
  #toldNotSplit = false
  #warnedOversizedMs = Number.NEGATIVE_INFINITY

  constructor(parts: SourceReportParts, title: string) {
    this.#parts = parts
    this.#watch = title
  }

  /** It may stay silent for so long without being stuck. */
  allow(forMs: number): void {
    this.#parts.report({ aliveUntilMs: this.#parts.clock.now() + forMs })
  }

  /** The API server said something, and may be silent for so long again. */
  contact(silentForMs: number): void {
    const now = this.#parts.clock.now()
    this.#parts.report({ lastContactMs: now, aliveUntilMs: now + silentForMs })
  }

  listing(cause: RelistCause | undefined): void {
    this.#parts.report({ phase: 'listing', current: false })
    if (!cause) return
    this.#parts.metrics.relists.inc({ watch: this.#watch, cause })
    this.#parts.log.info({ watch: this.#watch, cause }, 'lists anew and compares with what is known')
  }

  /** The API server has accepted the watch. */
  watching(resourceVersion: string): void {
    this.#parts.report({ phase: 'watching', resourceVersion, ready: true })
  }

  /** Another process works on it; ready when that has a position. */
  standby(ready: boolean): void {
    this.#parts.report({ phase: 'standby', ready, current: false })
    this.allow(WAITS_FOR_REDIS_MS)
  }

  /** Has all been read that happened before the watch was opened? */
  current(current: boolean): void {
    this.#parts.report({ current })
  }

  moved(resourceVersion: string): void {
    this.#parts.report({ resourceVersion })
  }

  unreadable(what: string): void {
    this.#parts.metrics.malformed.inc({ watch: this.#watch })
    this.#parts.log.warn({ watch: this.#watch }, `${what} cannot be read; it is passed over`)
  }

  /** An object larger than the limit was reduced to its metadata, or skipped. */
  oversized({ bytes, object }: Oversized): void {
    const { metrics, log, clock } = this.#parts
    metrics.oversized.inc({ watch: this.#watch })
    const fields = {
      watch: this.#watch,
      bytes,
      ...(object && { object: `${object.namespace}/${object.name}` }),
    }
    const message = object
      ? 'an object is larger than kubernetes.maxObjectSize; its metadata alone is read'
      : 'an object is larger than kubernetes.maxObjectSize, and has no readable metadata; it is skipped'
    // One object that changes again and again must not fill the log.
    const isFrequent = clock.now() - this.#warnedOversizedMs < OVERSIZED_WARNING_MS
    if (isFrequent) return log.debug(fields, message)
    this.#warnedOversizedMs = clock.now()
    log.warn(fields, message)
  }

  /** Objects of other shards came. */
  notSplit(): void {
    if (this.#toldNotSplit) return
    this.#toldNotSplit = true
    this.#parts.log.warn(
      { watch: this.#watch },
      'the API server sends objects of other shards, too; they are passed over, and cost as much as without shards',
    )
  }

  reconnecting({ cause, delayMs }: Step, allowanceMs: number): void {
    this.#parts.metrics.reconnects.inc({ watch: this.#watch, cause })
    this.allow(delayMs + allowanceMs)
  }

  trouble(error: unknown, step: Step): void {
    const { log, metrics, report, clock } = this.#parts
    const message = redactMessage(error instanceof Error ? error.message : String(error))
    if (step.cause === 'unreadable') metrics.malformed.inc({ watch: this.#watch })
    const failing = step.phase === 'failing'
    report({
      phase: step.phase,
      current: false,
      lastError: message,
      ...(error instanceof ApiFault && { lastContactMs: clock.now() }),
      ...(failing && { ready: false }),
    })
    const fields = {
      watch: this.#watch,
      cause: step.cause,
      error: message,
      retryInMs: Math.round(step.delayMs),
      ...adviceFor(error),
    }
    if (step.cause === 'position-lost') log.error(fields, 'Redis lost its data')
    else if (step.history.failures > 1) log.debug(fields, 'the watch failed again')
    else log.warn(fields, failing ? 'the watch cannot go on as it is' : 'the watch was interrupted')
  }
}

/** What to do about answers that only a person can change. */
function adviceFor(error: unknown): { advice?: string } {
  const code = error instanceof ApiFault ? error.status.code : undefined
  if (code === 403) return { advice: '"kubeherald rbac" prints the rights that are needed' }
  return code === 401 ? { advice: UNAUTHORIZED_ADVICE } : {}
}
