import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import type { Keys } from '../keys.ts'

/** Of `maxmemory`: beyond it, large previous objects are not stored. */
const FULL_AT = 0.1
const ROOM_BELOW = 0.09
/** Objects of a hash that Redis measures for its size. */
const SAMPLES = 20

/** What the previous objects take in Redis: a bound for large ones, and the room that giving them up makes. */
export class PreviousRoom {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #log: Logger
  #isFull = false

  constructor({ redis, keys, log }: { redis: Redis; keys: Keys; log: Logger }) {
    this.#redis = redis
    this.#keys = keys
    this.#log = log
  }

  /** Large objects are not stored. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** `limit` is `maxmemory`, 0 for none. */
  async sample(limit: number): Promise<void> {
    const bytes = limit === 0 ? 0 : (await this.#sizes()).reduce((sum, it) => sum + it.bytes, 0)
    const isFull = bytes > limit * (this.#isFull ? ROOM_BELOW : FULL_AT)
    if (isFull === this.#isFull) return
    this.#isFull = isFull
    if (isFull)
      this.#log.warn(
        { bytes },
        'previous objects take a tenth of Redis: those of more than 16 KiB are not stored, so rules with changed, from or to-state do not match the next change of these objects',
      )
    else this.#log.info({ bytes }, 'there is room for large previous objects again')
  }

  /**
   * Deletes previous objects, those of the largest sources first, until about `bytes` are free; none if all of them are less. Deletions
   * of objects would free them, but are commits, which wait while Redis is nearly full.
   */
  async giveUp(bytes: number): Promise<void> {
    const sizes = (await this.#sizes()).toSorted((a, b) => b.bytes - a.bytes)
    if (sizes.reduce((sum, it) => sum + it.bytes, 0) < bytes) return
    const sources: string[] = []
    let given = 0
    for (const { source, bytes: size } of sizes) {
      if (given >= bytes) break
      await this.#redis.unlink(this.#keys.old(source))
      sources.push(source)
      given += size
    }
    this.#log.warn(
      { sources: sources.length, first: sources[0], bytes: given },
      'Redis is still nearly full: previous objects are given up, so that watches go on; rules with changed, from or to-state do not match the next change of these objects',
    )
  }

  async #sizes(): Promise<{ source: string; bytes: number }[]> {
    const sources = await this.#redis.hkeys(this.#keys.sources)
    if (sources.length === 0) return []
    const pipeline = this.#redis.pipeline()
    for (const source of sources) pipeline.memory('USAGE', this.#keys.old(source), 'SAMPLES', SAMPLES)
    const replies = (await pipeline.exec()) ?? []
    return sources.map((source, i) => {
      const [error, bytes] = replies[i] ?? []
      if (error) throw error
      return { source, bytes: Number(bytes ?? 0) }
    })
  }
}
