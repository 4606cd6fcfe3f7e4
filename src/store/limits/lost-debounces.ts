import type { Redis } from 'ioredis'
import type { Keys } from '../keys.ts'
import { decodeState, ruleOfShared } from './limit-states.ts'

const PAGE = 100

/**
 * Makes waiting events of `debounce` due whose rules no longer have it: until their former time, newer events could overtake them. Another
 * process that still has the limit sets the time again when it evaluates the state.
 */
export async function makeLostDebouncesDue(
  redis: Redis,
  keys: Keys,
  rules: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  if (rules.size === 0) return
  const timers = await redis.zrange(keys.limitTimers, `(${nowMs}`, '+inf', 'BYSCORE')
  const some = timers.filter((key) => rules.has(ruleOfShared(key)))
  for (let start = 0; start < some.length; start += PAGE) {
    const page = some.slice(start, start + PAGE)
    const values = await redis.mgetBuffer(...page.map(keys.limit))
    const waiting = page.filter((_, i) => isDebounce(values[i], nowMs))
    // Only lowered: the timer may have changed since.
    const scores = waiting.flatMap((key) => [nowMs, key])
    if (scores.length > 0) await redis.zadd(keys.limitTimers, 'XX', 'LT', ...scores)
  }
}

function isDebounce(value: Buffer | null | undefined, nowMs: number): boolean {
  const state = decodeState(value, nowMs)
  if (!state?.waiting) return false
  try {
    return JSON.parse(state.text()).limit === 'debounce'
  } catch {
    return false
  }
}
