/** How long things take; client-go's values where it has them. */
export interface Timing {
  backoffFirstMs: number
  backoffMaxMs: number
  /** A watch that lived this long was healthy: the backoff starts over. */
  healthyMs: number
  /** A watch is asked to end after a random time between these, so that many don't end together. */
  watchSeconds: readonly [least: number, most: number]
  /** How much longer than asked a silent watch is waited for. */
  graceMs: number
  /** Pause after a clean end, at most. */
  endPauseMs: number
  /** A watch that ends sooner than this without a word is suspicious. */
  quickEndMs: number
  /** Between tries of what needs a person: forbidden, bad selector. */
  slowRetryMs: number
  /** After another process took the source over; and between looks whether it still moves. */
  fencedPauseMs: number
  /** How long a source whose selection was edited waits for a process that works by the one before. */
  adoptWaitMs: number
  /** Over how long several processes spread their take-overs of a source whose owner is gone. */
  takeOverSpreadMs: number
  /** How long the source of another process that is alive may stand still before it is taken over: longer than a list may take. */
  standbyPatienceMs: number
  /** A position that moves without changes is stored at most this often. */
  positionEveryMs: number
  /** How long one request for the identity of the cluster, and its answer, are for all sources. */
  identityFreshMs: number
  /** Time of silence after which the server has sent all that happened before the watch was opened. */
  settleMs: number
  /** A position that did not move for this long is probed. Longer than API servers take between two bookmarks (60 to 75 s). */
  probeAfterMs: number
  /** How long a probe waits for an answer: its connection may be dead. */
  probeTimeoutMs: number
  /** A watch that does not move for this long while the collection is known to be ahead lists. Longer than that, too. */
  stalledMs: number
  /** Between looks for kinds that are not installed. */
  discoveryMs: number
}

export const DEFAULT_TIMING: Timing = {
  backoffFirstMs: 800,
  backoffMaxMs: 30_000,
  healthyMs: 120_000,
  watchSeconds: [240, 295],
  graceMs: 15_000,
  endPauseMs: 1_000,
  quickEndMs: 2_000,
  slowRetryMs: 15_000,
  fencedPauseMs: 5_000,
  takeOverSpreadMs: 250,
  adoptWaitMs: 120_000,
  standbyPatienceMs: 180_000,
  positionEveryMs: 5_000,
  identityFreshMs: 5_000,
  settleMs: 3_000,
  probeAfterMs: 90_000,
  probeTimeoutMs: 30_000,
  stalledMs: 90_000,
  discoveryMs: 3_000,
}

/** Exponential with full jitter. `failures` counts from 1. */
export function backoffMs(failures: number, timing: Timing, random: () => number): number {
  return random() * Math.min(timing.backoffFirstMs * 2 ** Math.min(failures - 1, 20), timing.backoffMaxMs)
}
