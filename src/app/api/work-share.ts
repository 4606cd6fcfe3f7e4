import { setTimeout as pause } from 'node:timers/promises'
import { createSemaphore } from '../../sink/index.ts'
import { TimeSlice } from '../../text/yielding.ts'

/** Measures work that is done in slices: the time of the process that it takes, without what others do between its slices. */
export class WorkClock {
  #slice = new TimeSlice()
  #workedMs = 0
  #sinceMs = performance.now()

  isDue(): boolean {
    return this.#slice.isDue()
  }

  /** Gives the event loop back. */
  async pause(): Promise<void> {
    await this.#stop()
    await this.#slice.take()
    this.#sinceMs = performance.now()
  }

  /** Waits for what is done elsewhere, such as by Redis. A new slice begins behind it. */
  async wait<T>(elsewhere: Promise<T>): Promise<T> {
    await this.#stop()
    try {
      return await elsewhere
    } finally {
      this.#slice = new TimeSlice()
      this.#sinceMs = performance.now()
    }
  }

  /** Returns how long the work took, in milliseconds. */
  async end(): Promise<number> {
    await this.#stop()
    return this.#workedMs
  }

  async #stop(): Promise<void> {
    // Node passes what was written to the system in the next tick: that is the larger part of writing to many.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    this.#workedMs += performance.now() - this.#sinceMs
  }
}

export interface WorkShare {
  /** Waits for its turn, and runs the work. Rejects if `signal` aborts before. */
  run<T>(work: (clock: WorkClock) => Promise<T>, signal: AbortSignal): Promise<T>
}

/**
 * Work of several, one after the other in the order in which they came. All of it together takes at most a part of the time of the process: what
 * took 10 ms lets the next wait until 200 ms are over where the part is 5 %.
 */
export function createWorkShare(part: number): WorkShare {
  const turns = createSemaphore(1)
  let nextMs = 0
  return {
    run: (work, signal) =>
      turns.run(async () => {
        const restMs = nextMs - performance.now()
        if (restMs > 0) await pause(restMs, undefined, { signal })
        const startMs = performance.now()
        const clock = new WorkClock()
        try {
          return await work(clock)
        } finally {
          nextMs = startMs + (await clock.end()) / part
        }
      }, signal),
  }
}
