import type { Redis } from 'ioredis'
import type { StreamSample } from './queue-bounds.ts'
import { runScript, script } from './script.ts'

/** A stream of deliveries or dead letters: some entries of it, with the times in their field `t` or `at`, in Unix milliseconds. */
export interface MeasuredStream extends StreamSample {
  oldestMs: number
  newestMs: number
}

/** So many streams in one script: it holds up Redis while it runs. */
const AT_ONCE = 50

/**
 * Measures streams by `points` of their entries: the first, the last, and some between, spread over the time of their ids by chance.
 * Payloads stay in Redis. Streams that are empty, gone, or another program's are left out.
 */
export async function measureStreams(
  redis: Redis,
  keys: readonly string[],
  points = 3,
  random: () => number = Math.random,
): Promise<Map<string, MeasuredStream>> {
  const found = new Map<string, MeasuredStream>()
  for (let start = 0; start < keys.length; start += AT_ONCE) {
    const some = keys.slice(start, start + AT_ONCE)
    const chances = Array.from({ length: Math.max(0, points - 2) }, () => random().toFixed(6))
    const reply = (await runScript(redis, MEASURE, some, chances)) as (number | string)[][]
    for (const [i, [entries, oldest, newest, ...sizes]] of reply.entries()) {
      const [oldestMs, newestMs] = [Number(oldest), Number(newest)]
      if (Number(entries) === 0 || !Number.isFinite(oldestMs)) continue
      found.set(some[i] as string, {
        entries: Number(entries),
        sizes: sizes.map(Number),
        oldestMs,
        newestMs: Number.isFinite(newestMs) ? Math.max(oldestMs, newestMs) : oldestMs,
      })
    }
  }
  return found
}

const MEASURE = script(`
local function isError(reply) return type(reply) == 'table' and reply.err end
local function msOf(id) return tonumber(string.match(id, '^%d+')) end
local results = {}
for i, key in ipairs(KEYS) do
  local result = { 0 }
  local length = redis.pcall('XLEN', key)
  if not isError(length) and length > 0 then
    local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
    local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
    local from, to = msOf(first[1]), msOf(last[1])
    local sizes, times = {}, {}
    local function take(row)
      local size, time = 0, msOf(row[1])
      for j = 1, #row[2], 2 do
        local name, value = row[2][j], row[2][j + 1]
        size = size + #value
        if name == 't' or name == 'at' then time = tonumber(value) or time end
      end
      sizes[#sizes + 1] = size
      times[#times + 1] = time
    end
    take(first)
    for _, chance in ipairs(ARGV) do
      local at = math.floor(from + (to - from) * tonumber(chance))
      local row = redis.call('XRANGE', key, at, '+', 'COUNT', 1)[1]
      if row then take(row) end
    end
    take(last)
    result = { length, string.format('%.0f', times[1]), string.format('%.0f', times[#times]) }
    for _, size in ipairs(sizes) do result[#result + 1] = size end
  end
  results[i] = result
end
return results
`)
