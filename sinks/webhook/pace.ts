import type { KeyValueStore, Outcome } from '../../src/sink/index.ts'

/** A limit by the minute is kept in every minute, not only in those of the clock: five windows of 15 s touch any of them. */
const WINDOW_MS = 15_000
const WINDOWS = 5

/**
 * Returns a function that counts one message, and returns undefined if it may be sent now, else the outcome of a message that waits. All
 * processes share the limit. It must be at least 5.
 */
export function createPace(store: KeyValueStore, perMinute: number, clock: { now(): number }) {
  const perWindow = Math.floor(perMinute / WINDOWS)
  let fullUntilMs = 0

  return async (): Promise<Outcome | undefined> => {
    const nowMs = clock.now()
    const leftMs = fullUntilMs - nowMs
    // More than a window is left only when the clock was set back.
    if (leftMs > 0 && leftMs <= WINDOW_MS) return { kind: 'later', afterMs: leftMs }
    const window = Math.floor(nowMs / WINDOW_MS)
    let count: number
    try {
      count = await store.increment(`sent-in-${window}`, { ttlMs: 2 * WINDOW_MS })
    } catch (error) {
      const detail = `the number of messages cannot be counted: ${(error as Error)?.message ?? error}`
      return { kind: 'retry', reason: 'network', detail, scope: 'sink' }
    }
    if (count <= perWindow) return undefined
    fullUntilMs = (window + 1) * WINDOW_MS
    return { kind: 'later', afterMs: fullUntilMs - nowMs }
  }
}
