import type { Item } from './lane-batch.ts'

/**
 * Objects whose deliveries fail while others of the same sink succeed. They are set aside and tried alone, ever more
 * slowly, so that they hold up neither their lane nor their sink. What this process knows of one sink; nothing is lost
 * with it.
 */
export interface Suspects {
  /**
   * What to hand over next, in order per object; empty when all that is left is set aside. `single` takes one;
   * `othersFirst` those that are not set aside, if there are any. Times are of a clock that never jumps.
   */
  pick(items: readonly Item[], options: Picking): readonly Item[]
  /** How many objects are set aside. */
  count(): number
  isAside(uid: string): boolean
  /** It failed when it was tried last. */
  isKnown(uid: string): boolean
  /** Did others succeed since this object failed last? `lastDeliveredMs` is the sink's, of the same clock. */
  failsAlone(uid: string, lastDeliveredMs: number | undefined): boolean
  /** It was tried alone and failed; nobody knows yet whether others would. */
  failed(uid: string, nowMs: number): void
  setAside(uid: string, nowMs: number, afterMs: number | undefined): void
  passed(uid: string): void
}

export interface Picking {
  size: number
  single: boolean
  othersFirst: boolean
  nowMs: number
}

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
/** Beyond that the oldest are forgotten; they are found again. */
const MAX_KNOWN = 1_000

interface Suspect {
  failedMs: number
  /** How often it was set aside. */
  times: number
  /** Undefined while it goes with the others. */
  retryAtMs: number | undefined
}

export function createSuspects(random: () => number): Suspects {
  const known = new Map<string, Suspect>()

  function note(uid: string, suspect: Suspect): void {
    known.delete(uid)
    known.set(uid, suspect)
    const [oldest] = known.keys()
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
  }

  const isSetAside = ({ uid }: Item) => known.get(uid)?.retryAtMs !== undefined
  const isDue = ({ uid }: Item, nowMs: number) => (known.get(uid)?.retryAtMs ?? Infinity) <= nowMs

  return {
    pick(items, { size, single, othersFirst, nowMs }) {
      if (known.size === 0) return items.slice(0, single ? 1 : size)
      // Who asks whether the sink is back had better not ask with one that fails anyway.
      if (single) {
        const candidates = [
          items.find(({ uid }) => !known.has(uid)),
          items.find((item) => !isSetAside(item)),
          items.find((item) => isDue(item, nowMs)),
        ]
        return candidates.filter((item) => item !== undefined).slice(0, 1)
      }
      const due = items.find((item) => isDue(item, nowMs))
      if (due && !othersFirst) return [due]
      const others = items.filter((item) => !isSetAside(item)).slice(0, size)
      return others.length > 0 || !due ? others : [due]
    },
    count: () => [...known.values()].filter(({ retryAtMs }) => retryAtMs !== undefined).length,
    isAside: (uid) => known.get(uid)?.retryAtMs !== undefined,
    isKnown: (uid) => known.has(uid),
    failsAlone(uid, lastDeliveredMs = Number.NEGATIVE_INFINITY) {
      const suspect = known.get(uid)
      return suspect !== undefined && lastDeliveredMs > suspect.failedMs
    },
    failed(uid, nowMs) {
      const { times = 0, retryAtMs } = known.get(uid) ?? {}
      note(uid, { failedMs: nowMs, times, retryAtMs })
    },
    setAside(uid, nowMs, afterMs = 0) {
      const times = (known.get(uid)?.times ?? 0) + 1
      const backoffMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(times - 1, 10), MAX_PAUSE_MS)
      const pauseMs = Math.max(afterMs, backoffMs * (0.5 + random() / 2))
      note(uid, { failedMs: nowMs, times, retryAtMs: nowMs + pauseMs })
    },
    passed: (uid) => void known.delete(uid),
  }
}
