import type { Metrics } from '../metrics.ts'
import type { Sink } from '../sink/index.ts'
import type { SinkStatus } from '../status.ts'
import { createBreaker } from './breaker.ts'
import { FIRST_BATCH, type Outlet, setHealthy } from './outlet.ts'
import { createSuspects } from './suspects.ts'
import { createFailingTargets } from './targets.ts'

export interface OutletsParts {
  /** What to deliver to, by name: looked up when a sink comes. */
  sinks: ReadonlyMap<string, Sink>
  /** For sinks that make one thing of many deliveries: how many they take at once. */
  maxBatchOf?(sink: string): number | undefined
  /** Nothing has waited for a removed sink for a while: it is not needed any more. */
  onDrained?(sink: string): void
  metrics: Metrics
  random(): number
  /** How long nothing must have waited. */
  drainedAfterMs?: number
}

/** What lanes deliver to: the sinks of the configuration, and removed ones while something may still wait for them. */
export interface Outlets extends ReadonlyMap<string, Outlet> {
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

export function createOutlets(parts: OutletsParts): Outlets {
  const outlets = new Map<string, Outlet>()
  const emptySince = new Map<string, number>()
  const buried = new Set<string>()
  const { drainedAfterMs = DRAINED_AFTER_MS } = parts

  function add(name: string): void {
    const sink = parts.sinks.get(name)
    if (!sink) return
    const outlet = outletOf(parts, name, sink, parts.maxBatchOf?.(name))
    outlets.set(name, outlet)
    setHealthy(parts.metrics, outlet, true)
  }

  return Object.assign(outlets, {
    use(names: readonly string[], anew: ReadonlySet<string>) {
      const wanted = new Set(names)
      for (const [name, outlet] of outlets) {
        outlet.removed = !wanted.has(name)
        outlet.replaced = wanted.has(name) && anew.has(name)
      }
      emptySince.clear()
      for (const name of wanted) {
        const known = outlets.get(name)
        if (!known || known.replaced || buried.delete(name)) add(name)
      }
    },
    bury(name: string, undertaker: Sink) {
      outlets.set(name, { ...outletOf(parts, name, undertaker, undefined), removed: true })
      buried.add(name)
    },
    isBuried: (name: string) => buried.has(name),
    exhume(name: string) {
      if (buried.delete(name)) outlets.delete(name)
    },
    waiting(sinks: ReadonlySet<string>) {
      const nowMs = performance.now()
      for (const { name, removed } of [...outlets.values()]) {
        if (!removed || sinks.has(name)) {
          emptySince.delete(name)
          continue
        }
        const sinceMs = emptySince.get(name) ?? nowMs
        emptySince.set(name, sinceMs)
        if (nowMs - sinceMs < drainedAfterMs) continue
        outlets.delete(name)
        emptySince.delete(name)
        buried.delete(name)
        parts.onDrained?.(name)
      }
    },
  })
}

function outletOf({ random }: OutletsParts, name: string, sink: Sink, maxBatch: number | undefined): Outlet {
  return {
    name,
    sink,
    healthy: true,
    removed: false,
    replaced: false,
    passedMs: Number.NEGATIVE_INFINITY,
    batchSize: maxBatch ?? FIRST_BATCH,
    takesAll: maxBatch !== undefined,
    targets: createFailingTargets(),
    // Pauses are not the wall clock's business: it may jump.
    breaker: createBreaker(performance, random),
    suspects: createSuspects(random),
  }
}

/** What this process knows of a sink. */
export function statusOf(outlet: Outlet): SinkStatus {
  const { name, healthy, removed, suspects, targets, lastDeliveredMs, lastError, lastErrorMs } = outlet
  return {
    sink: name,
    healthy,
    ...(removed && { removed }),
    aside: suspects.count(),
    failingTargets: targets.count(),
    ...(lastDeliveredMs !== undefined && { lastDeliveredMs }),
    ...(lastError !== undefined && { lastError }),
    ...(lastErrorMs !== undefined && { lastErrorMs }),
  }
}
