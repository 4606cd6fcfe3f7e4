/** Calls that the rate is computed from, and how many of them must fail. */
const WINDOW = 20
const OPENS_AT = 19
/** So few failures open it if nothing has succeeded for a while. */
const FEW = 3
const SILENT_MS = 2_000
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const MAX_ASKED_PAUSE_MS = 3_600_000
/** Concurrent probes: where half of all calls fail, one of them succeeds. */
const PROBES = 3

/**
 * Opens when 19 of the last 20 calls failed, or three since the last success, 2 s ago. A sink of which half of the calls fail
 * stays closed. While open, a few probes are sent at growing intervals; one success closes it. The longest interval is short, so that
 * a sink gets its deliveries within seconds after it recovers. Times are of a clock that never jumps.
 */
export class CircuitBreaker {
  readonly #clock: { now(): number }
  readonly #random: () => number
  #calls: boolean[] = []
  #passedMs = Number.NEGATIVE_INFINITY
  #failedInARow = 0
  #openedMs: number | undefined
  #openUntilMs = 0
  #pauses = 0
  #probes = 0

  constructor(clock: { now(): number }, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  /** May a call begin? `probe`: with one delivery only, to find out whether the sink is back. */
  admit(): { kind: 'go' } | { kind: 'probe' } | { kind: 'wait'; ms: number } {
    if (this.#openedMs === undefined) return { kind: 'go' }
    const ms = this.waitMs()
    if (ms > 0) return { kind: 'wait', ms }
    this.#probes++
    return { kind: 'probe' }
  }

  isOpen(): boolean {
    return this.#openedMs !== undefined
  }

  /** In how many milliseconds it may admit a call. */
  waitMs(): number {
    if (this.#openedMs === undefined) return 0
    const ms = this.#openUntilMs - this.#clock.now()
    return ms > 0 ? ms : this.#probes >= PROBES ? FIRST_PAUSE_MS : 0
  }

  /** A call that began at `sinceMs` succeeded: closes the breaker, unless the call is from before it opened. */
  succeeded(sinceMs: number): void {
    if (this.#openedMs !== undefined && sinceMs < this.#openedMs) return
    this.#note(true)
    this.#passedMs = this.#clock.now()
    this.#failedInARow = 0
    this.#pauses = 0
    this.#probes = 0
    if (this.#openedMs !== undefined) this.#calls = []
    this.#openedMs = undefined
  }

  /** A call failed as a whole, which may open the breaker. */
  failed(): void {
    this.released()
    const nowMs = this.#clock.now()
    if (this.#openedMs !== undefined) {
      // Calls that were in flight together add one pause.
      if (this.#openUntilMs <= nowMs) this.pause(0)
      return
    }
    this.#note(false)
    this.#failedInARow++
    const isRate = this.#calls.filter((passed) => !passed).length >= OPENS_AT
    const isSilent = this.#failedInARow >= FEW && nowMs - this.#passedMs > SILENT_MS
    if (isRate || isSilent) this.pause(0)
  }

  /** Opens for at least `ms`, whatever the rate: the sink asked for it. */
  pause(ms: number): void {
    const nowMs = this.#clock.now()
    const doubledMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses++, 10), MAX_PAUSE_MS)
    const backoffMs = doubledMs * (0.5 + this.#random() / 2)
    this.#openedMs ??= nowMs
    this.#openUntilMs = nowMs + Math.min(Math.max(ms, backoffMs), MAX_ASKED_PAUSE_MS)
  }

  /** A probe ended without a result. */
  released(): void {
    this.#probes = Math.max(0, this.#probes - 1)
  }

  /** The cause may be over: the next call is a probe. */
  reset(): void {
    this.#openUntilMs = this.#clock.now()
    this.#probes = 0
  }

  #note(passed: boolean): void {
    this.#calls.push(passed)
    if (this.#calls.length > WINDOW) this.#calls.shift()
  }
}
