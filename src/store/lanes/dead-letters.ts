import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { TimeSlice } from '../../text/yielding.ts'
import { decodeEntry, UnreadableEntryError } from '../entry.ts'
import type { Keys } from '../keys.ts'
import { runScript, script } from '../redis/script.ts'
import { PageSize } from './page-size.ts'
import { countIn, findField } from './read-lane.ts'

/** A delivery that was given up, kept until somebody retries or drops it. */
export interface StoredDeadLetter {
  id: string
  sink: string
  lane: string
  rule: string
  reason: string
  detail: string
  atMs: number
  /** Number of deliveries that it counts for: more than one where nothing of their entry could be read. */
  count: number
  /** Undefined where it cannot be read. */
  delivery: Delivery | undefined
  /** What is stored of it. */
  payload: Buffer
}

/** Chooses dead letters: those that agree with each field that is given. */
export interface DeadLetterFilter {
  sink?: string | undefined
  rule?: string | undefined
  /** A `DeadReason`. */
  reason?: string | undefined
}

/** Letters of one read, at most. */
const MOST_LETTERS = 40

/** Newest first. */
export async function* listDeadLetters(
  redis: Redis,
  keys: Keys,
  filter: DeadLetterFilter = {},
): AsyncGenerator<StoredDeadLetter> {
  const page = new PageSize(MOST_LETTERS)
  for (let end = '+'; ; ) {
    const { count } = page
    const rows = await redis.xrevrangeBuffer(keys.deadLetters, end, '-', 'COUNT', count)
    yield* chosen(rows, filter)
    const last = rows.at(-1)
    if (rows.length < count || !last) return
    end = `(${last[0].toString()}`
    page.note(
      rows.length,
      rows.reduce((sum, [, fields]) => sum + bytesOf(fields), 0),
    )
  }
}

/** Few enough to be read together at their maximum size. */
const LARGE_PAGE = 20

/** The oldest first, without those that are made meanwhile. They may be removed while they are read. */
export async function* deadLettersByAge(
  redis: Redis,
  keys: Keys,
  filter: DeadLetterFilter = {},
): AsyncGenerator<StoredDeadLetter> {
  for await (const rows of pagesByAge(redis, keys)) yield* chosen(rows, filter)
}

/** The oldest first, up to `until`, page by page, from behind an id on: also pages of which none is chosen, so that a reader can stop. */
export async function* deadLetterPages(
  redis: Redis,
  keys: Keys,
  filter: DeadLetterFilter,
  range: { behind?: string | undefined; until: string },
): AsyncGenerator<{ letters: Iterable<StoredDeadLetter>; read: number; last: string }> {
  for await (const rows of pagesByAge(redis, keys, range)) {
    const last = rows.at(-1)?.[0].toString()
    if (last !== undefined) yield { letters: chosen(rows, filter), read: rows.length, last }
  }
}

/** Returns the id of the newest one; undefined if there is none. */
export async function newestDeadLetter(redis: Redis, keys: Keys): Promise<string | undefined> {
  const [newest] = await redis.xrevrange(keys.deadLetters, '+', '-', 'COUNT', 1)
  return newest?.[0]
}

type Rows = Awaited<ReturnType<Redis['xrangeBuffer']>>

async function* pagesByAge(
  redis: Redis,
  keys: Keys,
  { behind, until }: { behind?: string | undefined; until?: string } = {},
): AsyncGenerator<Rows> {
  const end = until ?? (await newestDeadLetter(redis, keys))
  if (end === undefined) return
  let start = behind === undefined ? '-' : `(${behind}`
  for (;;) {
    const rows = await redis.xrangeBuffer(keys.deadLetters, start, end, 'COUNT', LARGE_PAGE)
    yield rows
    const last = rows.at(-1)
    if (rows.length < LARGE_PAGE || !last) return
    start = `(${last[0].toString()}`
  }
}

/** Decodes those of the filter only. */
function* chosen(rows: Rows, filter: DeadLetterFilter): Generator<StoredDeadLetter> {
  for (const [id, fields] of rows)
    if (isChosen(textsOf(fields), filter)) yield letterOf(id.toString(), fields)
}

