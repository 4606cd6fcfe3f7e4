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
/** Probes of failing namespaces come so much later, so that one of another namespace comes first. */
const FAILING_WAIT_MS = 100

/** A call that an open breaker admitted. */
export type Probe = symbol

type Admission = { kind: 'go' } | { kind: 'probe'; probe: Probe } | { kind: 'wait'; ms: number }

/**
 * Opens when 19 of the last 20 calls failed, or three since the last success, 2 s ago. A sink of which half of the calls fail
 * stays closed. While open, a few probes are sent at growing intervals; one success closes it. The longest interval is short, so that
 * a sink gets its deliveries within seconds after it recovers. Deliveries of namespaces that do not fail have intervals of their own, which
 * grow when one of them fails: so many objects of one namespace that a sink does not take hold up no others. Times are of a clock that
 * never jumps.
 */
export class CircuitBreaker {
  readonly #clock: { now(): number }
  readonly #random: () => number
  #calls: boolean[] = []
  #passedMs = Number.NEGATIVE_INFINITY
  #failedInARow = 0
  #openedMs: number | undefined
  /** Pauses of deliveries of failing namespaces, and of the others. */
  readonly #failing = new Pauses()
  readonly #others = new Pauses()
  /** Probes under way. */
  readonly #probes = new Set<Probe>()

  constructor(clock: { now(): number }, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  /**
   * Returns whether a call may begin. A probe is a call of one delivery, which finds out whether the sink is back: call `ended` with it.
   * `ofFailing`: all that could be sent is of failing namespaces; then one probe is left for others.
   */
  admit(ofFailing = false): Admission {
    if (this.#openedMs === undefined) return { kind: 'go' }
    const ms = this.waitMs(ofFailing)
    if (ms > 0) return { kind: 'wait', ms }
    const probe = Symbol('probe')
    this.#probes.add(probe)
    return { kind: 'probe', probe }
  }

  isOpen(): boolean {
    return this.#openedMs !== undefined
  }

  /** Returns the milliseconds until it may admit a call; 0 if it does now. */
  waitMs(ofFailing = false): number {
    if (this.#openedMs === undefined) return 0
    const openMs = ofFailing ? this.#failing.untilMs + FAILING_WAIT_MS : this.#others.untilMs
    const ms = openMs - this.#clock.now()
    if (ms > 0) return ms
    return this.#probes.size >= (ofFailing ? PROBES - 1 : PROBES) ? FIRST_PAUSE_MS : 0
  }

  /** Returns the milliseconds until it may admit calls that it does not admit now, of failing namespaces or others. */
  nextMs(): number {
    const waits = [this.waitMs(), this.waitMs(true)].filter((ms) => ms > 0)
    return waits.length > 0 ? Math.min(...waits) : FIRST_PAUSE_MS
  }

  /** A call that began at `sinceMs` succeeded: closes the breaker, unless the call is from before it opened. */
  succeeded(sinceMs: number): void {
    if (this.#openedMs !== undefined && sinceMs < this.#openedMs) return
    this.#note(true)
    this.#passedMs = this.#clock.now()
    this.#failedInARow = 0
    this.#failing.end(this.#passedMs)
    this.#others.end(this.#passedMs)
    this.#probes.clear()
    if (this.#openedMs !== undefined) this.#calls = []
    this.#openedMs = undefined
  }

  /** A call failed as a whole, which may open the breaker. `ofFailing`: all of it was of namespaces that had failed before. */
  failed(ofFailing = false): void {
    const nowMs = this.#clock.now()
    if (this.#openedMs !== undefined) {
      // Calls that were in flight together add one pause.
      if (!ofFailing && this.#others.untilMs <= nowMs) this.pause(0)
      else if (this.#failing.untilMs <= nowMs) this.pause(0, true)
      return
    }
    this.#note(false)
    this.#failedInARow++
    const isRate = this.#calls.filter((passed) => !passed).length >= OPENS_AT
    const isSilent = this.#failedInARow >= FEW && nowMs - this.#passedMs > SILENT_MS
    if (isRate || isSilent) this.pause(0, ofFailing)
  }

  /** Opens for at least `ms`, whatever the rate, where the sink asked for it; if `ofFailing`, for deliveries of failing namespaces alone. */
  pause(ms: number, ofFailing = false): void {
    const nowMs = this.#clock.now()
    this.#openedMs ??= nowMs
    this.#failing.add(nowMs, ms, this.#random)
    if (!ofFailing) this.#others.add(nowMs, ms, this.#random)
  }

  /** A call ended, whatever came of it: its probe, if it was one, makes room for the next. */
  ended(probe: Probe | undefined): void {
    if (probe) this.#probes.delete(probe)
  }

  /** The cause may be over: the next call is a probe. */
  reset(): void {
    this.#failing.untilMs = this.#clock.now()
    this.#others.untilMs = this.#clock.now()
    this.#probes.clear()
  }

  #note(passed: boolean): void {
    this.#calls.push(passed)
    if (this.#calls.length > WINDOW) this.#calls.shift()
  }
}

/** Pauses that double until one ends by a success. */
class Pauses {
  untilMs = 0
  count = 0

  /** Begins a pause of at least `leastMs`. */
  add(nowMs: number, leastMs: number, random: () => number): void {
    const doubledMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.count++, 10), MAX_PAUSE_MS)
    const backoffMs = doubledMs * (0.5 + random() / 2)
    const untilMs = nowMs + Math.min(Math.max(leastMs, backoffMs), MAX_ASKED_PAUSE_MS)
    this.untilMs = Math.max(this.untilMs, untilMs)
  }

  end(nowMs: number): void {
    this.untilMs = nowMs
    this.count = 0
  }
}
