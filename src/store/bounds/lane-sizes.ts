import type { Redis } from 'ioredis'
import type { Keys } from '../keys.ts'
import { runScript, script } from '../redis/script.ts'
import { bytesNow, bytesUnmeasured, fixedOf, type MeasuredLane } from './queue-bounds.ts'

/** Lane → how many deliveries wait in it. */
export type Waiting = ReadonlyMap<string, number>

/** The memory that lanes use in Redis. Lanes are measured in rotation; in between, the size is computed from the number of deliveries. */
export class LaneSizes {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #known = new Map<string, MeasuredStream>()
  readonly #turns = new Turns()
  readonly #pauses = new MeasuringPauses()
  /** Lanes that gave up something since they were measured. */
  readonly #changed = new Set<string>()

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis
    this.#keys = keys
  }

  /**
   * Measures at most `most` lanes of `own`, the longest unmeasured first, and forgets lanes in which nothing waits. Lanes that just gave up
   * deliveries go first, but take at most half. During a pause only lanes that were never measured are measured. Returns how many deliveries
   * wait in each of those that were.
   */
  async measure(own: readonly string[], waiting: Waiting, most: number): Promise<Map<string, number>> {
    for (const lane of this.#known.keys()) if (!waiting.has(lane)) this.#known.delete(lane)
    for (const lane of this.#changed) if (!waiting.has(lane)) this.#changed.delete(lane)
    this.#turns.keep(own)
    const first = [...this.#changed].slice(0, Math.floor(most / 2))
    const candidates = [...new Set([...first, ...this.#turns.inOrder()])]
    const due = this.#pauses.isResting ? candidates.filter((lane) => !this.#known.has(lane)) : candidates
    return this.measureNow(due.slice(0, most), waiting)
  }

  /** Measures these lanes, whether there is a pause or not. Returns how many deliveries wait in each. */
  async measureNow(lanes: readonly string[], waiting: Waiting): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    if (lanes.length === 0) return counts
    const laneOf = new Map(lanes.map((lane) => [this.#keys.lane(lane), lane]))
    for (const lane of lanes) {
      this.#turns.served(lane)
      this.#changed.delete(lane)
    }
    const register = { key: this.#keys.pending, laneOf, waiting }
    const measured = await this.#pauses.note(() => measureStreams(this.#redis, [...laneOf.keys()], register))
    for (const [key, lane] of laneOf) {
      const found = measured.get(key)
      if (found) this.#known.set(lane, found)
      else this.#known.delete(lane)
      counts.set(lane, found?.deliveries ?? 0)
    }
    return counts
  }

  /** The oldest deliveries of a lane, up to this time, are gone. */
  gaveUp(lane: string, untilMs: number): void {
    this.#changed.add(lane)
    const known = this.#known.get(lane)
    if (known) known.oldestMs = Math.max(known.oldestMs, untilMs)
  }

  /** Those lanes that were measured, as they are now. */
  extents(own: readonly string[], waiting: Waiting): MeasuredLane[] {
    return own.flatMap((lane) => {
      const known = this.#known.get(lane)
      if (!known) return []
      const { oldestMs, newestMs } = known
      const deliveries = waiting.get(lane) ?? 0
      const { bytes: perDelivery } = this.averageOf(lane)
      return [{ lane, bytes: bytesNow(known, deliveries), oldestMs, newestMs, deliveries, perDelivery }]
    })
  }

  /** Returns the estimated bytes of all lanes of `own` that were never measured. */
  unmeasured(own: readonly string[], waiting: Waiting, perDelivery: number): number {
    const some = own.filter((lane) => !this.#known.has(lane))
    return some.reduce((sum, lane) => sum + bytesUnmeasured(perDelivery, waiting.get(lane) ?? 0), 0)
  }

  /** Returns the average bytes that a delivery adds to these lanes; undefined if none was measured. */
  perDelivery(own: readonly string[]): number | undefined {
    let [bytes, deliveries] = [0, 0]
    for (const lane of own) {
      const known = this.#known.get(lane)
      if (!known) continue
      bytes += known.bytes - fixedOf(known.bytes)
      deliveries += known.deliveries
    }
    return deliveries === 0 ? undefined : bytes / deliveries
  }

  /** Returns the average bytes of a delivery of this lane, and the average number of deliveries in an entry. */
  averageOf(lane: string): { bytes: number; perEntry: number } {
    const { bytes, deliveries, entries } = this.#known.get(lane) ?? { bytes: 1, deliveries: 1, entries: 1 }
    return { bytes: Math.max(1, bytes / deliveries), perEntry: deliveries / entries }
  }
}

/** Whose turn is next: first those that had none yet, by when they came, then the others, by when they had their last one. */
export class Turns {
  readonly #fresh = new Set<string>()
  readonly #served = new Set<string>()

  /** Takes up those that are new, and forgets all others. */
  keep(names: Iterable<string>): void {
    const kept = new Set(names)
    for (const them of [this.#fresh, this.#served])
      for (const name of them) if (!kept.has(name)) them.delete(name)
    for (const name of kept) if (!this.#served.has(name)) this.#fresh.add(name)
  }

  inOrder(): string[] {
    return [...this.#fresh, ...this.#served]
  }

  /** It had its turn. */
  served(name: string): void {
    this.#fresh.delete(name)
    this.#served.delete(name)
    this.#served.add(name)
  }
}

/** A stream of deliveries or dead letters, with the times in the field `t` or `at` of its first and last entry, in Unix milliseconds. */
export interface MeasuredStream {
  entries: number
  /** How many deliveries waited in it, by the register of lanes; the number of entries where that is not known. */
  deliveries: number
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

/** Where the number of deliveries in a lane is read, with its size: what is read at another time does not belong to it. */
interface Register {
  key: string
  /** Key of a stream → its lane. */
  laneOf: ReadonlyMap<string, string>
  /** As it was read before. */
  waiting: Waiting
}

/**
 * Returns the measurement of each stream, by its key, without those that are empty, missing or of another type. In a stream with more
 * than 50,000 nodes, Redis extrapolates from the first 50,000.
 */
export async function measureStreams(
  redis: Redis,
  keys: readonly string[],
  register?: Register,
): Promise<Map<string, MeasuredStream>> {
  const found = new Map<string, MeasuredStream>()
  const laneOf = (key: string) => register?.laneOf.get(key) ?? ''
  const before = (key: string) => Math.max(1, register?.waiting.get(laneOf(key)) ?? 1)
  for (let start = 0; start < keys.length; ) {
    let [end, entries] = [start, 0]
    while (end < keys.length && end - start < MOST_STREAMS && entries < MOST_ENTRIES)
      entries += before(keys[end++] as string)
    const some = keys.slice(start, end)
    start = end
    const names = register ? [...some, register.key] : some
    const lanes = register ? some.map(laneOf) : []
    const reply = (await runScript(redis, MEASURE, names, [MOST_ENTRIES, ...lanes])) as (number | string)[][]
    for (const [i, row] of reply.entries()) {
      const [length = 0, bytes = 0, oldestMs = Number.NaN, newestMs = Number.NaN, waiting = 0] =
        row.map(Number)
      if (length === 0 || !Number.isFinite(oldestMs)) continue
      const newest = Number.isFinite(newestMs) ? Math.max(oldestMs, newestMs) : oldestMs
      const key = some[i] as string
      const deliveries = waiting > 0 ? waiting : register ? before(key) : length
      found.set(key, { entries: length, deliveries, bytes, oldestMs, newestMs: newest })
    }
  }
  return found
}

/** Pauses between measurements, so that they take about 2 % of the time; more if one takes longer than 200 ms. */
export class MeasuringPauses {
  #untilMs = 0

  /** True while it is too early for another measurement. */
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
local register = #ARGV > 1 and KEYS[#KEYS]
for i = 1, register and #KEYS - 1 or #KEYS do
  local key = KEYS[i]
  local result = { 0 }
  local length = redis.pcall('XLEN', key)
  if not isError(length) and length > 0 then
    local bytes = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', ARGV[1])
    local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
    local last = length > 1 and redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1] or first
    local waiting = register and redis.pcall('HGET', register, ARGV[i + 1])
    waiting = type(waiting) == 'string' and tonumber(waiting) or 0
    result = { length, bytes, timeOf(first), timeOf(last), string.format('%.0f', waiting) }
  end
  results[i] = result
end
return results
`)