function isChosen(letter: DeadLetterFilter, { sink, rule, reason }: DeadLetterFilter): boolean {
  return (
    (sink === undefined || letter.sink === sink) &&
    (rule === undefined || letter.rule === rule) &&
    (reason === undefined || letter.reason === reason)
  )
}

/** The dead letters of one sink with the same reason. */
export interface DeadLetterGroup {
  sink: string
  reason: string
  /** How many dead letters. */
  count: number
  /** How many deliveries they count for: more than `count` where one could not be read. */
  deliveries: number
  /** When the first and the last of them were given up, Unix milliseconds. */
  oldestMs: number
  newestMs: number
  /** What the sink answered to the newest of them. */
  detail: string
}

/** Returns the dead letters by sink and reason, the largest group first. */
export async function groupDeadLetters(
  redis: Redis,
  keys: Keys,
  filter: DeadLetterFilter = {},
): Promise<DeadLetterGroup[]> {
  const groups = new Map<string, DeadLetterGroup>()
  for await (const rows of pagesByAge(redis, keys))
    for (const [id, fields] of rows) {
      const { sink, reason, rule, detail } = textsOf(fields)
      if (!isChosen({ sink, reason, rule }, filter)) continue
      const atMs = timeOf(id.toString(), fields)
      const name = JSON.stringify([sink, reason])
      const known = groups.get(name) ?? { count: 0, deliveries: 0, oldestMs: atMs }
      groups.set(name, {
        sink,
        reason,
        detail,
        newestMs: atMs,
        count: known.count + 1,
        deliveries: known.deliveries + (countIn(fields) ?? 1),
        oldestMs: known.oldestMs,
      })
    }
  return [...groups.values()].toSorted((a, b) => b.count - a.count)
}

/** The oldest after an id, or from `-` on, `count` at most, each with the bytes of its fields. Each is unpacked when it is asked for. */
export async function* oldestDeadLetters(
  redis: Redis,
  keys: Keys,
  start: string,
  count: number,
): AsyncGenerator<{ letter: StoredDeadLetter; bytes: number }> {
  for (let from = start, left = count; left > 0; ) {
    const size = Math.min(left, LARGE_PAGE)
    const rows = await redis.xrangeBuffer(keys.deadLetters, from, '+', 'COUNT', size)
    for (const [id, fields] of rows) yield { letter: letterOf(id.toString(), fields), bytes: bytesOf(fields) }
    const last = rows.at(-1)
    if (rows.length < size || !last) return
    from = `(${last[0].toString()}`
    left -= size
  }
}

/** Returns the bytes of the values; names are not counted. */
function bytesOf(fields: readonly Buffer[]): number {
  return fields.reduce((sum, field, i) => sum + (i % 2 === 1 ? field.length : 0), 0)
}

export async function findDeadLetter(
  redis: Redis,
  keys: Keys,
  id: string,
): Promise<StoredDeadLetter | undefined> {
  const [row] = await redis.xrangeBuffer(keys.deadLetters, id, id)
  return row && letterOf(row[0].toString(), row[1])
}

/** Never throws for what is stored. */
function letterOf(id: string, fields: readonly Buffer[]): StoredDeadLetter {
  const payload = findField(fields, 'z') ?? Buffer.alloc(0)
  const { delivery, fault } = deliveryIn(payload)
  const texts = textsOf(fields)
  return {
    id,
    ...texts,
    detail: texts.detail || (fault ?? ''),
    atMs: timeOf(id, fields),
    count: countIn(fields) ?? 1,
    delivery,
    payload,
  }
}

function textsOf(fields: readonly Buffer[]) {
  const text = (name: string) => findField(fields, name)?.toString() ?? ''
  return {
    sink: text('sink'),
    lane: text('lane'),
    rule: text('rule'),
    reason: text('reason'),
    detail: text('detail'),
  }
}

