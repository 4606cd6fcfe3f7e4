import { createHash } from 'node:crypto'
import type { ContainerLog, Delivery, LogSettings } from '../model/delivery.ts'
import type { Logger } from '../observe/log.ts'
import type { LogStore } from '../store/container-logs.ts'
import { type Enqueued, readyMs } from '../store/entry.ts'
import type { DeliveryLogs } from '../store/lanes/owned-lanes.ts'
import type { LogReader } from '../watch/logs/log-reader.ts'
import { type LogTarget, logTarget } from '../watch/logs/log-target.ts'

interface ContainerLogsParts {
  /** Returns what the rule of a delivery asks for; undefined for most rules. */
  settingsOf(delivery: Delivery): LogSettings | undefined
  /** Undefined in a process without access to the cluster. */
  reader: Pick<LogReader, 'read' | 'close'> | undefined
  store: LogStore
  log: Logger
  clock: { now(): number }
}

/** Maximum time for which a delivery waits for its log once its lane has it in memory. */
const MAX_WAIT_MS = 5_000
/** Time in which only the process that committed a delivery reads the log; then another one does. */
const OTHERS_MS = 2_500
/** After that, no process stores a log any more; clocks of two hosts may differ by most of it. */
const STORED_MS = 30_000
/** The container may have restarted again after that, so that its log would be of another crash. */
const MAX_AGE_MS = 120_000
const POLL_MS = 250
/** Time for which refusals are collected before they are stored together: in a storm there is one for each event. */
const REFUSALS_MS = 100
/** Logs in memory for other deliveries of the same event. */
const MAX_RECENT = 256

type Found = Promise<ContainerLog | undefined>

interface Wanted {
  id: string
  target: LogTarget
  settings: LogSettings
}

/** Undefined: Redis does not have it. `unknown`: Redis did not answer. */
type Stored = ContainerLog | 'unknown' | undefined

interface Waiting {
  id: string
  /** A log that Redis does not have by then is not waited for. In ms of `performance.now()`. */
  untilMs: number
  /** Whether Redis has answered since. */
  isAnswered: boolean
  end(log: Stored | Found): void
}

interface Patience {
  /** For a log that Redis does not have. */
  forLogMs: number
  /** For an answer of Redis, at least as long. */
  forAnswerMs: number
}

/**
 * The logs of deliveries. The process that commits a delivery reads its log immediately, and stores it in Redis by the event, so that
 * it is read once for all sinks. The lane that has the delivery waits for it; other deliveries do not. If the log is not there in
 * time, the message has the reason instead.
 */
