import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { LAYOUT } from './layout.ts'
import { decodeState, ruleOfOwn } from './limit-state.ts'
import { readHash } from './pending.ts'
import { evaluate } from './script.ts'

const PAGE = '500'

/**
 * Forgets what lies in the own states of a rule that nobody has, where nothing waits and nothing is due: should the rule
 * ever come back, objects that were in trouble then would be taken to be so still, and nobody told when they are again.
 */
export async function forgetOwnStates(redis: Redis, keys: Keys, rule: string): Promise<number> {
  let forgotten = 0
  for (const source of (await readHash(redis, keys.sources)).keys()) {
    const limits = keys.ownLimits(source)
    let cursor = '0'
    do {
      const [next, flat] = (await redis.hscanBuffer(
        limits,
        cursor,
        'MATCH',
        endsWith(rule),
        'COUNT',
        PAGE,
      )) as [Buffer, Buffer[]]
      cursor = next.toString()
      const idle = pairsOf(flat).filter(({ field, value }) => ruleOfOwn(field) === rule && isIdle(value))
      if (idle.length === 0) continue
      const known = idle.flatMap(({ field, value }) => [field, value])
      const names = [limits, keys.ownLimitTimers(source), keys.schema]
      forgotten += Number(await evaluate(redis, FORGET, names, [LAYOUT, ...known]))
    } while (cursor !== '0')
  }
  return forgotten
}

function endsWith(rule: string): string {
  return `*:${rule.replace(/[\\*?[\]]/g, '\\$&')}`
}

function isIdle(value: Buffer): boolean {
  const state = decodeState(value, 0)
  return state !== undefined && state.waiting === 0 && state.dueMs === undefined
}

function pairsOf(flat: readonly Buffer[]): { field: string; value: Buffer }[] {
  const pairs: { field: string; value: Buffer }[] = []
  for (let i = 0; i < flat.length; i += 2)
    pairs.push({ field: String(flat[i]), value: flat[i + 1] as Buffer })
  return pairs
}

/** One that was changed since it was read is somebody's. */
const FORGET = `
local layout = redis.call('GET', KEYS[3])
if layout and layout ~= ARGV[1] then return 0 end
local count = 0
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
    count = count + 1
  end
end
return count
`