/** The time of its id where it has none. */
function timeOf(id: string, fields: readonly Buffer[]): number {
  const text = findField(fields, 'at')?.toString() ?? ''
  const atMs = Number(text)
  return text !== '' && Math.abs(atMs) <= MAX_TIME_MS ? atMs : Number.parseInt(id, 10)
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

interface NamesGroup {
  sink: string
  reason: string
  count: number
  /** Unix milliseconds. */
  oldestMs: number
  newestMs: number
}

/** The names of a page of dead letters, the newest first: their payloads, which may be large, stay in Redis. */
const NAMES = script(`
local rows = redis.call('XREVRANGE', KEYS[1], ARGV[1], '-', 'COUNT', ARGV[2])
local found = {}
for _, row in ipairs(rows) do
  local it = { sink = '', reason = '', rule = '', at = '' }
  for i = 1, #row[2], 2 do if it[row[2][i]] then it[row[2][i]] = row[2][i + 1] end end
  found[#found + 1] = { row[1], it.sink, it.reason, it.rule, it.at }
end
return found
`)
const NAMES_PAGE = 200

/** Yields the names of dead letters of a filter, page by page, the newest first; `newest` is an id, or `(` and the one behind it. */
async function* namesOf(
  redis: Redis,
  keys: Keys,
  { sink, reason, rule }: DeadLetterFilter,
  newest: string,
): AsyncGenerator<{ id: string; sink: string; reason: string; atMs: number }[]> {
  const timeSlice = new TimeSlice()
  for (let end = newest; ; ) {
    const rows = (await runScript(redis, NAMES, [keys.deadLetters], [end, NAMES_PAGE])) as string[][]
    yield rows.flatMap(([id = '', ofSink = '', why = '', ofRule = '', at = '']) => {
      const isWanted = (sink ?? ofSink) === ofSink && (reason ?? why) === why && (rule ?? ofRule) === ofRule
      if (!isWanted) return []
      const atMs = /^\d{1,15}$/.test(at) ? Number(at) : Number.parseInt(id, 10)
      return [{ id, sink: ofSink, reason: why, atMs }]
    })
    const last = rows.at(-1)?.[0]
    if (rows.length < NAMES_PAGE || last === undefined) return
    end = `(${last}`
    if (timeSlice.isDue()) await timeSlice.take()
  }
}

/**
 * Counts the dead letters up to `until` by sink and reason, the largest group first; after `withinMs` `isComplete` is false, and the oldest are
 * not counted.
 */
export async function summarizeDeadLetters(
  redis: Redis,
  keys: Keys,
  filter: DeadLetterFilter,
  { until, withinMs }: { until: string; withinMs: number },
): Promise<{ groups: NamesGroup[]; total: number; isComplete: boolean }> {
  const groups = new Map<string, NamesGroup>()
  const endMs = performance.now() + withinMs
  let isComplete = true
  for await (const names of namesOf(redis, keys, filter, until)) {
    for (const { sink, reason, atMs } of names) {
      const key = JSON.stringify([sink, reason])
      const known = groups.get(key) ?? { sink, reason, count: 0, oldestMs: atMs, newestMs: atMs }
      known.count++
      known.oldestMs = Math.min(known.oldestMs, atMs)
      known.newestMs = Math.max(known.newestMs, atMs)
      groups.set(key, known)
    }
    isComplete = performance.now() <= endMs
    if (!isComplete) break
  }
  const sorted = [...groups.values()].toSorted((a, b) => b.count - a.count)
  return { groups: sorted, total: sorted.reduce((sum, { count }) => sum + count, 0), isComplete }
}

/** Yields the dead letters of a filter up to `until`, the newest first, from before an id on. Each is read when it is asked for. */
export async function* deadLettersBefore(
  redis: Redis,
  keys: Keys,
  filter: DeadLetterFilter,
  { until, before }: { until: string; before?: string | undefined },
): AsyncGenerator<StoredDeadLetter> {
  const newest = before === undefined ? until : `(${before}`
  for await (const names of namesOf(redis, keys, filter, newest))
    for (const { id } of names) {
      const letter = await findDeadLetter(redis, keys, id)
      if (letter) yield letter
    }
}
