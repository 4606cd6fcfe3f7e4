import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { encodeEntries } from '../entry.ts'
import type { Keys } from '../keys.ts'
import { evalScript } from '../redis/script.ts'
import type { StoredDeadLetter } from './dead-letters.ts'

/**
 * Lua: whether a key cannot be used as this kind. It asks by commands that fail
 * for other types, since TYPE may be forbidden to our user.
 */
export const IS_FOREIGN = `
local READS = { stream = 'XLEN', hash = 'HLEN', zset = 'ZCARD', counters = 'HMGET', counter = 'GET' }
local function isNumber(value)
  return not value or value == '0' or (#value <= 18 and string.find(value, '^%-?[1-9]%d*$') ~= nil)
end
local function isForeign(key, kind, ...)
  local reply = redis.pcall(READS[kind], key, ...)
  if type(reply) == 'table' and reply.err then return string.find(reply.err, 'WRONGTYPE', 1, true) ~= nil end
  if kind == 'counter' then return not isNumber(reply) end
  if kind ~= 'counters' then return false end
  for _, value in ipairs(reply) do if not isNumber(value) then return true end end
  return false
end
`

/** A dead letter that another program wrote, or that is damaged. */
export class NoLaneError extends Error {
  override name = 'NoLaneError'
}

/** What a retry of several dead letters came to. */
export interface Retried {
  count: number
  /** The sinks whose lanes got some. */
  sinks: ReadonlySet<string>
  /** The ids of those that do not name their lane: they can only be dropped. */
  refused: readonly string[]
}

/**
 * Puts dead letters back into their lanes, in the order given: with the oldest first, those of an object keep their order. Those that
 * are gone meanwhile are not counted.
 */
export async function retryDeadLetters(
  redis: Redis,
  keys: Keys,
  letters: AsyncIterable<StoredDeadLetter>,
): Promise<Retried> {
  let count = 0
  const sinks = new Set<string>()
  const refused: string[] = []
  for await (const letter of letters) {
    try {
      if (!(await retryDeadLetter(redis, keys, letter))) continue
      count++
      sinks.add(letter.sink)
    } catch (error) {
      if (!(error instanceof NoLaneError)) throw error
      refused.push(letter.id)
    }
  }
  return { count, sinks, refused }
}

/** Deletes dead letters for good. Returns how many. */
export async function dropDeadLetters(
  redis: Redis,
  keys: Keys,
  letters: AsyncIterable<StoredDeadLetter>,
): Promise<number> {
  let count = 0
  for await (const letter of letters) if (await dropDeadLetter(redis, keys, letter)) count++
  return count
}

/**
 * Puts it at the end of its lane, marked `replay`; what cannot be read as it is, since another version may read it. Its age counts
 * from now. False when it is gone already. Throws NoLaneError when it does not name its lane.
 */
export async function retryDeadLetter(redis: Redis, keys: Keys, letter: StoredDeadLetter): Promise<boolean> {
  const { id, sink, lane, delivery } = letter
  if (!lane.startsWith(`${sink}/`))
    throw new NoLaneError(`dead letter ${id} does not name its lane: it can only be dropped`)
  const [entry] = delivery
    ? encodeEntries([replayed(delivery)])
    : [{ observedAtMs: Date.now(), payload: letter.payload }]
  if (!entry) return false
  const targets = [keys.deadLetters, keys.lane(lane), keys.pending, keys.sinkLedger(sink)]
  const about = [id, lane, entry.observedAtMs, entry.payload, letter.count]
  return (await evalScript(redis, RETRY, targets, about)) === 1
}

/** The delivery as it is enqueued again, for its sink or another one. */
function replayed(delivery: Delivery, sink = delivery.sink): Delivery {
  return { ...delivery, sink, replay: true, releasedAt: new Date().toISOString() }
}

/** Deletes it. The ledger keeps it among the dead, and among the discarded. */
export async function dropDeadLetter(redis: Redis, keys: Keys, letter: StoredDeadLetter): Promise<boolean> {
  const targets = [keys.deadLetters, keys.sinkLedger(letter.sink)]
  // What names no sink was never counted.
  const count = letter.sink === '' ? 0 : letter.count
  return (await evalScript(redis, DROP, targets, [letter.id, count])) === 1
}

/** The letter goes last: a refusal in between leaves one too many, never none. */
const RETRY = `
${IS_FOREIGN}
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 0 end
for _, it in ipairs({ { KEYS[2], 'stream' }, { KEYS[3], 'counters', ARGV[2] }, { KEYS[4], 'counters', 'dead', 'retried' } }) do
  if isForeign(unpack(it)) then return redis.error_reply('WRONGTYPE ' .. it[1]) end
end
redis.call('XADD', KEYS[2], '*', 'n', ARGV[5], 't', ARGV[3], 'z', ARGV[4])
redis.call('HINCRBY', KEYS[3], ARGV[2], ARGV[5])
redis.call('HINCRBY', KEYS[4], 'dead', -ARGV[5])
redis.call('HINCRBY', KEYS[4], 'retried', ARGV[5])
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
`

