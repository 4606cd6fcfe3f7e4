import type { Owners } from '../change.ts'
import type { Heartbeat } from './slot-plan.ts'

/** Which processes are alive, as the last look at the heartbeats showed; and who waits for one to go. */
export class LiveProcesses implements Owners {
  /** This process, in heartbeats and in the checkpoints of its sources. */
  readonly id: string
  /** Called when this process has left sources to others. */
  onReleased = () => {}
  #seen = new Map<string, { isAlive: boolean; released: number }>()
  #changes = 0
  #released = 0
  readonly #waiting = new Set<() => void>()

  constructor(id: string) {
    this.id = id
  }

  get changes(): number {
    return this.#changes
  }

  /** How often this process left a source to others. */
  get released(): number {
    return this.#released
  }

  /** Undefined for a process without a heartbeat: one of an older version, or one that others have found dead. */
  isAlive(id: string): boolean | undefined {
    return this.#seen.get(id)?.isAlive
  }

  /** Takes all heartbeats, and those of processes that are alive. */
  look(beats: readonly Heartbeat[], live: readonly Heartbeat[]): void {
    const alive = new Set(live.map(({ id }) => id))
    const seen = new Map(
      beats.map(({ id, released = 0 }) => [id, { isAlive: alive.has(id), released }] as const),
    )
    const isFreed = [...this.#seen].some(([id, before]) => {
      const now = seen.get(id)
      return (before.isAlive && !now?.isAlive) || (now !== undefined && now.released > before.released)
    })
    this.#seen = seen
    if (!isFreed) return
    this.#changes++
    for (const wake of [...this.#waiting]) wake()
  }

  /** This process has left a source to others: its next heartbeat says so. */
  release(): void {
    this.#released++
    this.onReleased()
  }

  async wait(since: number, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#changes !== since) return
    const over = Promise.withResolvers<void>()
    const wake = () => over.resolve()
    const timer = setTimeout(wake, ms)
    this.#waiting.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    await over.promise
    clearTimeout(timer)
    this.#waiting.delete(wake)
    signal.removeEventListener('abort', wake)
    signal.throwIfAborted()
  }
}
