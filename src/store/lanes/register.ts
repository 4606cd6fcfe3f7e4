import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { sinkOf } from './lane-names.ts'
import { findField } from './lane-reader.ts'
import { valuesOf } from './replies.ts'
import { evaluate } from './script.ts'

/** How many fields one step of a scan asks for. */
const PAGE = 1_000

/** Pages of a hash, whatever its size. A field that is there all the time comes at least once. */
export async function* scanHash(redis: Redis, key: string): AsyncGenerator<[field: string, value: string][]> {
  let cursor = '0'
  do {
    const { next, pairs } = await scanStep(redis, key, cursor)
    yield pairs
    cursor = next
  } while (cursor !== '0')
}

export async function scanStep(redis: Redis, key: string, cursor: string) {
  const [next, flat] = await redis.hscan(key, cursor, 'COUNT', PAGE)
  const pairs: [field: string, value: string][] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i] as string, flat[i + 1] as string])
  return { next, pairs }
}

/** More of one kind is nobody's configuration: what another program wrote must not take all memory. */
const MOST_FIELDS = 20_000

/** The fields of a hash, of a very large one some of them. */
export async function readHash(redis: Redis, key: string): Promise<Map<string, string>> {
  const fields = new Map<string, string>()
  for await (const page of scanHash(redis, key)) {
    for (const [field, value] of page) fields.set(field, value)
    if (fields.size >= MOST_FIELDS) break
  }
  return fields
}

/** The lanes among fields of `pending`, with how many deliveries wait in each; anything else is left out. */
export function lanesIn(pairs: Iterable<readonly [string, string]>): Map<string, number> {
  const lanes = new Map<string, number>()
  for (const [name, value] of pairs) if (isLane(name) && isCount(value)) lanes.set(name, Number(value))
  return lanes
}

const isLane = (name: string) => /^[^/]+\/./s.test(name)
const isCount = (value: string) => /^-?\d{1,15}$/.test(value)

/** What does not look like a lane, or is of a sink that is not in `known`: perhaps another program wrote it. */
export function suspiciousIn(
  pairs: readonly (readonly [string, string])[],
  known: { has(sink: string): boolean },
): string[] {
  return pairs.flatMap(([name, value]) =>
    isLane(name) && isCount(value) && known.has(sinkOf(name)) ? [] : [name],
  )
}

/**
 * Removes those fields of `pending` that no commit wrote: nothing lies in the lane, and nothing was ever enqueued for its sink,
 * or the value is no number. Returns how many.
 */
export async function dropForeign(redis: Redis, keys: Keys, names: readonly string[]): Promise<number> {
  if (names.length === 0) return 0
  const places = names.flatMap((name) => [keys.lane(name), keys.sinkLedger(sinkOf(name))])
  return Number(await evaluate(redis, DROP, [keys.pending, ...places], [...names]))
}

const DROP = `
local dropped = 0
for i, name in ipairs(ARGV) do
  local entries = redis.pcall('XLEN', KEYS[2 * i])
  local counters = redis.pcall('HLEN', KEYS[2 * i + 1])
  local value = redis.call('HGET', KEYS[1], name)
  local isNumber = value and string.find(value, '^%-?%d+$')
  if entries == 0 and (counters == 0 or not isNumber) then
    dropped = dropped + redis.call('HDEL', KEYS[1], name)
  end
end
return dropped
`

const LANES_AT_ONCE = 200

/** Lane → when its oldest delivery was observed, in Unix milliseconds; lanes without one are left out. */
export async function oldestInLanes(
  redis: Redis,
  keys: Keys,
  lanes: readonly string[],
): Promise<Map<string, number>> {
  const oldest = new Map<string, number>()
  for (let start = 0; start < lanes.length; start += LANES_AT_ONCE) {
    const some = lanes.slice(start, start + LANES_AT_ONCE)
    const pipeline = redis.pipeline()
    for (const lane of some) pipeline.xrangeBuffer(keys.lane(lane), '-', '+', 'COUNT', 1)
    const replies = valuesOf(await pipeline.exec()) as [Buffer, Buffer[]][][]
    for (const [i, lane] of some.entries()) {
      const fields = replies[i]?.[0]?.[1]
      const ms = Number(fields && findField(fields, 't'))
      if (Number.isFinite(ms)) oldest.set(lane, ms)
    }
  }
  return oldest
}
