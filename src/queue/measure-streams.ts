import type { Redis } from 'ioredis'
import { runScript, script } from './script.ts'

/** A stream of deliveries or dead letters, with the times in the field `t` or `at` of its first and last entry, in Unix milliseconds. */
export interface MeasuredStream {
  entries: number
  /** The memory that Redis uses for it. */
  bytes: number
  oldestMs: number
  newestMs: number
}

/** Limits of one script: Redis executes nothing else while it runs. */
const MOST_STREAMS = 8
const MOST_ENTRIES = 50_000
/** The pause after a measurement, as a multiple of its duration, and its upper limit. */
const REST = 50
const MOST_REST_MS = 10_000

/**
 * Returns the measurement of each stream, by its key, without those that are empty, missing or of another type. `waiting` returns the approximate
 * number of entries. In a stream with more than 50,000 nodes, Redis extrapolates from the first 50,000.
 */
export async function measureStreams(
  redis: Redis,
  keys: readonly string[],
  waiting: (key: string) => number = () => 0,
): Promise<Map<string, MeasuredStream>> {
  const found = new Map<string, MeasuredStream>()
  for (let start = 0; start < keys.length; ) {
    let [end, entries] = [start, 0]
    while (end < keys.length && end - start < MOST_STREAMS && entries < MOST_ENTRIES)
      entries += waiting(keys[end++] as string)
    const some = keys.slice(start, end)
    start = end
    const reply = (await runScript(redis, MEASURE, some, [MOST_ENTRIES])) as (number | string)[][]
    for (const [i, row] of reply.entries()) {
      const [length = 0, bytes = 0, oldestMs = Number.NaN, newestMs = Number.NaN] = row.map(Number)
      if (length === 0 || !Number.isFinite(oldestMs)) continue
      const newest = Number.isFinite(newestMs) ? Math.max(oldestMs, newestMs) : oldestMs
      found.set(some[i] as string, { entries: length, bytes, oldestMs, newestMs: newest })
    }
  }
  return found
}

/** Pauses between measurements, so that they take about 2 % of the time; more if one takes longer than 200 ms. */
export class MeasuringPauses {
  #untilMs = 0

  /** Is it too early for another measurement? */
  get isResting(): boolean {
    return performance.now() < this.#untilMs
  }

  async note<T>(measuring: () => Promise<T>): Promise<T> {
    const startedMs = performance.now()
    const result = await measuring()
    const nowMs = performance.now()
    this.#untilMs = nowMs + Math.min(REST * (nowMs - startedMs), MOST_REST_MS)
    return result
  }
}

const MEASURE = script(`
local function isError(reply) return type(reply) == 'table' and reply.err end
local function timeOf(row)
  local time = tonumber(string.match(row[1], '^%d+'))
  for j = 1, #row[2], 2 do
    local name = row[2][j]
    if name == 't' or name == 'at' then time = tonumber(row[2][j + 1]) or time end
  end
  return string.format('%.0f', time)
end
local results = {}
for i, key in ipairs(KEYS) do
  local result = { 0 }
  local length = redis.pcall('XLEN', key)
  if not isError(length) and length > 0 then
    local bytes = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', ARGV[1])
    local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
    local last = length > 1 and redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1] or first
    result = { length, bytes, timeOf(first), timeOf(last) }
  end
  results[i] = result
end
return results
`)
