import { setTimeout as pause } from 'node:timers/promises'
import { ConformanceFault } from './fault.ts'

const TICK_MS = 10

/** Waits so long for a promise, in time in which this process was not busy with other things; then it is a fault. */
export async function within<T>(ms: number, promise: Promise<T>, what: string): Promise<T> {
  const late = Symbol('late')
  const stop = new AbortController()
  try {
    const first = await Promise.race([promise, ticks(ms, stop.signal).then(() => late)])
    if (first !== late) return first as T
    throw new ConformanceFault(`${what} did not end within ${ms} ms`)
  } finally {
    stop.abort()
  }
}

/** Polls until it is true; false when the time is over. */
export async function until(ms: number, condition: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let left = ms; left > 0; left -= TICK_MS) {
    if (await condition()) return true
    await pause(TICK_MS)
  }
  return condition()
}

async function ticks(ms: number, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0 && !signal.aborted; left -= TICK_MS) await pause(TICK_MS)
}