const DROP = `
${IS_FOREIGN}
if ARGV[2] ~= '0' and isForeign(KEYS[2], 'counters', 'discarded') then return redis.error_reply('WRONGTYPE ' .. KEYS[2]) end
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
if ARGV[2] ~= '0' then redis.call('HINCRBY', KEYS[2], 'discarded', ARGV[2]) end
return 1
`

/** Why a dead letter beyond the bounds was deleted, as the ledger counts it. */
export type Discarded = 'archived' | 'dropped'

/**
 * Deletes dead letters, and counts them in the ledger of their sinks. Returns those that it deleted: not what is gone already, nor
 * what cannot be counted because another program took the ledger's key.
 */
export async function discardDeadLetters(
  redis: Redis,
  keys: Keys,
  letters: readonly StoredDeadLetter[],
  how: Discarded,
): Promise<StoredDeadLetter[]> {
  if (letters.length === 0) return []
  const sinks = [...new Set(letters.map(({ sink }) => sink))]
  const targets = [keys.deadLetters, ...sinks.map(keys.sinkLedger)]
  // What names no sink was never counted.
  const args = letters.flatMap(({ id, sink, count }) => [
    id,
    sinks.indexOf(sink) + 2,
    sink === '' ? 0 : count,
  ])
  const gone = (await evalScript(redis, DISCARD, targets, [how, ...args])) as number[]
  return letters.filter((_, i) => gone[i] === 1)
}

/** Returns those that `discardDeadLetters` can count: not those of a sink whose ledger another program took. */
export async function countableDeadLetters(
  redis: Redis,
  keys: Keys,
  letters: readonly StoredDeadLetter[],
  how: Discarded,
): Promise<StoredDeadLetter[]> {
  const sinks = [...new Set(letters.map(({ sink }) => sink))]
  const isForeign = (await evalScript(redis, FOREIGN_LEDGERS, sinks.map(keys.sinkLedger), [how])) as number[]
  return letters.filter(({ sink }) => sink === '' || isForeign[sinks.indexOf(sink)] === 0)
}

/**
 * Moves a dead letter into a lane of the archive's sink, in one step: it counts as archived for its own sink, as enqueued for the
 * other one. False when it is gone already, or cannot be counted. Fails if another program took a key of the archive.
 */
export async function archiveToLane(
  redis: Redis,
  keys: Keys,
  letter: StoredDeadLetter & { delivery: NonNullable<StoredDeadLetter['delivery']> },
  { sink, lane }: { sink: string; lane: string },
): Promise<boolean> {
  const [entry] = encodeEntries([replayed(letter.delivery, sink)])
  if (!entry) return false
  const targets = [
    keys.deadLetters,
    keys.sinkLedger(letter.sink),
    keys.lane(lane),
    keys.pending,
    keys.sinkLedger(sink),
  ]
  const args = [letter.id, lane, entry.observedAtMs, entry.payload]
  return (await evalScript(redis, ARCHIVE, targets, args)) === 1
}

const FOREIGN_LEDGERS = `
${IS_FOREIGN}
local results = {}
for i, ledger in ipairs(KEYS) do results[i] = isForeign(ledger, 'counters', 'discarded', ARGV[1]) and 1 or 0 end
return results
`

const DISCARD = `
${IS_FOREIGN}
local gone = {}
for i = 2, #ARGV, 3 do
  local ledger, count = KEYS[tonumber(ARGV[i + 1])], ARGV[i + 2]
  local isGone = 0
  if count == '0' or not isForeign(ledger, 'counters', 'discarded', ARGV[1]) then
    isGone = redis.call('XDEL', KEYS[1], ARGV[i])
    if isGone == 1 and count ~= '0' then
      redis.call('HINCRBY', ledger, 'discarded', count)
      redis.call('HINCRBY', ledger, ARGV[1], count)
    end
  end
  gone[#gone + 1] = isGone
end
return gone
`

/**
 * The letter goes last: a refusal in between leaves one too many, never none. The first XDEL changes nothing: a script that has written
 * may go on while Redis is full.
 */
const ARCHIVE = `
${IS_FOREIGN}
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 0 end
if isForeign(KEYS[2], 'counters', 'discarded', 'archived') then return 0 end
for _, it in ipairs({ { KEYS[3], 'stream' }, { KEYS[4], 'counters', ARGV[2] }, { KEYS[5], 'counters', 'enqueued' } }) do
  if isForeign(unpack(it)) then return redis.error_reply('WRONGTYPE ' .. it[1]) end
end
redis.call('XDEL', KEYS[1], '0-0')
redis.call('XADD', KEYS[3], '*', 'n', 1, 't', ARGV[3], 'z', ARGV[4])
redis.call('HINCRBY', KEYS[4], ARGV[2], 1)
redis.call('HINCRBY', KEYS[5], 'enqueued', 1)
redis.call('HINCRBY', KEYS[2], 'discarded', 1)
redis.call('HINCRBY', KEYS[2], 'archived', 1)
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
`
