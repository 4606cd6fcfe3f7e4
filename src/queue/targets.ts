import type { Reason } from '../sink/index.ts'

/** Lanes whose target (a channel, a topic) fails while the sink itself may be well: each is told once. */
export interface FailingTargets {
  count(): number
  /** True when this is news: the lane did not fail, or for another reason. */
  failed(lane: string, reason: Reason): boolean
  /** True when it had failed. */
  passed(lane: string): boolean
}

export function createFailingTargets(): FailingTargets {
  const failing = new Map<string, Reason>()
  return {
    count: () => failing.size,
    failed(lane, reason) {
      const before = failing.get(lane)
      failing.set(lane, reason)
      return before !== reason
    },
    passed: (lane) => failing.delete(lane),
  }
}
