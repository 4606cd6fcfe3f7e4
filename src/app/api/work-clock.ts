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
