import type { Metrics } from '../metrics.ts'
import type { Sink } from '../sink/index.ts'
import type { SinkStatus } from '../status.ts'
import { createBreaker } from './breaker.ts'
import { createFailingLanes } from './failing-lanes.ts'
import { FailureShare, FIRST_BATCH, type SinkState } from './sink-state.ts'

export interface SinkRegistryParts {
  /** What to deliver to, by name: looked up when a sink comes. */
  sinks: ReadonlyMap<string, Sink>
  /** For sinks that make one thing of many deliveries: how many they take at once. */
  maxBatchOf?(sink: string): number | undefined
  /** Does it send several deliveries in one request? */
  joins?(sink: string): boolean
  /** For sinks whose type names the lanes: those are logs, each in order. */
  namesLanes?(sink: string): boolean
  /** Nothing has waited for a removed sink for a while: it is not needed any more. */
  onDrained?(sink: string): void
  metrics: Metrics
  random(): number
  /** How long nothing must have waited. */
  drainedAfterMs?: number
}

/** What lanes deliver to: the sinks of the configuration, and removed ones while something may still wait for them. */
export interface SinkRegistry extends ReadonlyMap<string, SinkState> {
  /** The sinks to deliver to from now on; those in `anew` are others under the same name. */
  use(names: readonly string[], anew: ReadonlySet<string>): void
  /** Learns for which sinks something waits; lets go of removed ones for which nothing does. */
  waiting(sinks: ReadonlySet<string>): void
  /** `undertaker` stands in for a sink that no process has. */
  bury(name: string, undertaker: Sink): void
  isBuried(name: string): boolean
  /** A process has it again: nobody stands in for it any more. */
  exhume(name: string): void
}

/** Processes that do not know of the removal yet may still enqueue for a while. */
const DRAINED_AFTER_MS = 30_000

export function createSinkRegistry(parts: SinkRegistryParts): SinkRegistry {
  const states = new Map<string, SinkState>()
  const emptySince = new Map<string, number>()
  const buried = new Set<string>()
  const { drainedAfterMs = DRAINED_AFTER_MS } = parts

  function add(name: string): void {
    const sink = parts.sinks.get(name)
    if (!sink) return
    states.set(name, stateOf(parts, name, sink))
    parts.metrics.sinkHealthy.set({ sink: name }, 1)
  }

  return Object.assign(states, {
    use(names: readonly string[], anew: ReadonlySet<string>) {
      const wanted = new Set(names)
      for (const [name, state] of states) {
        state.removed = !wanted.has(name)
        state.replaced = wanted.has(name) && anew.has(name)
      }
      emptySince.clear()
      for (const name of wanted) {
        const known = states.get(name)
        if (!known || known.replaced || buried.delete(name)) add(name)
      }
    },
    bury(name: string, undertaker: Sink) {
      states.set(name, { ...stateOf({ random: parts.random }, name, undertaker), removed: true })
      buried.add(name)
    },
    isBuried: (name: string) => buried.has(name),
    exhume(name: string) {
      if (buried.delete(name)) states.delete(name)
    },
    waiting(sinks: ReadonlySet<string>) {
      const nowMs = performance.now()
      for (const { name, removed } of [...states.values()]) {
        if (!removed || sinks.has(name)) {
          emptySince.delete(name)
          continue
        }
        const sinceMs = emptySince.get(name) ?? nowMs
        emptySince.set(name, sinceMs)
        if (nowMs - sinceMs < drainedAfterMs) continue
        states.delete(name)
        emptySince.delete(name)
        buried.delete(name)
        parts.onDrained?.(name)
      }
    },
  })
}

function stateOf(
  {
    random,
    maxBatchOf,
    joins,
    namesLanes,
  }: Pick<SinkRegistryParts, 'random' | 'maxBatchOf' | 'joins' | 'namesLanes'>,
  name: string,
  sink: Sink,
): SinkState {
  const maxBatch = maxBatchOf?.(name)
  const ordered = namesLanes?.(name) ?? false
  return {
    name,
    sink,
    healthy: true,
    removed: false,
    replaced: false,
    passedMs: Number.NEGATIVE_INFINITY,
    quickMs: Number.NEGATIVE_INFINITY,
    failingSinceMs: undefined,
    entryCost: undefined,
    batchSize: maxBatch ?? FIRST_BATCH,
    takesAll: maxBatch !== undefined,
    joins: ordered || maxBatch !== undefined || (joins?.(name) ?? false),
    ordered,
    failingLanes: createFailingLanes(),
    failureShare: new FailureShare(),
    // Pauses are not the wall clock's business: it may jump.
    breaker: createBreaker(performance, random),
  }
}

/** What this process knows of a sink; `aside` objects of it fail alone. */
export function statusOf(state: SinkState, aside: number): SinkStatus {
  const { name, healthy, removed, failingLanes, lastDeliveredMs, lastError, lastErrorMs } = state
  return {
    sink: name,
    healthy,
    ...(removed && { removed }),
    aside,
    failingTargets: failingLanes.count(),
    ...(lastDeliveredMs !== undefined && { lastDeliveredMs }),
    ...(lastError !== undefined && { lastError }),
    ...(lastErrorMs !== undefined && { lastErrorMs }),
  }
}
