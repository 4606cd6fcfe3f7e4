import { isOlder } from './position.ts'
import type { Batch } from './stream.ts'

/**
 * Has a watch read all that happened before it was opened? Only then may it be said that something did not happen. The server
 * sends what it still has at once, and then what comes, so it has when
 *
 * - it reached the position at which the server stood when it was asked before: of a busy resource soon, of a quiet one never,
 *   because positions count the changes of all resources;
 * - or a bookmark came: the server sends none before the rest;
 * - or nothing came for a while: there is nothing more.
 */
export class CatchUp {
  readonly #target: string | undefined
  readonly #settleMs: number
  #isCurrent = false
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

  /** A batch is committed. */
  read({ resourceVersion, bookmarked, idle }: Pick<Batch, 'resourceVersion' | 'bookmarked' | 'idle'>): void {
    if (bookmarked || (idle && this.waitMs() === 0)) this.#isCurrent = true
    if (idle) return
    this.#quietFromMs = performance.now()
    this.#reached(resourceVersion)
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
