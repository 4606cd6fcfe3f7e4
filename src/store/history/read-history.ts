import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Keys } from '../keys.ts'
import { findField } from '../lanes/read-lane.ts'
import { unpackHistory } from './history-format.ts'
import { type HistoryTarget, isRecordOf } from './history-target.ts'

/** What is looked for: records of an object, no older than a time. */
interface HistoryQuery {
  /** What is searched for; for an event, all records of its object. Undefined: everything. */
  target?: HistoryTarget | undefined
  sinceMs?: number
  untilMs?: number
  /** Cursor of a `PlacedRecord`: only records behind it are read. */
  cursor?: string | undefined
  signal?: AbortSignal
  /** Without them everything is read. */
  bounds?: HistoryBounds | undefined
}

/** How much may be read, whether it is wanted or not. A page of entries and a record are always read. */
export interface HistoryBounds {
  withinMs: number
  records: number
  /** Size of the entries, as they are stored. */
  bytes: number
}

/** A record, and the cursor of what comes behind it. */
interface PlacedRecord {
  record: HistoryRecord
  cursor: string
}

/** The last thing that is yielded where bounds were reached before the end. */
interface EarlyStop {
  record?: undefined
  cursor: string
  /** What is newer was read, Unix milliseconds. */
  stoppedAtMs: number
}

/** How many entries Redis looks at in one go: a few milliseconds. */
const PAGE = 1_000
/** Beyond it a reply ends with fewer entries. */
const PAGE_BYTES = 2 * 1_048_576

/**
 * Returns the entries of a page that have one of the names, the id where the next page begins, and the bytes that were looked at. ARGV:
 * newest id, oldest id, number of entries, bytes, names.
 */
const FIND = `
local rows = redis.call('XREVRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
local found, foundBytes, bytes = {}, 0, 0
local last = #rows == tonumber(ARGV[3]) and rows[#rows][1] or ''
for at, row in ipairs(rows) do
  local payload = ''
  for i = 1, #row[2], 2 do if row[2][i] == 'z' then payload = row[2][i + 1] end end
  local high, low = string.byte(payload, 2, 3)
  local names = low and string.sub(payload, 4, 3 + 4 * (high * 256 + low)) or ''
  local isWanted = #ARGV == 4
  for i = 5, #ARGV do
    local at = string.find(names, ARGV[i], 1, true)
    while at and at % 4 ~= 1 do at = string.find(names, ARGV[i], at + 1, true) end
    if at then isWanted = true end
  end
  bytes = bytes + #payload
  if isWanted then
    found[#found + 1] = row
    foundBytes = foundBytes + #payload
  end
  if foundBytes > tonumber(ARGV[4]) and at < #rows then
    last = row[1]
    break
  end
end
return { last, bytes, found }
`

/** The records of the query, the newest first; a record that a repeated script has written twice comes once. */
export async function* readHistory(
  redis: Redis,
  keys: Keys,
  query: HistoryQuery = {},
): AsyncGenerator<HistoryRecord> {
  for await (const { record } of readHistoryPage(redis, keys, query)) if (record) yield record
}

/** The same, each record with its place, so that a later query can go on behind it. With bounds the last one may be an early stop. */
export async function* readHistoryPage(
  redis: Redis,
  keys: Keys,
  query: HistoryQuery,
): AsyncGenerator<PlacedRecord | EarlyStop> {
  const places = placesOf(query.cursor)
  const spent = { records: 0, bytes: 0 }
  const { withinMs, records, bytes } = query.bounds ?? UNBOUNDED
  const endMs = performance.now() + withinMs
  const streams = [keys.history, keys.suppressed].map((key, i) =>
    recordsOf(redis, key, query, places[i] ?? '', spent),
  )
  const next = await Promise.all(streams.map((it) => it.next()))
  for (;;) {
    const first = firstOf(next.map(({ value }) => value || undefined))
    const found = first === undefined ? undefined : next[first]?.value
    if (first === undefined || !found) return
    places[first] = found.place
    const cursor = places.join('~')
    if (found.record) {
      spent.records++
      yield { record: found.record, cursor }
    }
    if (performance.now() > endMs || spent.records >= records || spent.bytes > bytes) {
      const stoppedAtMs = Math.max(...next.flatMap(({ value }) => (value ? [timeOf(value)] : [])))
      return yield { cursor, stoppedAtMs }
    }
    next[first] = (await streams[first]?.next()) as (typeof next)[number]
  }
}

const UNBOUNDED: HistoryBounds = {
  withinMs: Number.POSITIVE_INFINITY,
  records: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
}

/** A record of one stream, or, without one, that everything before a place was read. */
interface Step {
  record?: HistoryRecord
  place: string
}

/** The index of the step that comes first: one without a record waits for nothing, else the newest one. */
function firstOf(steps: readonly (Step | undefined)[]): number | undefined {
  let first: number | undefined
  for (const [i, step] of steps.entries()) {
    if (!step) continue
    if (!step.record) return i
    const best = first === undefined ? undefined : steps[first]?.record
    if (!best || step.record.atMs > best.atMs) first = i
  }
  return first
}

