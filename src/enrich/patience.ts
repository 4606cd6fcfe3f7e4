/** So long an object is waited for, where nothing was waited for in vain lately. */
export const PATIENCE_MS = 2_000
/** So long at least: a watch of metadata lags this much behind at any time. */
const LEAST_MS = 50
/** What a namespace, and a watch, get back of it in a second. */
const NAMESPACE = { mostMs: PATIENCE_MS, perSecondMs: 30 }
const WATCH = { mostMs: 2 * PATIENCE_MS, perSecondMs: 60 }
const MOST_NAMESPACES = 10_000

interface Purse {
  spentMs: number
  atMs: number
}

/**
 * How long the changes of a namespace may hold up a watch with objects that never come: who may create Events makes up what
 * they are about. What comes costs nothing.
 */
export class Patience {
  readonly #purses = new Map<string, Purse>()

  /** For how long an object may be waited for now. */
  leftMs(watch: string, namespace: string, nowMs: number): number {
    const left = Math.min(
      NAMESPACE.mostMs - this.#spentMs(keyOf(watch, namespace), NAMESPACE.perSecondMs, nowMs),
      WATCH.mostMs - this.#spentMs(watch, WATCH.perSecondMs, nowMs),
    )
    return Math.max(LEAST_MS, Math.min(PATIENCE_MS, left))
  }

  /** A watch was held up for so long, by what changes of these namespaces named. */
  spend(watch: string, namespaces: Iterable<string>, ms: number, nowMs: number): void {
    for (const namespace of namespaces) this.#add(keyOf(watch, namespace), NAMESPACE.perSecondMs, ms, nowMs)
    this.#add(watch, WATCH.perSecondMs, ms, nowMs)
  }

  #add(key: string, perSecondMs: number, ms: number, nowMs: number): void {
    const spentMs = this.#spentMs(key, perSecondMs, nowMs) + ms
    this.#purses.delete(key)
    const [oldest] = this.#purses.keys()
    if (oldest !== undefined && this.#purses.size >= MOST_NAMESPACES) this.#purses.delete(oldest)
    this.#purses.set(key, { spentMs: Math.min(spentMs, WATCH.mostMs), atMs: nowMs })
  }

  #spentMs(key: string, perSecondMs: number, nowMs: number): number {
    const purse = this.#purses.get(key)
    if (!purse) return 0
    // A clock that went back gives nothing back.
    const backMs = (Math.max(0, nowMs - purse.atMs) * perSecondMs) / 1_000
    return Math.max(0, purse.spentMs - backMs)
  }
}

function keyOf(watch: string, namespace: string): string {
  return `${watch}\n${namespace}`
}
