import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import { recordsIn } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'

/** The last record that was read of each stream, deliveries and suppressed events: `ENTRY.INDEX`, its records counted from the oldest. */
export type Position = readonly [deliveries: string, suppressed: string]

/** A record with its place in one of both streams. */
export interface Placed {
  record: HistoryRecord
  stream: 0 | 1
  place: string
}

/** Before all entries. */
const BEGIN = '0-0.0'
const POSITION = /^(\d{1,16}-\d{1,16}\.\d{1,9})~(\d{1,16}-\d{1,16}\.\d{1,9})$/

export function readPosition(text: string): Position | undefined {
  const [, deliveries, suppressed] = POSITION.exec(text) ?? []
  return deliveries !== undefined && suppressed !== undefined ? [deliveries, suppressed] : undefined
}

export function writePosition(position: Position): string {
  return position.join('~')
}

/** Entries of one read: a script that acknowledges may put hundreds of records into one. */
const PAGE = 50

/**
 * Returns the next records of both streams in their order; `isMore` if there are more behind them, `tookMs` is the time that the process took to
 * unpack them.
 */
export async function readForward(
  redis: Redis,
  keys: Keys,
  from: Position,
): Promise<{ placed: Placed[]; isMore: boolean; tookMs: number }> {
  const [deliveries, suppressed] = await Promise.all([
    rowsFrom(redis, keys.history, from[0]),
    rowsFrom(redis, keys.suppressed, from[1]),
  ])
  const startMs = performance.now()
  const placed = inOrder(placedIn(deliveries, 0, from[0]), placedIn(suppressed, 1, from[1]))
  const isMore = deliveries.length === PAGE || suppressed.length === PAGE
  return { placed, isMore, tookMs: performance.now() - startMs }
}

/** Merges two lists by time. */
function inOrder(a: readonly Placed[], b: readonly Placed[]): Placed[] {
  const placed: Placed[] = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    const [one, other] = [a[i], b[j]]
    const isFirst = one !== undefined && (other === undefined || one.record.atMs <= other.record.atMs)
    const next = isFirst ? one : other
    if (!next) break
    if (isFirst) i++
    else j++
    placed.push(next)
  }
  return placed
}

/** The position behind a record, or after several of them. */
export function positionAfter(from: Position, placed: readonly Placed[]): Position {
  const position: [string, string] = [...from]
  for (const { stream, place } of placed) position[stream] = place
  return position
}

/** Whether a record is at a position, or before it. */
export function isBefore({ stream, place }: Placed, position: Position): boolean {
  return comparePlaces(place, position[stream]) <= 0
}

type Row = [id: Buffer, fields: Buffer[]]

function rowsFrom(redis: Redis, key: string, from: string): Promise<Row[]> {
  const [entry = ''] = from.split('.')
  return redis.xrangeBuffer(key, entry, '+', 'COUNT', PAGE)
}

/** The records behind a place. */
function placedIn(rows: readonly Row[], stream: 0 | 1, from: string): Placed[] {
  const [entry = '', index = '0'] = from.split('.')
  return rows.flatMap(([id, fields]) => {
    const name = id.toString()
    const records = recordsIn(fields).toReversed()
    const places = records.map((record, i): Placed => ({ record, stream, place: `${name}.${i}` }))
    return name === entry ? places.slice(Number(index) + 1) : places
  })
}

/** Returns the position behind everything that there is. */
export async function newestPosition(redis: Redis, keys: Keys): Promise<Position> {
  const [deliveries, suppressed] = await Promise.all(
    [keys.history, keys.suppressed].map(async (key) => {
      const [row] = await redis.xrevrange(key, '+', '-', 'COUNT', 1)
      // The index of its last record is not known, and none is larger.
      return row ? `${row[0]}.999999999` : BEGIN
    }),
  )
  return [deliveries ?? BEGIN, suppressed ?? BEGIN]
}

/** Whether something behind a position may have been removed. */
export async function isTrimmed(redis: Redis, keys: Keys, position: Position): Promise<boolean> {
  const firsts = await Promise.all(
    [keys.history, keys.suppressed].map(
      async (key) => (await redis.xrange(key, '-', '+', 'COUNT', 1))[0]?.[0],
    ),
  )
  return firsts.some((first, i) => {
    const place = position[i] ?? BEGIN
    if (place.startsWith('0-0.')) return false
    return first === undefined || compareIds(place.split('.')[0] ?? '', first) < 0
  })
}

function comparePlaces(a: string, b: string): number {
  const [idA = '', indexA] = a.split('.')
  const [idB = '', indexB] = b.split('.')
  return compareIds(idA, idB) || Number(indexA) - Number(indexB)
}

function compareIds(a: string, b: string): number {
  const [msA, countA] = a.split('-').map(Number)
  const [msB, countB] = b.split('-').map(Number)
  return (msA ?? 0) - (msB ?? 0) || (countA ?? 0) - (countB ?? 0)
}
