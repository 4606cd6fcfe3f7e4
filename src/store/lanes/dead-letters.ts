import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import { decodeEntry, encodeEntries, UnreadableEntryError } from './entry.ts'
import { IS_FOREIGN } from './foreign-keys.ts'
import type { Keys } from './keys.ts'
import { countIn, findField } from './lane-reader.ts'
import { evaluate } from './script.ts'

/** A delivery that was given up, kept until somebody retries or drops it. */
export interface StoredDeadLetter {
  id: string
  sink: string
  lane: string
  rule: string
  reason: string
  detail: string
  atMs: number
  /** How many deliveries it stands for: more than one where nothing of their entry could be read. */
  count: number
  /** Undefined where it cannot be read. */
  delivery: Delivery | undefined
  /** What is stored of it. */
  payload: Buffer
}

/** A dead letter that another program wrote, or that is damaged. */
export class NoLaneError extends Error {
  override name = 'NoLaneError'
}

const PAGE = 200

/** Newest first. */
export async function* listDeadLetters(
  redis: Redis,
  keys: Keys,
  sink?: string,
): AsyncGenerator<StoredDeadLetter> {
  let end = '+'
  for (;;) {
    const rows = await redis.xrevrangeBuffer(keys.deadLetters, end, '-', 'COUNT', PAGE)
    for (const [id, fields] of rows) {
      const letter = letterOf(id.toString(), fields)
      if (sink === undefined || letter.sink === sink) yield letter
    }
    const last = rows.at(-1)
    if (rows.length < PAGE || !last) return
    end = `(${last[0].toString()}`
  }
}

/** So few at once may be as large as they can be. */
const LARGE_PAGE = 20

/** The oldest first, without those that are made meanwhile. They may be removed while they are read. */
export async function* deadLettersByAge(
  redis: Redis,
  keys: Keys,
  sink?: string,
): AsyncGenerator<StoredDeadLetter> {
  const [newest] = await redis.xrevrange(keys.deadLetters, '+', '-', 'COUNT', 1)
  if (!newest) return
  let start = '-'
  for (;;) {
    const rows = await redis.xrangeBuffer(keys.deadLetters, start, newest[0], 'COUNT', LARGE_PAGE)
    for (const [id, fields] of rows) {
      const letter = letterOf(id.toString(), fields)
      if (sink === undefined || letter.sink === sink) yield letter
    }
    const last = rows.at(-1)
    if (rows.length < LARGE_PAGE || !last) return
    start = `(${last[0].toString()}`
  }
}

/** The oldest after an id, or all from `-` on, each with the bytes of its fields. */
export async function oldestDeadLetters(
  redis: Redis,
  keys: Keys,
  start: string,
  count: number,
): Promise<{ letter: StoredDeadLetter; bytes: number }[]> {
  const rows = await redis.xrangeBuffer(keys.deadLetters, start, '+', 'COUNT', count)
  return rows.map(([id, fields]) => ({
    letter: letterOf(id.toString(), fields),
    bytes: fields.reduce((sum, field, i) => sum + (i % 2 === 1 ? field.length : 0), 0),
  }))
}

export async function findDeadLetter(
  redis: Redis,
  keys: Keys,
  id: string,
): Promise<StoredDeadLetter | undefined> {
  const [row] = await redis.xrangeBuffer(keys.deadLetters, id, id)
  return row && letterOf(row[0].toString(), row[1])
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
  return (await evaluate(redis, RETRY, targets, about)) === 1
}

/** The delivery as it is enqueued again, for its sink or another one. */
export function replayed(delivery: Delivery, sink = delivery.sink): Delivery {
  return { ...delivery, sink, replay: true, releasedAt: new Date().toISOString() }
}

/** Deletes it. The ledger keeps it among the dead, and among the discarded. */
export async function dropDeadLetter(redis: Redis, keys: Keys, letter: StoredDeadLetter): Promise<boolean> {
  const targets = [keys.deadLetters, keys.sinkLedger(letter.sink)]
  // What names no sink was never counted.
  const count = letter.sink === '' ? 0 : letter.count
  return (await evaluate(redis, DROP, targets, [letter.id, count])) === 1
}

/** Never throws for what is stored. */
function letterOf(id: string, fields: readonly Buffer[]): StoredDeadLetter {
  const text = (name: string) => findField(fields, name)?.toString() ?? ''
  const payload = findField(fields, 'z') ?? Buffer.alloc(0)
  const atMs = Number(text('at'))
  const isTime = text('at') !== '' && Math.abs(atMs) <= MAX_TIME_MS
  const { delivery, fault } = deliveryIn(payload)
  return {
    id,
    sink: text('sink'),
    lane: text('lane'),
    rule: text('rule'),
    reason: text('reason'),
    detail: text('detail') || (fault ?? ''),
    atMs: isTime ? atMs : Number.parseInt(id, 10),
    count: countIn(fields) ?? 1,
    delivery,
    payload,
  }
}

/** The latest time that a Date can hold. */
const MAX_TIME_MS = 8.64e15

function deliveryIn(payload: Buffer): { delivery?: Delivery; fault?: string } {
  try {
    const [delivery, ...more] = decodeEntry(payload)
    return delivery && more.length === 0 ? { delivery } : { fault: 'it holds more than one delivery' }
  } catch (error) {
    if (error instanceof UnreadableEntryError) return { fault: error.message }
    throw error
  }
}

/** The letter goes last: a refusal in between leaves one too many, never none. */
const RETRY = `
${IS_FOREIGN}
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 0 end
for _, it in ipairs({ { KEYS[2], 'stream' }, { KEYS[3], 'counters', ARGV[2] }, { KEYS[4], 'counters', 'dead' } }) do
  if isForeign(unpack(it)) then return redis.error_reply('WRONGTYPE ' .. it[1]) end
end
redis.call('XADD', KEYS[2], '*', 'n', ARGV[5], 't', ARGV[3], 'z', ARGV[4])
redis.call('HINCRBY', KEYS[3], ARGV[2], ARGV[5])
redis.call('HINCRBY', KEYS[4], 'dead', -ARGV[5])
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
`

const DROP = `
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
if ARGV[2] ~= '0' then redis.call('HINCRBY', KEYS[2], 'discarded', ARGV[2]) end
return 1
`
