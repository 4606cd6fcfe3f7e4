import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import { type Keys, sinkOf, slotOf } from '../keys.ts'
import { scanHash } from '../redis/scan.ts'
import { evalScript, runScript, script, valuesOf } from '../redis/script.ts'
import { findField } from './read-lane.ts'

/** The lanes among fields of `pending`, with how many deliveries wait in each; anything else is left out. */
export function lanesIn(pairs: Iterable<readonly [string, string]>): Map<string, number> {
  const lanes = new Map<string, number>()
  for (const [name, value] of pairs) if (isLane(name) && isCount(value)) lanes.set(name, Number(value))
  return lanes
}

const isLane = (name: string) => /^[^/]+\/./s.test(name)
const isCount = (value: string) => /^-?\d{1,15}$/.test(value)

/** What does not look like a lane, or is of a sink that is not in `known`: perhaps another program wrote it. */
function suspiciousIn(
  pairs: readonly (readonly [string, string])[],
  known: { has(sink: string): boolean },
): string[] {
  return pairs.flatMap(([name, value]) =>
    isLane(name) && isCount(value) && known.has(sinkOf(name)) ? [] : [name],
  )
}

/**
 * Removes those fields of `pending` that no commit wrote: the lane is empty, and nothing was ever enqueued for its sink,
 * or the value is not a number. Returns how many.
 */
async function dropForeign(redis: Redis, keys: Keys, names: readonly string[]): Promise<number> {
  if (names.length === 0) return 0
  const places = names.flatMap((name) => [keys.lane(name), keys.sinkLedger(sinkOf(name))])
  return Number(await evalScript(redis, DROP, [keys.pending, ...places], [...names]))
}

const DROP = `
local dropped = 0
for i, name in ipairs(ARGV) do
  local entries = redis.pcall('XLEN', KEYS[2 * i])
  local counters = redis.pcall('HLEN', KEYS[2 * i + 1])
  local value = redis.call('HGET', KEYS[1], name)
  local isNumber = value and string.find(value, '^%-?%d+$')
  if entries == 0 and (counters == 0 or not isNumber) then
    dropped = dropped + redis.call('HDEL', KEYS[1], name)
  end
end
return dropped
`

const LANES_PER_STEP = 200

/** Lane → when its oldest delivery was observed, in Unix milliseconds; lanes without one are left out. */
export async function oldestInLanes(
  redis: Redis,
  keys: Keys,
  lanes: readonly string[],
): Promise<Map<string, number>> {
  const oldest = new Map<string, number>()
  for (let start = 0; start < lanes.length; start += LANES_PER_STEP) {
    const some = lanes.slice(start, start + LANES_PER_STEP)
    const pipeline = redis.pipeline()
    for (const lane of some) pipeline.xrangeBuffer(keys.lane(lane), '-', '+', 'COUNT', 1)
    const replies = valuesOf(await pipeline.exec()) as [Buffer, Buffer[]][][]
    for (const [i, lane] of some.entries()) {
      const fields = replies[i]?.[0]?.[1]
      const ms = Number(fields && findField(fields, 't'))
      if (Number.isFinite(ms)) oldest.set(lane, ms)
    }
  }
  return oldest
}

/** Reads the register of lanes, and removes from it what no commit wrote. */
export class RegisterScan {
  readonly #parts: { redis: Redis; keys: Keys; log: Logger }
  /** Sinks that something was enqueued for, as far as this process has seen. */
  readonly #known = new Set<string>()

  constructor(parts: { redis: Redis; keys: Keys; log: Logger }) {
    this.#parts = parts
  }

  /** Returns the lanes in which something waits, with how many deliveries, and empty ones. `own` are sinks of this process. */
  async read(own: {
    has(sink: string): boolean
  }): Promise<{ waiting: Map<string, number>; empty: string[] }> {
    const { redis, keys, log } = this.#parts
    const waiting = new Map<string, number>()
    const empty: string[] = []
    const isKnown = (sink: string) => own.has(sink) || this.#known.has(sink)
    let removed = 0
    for await (const page of scanHash(redis, keys.pending)) {
      const dropped = await dropForeign(redis, keys, suspiciousIn(page, { has: isKnown }))
      removed += dropped
      const left = dropped === 0 ? page : await this.#stillThere(page)
      for (const [lane, count] of lanesIn(left)) {
        this.#known.add(sinkOf(lane))
        if (count > 0) waiting.set(lane, count)
        else if (!lane.endsWith('/*')) empty.push(lane)
      }
    }
    if (removed > 0)
      log.warn({ fields: removed }, 'removed fields that another program wrote to the register of lanes')
    return { waiting, empty }
  }

  async #stillThere(pairs: readonly [string, string][]): Promise<[string, string][]> {
    const { redis, keys } = this.#parts
    const values = await redis.hmget(keys.pending, ...pairs.map(([name]) => name))
    return pairs.flatMap(([name], i): [string, string][] => (values[i] == null ? [] : [[name, values[i]]]))
  }
}

/** How long a lane stays empty before its keys are freed: most lanes get something again soon. */
const FREE_AFTER_MS = 5_000
const NAMES_PER_STEP = 200

/** Lanes in which nothing is left, until their keys are freed. */
export class EmptyLanes {
  readonly #parts: { redis: Redis; keys: Keys; tokenOf(slot: string): string | undefined }
  /** Since when, on the clock of `performance.now`; the oldest first. */
  readonly #sinceMs = new Map<string, number>()

  constructor(parts: { redis: Redis; keys: Keys; tokenOf(slot: string): string | undefined }) {
    this.#parts = parts
  }

  note(lane: string): void {
    this.#sinceMs.delete(lane)
    this.#sinceMs.set(lane, performance.now())
  }

  /** Found in the register. */
  found(lanes: Iterable<string>): void {
    for (const lane of lanes) if (!this.#sinceMs.has(lane)) this.note(lane)
  }

  /** Frees those that are empty for some seconds, or `all`; what got something meanwhile, or has another owner, stays as it is. */
  async free({ all = false } = {}): Promise<void> {
    const { redis, keys, tokenOf } = this.#parts
    const beforeMs = all ? Number.POSITIVE_INFINITY : performance.now() - FREE_AFTER_MS
    for (;;) {
      const names: string[] = [keys.slots, keys.pending]
      const args: string[] = []
      for (const [lane, sinceMs] of this.#sinceMs) {
        if (sinceMs > beforeMs || names.length > 2 * NAMES_PER_STEP) break
        this.#sinceMs.delete(lane)
        const token = tokenOf(slotOf(lane))
        if (token === undefined) continue
        names.push(keys.lane(lane), keys.progress(lane))
        args.push(lane, sinkOf(lane), slotOf(lane), token)
      }
      if (args.length === 0) return
      await runScript(redis, FREE, names, args)
    }
  }
}

/** The sink stays in the register. */
const FREE = script(`
local at = 3
for i = 1, #ARGV, 4 do
  local lane, sink, slot, token = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local count = tonumber(redis.call('HGET', KEYS[2], lane) or '')
  if count and count <= 0 and redis.call('HGET', KEYS[1], slot) == token and redis.pcall('XLEN', KEYS[at]) == 0 then
    redis.call('DEL', KEYS[at], KEYS[at + 1])
    redis.call('HDEL', KEYS[2], lane)
    redis.pcall('HINCRBY', KEYS[2], sink .. '/*', 0)
  end
  at = at + 2
end
return 1
`)