export class ContainerLogs implements DeliveryLogs {
  readonly #parts: ContainerLogsParts
  /** Reads under way, and the last ones; the oldest first. */
  readonly #known = new Map<string, Found>()
  readonly #waiting = new Set<Waiting>()
  /** To be stored. */
  readonly #refused = new Map<string, ContainerLog>()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(parts: ContainerLogsParts) {
    this.#parts = parts
  }

  /** Begins to read the logs of what a commit wrote. Returns immediately. */
  committed(lanes: readonly Enqueued[]): void {
    if (!this.#parts.reader) return
    for (const { stored } of lanes)
      for (const { deliveries } of stored?.entries ?? [])
        for (const delivery of deliveries) {
          const wanted = this.#wantedBy(delivery)
          if (wanted) this.#begin(wanted)
        }
  }

  /** A lane may have read the entry before its commit was known here, and wait for another process: it gets this read. */
  #begin(wanted: Wanted): void {
    const { id } = wanted
    if (!this.#known.has(id)) return void this.#remember(id, this.#read(wanted))
    const waiting = [...this.#waiting].filter((it) => it.id === id)
    if (waiting.length === 0) return
    const found = this.#read(wanted)
    for (const { end } of waiting) end(found)
  }

  /**
   * Returns undefined if the delivery needs no log, or has it. Otherwise a promise of the log or of why it could not be had; it never
   * rejects, and takes at most 5 s. It resolves to undefined when this process stops: another one will deliver.
   */
  of(delivery: Delivery): Found | undefined {
    const wanted = this.#wantedBy(delivery)
    if (!wanted) return undefined
    const found =
      this.#known.get(wanted.id) ?? this.#remember(wanted.id, this.#find(wanted, happenedMs(delivery)))
    return this.#inTime(found, wanted.target)
  }

  /** Aborts all reads. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const { end } of this.#waiting) end(undefined)
    this.#parts.reader?.close()
  }

  #wantedBy(delivery: Delivery): Wanted | undefined {
    const settings = this.#parts.settingsOf(delivery)
    if (!settings || delivery.logs || delivery.notice) return undefined
    const target = targetOf(delivery, settings)
    return target && { id: idOf(delivery.event.id, target, settings), target, settings }
  }

  #remember(id: string, found: Found): Found {
    this.#known.set(id, found)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_RECENT && oldest !== undefined) this.#known.delete(oldest)
    return found
  }

  async #read({ id, target, settings }: Wanted): Found {
    const { reader, store, log: logger } = this.#parts
    const done = await reader?.read(target, settings)
    if (!done) return undefined
    const { outcome, log } = done
    if (outcome === 'rate') this.#refuse(id, log)
    else
      store.put(id, log).catch((error) => {
        logger.debug({ error }, "a container's log was not stored; other processes do not have it")
      })
    return log
  }

  #refuse(id: string, log: ContainerLog): void {
    const { store, log: logger } = this.#parts
    this.#refused.set(id, log)
    if (this.#refused.size > 1) return
    setTimeout(() => {
      const refusals = new Map(this.#refused)
      this.#refused.clear()
      store.putRefusals(refusals).catch((error) => {
        logger.debug({ error }, 'other processes do not know which logs were refused; they wait for them')
      })
    }, REFUSALS_MS).unref()
  }

  /** Another process committed the delivery: it may be reading the log, or have ended before. */
  async #find(wanted: Wanted, sinceMs: number): Found {
    const { reader, clock } = this.#parts
    const ageMs = clock.now() - sinceMs
    const mayBeReading = Math.max(0, OTHERS_MS - Math.max(0, ageMs))
    const untilStoredMs = ageMs < STORED_MS ? MAX_WAIT_MS - POLL_MS : 0
    const canRead = reader !== undefined && ageMs <= MAX_AGE_MS
    const stored = await this.#await(wanted.id, {
      forLogMs: reader ? mayBeReading : untilStoredMs,
      forAnswerMs: canRead ? OTHERS_MS : MAX_WAIT_MS - POLL_MS,
    })
    if (this.#closed) return undefined
    if (stored !== undefined && stored !== 'unknown') return stored
    if (canRead) return this.#read(wanted)
    if (stored === 'unknown') {
      // Redis may have it: the next delivery asks again.
      this.#known.delete(wanted.id)
      return failure(wanted.target, 'Redis did not answer')
    }
    if (!reader) return failure(wanted.target, 'no process with access to the cluster has read it')
    return failure(wanted.target, 'it is no longer kept')
  }

  /** Asks Redis once, and again until the patience is over; all that wait are asked for together. */
  async #await(id: string, { forLogMs, forAnswerMs }: Patience): Promise<Stored> {
    const { promise, resolve } = Promise.withResolvers<Stored>()
    let timer: NodeJS.Timeout | undefined
    const waiting: Waiting = {
      id,
      untilMs: performance.now() + forLogMs,
      isAnswered: false,
      end: (found) => {
        clearTimeout(timer)
        this.#waiting.delete(waiting)
        resolve(found)
      },
    }
    this.#waiting.add(waiting)
    const answer = await this.#parts.store.get([id]).catch(() => undefined)
    const patienceMs = answer ? forLogMs : forAnswerMs
    waiting.isAnswered ||= answer !== undefined
    const [log] = answer ?? []
    if (log || patienceMs <= 0 || this.#closed) waiting.end(log)
    else if (this.#waiting.has(waiting)) {
      timer = setTimeout(() => waiting.end(waiting.isAnswered ? undefined : 'unknown'), patienceMs)
      this.#pollSoon()
    }
    return promise
  }

  #pollSoon(): void {
    this.#timer ??= setTimeout(() => void this.#poll(), POLL_MS)
  }

  async #poll(): Promise<void> {
    const waiting = [...this.#waiting]
    const askedMs = performance.now()
    const logs = await this.#parts.store.get(waiting.map(({ id }) => id)).catch(() => [])
    for (const [place, log] of logs.entries()) {
      const asking = waiting[place] as Waiting
      asking.isAnswered = true
      if (log || askedMs >= asking.untilMs) asking.end(log)
    }
    this.#timer = undefined
    if (this.#waiting.size > 0) this.#pollSoon()
  }

  /** A timer for each wait: nothing that a read or Redis does may hold up a delivery for longer. */
  #inTime(found: Found, target: LogTarget): Found {
    const late = Promise.withResolvers<ContainerLog>()
    const give = () => late.resolve(failure(target, `it was not there within ${MAX_WAIT_MS / 1_000} s`))
    const timer = setTimeout(give, MAX_WAIT_MS)
    return Promise.race([found, late.promise]).finally(() => clearTimeout(timer))
  }
}

/** What was sent again shows the container of its own event; what a limit emits, that of the emission. */
function happenedMs(delivery: Delivery): number {
  return delivery.replay || delivery.replayed ? Date.parse(delivery.event.time) : readyMs(delivery)
}

/** An object that cannot be parsed has none; its rendering fails, and explains that. */
function targetOf({ event, objectJson }: Delivery, settings: LogSettings): LogTarget | undefined {
  try {
    return logTarget(event, objectJson, settings)
  } catch {
    return undefined
  }
}

function failure({ container, previous }: LogTarget, error: string): ContainerLog {
  return { ...(container !== undefined && { container }), previous, error }
}

/** One read serves all rules and sinks that ask for the same log of the same event. */
function idOf(eventId: string, { container = '', previous }: LogTarget, settings: LogSettings): string {
  const { lines, maxBytes } = settings
  const text = JSON.stringify([eventId, container, previous, settings.previous, lines, maxBytes])
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
