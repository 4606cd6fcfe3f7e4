import { setTimeout as sleep } from 'node:timers/promises'
import type { Bucket } from './bucket.ts'

/** One call of deliver: how long it may take before the rest is left for later. */
export interface Turn {
  readonly signal: AbortSignal
  /** Takes a slot, waiting a little for it if that is all; else the milliseconds until there is one. */
  slot(bucket: Bucket): Promise<number>
  /** How much of its time is left, in milliseconds. */
  leftMs(): number
}

/** A batch that takes longer makes the core take smaller ones, and digests need large ones. */
const LONGEST_MS = 700
const AT_ONCE_MS = 1

export function createTurn(signal: AbortSignal): Turn {
  const untilMs = performance.now() + LONGEST_MS
  const leftMs = () => untilMs - performance.now()
  return {
    signal,
    leftMs,
    async slot(bucket) {
      for (;;) {
        signal.throwIfAborted()
        if (leftMs() <= 0) return AT_ONCE_MS
        const waitMs = bucket.take()
        if (waitMs === 0) return 0
        if (waitMs > leftMs()) return waitMs
        await sleep(waitMs, undefined, { signal })
      }
    },
  }
}
