import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { decodeState, ruleOfOwn, ruleOfShared } from './limit-state.ts'

const PAGE = 100

/** Rule → how many events really wait in the states of limits, shared ones and those of these sources. What waits has a timer. */
export async function countWaiting(
  redis: Redis,
  keys: Keys,
  sources: readonly string[],
): Promise<Map<string, number>> {
  const waiting = new Map<string, number>()
  const add = (rule: string, value: Buffer | null | undefined) => {
    const count = decodeState(value, 0)?.waiting ?? 0
    if (count > 0) waiting.set(rule, (waiting.get(rule) ?? 0) + count)
  }
  for await (const page of pagesOf(redis, keys.limitTimers)) {
    const values = await redis.mgetBuffer(...page.map(keys.limit))
    for (const [i, key] of page.entries()) add(ruleOfShared(key), values[i])
  }
  for (const source of sources)
    for await (const page of pagesOf(redis, keys.ownLimitTimers(source))) {
      const values = await redis.hmgetBuffer(keys.ownLimits(source), ...page)
      for (const [i, key] of page.entries()) add(ruleOfOwn(key), values[i])
    }
  return waiting
}

async function* pagesOf(redis: Redis, timers: string): AsyncGenerator<string[]> {
  for (let start = 0; ; start += PAGE) {
    const page = await redis.zrange(timers, String(start), String(start + PAGE - 1))
    if (page.length > 0) yield page
    if (page.length < PAGE) return
  }
}
