import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { measureStreams } from '../bounds/lane-sizes.ts'
import { encodeEntries } from '../entry.ts'
import { type Keys, sinkOf } from '../keys.ts'
import { LAYOUT, LayoutChangedError } from '../redis/layout.ts'
import { parseInfo } from '../redis/requirements.ts'
import { scanHash } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'
import { IS_FOREIGN } from './dead-letter-actions.ts'
import { lanesIn } from './register.ts'

/** The part of `maxmemory` up to which dead letters are enqueued again. Watches pause at 80 %. */
const MOST_MEMORY = 0.7
/** The part of a sink's bound in bytes up to which its dead letters are enqueued again. Beyond the bound the oldest deliveries become dead letters. */
const MOST_OF_BOUND = 0.25
const MOST_WAITING = 1_000

/** Why nothing more should be enqueued for a sink at the moment: other deliveries wait for it, or Redis has little memory left. */
export type NoRoom = { kind: 'queue'; waiting: number } | { kind: 'memory'; usedPercent: number }

/**
 * Returns whether deliveries that nobody waits for may be enqueued: undefined if they take no room from others. `maxBytesOf`: the
 * sink's bound in bytes for a `maxmemory`, which is 0 where Redis has no limit.
 */
export async function noRoomFor(
  redis: Redis,
  keys: Keys,
  sink: string,
  maxBytesOf: (maxmemory: number) => number,
): Promise<NoRoom | undefined> {
  const info = parseInfo(await redis.info('memory'))
  const maxmemory = Number(info['maxmemory'] ?? 0)
  const used = maxmemory === 0 ? 0 : Number(info['used_memory'] ?? 0) / maxmemory
  if (used > MOST_MEMORY) return { kind: 'memory', usedPercent: Math.round(used * 100) }
  const lanes = new Map<string, number>()
  for await (const page of scanHash(redis, keys.pending))
    for (const [lane, count] of lanesIn(page)) if (sinkOf(lane) === sink && count > 0) lanes.set(lane, count)
  const waiting = lanes.values().reduce((sum, count) => sum + count, 0)
  if (waiting === 0) return undefined
  const sizes = await measureStreams(redis, [...lanes.keys()].map(keys.lane))
  const bytes = sizes.values().reduce((sum, it) => sum + it.bytes, 0)
  const isFull = waiting > MOST_WAITING || bytes > maxBytesOf(maxmemory) * MOST_OF_BOUND
  return isFull ? { kind: 'queue', waiting } : undefined
}

/**
 * Puts deliveries of one sink at the end of their lanes, all or none, and counts them as enqueued. Their order within a lane stays.
 * Throws LayoutChangedError, and an error that names the key where another program has taken one.
 */
export async function enqueueAgain(
  redis: Redis,
  keys: Keys,
  sink: string,
  lanes: ReadonlyMap<string, readonly Delivery[]>,
): Promise<void> {
  const targets = [keys.schema, keys.pending, keys.sinkLedger(sink)]
  const args: (string | number | Buffer)[] = [LAYOUT, lanes.size]
  for (const [lane, deliveries] of lanes) {
    const entries = encodeEntries(deliveries)
    targets.push(keys.lane(lane))
    args.push(lane, deliveries.length, entries.length)
    for (const { count, observedAtMs, payload } of entries) args.push(count, observedAtMs, payload)
  }
  const stored = await evalScript(redis, ENQUEUE, targets, args)
  if (stored !== 1) throw new LayoutChangedError(stored)
}

/** Keys of another type, and counters with text in them, are found before the first write. */
const REFUSE_FOREIGN = `
${IS_FOREIGN}
local function refused(...)
  if isForeign(...) then return redis.error_reply('WRONGTYPE ' .. select(1, ...)) end
end
local refusal = refused(KEYS[2], 'hash') or refused(KEYS[3], 'counters', 'enqueued')
if refusal then return refusal end
`

