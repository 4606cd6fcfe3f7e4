import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { sinkOf, slotOf } from './lane-names.ts'
import { runScript, script } from './script.ts'

/** Most lanes get something again soon: their keys are freed when nothing came for so long. */
const FREE_AFTER_MS = 5_000
const MOST_AT_ONCE = 200

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
        if (sinceMs > beforeMs || names.length > 2 * MOST_AT_ONCE) break
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
