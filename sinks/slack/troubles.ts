import type { Logger } from '../../src/sink/index.ts'

/** What an operator has to mend, by channel or for the whole sink ('*'): asked about less and less often, logged once. */
export interface Troubles {
  /** Remembers it and gives how long to wait, in milliseconds: a minute, then twice as long each time, at most a quarter of an hour. */
  failed(target: string, code: string, detail: string): number
  /** It works again. */
  passed(target: string): void
}

const FIRST_MS = 60_000
const LONGEST_MS = 15 * 60_000
const MANY = 1_000

export function createTroubles(log: Logger, now: () => number, count: (n: number) => void): Troubles {
  const known = new Map<string, { code: string; waitMs: number; untilMs: number }>()
  // A sink that was opened with other options, such as a new token, begins anew.
  count(0)
  return {
    failed(target, code, detail) {
      const before = known.get(target)
      const same = before?.code === code
      if (!same) log.warn({ target, detail }, 'Slack wants something done; what is for there waits')
      // Others that fail meanwhile say nothing new.
      const leftMs = same ? Math.min(before.untilMs - now(), before.waitMs) : 0
      if (leftMs > 0) return Math.ceil(leftMs)
      const waitMs = same ? Math.min(before.waitMs * 2, LONGEST_MS) : FIRST_MS
      if (known.size >= MANY) known.clear()
      known.set(target, { code, waitMs, untilMs: now() + waitMs })
      count(known.size)
      return waitMs
    },
    passed(target) {
      for (const it of [target, '*']) {
        if (!known.delete(it)) continue
        log.info({ target: it }, 'Slack takes messages again')
        count(known.size)
      }
    },
  }
}