const ENQUEUE = `
local layout = redis.call('GET', KEYS[1])
if layout ~= ARGV[1] then return layout or 'none' end
${REFUSE_FOREIGN}
local at = 3
for i = 1, tonumber(ARGV[2]) do
  refusal = refused(KEYS[3 + i], 'stream') or refused(KEYS[2], 'counters', ARGV[at])
  if refusal then return refusal end
  at = at + 3 + 3 * tonumber(ARGV[at + 2])
end
at = 3
for i = 1, tonumber(ARGV[2]) do
  local lane, count, entries = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  at = at + 3
  for _ = 1, entries do
    redis.call('XADD', KEYS[3 + i], '*', 'n', ARGV[at], 't', ARGV[at + 1], 'z', ARGV[at + 2])
    at = at + 3
  end
  redis.call('HINCRBY', KEYS[2], lane, count)
  redis.call('HINCRBY', KEYS[3], 'enqueued', count)
end
return 1
`

/** The present state of an object, for a sink. */
export interface CurrentState {
  lane: string
  delivery: Delivery
  /** Sources that may have the object in their index: none where nothing has watched it. */
  sources: readonly string[]
}

/**
 * Puts present states of objects at the end of their lanes, each only if no newer one of the object can be in there: the index of a source
 * has this version of the object, or an older one. An object that the indexes do not have is deleted, or its ADDED follows. Returns how many
 * were enqueued. Throws as `enqueueAgain` does.
 */
export async function enqueueCurrent(
  redis: Redis,
  keys: Keys,
  sink: string,
  states: readonly CurrentState[],
): Promise<number> {
  const targets = [keys.schema, keys.pending, keys.sinkLedger(sink)]
  const placeOf = placesIn(targets)
  const args: (string | number | Buffer)[] = [LAYOUT]
  for (const { lane, delivery, sources } of states) {
    const [entry] = encodeEntries([delivery])
    if (!entry) continue
    const { uid, resourceVersion } = delivery.event
    args.push(placeOf(keys.lane(lane)), lane, entry.observedAtMs, entry.payload, uid, resourceVersion)
    args.push(sources.map((source) => placeOf(keys.index(source))).join(','))
  }
  const result = await evalScript(redis, ENQUEUE_CURRENT, targets, args)
  if (typeof result !== 'number') throw new LayoutChangedError(result)
  return result
}

/** Returns the function that gives the place of a key among KEYS, and adds it. */
function placesIn(targets: string[]): (key: string) => number {
  const places = new Map<string, number>()
  return (key) => {
    const place = places.get(key) ?? targets.push(key)
    places.set(key, place)
    return place
  }
}

/** Versions of etcd are whole numbers without leading zeros; others cannot be compared. */
const ENQUEUE_CURRENT = `
local layout = redis.call('GET', KEYS[1])
if layout ~= ARGV[1] then return layout or 'none' end
${REFUSE_FOREIGN}
for i = 2, #ARGV, 7 do
  refusal = refused(KEYS[tonumber(ARGV[i])], 'stream') or refused(KEYS[2], 'counters', ARGV[i + 1])
  for place in string.gmatch(ARGV[i + 6], '%d+') do refusal = refusal or refused(KEYS[tonumber(place)], 'hash') end
  if refusal then return refusal end
end
local function isNewer(one, other)
  if string.find(one .. other, '%D') then return false end
  return #one > #other or (#one == #other and one > other)
end
local function mayGo(uid, version, places)
  if places == '' then return true end
  for place in string.gmatch(places, '%d+') do
    local entry = redis.call('HGET', KEYS[tonumber(place)], uid)
    local known = entry and string.match(entry, '\\n([^\\n]*)$')
    if known then return not isNewer(known, version) end
  end
  return false
end
local enqueued = 0
for i = 2, #ARGV, 7 do
  if mayGo(ARGV[i + 4], ARGV[i + 5], ARGV[i + 6]) then
    redis.call('XADD', KEYS[tonumber(ARGV[i])], '*', 'n', 1, 't', ARGV[i + 2], 'z', ARGV[i + 3])
    redis.call('HINCRBY', KEYS[2], ARGV[i + 1], 1)
    enqueued = enqueued + 1
  end
end
if enqueued > 0 then redis.call('HINCRBY', KEYS[3], 'enqueued', enqueued) end
return enqueued
`