function timeOf({ record, place }: Step): number {
  return record?.atMs ?? Number.parseInt(place, 10)
}

const CURSOR = /^(\d{1,16}-\d{1,16}\.\d{1,9})?~(\d{1,16}-\d{1,16}\.\d{1,9})?$/

/** Whether a text is a cursor of `readHistoryPage`. */
export function isHistoryCursor(text: string): boolean {
  return CURSOR.test(text)
}

/** The last place that was read in each stream: `ENTRY.RECORD`, '' for none. */
function placesOf(cursor = '~'): string[] {
  const [, deliveries = '', suppressed = ''] = CURSOR.exec(cursor) ?? []
  return [deliveries, suppressed]
}

/** A record was made before its entry was appended. */
const MARGIN_MS = 60_000

async function* recordsOf(
  redis: Redis,
  key: string,
  { target, sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, signal }: HistoryQuery,
  behind: string,
  spent: { bytes: number },
): AsyncGenerator<Step> {
  const oldest = String(Math.max(0, Math.floor(sinceMs)))
  const [lastEntry = '', lastIndex = '-1'] = behind.split('.')
  const newest = Number.isFinite(untilMs) ? String(Math.floor(untilMs) + MARGIN_MS) : '+'
  for (let from = lastEntry || newest; from !== ''; ) {
    signal?.throwIfAborted()
    const { last, bytes, rows } = await page(redis, key, from, oldest, target?.names ?? [])
    spent.bytes += bytes
    for (const [id, fields] of rows)
      for (const [index, record] of recordsIn(fields).entries()) {
        if (id === lastEntry && index <= Number(lastIndex)) continue
        const isWithin = record.atMs >= sinceMs && record.atMs <= untilMs
        // An entry has several records, and other objects may have the hashes that Redis finds it by.
        if (isWithin && (!target || isRecordOf(target, record))) yield { record, place: `${id}.${index}` }
      }
    // A later query goes on behind all records of the entry.
    if (last !== '') yield { place: `${last}.999999999` }
    from = last === '' ? '' : `(${last}`
  }
}

async function page(
  redis: Redis,
  key: string,
  from: string,
  oldest: string,
  names: readonly Buffer[],
): Promise<{ last: string; bytes: number; rows: (readonly [id: string, fields: Buffer[]])[] }> {
  const args = [from, oldest, PAGE, PAGE_BYTES, ...names]
  const reply = await redis.callBuffer('EVAL', [FIND, 1, key, ...args])
  const [last, bytes, rows] = reply as [Buffer, number, [Buffer, Buffer[]][]]
  return { last: last.toString(), bytes, rows: rows.map(([id, fields]) => [id.toString(), fields] as const) }
}

/** The records of one entry that count, the newest first. Those of lanes in its field `x` were acknowledged by nobody, or before. */
export function recordsIn(fields: readonly Buffer[]): HistoryRecord[] {
  const left = new Set(findField(fields, 'x')?.toString().split(','))
  const groups = unpackHistory(findField(fields, 'z') ?? Buffer.alloc(0)) ?? []
  return groups
    .filter((_, i) => !left.has(String(i)))
    .flat()
    .toSorted((one, other) => other.atMs - one.atMs)
}

/** Why the history does not go back further: Redis lost its data, or was nearly full. */
export interface HistoryLoss {
  /** When it was noticed, Unix milliseconds. */
  atMs: number
  why: 'lost' | 'full'
}

/** For as long as a history is kept by default. */
const LOSS_KEPT_MS = 604_800_000

export async function noteHistoryLoss(redis: Redis, keys: Keys, loss: HistoryLoss): Promise<void> {
  await redis.set(keys.historyLost, JSON.stringify(loss), 'PX', LOSS_KEPT_MS)
}

/** Returns the last loss; undefined if there was none in the last week. */
export async function lastHistoryLoss(redis: Redis, keys: Keys): Promise<HistoryLoss | undefined> {
  try {
    const { atMs, why } = JSON.parse((await redis.get(keys.historyLost)) ?? 'null') as HistoryLoss
    return Number.isFinite(atMs) ? { atMs, why: why === 'full' ? why : 'lost' } : undefined
  } catch {
    // None, or another program has taken the key.
    return undefined
  }
}

/** Since when the history goes back, in Unix milliseconds; undefined if it is empty. */
export async function historyExtent(
  redis: Redis,
  keys: Keys,
): Promise<{ bytes: number; oldestMs: number | undefined; lost: HistoryLoss | undefined }> {
  const read = async (key: string) => {
    // Another program may have taken the key.
    const first = await redis.xrange(key, '-', '+', 'COUNT', 1).catch(() => [])
    const bytes = first.length > 0 ? await redis.memory('USAGE', key) : 0
    return { bytes: Number(bytes ?? 0), oldestMs: first[0] && Number.parseInt(first[0][0], 10) }
  }
  const [deliveries, suppressed] = [await read(keys.history), await read(keys.suppressed)]
  return {
    bytes: deliveries.bytes + suppressed.bytes,
    oldestMs: deliveries.oldestMs ?? suppressed.oldestMs,
    lost: await lastHistoryLoss(redis, keys),
  }
}
