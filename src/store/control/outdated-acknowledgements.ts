import type { Redis } from 'ioredis'
import { readAcknowledgement } from '../../rules/limits/acknowledged.ts'
import type { Keys } from '../keys.ts'
import { LAYOUT } from '../redis/layout.ts'
import { scanHash } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'
import { readOwnStates, stateIn } from './incidents.ts'

/** Acknowledgements whose states are read together, in all sources. */
const PAGE = 50

/** Deletes those that are as they were read: a recurring incident can have a new one. A newer layout may have their states elsewhere. */
const FORGET = `
local layout = redis.call('GET', KEYS[2])
if layout and layout ~= ARGV[1] then return 0 end
local count = 0
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    count = count + redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return count
`

/** Deletes acknowledgements of incidents of single objects that have ended. Returns how many. */
export async function forgetAcknowledgements(redis: Redis, keys: Keys): Promise<number> {
  let forgotten = 0
  for await (const found of scanHash(redis, keys.acknowledged))
    for (let start = 0; start < found.length; start += PAGE) {
      const page = found.slice(start, start + PAGE)
      const states = await readOwnStates(
        redis,
        keys,
        page.map(([key]) => key),
      )
      const outdated = page.filter(([, text], i) => isOutdated(text, states[i] ?? []))
      if (outdated.length === 0) continue
      const names = [keys.acknowledged, keys.schema]
      forgotten += Number(await evalScript(redis, FORGET, names, [LAYOUT, ...outdated.flat()]))
    }
  return forgotten
}

/** Whether no source has the state of its incident any more. An end that was not sent can be revoked; a state that cannot be read may be it. */
function isOutdated(text: string, values: readonly Buffer[]): boolean {
  const sinceMs = readAcknowledgement(text)?.sinceMs
  return values.every((value) => {
    const state = stateIn(value)
    return state !== undefined && (state.limit !== 'for-resolve' || state.sinceMs !== sinceMs)
  })
}
