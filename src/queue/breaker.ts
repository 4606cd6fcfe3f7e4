export interface Breaker {
  /** May a lane of this sink deliver now? `probe`: one delivery only, to see whether the sink is back; it could have been asked `lateMs` ago. */
  admit(): { kind: 'go' } | { kind: 'probe'; lateMs: number } | { kind: 'wait'; ms: number }
  /** An answer to what was begun at `sinceMs`; one from before the failure says nothing of it. True when the sink is back. */
  succeeded(sinceMs: number): boolean
  /** The whole sink failed; nobody needs to ask again before `afterMs`. Gives the pause. */
  failed(afterMs?: number): number
  /** Whatever made it fail may be over: the next lane asks. */
  reset(): void
  /** A probe ended without saying anything of the sink. */
  released(): void
}

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const MAX_ASKED_PAUSE_MS = 3_600_000

/**
 * Keeps the lanes of a failing sink from all asking it: one delivery probes at growing intervals, the others wait. The
 * longest interval is short, so that a mended sink gets its deliveries within seconds.
 */
export function createBreaker(clock: { now(): number }, random: () => number): Breaker {
  let failures = 0
  let openUntilMs = 0
  let failedMs = Number.NEGATIVE_INFINITY
  let probing = false
  return {
    admit() {
      if (failures === 0) return { kind: 'go' }
      const ms = openUntilMs - clock.now()
      if (ms > 0) return { kind: 'wait', ms: ms + random() * 100 }
      if (probing) return { kind: 'wait', ms: FIRST_PAUSE_MS * (1 + random()) }
      probing = true
      return { kind: 'probe', lateMs: -ms }
    },
    succeeded(sinceMs) {
      if (sinceMs < failedMs) return false
      failures = 0
      probing = false
      return true
    },
    failed(afterMs) {
      probing = false
      const now = clock.now()
      failedMs = now
      // Lanes that were under way when the first of them failed add nothing to the count.
      if (openUntilMs > now && !afterMs) return openUntilMs - now
      const backoffMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS) * (0.5 + random() / 2)
      failures = Math.min(failures + 1, 10)
      const pauseMs = Math.min(Math.max(afterMs ?? 0, backoffMs), MAX_ASKED_PAUSE_MS)
      openUntilMs = now + pauseMs
      return pauseMs
    },
    reset() {
      openUntilMs = clock.now()
    },
    released() {
      probing = false
    },
  }
}
