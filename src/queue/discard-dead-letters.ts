import type { Redis } from 'ioredis'
import { replayed, type StoredDeadLetter } from './dead-letters.ts'
import { encodeEntries } from './entry.ts'
import { IS_FOREIGN } from './foreign-keys.ts'
import type { Keys } from './keys.ts'
import { evaluate } from './script.ts'

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
  const gone = (await evaluate(redis, DISCARD, targets, [how, ...args])) as number[]
  return letters.filter((_, i) => gone[i] === 1)
}

/**
 * Moves a dead letter into a lane of the archive's sink, in one step: it counts as archived for its own sink, as enqueued for the
 * other one. False when it is gone already, or cannot be counted.
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
    ...[keys.deadLetters, keys.sinkLedger(letter.sink)],
    ...[keys.lane(lane), keys.pending, keys.sinkLedger(sink)],
  ]
  const args = [letter.id, lane, entry.observedAtMs, entry.payload]
  return (await evaluate(redis, ARCHIVE, targets, args)) === 1
}

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

/** The letter goes last: a refusal in between leaves one too many, never none. */
const ARCHIVE = `
${IS_FOREIGN}
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 0 end
for _, it in ipairs({ { KEYS[2], 'counters', 'discarded', 'archived' }, { KEYS[3], 'stream' },
  { KEYS[4], 'counters', ARGV[2] }, { KEYS[5], 'counters', 'enqueued' } }) do
  if isForeign(unpack(it)) then return 0 end
end
redis.call('XADD', KEYS[3], '*', 'n', 1, 't', ARGV[3], 'z', ARGV[4])
redis.call('HINCRBY', KEYS[4], ARGV[2], 1)
redis.call('HINCRBY', KEYS[5], 'enqueued', 1)
redis.call('HINCRBY', KEYS[2], 'discarded', 1)
redis.call('HINCRBY', KEYS[2], 'archived', 1)
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
`
