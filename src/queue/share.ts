/** How many of the waiting lanes this process may work on at once, so that others get theirs. */
export interface Share {
  /** Learns how many lanes wait; undefined when that could not be read. */
  update(waiting: number | undefined): Promise<void>
  isExceeded(): boolean
  /** Counts a turn while it runs. */
  during<T>(turn: () => Promise<T>): Promise<T>
}

/** A few lanes are nobody's excess: sharing them would only cost time. */
const LEAST = 4
/** A turn that takes longer waits for a slow sink and works on nothing. */
const MOVING_MS = 2_000

export function createShare({ deliverers }: { deliverers(): Promise<number> }): Share {
  const turns = new Set<{ startedMs: number }>()
  let most = Number.POSITIVE_INFINITY
  return {
    async update(waiting) {
      const processes = await deliverers().catch(() => undefined)
      if (waiting === undefined || processes === undefined) return
      most = processes <= 1 ? Number.POSITIVE_INFINITY : Math.max(LEAST, Math.ceil(waiting / processes))
    },
    isExceeded() {
      const since = performance.now() - MOVING_MS
      let moving = 0
      for (const { startedMs } of turns) if (startedMs > since) moving++
      return moving >= most
    },
    async during(turn) {
      const own = { startedMs: performance.now() }
      turns.add(own)
      try {
        return await turn()
      } finally {
        turns.delete(own)
      }
    },
  }
}
