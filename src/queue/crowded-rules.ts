import type { Redis } from 'ioredis'
import { MOST_STATES } from '../limit.ts'
import type { Logger } from '../log.ts'
import type { Keys } from './keys.ts'
import { valuesOf } from './replies.ts'

/** Tells once of each rule that counts by as many values as it may, and again when it does so anew. */
export class CrowdedRules {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #log: Logger
  #told: ReadonlySet<string> = new Set()

  constructor({ redis, keys, log }: { redis: Redis; keys: Keys; log: Logger }) {
    this.#redis = redis
    this.#keys = keys
    this.#log = log
  }

  async look(rules: readonly string[], nowMs: number): Promise<void> {
    const pipeline = this.#redis.pipeline()
    for (const rule of rules) {
      const states = this.#keys.limitKeys(rule)
      pipeline.zremrangebyscore(states, '-inf', nowMs).zcard(states)
    }
    const replies = valuesOf(await pipeline.exec())
    const crowded = rules.filter((_, i) => Number(replies[2 * i + 1]) >= MOST_STATES)
    for (const rule of crowded)
      if (!this.#told.has(rule))
        this.#log.warn(
          { rule, values: MOST_STATES },
          'the limits of this rule count by more values than there is room for: what is new passes "after" and "throttle", and "group" collects it in one digest',
        )
    this.#told = new Set(crowded)
  }
}
