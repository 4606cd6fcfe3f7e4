/** Decides by the rate of failures whether a sink is asked. Times are of a clock that never jumps. */
export interface Breaker {
  /** May a call begin? `probe`: with one delivery only, to see whether the sink is back. */
  admit(): { kind: 'go' } | { kind: 'probe' } | { kind: 'wait'; ms: number }
  isOpen(): boolean
  /** In how many milliseconds it may admit a call. */
  waitMs(): number
  /** A call that began at `sinceMs` was answered; one from before the breaker opened says nothing. True when that closed the breaker. */
  succeeded(sinceMs: number): boolean
  /** A call failed as a whole. True when that opened the breaker. */
  failed(): boolean
  /** Nobody is asked for so long, whatever the rate: the sink said so. */
  pause(ms: number): void
  /** A probe ended without saying anything of the sink. */
  released(): void
  /** The cause may be over: the next call is a probe. */
  reset(): void
}

/** Calls that the rate is taken from. */
const WINDOW = 20
const OPENS_AT = 19
/** So few calls open it when nothing has succeeded for a while. */
const FEW = 3
const SILENT_MS = 2_000
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const MAX_ASKED_PAUSE_MS = 3_600_000
/** Probes under way at once: where half of all calls fail, one of them gets through. */
const PROBES = 3

/**
 * Opens when 19 of the last 20 calls failed, or three since the last success, 2 s ago. A sink of which half of the calls fail
 * stays closed. While open, a few probes ask at growing intervals; one success closes it. The longest interval is short, so that
 * a sink gets its deliveries within seconds after it recovers.
 */
export function createBreaker(clock: { now(): number }, random: () => number): Breaker {
  let calls: boolean[] = []
  let passedMs = Number.NEGATIVE_INFINITY
  let failedInARow = 0
  let openedMs: number | undefined
  let openUntilMs = 0
  let pauses = 0
  let probes = 0

  function open(afterMs = 0): void {
    const now = clock.now()
    const backoffMs =
      Math.min(FIRST_PAUSE_MS * 2 ** Math.min(pauses, 10), MAX_PAUSE_MS) * (0.5 + random() / 2)
    if (openedMs === undefined) openedMs = now
    pauses++
    openUntilMs = now + Math.min(Math.max(afterMs, backoffMs), MAX_ASKED_PAUSE_MS)
  }

  return {
    admit() {
      if (openedMs === undefined) return { kind: 'go' }
      const ms = openUntilMs - clock.now()
      if (ms > 0) return { kind: 'wait', ms }
      if (probes >= PROBES) return { kind: 'wait', ms: FIRST_PAUSE_MS }
      probes++
      return { kind: 'probe' }
    },
    isOpen: () => openedMs !== undefined,
    waitMs() {
      if (openedMs === undefined) return 0
      const ms = openUntilMs - clock.now()
      return ms > 0 ? ms : probes >= PROBES ? FIRST_PAUSE_MS : 0
    },
    succeeded(sinceMs) {
      if (openedMs !== undefined && sinceMs < openedMs) return false
      calls.push(true)
      if (calls.length > WINDOW) calls.shift()
      passedMs = clock.now()
      failedInARow = 0
      pauses = 0
      probes = 0
      const wasOpen = openedMs !== undefined
      if (wasOpen) calls = []
      openedMs = undefined
      return wasOpen
    },
    failed() {
      probes = Math.max(0, probes - 1)
      const now = clock.now()
      if (openedMs !== undefined) {
        // Calls that were under way together add one pause.
        if (openUntilMs <= now) open()
        return false
      }
      calls.push(false)
      if (calls.length > WINDOW) calls.shift()
      failedInARow++
      const isRate = calls.filter((passed) => !passed).length >= OPENS_AT
      const isSilent = failedInARow >= FEW && now - passedMs > SILENT_MS
      if (!isRate && !isSilent) return false
      open()
      return true
    },
    pause: (ms) => open(ms),
    released() {
      probes = Math.max(0, probes - 1)
    },
    reset() {
      openUntilMs = clock.now()
      probes = 0
    },
  }
}
