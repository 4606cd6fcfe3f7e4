import { setTimeout as pause } from 'node:timers/promises'
import { createSemaphore } from '../../sink/index.ts'
import { WorkClock } from './work-clock.ts'

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
