import type { Redis } from 'ioredis'
import { TimeSlice } from '../../text/yielding.ts'
import type { Keys } from '../keys.ts'
import { runScript, script } from '../redis/script.ts'
import { type DeadLetterFilter, findDeadLetter, type StoredDeadLetter } from './dead-letters.ts'

interface Group {
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
const PAGE = 200

/** Yields the names of dead letters of a filter, page by page, the newest first; `newest` is an id, or `(` and the one behind it. */
async function* namesOf(
  redis: Redis,
  keys: Keys,
  { sink, reason, rule }: DeadLetterFilter,
  newest: string,
): AsyncGenerator<{ id: string; sink: string; reason: string; atMs: number }[]> {
  const timeSlice = new TimeSlice()
  for (let end = newest; ; ) {
    const rows = (await runScript(redis, NAMES, [keys.deadLetters], [end, PAGE])) as string[][]
    yield rows.flatMap(([id = '', ofSink = '', why = '', ofRule = '', at = '']) => {
      const isWanted = (sink ?? ofSink) === ofSink && (reason ?? why) === why && (rule ?? ofRule) === ofRule
      if (!isWanted) return []
      const atMs = /^\d{1,15}$/.test(at) ? Number(at) : Number.parseInt(id, 10)
      return [{ id, sink: ofSink, reason: why, atMs }]
    })
    const last = rows.at(-1)?.[0]
    if (rows.length < PAGE || last === undefined) return
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
): Promise<{ groups: Group[]; total: number; isComplete: boolean }> {
  const groups = new Map<string, Group>()
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
