import { setTimeout as pause } from 'node:timers/promises'
import { type Checkpoint, isComparable, isOlder, type SourceSession } from '../../model/change.ts'
import type { WatchStatus } from '../../model/status.ts'
import type { RelistCause } from './retry-policy.ts'
import type { Timing } from './timing.ts'
import type { Batch } from './watch-stream.ts'

type Behind = NonNullable<WatchStatus['behind']>

/** Each comparison that finds nothing makes the next probe this much later. */
const WIDER = 4
const WIDEST = 16

/**
 * Follows how far the position of a watch is behind its collection. Bytes prove nothing: only a newer position does, or a
 * probe, which asks the API server for the collection's position.
 *
 * - A position that moves needs no probe. Bookmarks move it about once a minute, also where nothing changes.
 * - A position that does not move for `probeAfterMs` is probed. The same one: the watch is up to date.
 * - A newer one has to be reached. While it is not, the watch is behind; after `stalledMs` without any move it lists.
 * - Some servers send no bookmarks, or late ones, and count the changes of other collections. There a list finds nothing,
 *   and the next probes come later, until bookmarks move the position in time.
 *
 * All times are monotonic: the clock on the wall may be set.
 */
export class WatchProgress {
  readonly #timing: Pick<Timing, 'probeAfterMs' | 'stalledMs'>
  /** Watches that were opened together do not probe together. */
  readonly #spread: number
  #position = ''
  #committed = ''
  #movedAt = performance.now()
  #probedAt = Number.NEGATIVE_INFINITY
  /** The oldest probe whose position is not reached; without a position the API server did not answer. */
  #probe: { at: number; position: string | undefined } | undefined
  /** Since when no watch was open that had read all before it. */
  #closedAt: number | undefined
  #storingAt: number | undefined
  #factor = 1

  constructor(timing: Pick<Timing, 'probeAfterMs' | 'stalledMs'>, random: () => number) {
    this.#timing = timing
    this.#spread = 1 + random() * 0.2
  }

