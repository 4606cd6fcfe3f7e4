import type { Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import type { Keys } from './keys.ts'
import { dropForeign, lanesIn, scanStep, sinkOf, suspiciousIn } from './pending.ts'

const CLOCK_JUMP_MS = 2_000

/** How many lanes of this process have something to deliver, and for which sinks, of anybody, something waits. */
export interface Waiting {
  lanes: number
  sinks: ReadonlySet<string>
}

/** How many lanes one sweep wakes, about; the next one goes on behind them. */
const MOST_WOKEN = 5_000

/** Wakes every lane that has something to deliver: makes up for wake-ups that a crash lost. */
export class Sweep {
  readonly #parts: { redis: Redis; keys: Keys; log: Logger }
  readonly #wake: (lanes: readonly string[]) => void
  /** Where the scan of `pending` goes on: one of very many lanes takes several sweeps. */
  #cursor = '0'
  #lanes = 0
  #sinks = new Set<string>()
  #dropped = 0
  /** Sinks that something was enqueued for, as far as this process has seen. */
  readonly #known = new Set<string>()

  constructor(parts: { redis: Redis; keys: Keys; log: Logger }, wake: (lanes: readonly string[]) => void) {
    this.#parts = parts
    this.#wake = wake
  }

  /** Returns what waits when all lanes were looked at; undefined before. `told` are sinks that were logged as unknown. */
  async sweep(outlets: ReadonlyMap<string, unknown>, told: Set<string>): Promise<Waiting | undefined> {
    try {
      for (let woken = 0; woken < MOST_WOKEN; ) {
        woken += await this.#step(outlets)
        if (this.#cursor === '0') return this.#end(outlets, told)
      }
    } catch (error) {
      this.#parts.log.debug({ error }, 'sweep failed; the next one follows')
    }
    return undefined
  }

  async #step(outlets: ReadonlyMap<string, unknown>): Promise<number> {
    const { redis, keys } = this.#parts
    const { next, pairs } = await scanStep(redis, keys.pending, this.#cursor)
    const isKnown = (sink: string) => outlets.has(sink) || this.#known.has(sink)
    const suspicious = suspiciousIn(pairs, { has: isKnown })
    const dropped = await dropForeign(redis, keys, suspicious)
    this.#dropped += dropped
    const left = dropped === 0 ? pairs : await this.#stillThere(pairs)
    const known = lanesIn(left)
    for (const lane of known.keys()) this.#known.add(sinkOf(lane))
    const lanes = [...known].flatMap(([lane, count]) => (count > 0 ? [lane] : []))
    for (const lane of lanes) this.#sinks.add(sinkOf(lane))
    const ours = lanes.filter((lane) => outlets.size === 0 || outlets.has(sinkOf(lane)))
    this.#wake(ours)
    this.#lanes += ours.length
    this.#cursor = next
    return ours.length
  }

  async #stillThere(pairs: [string, string][]): Promise<[string, string][]> {
    const { redis, keys } = this.#parts
    const values = await redis.hmget(keys.pending, ...pairs.map(([name]) => name))
    return pairs.flatMap(([name], i): [string, string][] => (values[i] == null ? [] : [[name, values[i]]]))
  }

  #end(outlets: ReadonlyMap<string, unknown>, told: Set<string>): Waiting {
    const { log } = this.#parts
    const waiting = { lanes: this.#lanes, sinks: this.#sinks }
    if (this.#dropped > 0)
      log.warn({ fields: this.#dropped }, 'another program wrote into the register of lanes: removed it')
    this.#lanes = 0
    this.#sinks = new Set()
    this.#dropped = 0
    if (outlets.size === 0) return waiting
    for (const sink of waiting.sinks) {
      if (outlets.has(sink) || told.has(sink)) continue
      told.add(sink)
      log.warn({ sink }, 'deliveries wait for a sink that the configuration does not have (any more)')
    }
    return waiting
  }
}

/** Tells whether the wall clock went back since the last call. */
export function watchClock(clock: { now(): number }): () => boolean {
  let [wallMs, realMs] = [clock.now(), performance.now()]
  return () => {
    const slippedMs = performance.now() - realMs - (clock.now() - wallMs)
    wallMs = clock.now()
    realMs = performance.now()
    return slippedMs > CLOCK_JUMP_MS
  }
}
