import type { Redis } from 'ioredis'
import type { Reason } from '../sink/index.ts'
import { IS_FOREIGN } from './foreign-keys.ts'
import type { Keys } from './keys.ts'
import { LAYOUT, LayoutChangedError } from './layout.ts'

/** What one batch of a lane came to. */
export interface Settlement {
  sink: string
  lane: string
  /** Entries of which nothing is left. */
  finished: readonly string[]
  /** Entry id → places of its settled deliveries, as `encodePlaces` writes them. */
  partial: ReadonlyMap<string, string>
  /** Field of the progress hash → tries; 0 forgets it. */
  tries: ReadonlyMap<string, number>
  /** What becomes of the note since when, and when last, the lane failed: kept as it is, taken away, or written. */
  failing: 'keep' | 'over' | { sinceMs: number; lastMs: number }
  delivered: number
  dead: readonly DeadLetter[]
}

/** Why a delivery was given up: what the sink said, or that what Redis has cannot be read. */
export type DeadReason = Reason | 'unreadable'

export interface DeadLetter {
  rule: string
  reason: DeadReason
  /** At most 2 KiB, no secrets. */
  detail: string
  atMs: number
  /** A lane entry with this one delivery; of one that cannot be read, its bytes as they are. */
  payload: Buffer
  /** How many deliveries it stands for: more than one only where nothing of the entry can be read. */
  count: number
}

/**
 * Makes a settlement durable in one script. It holds only while `token` is the lane's owner, and replaces it by
 * `nextToken`: a worker that lost its lane settles nothing, and a script that is sent twice counts once.
 */
export async function settle(
  redis: Redis,
  keys: Keys,
  settlement: Settlement,
  token: string,
  nextToken: string,
): Promise<'settled' | 'fenced'> {
  const { sink, lane, finished, partial, tries, failing, delivered, dead } = settlement
  const done = await evaluate(
    redis,
    SETTLE,
    [
      keys.owner(lane),
      keys.lane(lane),
      keys.progress(lane),
      keys.pending,
      keys.sinkLedger(sink),
      keys.deadLetters,
      keys.schema,
    ],
    [
      token,
      nextToken,
      lane,
      sink,
      delivered,
      typeof failing === 'object' ? failing.sinceMs : failing,
      typeof failing === 'object' ? failing.lastMs : '',
      ...counted(finished),
      ...counted([...partial].flat()),
      ...counted([...tries].flat().map(String)),
      ...counted(
        dead.flatMap(({ rule, reason, detail, atMs, payload, count }) => [
          rule,
          reason,
          detail,
          atMs,
          payload,
          count,
        ]),
      ),
      LAYOUT,
    ],
  )
  if (typeof done === 'string') throw new LayoutChangedError(done)
  return done === 1 ? 'settled' : 'fenced'
}

type Argument = string | number | Buffer

function counted(values: readonly Argument[]): Argument[] {
  return [values.length, ...values]
}

/** Sends the text of the script: EVALSHA would have to be repeated after a SCRIPT FLUSH. */
export function evaluate(
  redis: Redis,
  script: string,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  return redis.eval(script, keys.length, ...keys, ...args)
}

/** Takes a lane's turn: whoever had it settles nothing any more. */
export async function claim(redis: Redis, keys: Keys, lane: string, token: string): Promise<void> {
  const other = await evaluate(redis, CLAIM, [keys.owner(lane), keys.schema], [token, LAYOUT])
  if (other !== 1) throw new LayoutChangedError(other)
}

const CLAIM = `
local layout = redis.call('GET', KEYS[2])
if layout and layout ~= ARGV[2] then return layout end
redis.call('SET', KEYS[1], ARGV[1])
return 1
`

/**
 * A refusal in the middle (rights that were taken away) leaves nothing counted: what is not the same when it is repeated
 * is undone.
 */
const SETTLE = `
${IS_FOREIGN}
local layout = redis.call('GET', KEYS[7])
if layout and layout ~= ARGV[#ARGV] then return layout end
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[2] then return 1 end
if owner ~= ARGV[1] then return 0 end
local lane, sink, delivered = ARGV[3], ARGV[4], tonumber(ARGV[5])
for _, it in ipairs({
  { KEYS[2], 'stream' }, { KEYS[3], 'hash' }, { KEYS[4], 'counters', lane },
  { KEYS[5], 'counters', 'delivered', 'dead' }, { KEYS[6], 'stream' }
}) do
  if isForeign(unpack(it)) then return redis.error_reply('WRONGTYPE ' .. it[1]) end
end
local failing = ARGV[6]
if failing == 'over' then redis.call('HDEL', KEYS[3], 'failing', 'failed')
elseif failing ~= 'keep' then redis.call('HSET', KEYS[3], 'failing', failing, 'failed', ARGV[7]) end
local at = 8
local function list()
  local n = tonumber(ARGV[at])
  local values = {}
  for i = 1, n do values[i] = ARGV[at + i] end
  at = at + n + 1
  return values
end
for _, id in ipairs(list()) do
  redis.call('XDEL', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
end
local partial = list()
for i = 1, #partial, 2 do redis.call('HSET', KEYS[3], partial[i], partial[i + 1]) end
local tries = list()
for i = 1, #tries, 2 do
  if tries[i + 1] == '0' then redis.call('HDEL', KEYS[3], tries[i]) else redis.call('HSET', KEYS[3], tries[i], tries[i + 1]) end
end
local letters = list()
local dead = 0
local writes = {}
for i = 1, #letters, 6 do
  dead = dead + tonumber(letters[i + 5])
  writes[#writes + 1] = { 'XADD', KEYS[6], '*', 'sink', sink, 'lane', lane, 'rule', letters[i], 'reason', letters[i + 1],
    'detail', letters[i + 2], 'at', letters[i + 3], 'z', letters[i + 4], 'n', letters[i + 5] }
end
if delivered > 0 then writes[#writes + 1] = { 'HINCRBY', KEYS[5], 'delivered', delivered } end
if dead > 0 then writes[#writes + 1] = { 'HINCRBY', KEYS[5], 'dead', dead } end
if delivered + dead > 0 then writes[#writes + 1] = { 'HINCRBY', KEYS[4], lane, -(delivered + dead) } end
writes[#writes + 1] = { 'SET', KEYS[1], ARGV[2] }
local ids = {}
for i, write in ipairs(writes) do
  local reply = redis.pcall(unpack(write))
  if type(reply) == 'table' and reply.err then
    for j = i - 1, 1, -1 do
      if writes[j][1] == 'XADD' then redis.call('XDEL', KEYS[6], ids[j])
      else redis.call('HINCRBY', writes[j][2], writes[j][3], -writes[j][4]) end
    end
    return reply
  end
  ids[i] = reply
end
return 1
`
