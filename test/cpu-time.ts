const TRIES = 5

/**
 * Least processor time of this thread in milliseconds that a function takes in at most five runs, or the first below
 * `limitMs`. One run alone may have met a collection of garbage, code not compiled yet, or a neighbour on its core.
 */
export async function leastCpuMs(limitMs: number, run: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES && least >= limitMs; i++) {
    const before = process.threadCpuUsage()
    await run()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
