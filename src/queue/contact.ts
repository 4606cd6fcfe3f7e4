import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'

const EVERY_MS = 2_000

/** Asks Redis again and again, to know since when it has not answered this process. */
export function keepContact(redis: Redis, keys: Keys, everyMs = EVERY_MS) {
  let silentSinceMs: number | undefined
  let isAsking = false

  /** Time in which nobody asked, as that of a frozen process, is no silence. */
  function ask(): void {
    const askedMs = performance.now()
    const failed = () => {
      silentSinceMs ??= askedMs
    }
    if (isAsking) return failed()
    isAsking = true
    redis
      .get(keys.schema)
      .then(() => {
        silentSinceMs = undefined
      }, failed)
      .finally(() => {
        isAsking = false
      })
  }

  const timer = setInterval(ask, everyMs)
  return {
    silentMs: () => (silentSinceMs === undefined ? 0 : performance.now() - silentSinceMs),
    close: () => clearInterval(timer),
  }
}