  /** How long the watch has been behind, and why; undefined while it is not known to be behind. */
  get behind(): Behind | undefined {
    const server = Math.min(this.#probe?.at ?? Infinity, this.#closedAt ?? Infinity)
    const now = performance.now()
    const redis = now - (this.#storingAt ?? now) >= LONG_CALL_MS ? this.#storingAt : undefined
    const since = Math.min(server, redis ?? Infinity)
    if (since === Infinity) return undefined
    return { ms: Math.round(now - since), waitsFor: redis === undefined ? 'api-server' : 'redis' }
  }

  /** This process works on the source, and does not know yet what it missed. */
  begin(): void {
    const closedAt = this.#closedAt
    this.rest()
    this.#closedAt = closedAt ?? performance.now()
  }

  /** Another process works on the source. */
  rest(): void {
    this.#movedAt = performance.now()
    this.#probe = undefined
    this.#closedAt = undefined
    this.#storingAt = undefined
  }

  /** No watch is open. */
  closed(): void {
    this.#closedAt ??= performance.now()
  }

  /** A watch has read what happened before it was opened. A probe is answered by its position alone. */
  current(): void {
    this.#closedAt = undefined
  }

  /**
   * What a watch sent is stored up to this position. A bookmark that repeats it is no move: the cache that it comes from may
   * have stopped.
   */
  reached(position: string, isBookmark: boolean): void {
    const asked = this.#probe?.position
    if (position === this.#position) {
      // After a deletion a watch continues before what it has read: that comes again.
      if (asked !== undefined && isReached(asked, position)) this.#probe = undefined
      return
    }
    const now = performance.now()
    if (isBookmark && now - this.#movedAt < this.#timing.probeAfterMs) this.#factor = 1
    this.#movedAt = now
    this.#position = position
    this.#closedAt = undefined
    // Positions that are no integers cannot be compared: any move counts.
    if (asked === undefined || !isOlder(position, asked)) this.#probe = undefined
  }

  /** True for the position of the last commit. After a deletion a watch continues before it, and that comes again. */
  isCommitted(position: string): boolean {
    return position === this.#committed
  }

  /** All up to this position is processed. Returns whether that is progress. */
  committed(position: string): boolean {
    const isMove = !this.isCommitted(position)
    this.#committed = position
    return isMove
  }

  /** A list is complete. */
  listed(position: string): void {
    this.#position = position
    this.#movedAt = performance.now()
    this.#probe = undefined
    this.#closedAt = undefined
  }

  /**
   * Records whether a list that was requested because of a probe found changes that the watch had missed. If not, the next probe comes
   * later.
   */
  compared(foundNews: boolean): void {
    this.#factor = foundNews ? 1 : Math.min(this.#factor * WIDER, WIDEST)
  }

  /** Runs a call of the store. While Redis does not answer it, the watch is behind, and the API server is not to blame. */
  async whileStoring<Result>(call: () => Promise<Result>): Promise<Result> {
    const at = performance.now()
    this.#storingAt = at
    try {
      return await call()
    } finally {
      this.#storingAt = undefined
      this.#movedAt += performance.now() - at
    }
  }

  /** True while the collection is known to have changes, or bookmarks, that the watch has not. */
  get isBehind(): boolean {
    return this.#probe?.position !== undefined
  }

  /** True when it is time to ask for the collection's position. */
  get isProbeDue(): boolean {
    return !this.isBehind && this.#waitMs() <= 0
  }

  /** Why the watch has to list; undefined when it has not. */
  get stall(): RelistCause | undefined {
    if (!this.isBehind) return undefined
    return this.#waitMs() <= 0 ? 'stalled' : undefined
  }

  /** Asks for the collection's position, and compares it with the watch's. Returns why to list. Throws what `ask` throws. */
  async probe(
    ask: () => Promise<string>,
    position = this.#position,
    signal?: AbortSignal,
  ): Promise<RelistCause | undefined> {
    const at = performance.now()
    this.#probedAt = at
    let answer: string
    try {
      answer = await ask()
    } catch (error) {
      // The end of a watch is no information about the API server.
      if (!signal?.aborted) this.#probe ??= { at, position: undefined }
      throw error
    }
    if (isOlder(answer, position)) return 'regression'
    // The watch may have reached it while the answer was on its way.
    const known = this.#movedAt > at ? this.#position : position
    this.#probe = isReached(answer, known) ? undefined : { at: this.#probe?.at ?? at, position: answer }
    return undefined
  }

  /** Resolves with why to list when an open watch makes no progress. Failed probes are repeated. */
  async stalled(ask: () => Promise<string>, signal: AbortSignal): Promise<RelistCause> {
    for (;;) {
      await pause(Math.max(this.#waitMs(), LEAST_MS), undefined, { signal })
      const probed = this.isProbeDue
      const cause = probed ? await this.probe(ask, undefined, signal).catch(() => undefined) : this.stall
      signal.throwIfAborted()
      if (cause) return cause
    }
  }

  /** Until the next probe is due, or the watch has stalled. */
  #waitMs(): number {
    const { probeAfterMs, stalledMs } = this.#timing
    // What the watch has read may be what was asked for.
    if (this.#storingAt !== undefined) return probeAfterMs
    const now = performance.now()
    const probe = this.#probe
    if (probe?.position !== undefined) return Math.max(probe.at, this.#movedAt) + stalledMs - now
    if (probe) return this.#probedAt + probeAfterMs - now
    return Math.max(this.#movedAt, this.#probedAt) + probeAfterMs * this.#factor * this.#spread - now
  }
}

/** A call of the store takes milliseconds. */
const LONG_CALL_MS = 1_000

/** A timer may fire a little early. */
const LEAST_MS = 1

/** Positions that are no integers cannot be compared: only the same one is known to be as new. */
function isReached(asked: string, position: string): boolean {
  return position === asked || isOlder(asked, position)
}

/**
 * Tracks whether a watch has read all that happened before it was opened. Only then is it certain that something did not happen.
 * The server sends what it still has immediately, and then what comes, so the watch has read it when
 *
 * - it reached the position at which the server stood when it was asked before: of a busy resource soon, of a quiet one never,
 *   because positions count the changes of all resources;
 * - or a bookmark came: the server sends none before the rest;
 * - or nothing came for a while: there is nothing more.
 *
 * The same has to hold again after more came than one batch takes.
 */
export class CatchUp {
  #target: string | undefined
  readonly #settleMs: number
  #isCurrent = false
  #trustsBookmarks = true
  #quietFromMs: number | undefined

  constructor(target: string | undefined, settleMs: number) {
    this.#target = target
    this.#settleMs = settleMs
  }

  get isCurrent(): boolean {
    return this.#isCurrent
  }

  /** The server has accepted a watch from this position. */
  opened(resourceVersion: string): void {
    this.#quietFromMs = performance.now()
    this.#reached(resourceVersion)
  }

  /** More may wait in the socket than was taken. */
  heldUp(): void {
    this.#isCurrent = false
    this.#target = undefined
    this.#quietFromMs = performance.now()
  }

  /** The position at which the server stood after that, if it is known. A bookmark may be older. */
  aim(target: string | undefined): void {
    this.#target = target
    this.#trustsBookmarks = target === undefined || !isComparable(target)
  }

  /** A batch is committed. */
  read({ resumeFrom, bookmarked, idle }: Pick<Batch, 'resumeFrom' | 'bookmarked' | 'idle'>): void {
    if ((bookmarked && this.#trustsBookmarks) || (idle && this.waitMs() === 0)) this.#isCurrent = true
    if (idle) return
    this.#quietFromMs = performance.now()
    this.#reached(resumeFrom)
  }

  /** How long nothing may come until all is read; undefined when it is. */
  waitMs(): number | undefined {
    if (this.#isCurrent) return undefined
    const quietMs = this.#quietFromMs === undefined ? 0 : performance.now() - this.#quietFromMs
    return Math.max(0, Math.ceil(this.#settleMs - quietMs))
  }

  #reached(resourceVersion: string): void {
    const target = this.#target
    // Positions that are no integers cannot be compared: only the same one is known to be as new.
    if (target !== undefined && (resourceVersion === target || isOlder(target, resourceVersion)))
      this.#isCurrent = true
  }
}

/** All later changes will be emitted: a first list is complete, or the resource is known to be absent. */
export function hasPosition(checkpoint: Checkpoint | undefined): boolean {
  return checkpoint !== undefined && (checkpoint.phase === 'absent' || checkpoint.resourceVersion !== '')
}

/** While a watch is behind, no limit of it is decided: what it has not read may be what ends the waiting. */
export const BEHIND_IDLE_MS = 1_000

/** The clock may be set: it is looked at again after this long. */
const MOST_IDLE_MS = 60_000

/** Until the time of a limit is over, in milliseconds; undefined when nothing waits. */
export function untilDue({ dueMs }: Pick<SourceSession, 'dueMs'>, nowMs: number): number | undefined {
  return dueMs === undefined ? undefined : Math.min(Math.max(dueMs - nowMs, 0), MOST_IDLE_MS)
}
