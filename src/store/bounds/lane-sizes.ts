import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { MeasuringPauses, measureStreams } from './measure-streams.ts'
import { bytesNow, bytesUnmeasured, fixedOf, type LaneExtent } from './queue-bounds.ts'
import { Turns } from './turns.ts'

/** A lane as it was measured last. */
interface KnownLane {
  bytes: number
  /** How many deliveries waited then. */
  deliveries: number
  entries: number
  oldestMs: number
  newestMs: number
}

/** Lane → how many deliveries wait in it. */
export type Waiting = ReadonlyMap<string, number>

/** The memory that lanes use in Redis. They are measured in turn; between measurements the size is computed from the number of deliveries. */
export class LaneSizes {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #known = new Map<string, KnownLane>()
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
   * deliveries go first, but take at most half. During a pause only lanes that were never measured are measured.
   */
  async measure(own: readonly string[], waiting: Waiting, most: number): Promise<void> {
    for (const lane of this.#known.keys()) if (!waiting.has(lane)) this.#known.delete(lane)
    for (const lane of this.#changed) if (!waiting.has(lane)) this.#changed.delete(lane)
    this.#turns.keep(own)
    const first = [...this.#changed].slice(0, Math.floor(most / 2))
    const candidates = [...new Set([...first, ...this.#turns.inOrder()])]
    const due = this.#pauses.isResting ? candidates.filter((lane) => !this.#known.has(lane)) : candidates
    const some = due.slice(0, most)
    if (some.length === 0) return
    for (const lane of some) {
      this.#turns.served(lane)
      this.#changed.delete(lane)
    }
    const counts = new Map(some.map((lane) => [this.#keys.lane(lane), Math.max(1, waiting.get(lane) ?? 1)]))
    const countOf = (key: string) => counts.get(key) ?? 1
    const measured = await this.#pauses.note(() => measureStreams(this.#redis, [...counts.keys()], countOf))
    for (const lane of some) {
      const key = this.#keys.lane(lane)
      const found = measured.get(key)
      if (found) this.#known.set(lane, { ...found, deliveries: countOf(key) })
    }
  }

  /** The oldest deliveries of a lane, up to this time, are gone. */
  gaveUp(lane: string, untilMs: number): void {
    this.#changed.add(lane)
    const known = this.#known.get(lane)
    if (known) known.oldestMs = Math.max(known.oldestMs, untilMs)
  }

  /** Those lanes that were measured, as they are now. */
  extents(own: readonly string[], waiting: Waiting): LaneExtent[] {
    return own.flatMap((lane) => {
      const known = this.#known.get(lane)
      if (!known) return []
      const { oldestMs, newestMs } = known
      return [{ lane, bytes: bytesNow(known, waiting.get(lane) ?? 0), oldestMs, newestMs }]
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
