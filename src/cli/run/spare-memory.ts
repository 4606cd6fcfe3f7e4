import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY_MS = 10_000
/** Busy processes collect by themselves, and have no time to spare. */
const BUSY = 0.25
const SPARE_SHARE = 1.15
const SPARE_BYTES = 8 * 1_048_576

/**
 * Whether a collection is worth its pause of some 10 ms: little was done since the last look (`busy`: 0 to 1), and the resident
 * memory is well above that after the last collection. What is in use raises the bound, so it is not collected again and again.
 */
export function isWorthCollecting(rssBytes: number, collectedBytes: number, busy: number): boolean {
  return busy < BUSY && rssBytes > collectedBytes * SPARE_SHARE + SPARE_BYTES
}

/**
 * Gives back the memory of a burst or of a large object when it is quiet again: V8 collects only when something is allocated, and
 * would keep a hundred megabytes of garbage for hours where little happens.
 */
export function spareMemory(): { close(): void } {
  /** After the start there is something to give back, too. */
  let collected = 0
  let since: EventLoopUtilization = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(since)
    since = performance.eventLoopUtilization()
    const rss = process.memoryUsage.rss()
    if (!isWorthCollecting(rss, collected, utilization)) {
      // Pages are freed for a while after a collection.
      collected = Math.min(collected, rss)
      return
    }
    collectGarbage()
    collected = process.memoryUsage.rss()
  }, EVERY_MS)
  timer.unref()
  return { close: () => clearInterval(timer) }
}

let collect: (() => void) | undefined

function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
