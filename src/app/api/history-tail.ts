import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import { recordsIn } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'
import type { WorkClock } from './work-share.ts'

/** The last record that was read of each stream, deliveries and suppressed events: `ENTRY.INDEX`, its records counted from the oldest. */
export type Position = readonly [deliveries: string, suppressed: string]

/** A record with its place in one of both streams. */
export interface Placed {
  record: HistoryRecord
  stream: 0 | 1
  place: string
  /** JSON of the record, kept from when it was first sent. */
  json?: string
}

/** Before all entries. */
const BEGIN = '0-0.0'
/** No index of a record is larger: behind all of an entry. */
const LAST = 999_999_999
const POSITION = /^(\d{1,16}-\d{1,16}\.\d{1,9})~(\d{1,16}-\d{1,16}\.\d{1,9})$/

export function readPosition(text: string): Position | undefined {
  const [, deliveries, suppressed] = POSITION.exec(text) ?? []
  return deliveries !== undefined && suppressed !== undefined ? [deliveries, suppressed] : undefined
}

export function writePosition(position: Position): string {
  return position.join('~')
}

/** Entries of one read: a script that acknowledges may put hundreds of records into one. */
const MOST_ENTRIES = 50
/** Records of one read; an entry is read as a whole. */
const MOST_RECORDS = 1_000

/** A part of one stream: all records behind a place, up to another one. */
interface Page {
  from: string
  to: string
  placed: readonly Placed[]
  /** There may be more behind it. */
  isMore: boolean
  /** The entry of `from` is not in the stream: what came behind it may have been removed, too. */
  isCut: boolean
}

/** Records of both streams in their order. */
interface Forward {
  placed: Placed[]
  /** The position behind them, and behind entries that have none. */
  end: Position
  isMore: boolean
}

/** Returns the next records of both streams. */
export async function readForward(
  redis: Redis,
  keys: Keys,
  from: Position,
  clock: WorkClock,
): Promise<Forward> {
  const deliveries = await readPage(redis, keys, 0, from[0], clock)
  return inOrder(deliveries, await readPage(redis, keys, 1, from[1], clock))
}

/** Reads the next records of a stream, and unpacks them in slices. */
async function readPage(
  redis: Redis,
  keys: Keys,
  stream: 0 | 1,
  from: string,
  clock: WorkClock,
): Promise<Page> {
  const [entry = '', index = ''] = from.split('.')
  const key = stream === 0 ? keys.history : keys.suppressed
  const rows = await clock.wait(redis.xrangeBuffer(key, entry, '+', 'COUNT', MOST_ENTRIES))
  const placed: Placed[] = []
  let [to, unpacked] = [from, 0]
  for (const [id, fields] of rows) {
    if (placed.length >= MOST_RECORDS) break
    if (clock.isDue()) await clock.pause()
    unpacked++
    const name = id.toString()
    for (const [i, record] of recordsIn(fields).toReversed().entries())
      if (name !== entry || i > Number(index)) placed.push({ record, stream, place: `${name}.${i}` })
    to = `${name}.${LAST}`
  }
  const isMore = unpacked < rows.length || rows.length === MOST_ENTRIES
  return { from, to, placed, isMore, isCut: !from.startsWith('0-0.') && rows[0]?.[0].toString() !== entry }
}

/** Merges pages of both streams by time, as far as it is known what comes next in both. */
function inOrder(deliveries: Page, suppressed: Page): Forward {
  const placed: Placed[] = []
  let [i, j] = [0, 0]
  for (;;) {
    const [one, other] = [deliveries.placed[i], suppressed.placed[j]]
    if ((!one && deliveries.isMore) || (!other && suppressed.isMore)) break
    const isFirst = one !== undefined && (other === undefined || one.record.atMs <= other.record.atMs)
    const next = isFirst ? one : other
    if (!next) break
    if (isFirst) i++
    else j++
    placed.push(next)
  }
  const end = [placeAfter(deliveries, i), placeAfter(suppressed, j)] as const
  return { placed, end, isMore: deliveries.isMore || suppressed.isMore }
}

/** The place behind some records of a page. */
function placeAfter({ from, to, placed }: Page, count: number): string {
  return count === placed.length ? to : (placed[count - 1]?.place ?? from)
}

/** The position behind a record, or after several of them. */
export function positionAfter(from: Position, placed: readonly Placed[]): Position {
  const position: [string, string] = [...from]
  for (const { stream, place } of placed) position[stream] = place
  return position
}

/** Returns the position behind everything that there is. */
export async function newestPosition(redis: Redis, keys: Keys): Promise<Position> {
  const [deliveries, suppressed] = await Promise.all(
    [keys.history, keys.suppressed].map(async (key) => {
      const [row] = await redis.xrevrange(key, '+', '-', 'COUNT', 1)
      return row ? `${row[0]}.${LAST}` : BEGIN
    }),
  )
  return [deliveries ?? BEGIN, suppressed ?? BEGIN]
}

/** Negative if a place of a stream comes before another one. */
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

/** Pages that are kept of each stream. */
const MOST_PAGES = 4

/** Pages of the history, of which the last ones are kept unpacked: after a restart all clients want the same ones. */
export function createHistoryPages(redis: () => Redis, keys: Keys) {
  /** The last used first. */
  const kept: [Page[], Page[]] = [[], []]

  async function pageOf(stream: 0 | 1, from: string, to: string, clock: WorkClock): Promise<Page> {
    if (from === to) return { from, to, placed: [], isMore: false, isCut: false }
    const pages = kept[stream]
    const found = pages.find((it) => comparePlaces(it.from, from) <= 0 && comparePlaces(from, it.to) < 0)
    const page = found ?? (await readPage(redis(), keys, stream, from, clock))
    // Later more may be behind it, and nothing of it has been missed.
    if (page.placed.length > 0)
      kept[stream] = [{ ...page, isMore: true, isCut: false }, ...pages.filter((it) => it !== found)].slice(
        0,
        MOST_PAGES,
      )
    return between(page, from, to)
  }

  return {
    /** Returns the next records behind a position, up to another one; `isMore` if there may be more up to there. */
    async read(from: Position, to: Position, clock: WorkClock) {
      const pages = [await pageOf(0, from[0], to[0], clock), await pageOf(1, from[1], to[1], clock)] as const
      return { ...inOrder(...pages), isCut: pages.map(({ isCut }) => isCut) }
    },
    clear() {
      kept[0] = []
      kept[1] = []
    },
  }
}

function between(page: Page, from: string, to: string): Page {
  const isAll = comparePlaces(page.to, to) >= 0
  return {
    from,
    // No client goes back.
    to: !isAll ? page.to : comparePlaces(to, from) > 0 ? to : from,
    placed: page.placed.slice(countUpTo(page.placed, from), countUpTo(page.placed, to)),
    isMore: page.isMore && !isAll,
    isCut: page.isCut,
  }
}

/** How many records are at a place, or before it. */
function countUpTo(placed: readonly Placed[], place: string): number {
  let [low, high] = [0, placed.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePlaces(placed[middle]?.place ?? '', place) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
