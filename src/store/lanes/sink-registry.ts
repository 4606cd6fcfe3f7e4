import type { Redis } from 'ioredis'
import type { Outcome, Sink } from '../../sink/index.ts'
import type { Keys } from '../keys.ts'
import { readHash } from '../redis/scan.ts'
import type { ClockJumps } from './clock-jumps.ts'
import type { Item } from './lane-entries.ts'
import { SinkState, type SinkStateParts } from './sink-state.ts'

export interface SinkRegistryParts {
  /** The configured sinks by name. */
  sinks: ReadonlyMap<string, Sink>
  /** For sinks that combine many deliveries into one: the maximum number. */
  maxBatchOf?(sink: string): number | undefined
  /** Whether the sink sends several deliveries in one request. */
  joins?(sink: string): boolean
  /** Whether the sink's type names the lanes: those are logs, each in order. */
  namesLanes?(sink: string): boolean
  /** Called when nothing has waited for a removed sink for a while. */
  onDrained?(sink: string): void
  /** How long nothing must have waited. */
  drainedAfterMs?: number
}

/** Processes that do not know of the removal yet may still enqueue for a while. */
const DRAINED_AFTER_MS = 30_000

/** The sinks of the configuration, and removed ones while deliveries may still wait for them. */
export class SinkRegistry {
  readonly #parts: SinkRegistryParts & SinkStateParts
  readonly #states = new Map<string, SinkState>()
  /** Removed sinks for which nothing waits → since when. */
  readonly #emptySince = new Map<string, number>()
  /** Orphaned sinks whose deliveries expire. */
  readonly #expiring = new Set<string>()

  constructor(parts: SinkRegistryParts & SinkStateParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#states.size
  }

  get(name: string): SinkState | undefined {
    return this.#states.get(name)
  }

  has(name: string): boolean {
    return this.#states.has(name)
  }

  /** Whether this process delivers to the sink, instead of expiring its deliveries. */
  delivers(name: string): boolean {
    return this.#states.has(name) && !this.#expiring.has(name)
  }

  names(): string[] {
    return [...this.#states.keys()]
  }

  states(): SinkState[] {
    return [...this.#states.values()]
  }

  /** Uses these sinks from now on; those in `replaced` are other sinks under the same name. */
  use(names: readonly string[], replaced: ReadonlySet<string>): void {
    const wanted = new Set(names)
    for (const [name, state] of this.#states) {
      state.removed = !wanted.has(name)
      state.replaced = wanted.has(name) && replaced.has(name)
    }
    this.#emptySince.clear()
    for (const name of wanted) {
      const known = this.#states.get(name)
      known?.setJoins(this.#parts.joins?.(name) ?? false)
      if (!known || known.replaced || this.#expiring.delete(name)) this.#add(name)
    }
  }

  /** Takes the sinks for which deliveries wait; closes removed ones for which none has waited for a while. */
  waiting(sinks: ReadonlySet<string>): void {
    const nowMs = performance.now()
    const { drainedAfterMs = DRAINED_AFTER_MS, onDrained } = this.#parts
    for (const { name, removed } of this.states()) {
      if (!removed || sinks.has(name)) {
        this.#emptySince.delete(name)
        continue
      }
      const sinceMs = this.#emptySince.get(name) ?? nowMs
      this.#emptySince.set(name, sinceMs)
      if (nowMs - sinceMs < drainedAfterMs) continue
      this.#set(name, undefined)
      this.#emptySince.delete(name)
      this.#expiring.delete(name)
      onDrained?.(name)
    }
  }

  /** Expires the deliveries of a sink that no process has. */
  expireSink(name: string, outcomeOf: (item: Item) => Outcome): void {
    const state = new SinkState(this.#parts, name, outcomeOf)
    state.removed = true
    this.#set(name, state)
    this.#expiring.add(name)
  }

  /** A process has the sink again: its deliveries no longer expire. */
  restoreSink(name: string): void {
    if (this.#expiring.delete(name)) this.#set(name, undefined)
  }

  close(): void {
    for (const state of this.#states.values()) state.close()
  }

  #add(name: string): void {
    const { sinks, metrics, maxBatchOf, joins, namesLanes } = this.#parts
    const sink = sinks.get(name)
    if (!sink) return
    const traits = {
      maxBatch: maxBatchOf?.(name),
      joins: joins?.(name) ?? false,
      ordered: namesLanes?.(name) ?? false,
    }
    this.#set(name, new SinkState(this.#parts, name, sink, traits))
    metrics.sinkHealthy.set({ sink: name }, 1)
  }

  #set(name: string, state: SinkState | undefined): void {
    this.#states.get(name)?.close()
    if (state) this.#states.set(name, state)
    else this.#states.delete(name)
  }
}

/** A mark that was not renewed for longer than this is void: no process has checked meanwhile. */
const GAP_MS = 600_000

/**
 * Returns the sinks for which deliveries wait, and which no process has had since `beforeMs`, a Unix time. Processes without these sinks
 * mark them, and a process that has one removes the mark; so a process that is a reload behind expires nothing.
 */
export async function findOrphanedSinks(
  redis: Redis,
  keys: Keys,
  waiting: ReadonlySet<string>,
  own: { has(sink: string): boolean },
  { beforeMs, nowMs }: { beforeMs: number; nowMs: number },
): Promise<string[]> {
  const marks = await readHash(redis, keys.orphans)
  const found = [...marks.keys()].filter((sink) => own.has(sink) || !waiting.has(sink))
  if (found.length > 0) await redis.hdel(keys.orphans, ...found)
  const orphans: string[] = []
  for (const sink of waiting) {
    if (own.has(sink)) continue
    const [sinceMs = nowMs, lastMs = nowMs] = marks.get(sink)?.split(',').map(Number) ?? []
    // The clock may have gone back: a time in the future is void.
    const isStale = !(sinceMs <= nowMs) || !(nowMs - lastMs <= GAP_MS)
    await redis.hset(keys.orphans, sink, `${isStale ? nowMs : sinceMs},${nowMs}`)
    if (!isStale && sinceMs < beforeMs) orphans.push(sink)
  }
  return orphans
}

const CHECK_AGAIN_MS = 2_000

/** Returns the outcomes of an orphaned sink: deliveries that have waited for `maxAgeMs` are rejected. */
export function expiring(
  name: string,
  { maxAgeMs, jumps }: { maxAgeMs: number; jumps: Pick<ClockJumps, 'agoMs'> },
): (item: Item) => Outcome {
  const detail = `the sink "${name}" was removed from the configuration, and nothing delivered this for too long`
  return ({ observedAtMs }) =>
    observedAtMs < jumps.agoMs(maxAgeMs)
      ? { kind: 'rejected', reason: 'gone', detail }
      : { kind: 'later', afterMs: CHECK_AGAIN_MS }
}
