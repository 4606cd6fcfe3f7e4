import type { Change, SourceSession } from '../../model/change.ts'
import type { PlannedSource } from '../plan/plan.ts'
import { BEHIND_IDLE_MS, CatchUp, untilDue, type WatchProgress } from './progress.ts'
import type { ReflectorStatus } from './reflector-status.ts'
import { inScope } from './relist.ts'
import type { Timing } from './timing.ts'
import { type Batch, type WatchRequest, watchStream } from './watch-stream.ts'

interface OpenWatchParts {
  source: PlannedSource
  session: SourceSession
  clock: { now(): number }
  timing: Pick<Timing, 'settleMs' | 'positionEveryMs'>
  progress: WatchProgress
  report: ReflectorStatus
  /** The end of the source: it ends transactions, too. */
  stop: AbortSignal
  /** Asks for the collection's position. */
  currentPosition(): Promise<string>
  /** A later position was stored than before. */
  onMove(): void
}

type Position = Pick<Batch, 'resourceVersion' | 'resumeFrom'>

/** One watch of a source: commits what it sends, stores its position, and ends limits that are due. */
export class OpenWatch {
  readonly #parts: OpenWatchParts
  /** The position from which it is opened. */
  readonly #from: string
  readonly #catchUp: CatchUp
  /** Whether it sent nothing that was not processed before. */
  #isSilent = true
  /** The last position, until it is stored. */
  #unstored: Position | undefined
  /** Time of the last commit, in `performance.now()` milliseconds. */
  #committedMs = performance.now()
  /** Unix time in milliseconds at which the server was asked for the position that the watch has to reach. */
  #askedMs: number

  /** `target`: the position up to which it must have read before a limit may end, if it is known. */
  constructor(parts: OpenWatchParts, target: string | undefined) {
    this.#parts = parts
    this.#from = parts.session.checkpoint?.resourceVersion ?? ''
    this.#catchUp = new CatchUp(target, parts.timing.settleMs)
    this.#askedMs = parts.clock.now()
  }

  /** The API server has accepted it. */
  accepted(): void {
    const { report, session } = this.#parts
    report.watching(session.checkpoint?.resourceVersion ?? '')
    this.#catchUp.opened(this.#from)
    this.#reportCurrent()
  }

  /** Reads it to its end. Returns whether it sent nothing new. */
  async read(request: Omit<WatchRequest, 'query' | 'idleMs'>, signal: AbortSignal): Promise<boolean> {
    const query = { resourceVersion: this.#from }
    for await (const batch of watchStream({ ...request, query, idleMs: () => this.#idleMs() }, signal)) {
      // Only what was due then is decided: what comes during the commit, or is still in the socket, may end the rest.
      const readMs = batch.full ? this.#askedMs : this.#parts.clock.now()
      if (!batch.idle) await this.#process(batch)
      this.#catchUp.read(batch)
      await this.#endLimits(readMs)
      if (batch.full && this.#catchUp.isCurrent) void this.#catchUpAgain()
      this.#reportCurrent()
    }
    if (this.#unstored) await this.#commit([], this.#unstored)
    return this.#isSilent
  }

  /** Commits the changes of a batch. A position without changes is stored only now and then. */
  async #process(batch: Batch): Promise<void> {
    const { source, report, progress, timing } = this.#parts
    this.#isSilent &&= progress.isCommitted(batch.resourceVersion)
    const inOrder = inScope(source, batch.changes, report)
    const changes = this.#catchUp.isCurrent
      ? inOrder
      : inOrder.map((it) => ({ ...it, isCatchUp: true as const }))
    this.#unstored = { resourceVersion: batch.resourceVersion, resumeFrom: batch.resumeFrom }
    if (changes.length > 0 || performance.now() - this.#committedMs >= timing.positionEveryMs)
      await this.#commit(changes, this.#unstored)
    progress.reached(batch.resourceVersion, changes.length === 0)
  }

  async #commit(changes: readonly Change[], { resourceVersion, resumeFrom }: Position): Promise<void> {
    const { session, progress, report, stop, onMove } = this.#parts
    await progress.whileStoring(() => session.commit(changes, resumeFrom, stop))
    if (progress.committed(resourceVersion)) onMove()
    report.moved(resourceVersion)
    this.#committedMs = performance.now()
    this.#unstored = undefined
  }

  /** True while no change is unread that may end a limit otherwise than its time does. */
  get #mayEndLimits(): boolean {
    return this.#catchUp.isCurrent && !this.#parts.progress.isBehind
  }

  /** Ends limits that were due at `readMs`, Unix time in milliseconds. */
  async #endLimits(readMs: number): Promise<void> {
    const { session, progress, stop } = this.#parts
    if (this.#mayEndLimits && (session.dueMs ?? Number.POSITIVE_INFINITY) <= readMs)
      await progress.whileStoring(() => session.expire(stop, readMs))
  }

  /** How long nothing may come before an idle batch: until all is read, or the next limit is due. */
  #idleMs(): number | undefined {
    const { session, clock } = this.#parts
    return this.#catchUp.waitMs() ?? (this.#mayEndLimits ? untilDue(session, clock.now()) : BEHIND_IDLE_MS)
  }

  /** More came than one batch takes: the watch has to reach the position that the collection has now. */
  async #catchUpAgain(): Promise<void> {
    this.#catchUp.heldUp()
    const askedMs = this.#parts.clock.now()
    const target = await this.#parts.currentPosition().catch(() => undefined)
    this.#catchUp.aim(target)
    if (target !== undefined) this.#askedMs = askedMs
  }

  #reportCurrent(): void {
    const { isCurrent } = this.#catchUp
    this.#parts.report.current(isCurrent)
    if (isCurrent) this.#parts.progress.current()
  }
}
