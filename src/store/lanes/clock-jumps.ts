/** Smaller differences are those of a clock that is being corrected, or of a busy machine. */
const LEAST_MS = 5_000
/** Maximum number of jumps that are remembered, each with its time. */
const MOST_JUMPS = 1_000

/** How far the wall clock has jumped: it was set, or the machine slept. Ages that are taken by it leave that out. */
export interface ClockJumps {
  /** Returns all jumps since the start together, in milliseconds; negative where it went back. */
  totalMs(): number
  /**
   * Returns the Unix time in milliseconds that the wall clock showed `ms` ago: the size of jumps since then is left out. What has a later
   * time is younger, or as old if the clock went back meanwhile.
   */
  agoMs(ms: number): number
}

export function createClockJumps(
  clock: { now(): number },
  steady: { now(): number } = performance,
): ClockJumps {
  let total = 0
  /** The newest first; `atMs` is by the wall clock, after it. */
  const jumps: { atMs: number; jumpMs: number }[] = []
  let before = { wallMs: clock.now(), steadyMs: steady.now() }

  function look(): void {
    const now = { wallMs: clock.now(), steadyMs: steady.now() }
    const jumpMs = now.wallMs - before.wallMs - (now.steadyMs - before.steadyMs)
    before = now
    if (Math.abs(jumpMs) < LEAST_MS) return
    total += jumpMs
    jumps.unshift({ atMs: now.wallMs, jumpMs })
    jumps.length = Math.min(jumps.length, MOST_JUMPS)
  }

  return {
    totalMs() {
      look()
      return total
    },
    agoMs(ms) {
      look()
      let thenMs = before.wallMs - ms
      // Where the clock went back, times before and after it overlap: what came after it is not that old.
      let mostMs = Number.POSITIVE_INFINITY
      for (const { atMs, jumpMs } of jumps) {
        if (thenMs >= atMs) break
        thenMs -= jumpMs
        if (jumpMs < 0) mostMs = Math.min(mostMs, atMs)
      }
      return Math.min(thenMs, mostMs)
    },
  }
}
