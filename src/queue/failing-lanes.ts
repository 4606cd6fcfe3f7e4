import type { Reason } from '../sink/index.ts'

/** Lanes whose target (a channel, a topic) fails while the sink itself may be well: each is told once. */
export interface FailingLanes {
  count(): number
  /** True when this is news: the lane did not fail, or for another reason. */
  failed(lane: string, reason: Reason): boolean
  /** True when it had failed. */
  passed(lane: string): boolean
}

/** Sinks may ask for pauses of an hour; what did not fail for longer than that is another process's by now. */
const FORGET_MS = 7_200_000

export function createFailingLanes(nowMs: () => number = () => performance.now()): FailingLanes {
  const failing = new Map<string, { reason: Reason; atMs: number }>()

  /** The first ones are those that failed longest ago. */
  function forgetOld(): void {
    const since = nowMs() - FORGET_MS
    for (const [lane, { atMs }] of failing) {
      if (atMs > since) return
      failing.delete(lane)
    }
  }

  return {
    count() {
      forgetOld()
      return failing.size
    },
    failed(lane, reason) {
      forgetOld()
      const before = failing.get(lane)
      failing.delete(lane)
      failing.set(lane, { reason, atMs: nowMs() })
      return before?.reason !== reason
    },
    passed: (lane) => failing.delete(lane),
  }
}
