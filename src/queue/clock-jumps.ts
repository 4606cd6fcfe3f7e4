/** Smaller differences are those of a clock that is being corrected, or of a busy machine. */
const LEAST_MS = 5_000

/** How far the wall clock has jumped: it was set, or the machine slept. Ages that are taken by it leave that out. */
export interface ClockJumps {
  /** Returns all jumps since the start together, in milliseconds; negative where it went back. */
  totalMs(): number
}

export function createClockJumps(
  clock: { now(): number },
  steady: { now(): number } = performance,
): ClockJumps {
  let total = 0
  let before = { wallMs: clock.now(), steadyMs: steady.now() }
  return {
    totalMs() {
      const now = { wallMs: clock.now(), steadyMs: steady.now() }
      const jumpMs = now.wallMs - before.wallMs - (now.steadyMs - before.steadyMs)
      if (Math.abs(jumpMs) >= LEAST_MS) total += jumpMs
      before = now
      return total
    },
  }
}
