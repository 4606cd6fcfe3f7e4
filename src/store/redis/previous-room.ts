import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import type { Keys } from '../keys.ts'

/** Share of `maxmemory` beyond which large previous objects are not stored. */
const FULL_AT = 0.1
const ROOM_BELOW = 0.09
/** Number of objects of a hash by which Redis estimates its size; 0 for all of them. */
const SAMPLES = 200
const ALL = 0
const MEASURE_EVERY_MS = 5_000

/** What the previous objects of a source take. */
interface Size {
  source: string
  bytes: number
}

/** What the previous objects take in Redis: a bound for large ones, and the room that giving them up makes. */
export class PreviousRoom {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #log: Logger
  #isFull = false
  #measuredMs = Number.NEGATIVE_INFINITY

  constructor({ redis, keys, log }: { redis: Redis; keys: Keys; log: Logger }) {
    this.#redis = redis
    this.#keys = keys
    this.#log = log
  }

  /** Large objects are not stored. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** `limit` is this cluster's part of `maxmemory`, 0 where there is room for all. */
  async sample(limit: number): Promise<void> {
    const nowMs = performance.now()
    if (limit > 0 && nowMs - this.#measuredMs < MEASURE_EVERY_MS) return
    if (limit > 0) this.#measuredMs = nowMs
    const bytes = limit === 0 ? 0 : sumOf(await this.#sizes(SAMPLES))
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
    const sizes = (await this.#sizes(ALL)).toSorted((a, b) => b.bytes - a.bytes)
    if (sumOf(sizes) < bytes) {
      this.#log.debug(
        { bytes: sumOf(sizes) },
        'previous objects stay: deleting them would not make enough room',
      )
      return
    }
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

  async #sizes(samples: number): Promise<Size[]> {
    const sources = await this.#redis.hkeys(this.#keys.sources)
    if (sources.length === 0) return []
    const pipeline = this.#redis.pipeline()
    for (const source of sources) pipeline.memory('USAGE', this.#keys.old(source), 'SAMPLES', samples)
    const replies = (await pipeline.exec()) ?? []
    return sources.map((source, i) => {
      const [error, bytes] = replies[i] ?? []
      if (error) throw error
      return { source, bytes: Number(bytes ?? 0) }
    })
  }
}

function sumOf(sizes: readonly Size[]): number {
  return sizes.reduce((sum, { bytes }) => sum + bytes, 0)
}
