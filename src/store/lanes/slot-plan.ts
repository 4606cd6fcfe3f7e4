import { script } from '../redis/script.ts'

/**
 * Returns who owns each slot of one sink: fair, since numbers differ by one at most, and sticky, since an owner keeps what it
 * has up to its share. Every process computes the same from the same input. `workers` are those alive that have the sink,
 * `owners` the live owner of each slot; `rank` orders workers of equal claims.
 */
export function planSlots(
  workers: readonly string[],
  owners: readonly (string | undefined)[],
  rank: (worker: string) => number = () => 0,
): (string | undefined)[] {
  if (workers.length === 0) return owners.map(() => undefined)
  const owned = new Map(workers.map((worker) => [worker, 0]))
  for (const owner of owners) if (owner !== undefined && owned.has(owner)) add(owned, owner)
  const byClaim = workers.toSorted(
    (a, b) => (owned.get(b) ?? 0) - (owned.get(a) ?? 0) || rank(a) - rank(b) || (a < b ? -1 : 1),
  )
  const base = Math.floor(owners.length / workers.length)
  const extra = owners.length % workers.length
  const share = new Map(byClaim.map((worker, i) => [worker, i < extra ? base + 1 : base]))
  const given = new Map<string, number>()
  const hasRoom = (worker: string) => (given.get(worker) ?? 0) < (share.get(worker) ?? 0)
  const plan: (string | undefined)[] = owners.map(() => undefined)
  // Slots that lie side by side may be of one target: what an owner gives away is spread over its slots.
  const spread = owners.map((_, slot) => slot).toSorted((a, b) => reversed(a) - reversed(b))
  for (const slot of spread) {
    const owner = owners[slot]
    if (owner === undefined || !hasRoom(owner)) continue
    add(given, owner)
    plan[slot] = owner
  }
  for (const slot of spread) {
    const next = plan[slot] === undefined ? byClaim.find(hasRoom) : undefined
    if (next === undefined) continue
    add(given, next)
    plan[slot] = next
  }
  return plan
}

/** The bits of a slot's number in reverse: 0, 8, 4, 12 and so on come first. */
function reversed(slot: number): number {
  return Number.parseInt([...slot.toString(2).padStart(4, '0')].toReversed().join(''), 2)
}

function add(counts: Map<string, number>, worker: string): void {
  counts.set(worker, (counts.get(worker) ?? 0) + 1)
}

/** The worker that a token names. */
export function workerOf(token: string | null | undefined): string | undefined {
  return token?.includes(':') ? token.slice(0, token.indexOf(':')) : undefined
}

/**
 * Takes each slot only from the owner that was read, unless that owner wrote a heartbeat since. The HDEL changes nothing: a script that
 * has written may go on while Redis is full.
 */
export const TAKE = script(`
local layout = redis.call('GET', KEYS[2])
if layout and layout ~= ARGV[1] then return layout end
redis.call('HDEL', KEYS[1], '')
local first = 3 + 2 * tonumber(ARGV[2])
local beaten = {}
for i = 3, first - 1, 2 do
  beaten[ARGV[i]] = (redis.call('HGET', KEYS[3], ARGV[i]) or '') ~= ARGV[i + 1]
end
local taken, any = {}, false
for i = first, #ARGV, 3 do
  local owner = string.match(ARGV[i + 1], '^(.-):')
  local free = not (owner and beaten[owner]) and (redis.call('HGET', KEYS[1], ARGV[i]) or '') == ARGV[i + 1]
  if free then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    any = true
  end
  taken[#taken + 1] = free and 1 or 0
end
if any then redis.call('HINCRBY', KEYS[1], 'version', 1) end
return taken
`)

/** Releases slots whose token is still the given one, and removes the worker's heartbeat when one is named. */
export const RELEASE = script(`
local any = false
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    any = true
  end
end
if any then redis.call('HINCRBY', KEYS[1], 'version', 1) end
if ARGV[1] ~= '' then redis.call('HDEL', KEYS[2], ARGV[1]) end
return 1
`)
