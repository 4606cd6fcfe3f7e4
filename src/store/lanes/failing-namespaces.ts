/** How long a namespace counts as failing after its first failure. Each further one doubles it. */
const FAILING_MS = 500
const MAX_FAILING_MS = 60_000
/** Longest pause that a sink may ask for, and the time after it in which the namespace is tried. */
const MAX_ASKED_MS = 3_600_000
const TRIED_MS = 15_000
/** Maximum number of namespaces that are remembered. The one that failed longest ago is forgotten first. */
const MOST_NAMESPACES = 1_000

/**
 * Namespaces of which a delivery failed a while ago, and none passed since; objects of the cluster are one more. Who may create objects in
 * one namespace can have many that a sink does not take: probes are of other namespaces where there are any, so that they show whether the
 * sink works. A namespace that failed as others did, because the sink was down for a moment, is soon tried again.
 */
export class FailingNamespaces {
  readonly #clock: { now(): number }
  readonly #failing = new Map<string, { failures: number; untilMs: number }>()

  constructor(clock: { now(): number } = performance) {
    this.#clock = clock
  }

  /** Failures of one moment are one. `afterMs`: the pause that the sink asked for, in which the namespace goes on to count as failing. */
  failed(namespace = '', afterMs = 0): void {
    const nowMs = this.#clock.now()
    const known = this.#failing.get(namespace)
    // It still counts as failing when it is tried again.
    const askedUntilMs = afterMs > 0 ? nowMs + Math.min(afterMs, MAX_ASKED_MS) + TRIED_MS : 0
    if (known && known.untilMs > nowMs) {
      known.untilMs = Math.max(known.untilMs, askedUntilMs)
      return
    }
    const failures = (known?.failures ?? 0) + 1
    const forMs = Math.min(FAILING_MS * 2 ** Math.min(failures - 1, 10), MAX_FAILING_MS)
    this.#failing.delete(namespace)
    this.#failing.set(namespace, { failures, untilMs: Math.max(nowMs + forMs, askedUntilMs) })
    const [oldest] = this.#failing.keys()
    if (this.#failing.size > MOST_NAMESPACES && oldest !== undefined) this.#failing.delete(oldest)
  }

  passed(namespace = ''): void {
    this.#failing.delete(namespace)
  }

  has(namespace = ''): boolean {
    return (this.#failing.get(namespace)?.untilMs ?? 0) > this.#clock.now()
  }

  /** How often it failed since it passed last. */
  failures(namespace = ''): number {
    return this.#failing.get(namespace)?.failures ?? 0
  }
}
