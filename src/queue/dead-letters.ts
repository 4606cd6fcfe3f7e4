import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import { decodeEntry, encodeEntries } from './entry.ts'
import type { Keys } from './keys.ts'
import { fieldOf } from './lane-batch.ts'
import { evaluate } from './settle.ts'

/** A delivery that was given up, kept until somebody retries or drops it. */
export interface StoredDeadLetter {
  id: string
  sink: string
  lane: string
  rule: string
  reason: string
  detail: string
  atMs: number
  delivery: Delivery
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

export async function findDeadLetter(
  redis: Redis,
  keys: Keys,
  id: string,
): Promise<StoredDeadLetter | undefined> {
  const [row] = await redis.xrangeBuffer(keys.deadLetters, id, id)
  return row && letterOf(row[0].toString(), row[1])
}

/** Puts it at the end of its lane, marked `replay`. False when it is gone already. */
export async function retryDeadLetter(redis: Redis, keys: Keys, letter: StoredDeadLetter): Promise<boolean> {
  const [entry] = encodeEntries([{ ...letter.delivery, replay: true }])
  if (!entry) return false
  const targets = [keys.deadLetters, keys.lane(letter.lane), keys.pending, keys.sinkLedger(letter.sink)]
  return (
    (await evaluate(redis, RETRY, targets, [letter.id, letter.lane, entry.observedAtMs, entry.payload])) === 1
  )
}

/** Deletes it. The ledger keeps it among the dead, and among the discarded. */
export async function dropDeadLetter(redis: Redis, keys: Keys, letter: StoredDeadLetter): Promise<boolean> {
  return (await evaluate(redis, DROP, [keys.deadLetters, keys.sinkLedger(letter.sink)], [letter.id])) === 1
}

function letterOf(id: string, fields: readonly Buffer[]): StoredDeadLetter {
  const text = (name: string) => fieldOf(fields, name).toString()
  const [delivery] = decodeEntry(fieldOf(fields, 'z'))
  if (!delivery) throw new Error(`dead letter ${id} is empty`)
  return {
    id,
    sink: text('sink'),
    lane: text('lane'),
    rule: text('rule'),
    reason: text('reason'),
    detail: text('detail'),
    atMs: Number(text('at')),
    delivery,
  }
}

const RETRY = `
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', 'n', 1, 't', ARGV[3], 'z', ARGV[4])
redis.call('HINCRBY', KEYS[3], ARGV[2], 1)
redis.call('HINCRBY', KEYS[4], 'dead', -1)
return 1
`

const DROP = `
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[2], 'discarded', 1)
return 1
`
