import { isDeepStrictEqual } from 'node:util'
import type { WatchStatus } from '../../model/status.ts'
import type { forgetSeries } from '../../observe/forget-series.ts'
import type { Logger } from '../../observe/log.ts'
import { redactMessage } from '../../text/redact.ts'
import { ApiFault, UNAUTHORIZED_ADVICE } from '../client/api-fault.ts'
import { apiVersionOf, type DiscoveredResource, titleOf } from '../client/discovery.ts'
import type { Oversized } from '../decode/oversized.ts'
import type { PlannedSource, WatchPlan } from '../plan/plan.ts'
import type { WatchEntry } from '../schema.ts'
import type { RelistCause, Step } from './retry-policy.ts'

export interface ReflectorStatusParts {
  metrics: WatchMetrics
  log: Logger
  clock: { now(): number }
  report(status: Partial<WatchStatus>): void
  observer?: WatchObserver
}

/** What is counted of watches; the metrics of the program have more. */
export interface WatchMetrics {
  relists: Counter
  reconnects: Counter
  malformed: Counter
  oversized: Counter
  watchDifferences: Gauge
  watchVerified: Gauge
  registry: Parameters<typeof forgetSeries>[0]
}

interface Counter {
  inc(labels: Record<string, string>): void
}

interface Gauge {
  set(labels: Record<string, string>, value: number): void
  remove(labels: Record<string, string>): void
}

export const NOT_COUNTED: WatchMetrics = (() => {
  const counter = { inc() {} }
  const gauge = { set() {}, remove() {} }
  return {
    relists: counter,
    reconnects: counter,
    malformed: counter,
    oversized: counter,
    watchDifferences: gauge,
    watchVerified: gauge,
    registry: { getMetricsAsArray: () => [], getSingleMetric: () => undefined as never },
  }
})()

/** For a program that acts on faults and progress itself. `watch` is a source's title. */
export interface WatchObserver {
  /** The watch has read all that happened before it was opened. Called repeatedly. */
  current(watch: string): void
  /** An attempt failed, and `step` comes next; without them the kinds could not be resolved. */
  fault(error: unknown, watch?: string, step?: Step): void
  /** The kinds are resolved, and sources of kinds that have gone are marked as absent. Called repeatedly. */
  resolved?(): void
}

/** Redis being away is a known reason to stand still for a while. */
export const WAITS_FOR_REDIS_MS = 600_000

const OVERSIZED_WARNING_MS = 10_000

/** Reports a source: its status, its metrics, and one log line for each change of state. */
export class ReflectorStatus {
  readonly #parts: ReflectorStatusParts
  readonly #watch: string
  #relists = 0
  #warnedNotSplit = false
  #warnedOversizedMs = Number.NEGATIVE_INFINITY

  constructor(parts: ReflectorStatusParts, title: string) {
    this.#parts = parts
    this.#watch = title
  }

  /** Allows the watch to be silent for `forMs` without being stuck. */
  allow(forMs: number): void {
    this.#parts.report({ aliveUntilMs: performance.now() + forMs })
  }

  /** Records that the API server sent something, and may be silent for `silentForMs` again. */
  contact(silentForMs: number): void {
    const lastContactMs = this.#parts.clock.now()
    this.#parts.report({ lastContactMs, aliveUntilMs: performance.now() + silentForMs })
  }

  listing(cause: RelistCause | undefined): void {
    this.#parts.report({ phase: 'listing', current: false })
    if (!cause) return
    this.#relists++
    this.#parts.report({ relists: { count: this.#relists, cause, atMs: this.#parts.clock.now() } })
    this.#parts.metrics.relists.inc({ watch: this.#watch, cause })
    this.#parts.log.info({ watch: this.#watch, cause }, 'lists again and compares with the index')
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

  /** Records whether all changes from before the watch was opened have been read. */
  current(current: boolean): void {
    this.#parts.report({ current })
    if (current) this.#parts.observer?.current(this.#watch)
  }

  moved(resourceVersion: string): void {
    this.#parts.report({ resourceVersion })
  }

  unreadable(what: string): void {
    this.#parts.metrics.malformed.inc({ watch: this.#watch })
    this.#parts.log.warn({ watch: this.#watch }, `${what} cannot be read; it is skipped`)
  }

  /** The position that a first start was to begin at is too old. */
  historyGone(resourceVersion: string): void {
    this.#parts.log.warn(
      { watch: this.#watch, resourceVersion },
      'the API server no longer has the changes since this resourceVersion: the watch begins now',
    )
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
    if (this.#warnedNotSplit) return
    this.#warnedNotSplit = true
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
    const { log, metrics, report, clock, observer } = this.#parts
    observer?.fault(error, this.#watch, step)
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
  if (code === 403) return { advice: '"kubeherald rbac" prints the permissions that are needed' }
  return code === 401 ? { advice: UNAUTHORIZED_ADVICE } : {}
}

/** How long nothing may be heard of what has just begun. */
const BEGINNING_MS = 600_000

/** Returns the status of a source that has just been started. */
export function initialStatus({ key, title }: PlannedSource): WatchStatus {
  return { ...statusOf(title, 'listing', false), key }
}

export const UNSURE = 'a part of the API that may have this kind does not answer'

export function otherVersionMessage(kind: string, other: DiscoveredResource): string {
  return `the cluster does not serve "${kind}", but ${apiVersionOf(other)}: write ${titleOf(other)} (the version that the cluster prefers) or ${apiVersionOf(other)}/${other.kind}`
}

export function notServedMessage(kind: string): string {
  return `the cluster does not serve "${kind}" any more: its watch goes on once it does; remove the entry if the kind is gone for good`
}

/** Entries that have no source: they have just come, their kind is not there yet, or they contradict another. */
export function unresolved(
  plan: WatchPlan,
  entries: readonly WatchEntry[],
  resolved: readonly WatchEntry[],
  lastError: string | undefined,
  notServed: ReadonlyMap<string, string>,
): WatchStatus[] {
  const status = (kind: string, phase: WatchStatus['phase'], ready: boolean, error?: string) => ({
    ...statusOf(kind, phase, ready),
    ...(error !== undefined && { lastError: error }),
  })
  const fresh = entries.filter((entry) => !resolved.some((it) => isDeepStrictEqual(it, entry)))
  const begin = fresh.map(({ kind }) => status(kind, 'resolving', false, lastError))
  if (resolved.length === 0) return begin
  return [
    ...begin,
    ...plan.waiting.map(({ kind }) => {
      const message = notServed.get(kind)
      return message === undefined
        ? status(kind, 'waiting-for-kind', true)
        : status(kind, 'failing', false, message)
    }),
    // One that was never watched is probably not installed.
    ...plan.unsure.map(({ kind }) =>
      notServed.has(kind)
        ? status(kind, 'resolving', false, UNSURE)
        : status(kind, 'waiting-for-kind', true, UNSURE),
    ),
    ...plan.undecided.map(({ source, message }) => status(source.title, 'failing', false, message)),
    ...plan.problems.map(({ entry, message }) => status(entry.kind, 'failing', false, message)),
  ]
}

/** Until it has a source, the title is its key, too. */
function statusOf(title: string, phase: WatchStatus['phase'], ready: boolean): WatchStatus {
  return {
    key: title,
    title,
    phase,
    resourceVersion: '',
    lastContactMs: 0,
    aliveUntilMs: performance.now() + BEGINNING_MS,
    ready,
  }
}
