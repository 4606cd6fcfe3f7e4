import type { Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import type { Keys } from './keys.ts'
import { sinkOf } from './lane-names.ts'
import { dropForeign, lanesIn, scanHash, suspiciousIn } from './pending.ts'

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
      log.warn({ fields: removed }, 'another program wrote into the register of lanes: removed it')
    return { waiting, empty }
  }

  async #stillThere(pairs: readonly [string, string][]): Promise<[string, string][]> {
    const { redis, keys } = this.#parts
    const values = await redis.hmget(keys.pending, ...pairs.map(([name]) => name))
    return pairs.flatMap(([name], i): [string, string][] => (values[i] == null ? [] : [[name, values[i]]]))
  }
}
