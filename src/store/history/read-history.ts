import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Keys } from '../keys.ts'
import { findField } from '../lanes/lane-reader.ts'
import { isAbout, unpackHistory } from './history-format.ts'

/** What is looked for: entries with one of these names, no older than a time. */
interface HistoryQuery {
  /** See `nameOf`; undefined: everything. */
  names?: readonly Buffer[]
  sinceMs?: number
  untilMs?: number
  /** Of a `PlacedRecord`: only what comes behind it. */
  cursor?: string | undefined
  signal?: AbortSignal
}

/** A record, and the cursor of what comes behind it. */
interface PlacedRecord {
  record: HistoryRecord
  cursor: string
}

/** How many entries Redis looks at in one go: a few milliseconds. */
const PAGE = 1_000

/**
 * Returns the entries of a page that have one of the names, and the id where the next page begins. ARGV: newest id, oldest id, number of
 * entries, names.
 */
const FIND = `
local rows = redis.call('XREVRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
local found = {}
for _, row in ipairs(rows) do
  local payload = ''
  for i = 1, #row[2], 2 do if row[2][i] == 'z' then payload = row[2][i + 1] end end
  local high, low = string.byte(payload, 2, 3)
  local names = low and string.sub(payload, 4, 3 + 4 * (high * 256 + low)) or ''
  local isWanted = #ARGV == 3
  for i = 4, #ARGV do
    local at = string.find(names, ARGV[i], 1, true)
    while at and at % 4 ~= 1 do at = string.find(names, ARGV[i], at + 1, true) end
    if at then isWanted = true end
  end
  if isWanted then found[#found + 1] = row end
end
return { #rows == tonumber(ARGV[3]) and rows[#rows][1] or '', found }
`

/** The records of the query, the newest first; a record that a repeated script has written twice comes once. */
export async function* readHistory(
  redis: Redis,
  keys: Keys,
  query: HistoryQuery = {},
): AsyncGenerator<HistoryRecord> {
  for await (const { record } of readHistoryPage(redis, keys, query)) yield record
}

/** The same, each record with its place, so that a later query can go on behind it. */
export async function* readHistoryPage(
  redis: Redis,
  keys: Keys,
  query: HistoryQuery,
): AsyncGenerator<PlacedRecord> {
  const places = placesOf(query.cursor)
  const streams = [keys.history, keys.suppressed].map((key, i) =>
    recordsOf(redis, key, query, places[i] ?? ''),
  )
  const next = await Promise.all(streams.map((it) => it.next()))
  for (;;) {
    let newest: number | undefined
    for (const [i, { value }] of next.entries())
      if (value && (newest === undefined || value.record.atMs > (next[newest]?.value?.record.atMs ?? 0)))
        newest = i
    const found = newest === undefined ? undefined : next[newest]?.value
    if (newest === undefined || !found) return
    places[newest] = found.place
    yield { record: found.record, cursor: places.join('~') }
    next[newest] = (await streams[newest]?.next()) as (typeof next)[number]
  }
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
  { names = [], sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, signal }: HistoryQuery,
  behind: string,
): AsyncGenerator<{ record: HistoryRecord; place: string }> {
  const oldest = String(Math.max(0, Math.floor(sinceMs)))
  const [lastEntry = '', lastIndex = '-1'] = behind.split('.')
  const newest = Number.isFinite(untilMs) ? String(Math.floor(untilMs) + MARGIN_MS) : '+'
  for (let from = lastEntry || newest; from !== ''; ) {
    signal?.throwIfAborted()
    const [last, rows] = await page(redis, key, from, oldest, names)
    for (const [id, fields] of rows)
      for (const [index, record] of recordsIn(fields).entries()) {
        if (id === lastEntry && index <= Number(lastIndex)) continue
        const isWithin = record.atMs >= sinceMs && record.atMs <= untilMs
        if (isWithin && (names.length === 0 || isAbout(record, names)))
          yield { record, place: `${id}.${index}` }
      }
    from = last === '' ? '' : `(${last}`
  }
}

async function page(
  redis: Redis,
  key: string,
  from: string,
  oldest: string,
  names: readonly Buffer[],
): Promise<[last: string, rows: [id: string, fields: Buffer[]][]]> {
  const args = [from, oldest, PAGE, ...names]
  const reply = await redis.callBuffer('EVAL', [FIND, 1, key, ...args])
  const [last, rows] = reply as [Buffer, [Buffer, Buffer[]][]]
  return [last.toString(), rows.map(([id, fields]) => [id.toString(), fields])]
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

/** Since when the history goes back, in Unix milliseconds; undefined if it is empty. */
export async function historyExtent(
  redis: Redis,
  keys: Keys,
): Promise<{ bytes: number; oldestMs: number | undefined }> {
  const read = async (key: string) => {
    // Another program may have taken the key.
    const first = await redis.xrange(key, '-', '+', 'COUNT', 1).catch(() => [])
    const bytes = first.length > 0 ? await redis.memory('USAGE', key) : 0
    return { bytes: Number(bytes ?? 0), oldestMs: first[0] && Number.parseInt(first[0][0], 10) }
  }
  const [deliveries, suppressed] = [await read(keys.history), await read(keys.suppressed)]
  return { bytes: deliveries.bytes + suppressed.bytes, oldestMs: deliveries.oldestMs ?? suppressed.oldestMs }
}
