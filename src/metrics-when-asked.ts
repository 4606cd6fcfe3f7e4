import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'

/** Too often for a counter with labels, which costs half a microsecond: numbers in a map, told when somebody asks. */
export function ruleMatches(registry: Registry) {
  const tally = new Map<string, number>()
  const counter = new Counter({
    name: 'kubeherald_rule_matches_total',
    help: 'Times that the conditions of a rule held.',
    labelNames: ['rule'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [rule, count] of tally) this.inc({ rule }, count)
    },
  })
  counter.remove = (labels: unknown) => void tally.delete((labels as { rule: string }).rule)
  return {
    inc: (rule: string, count = 1): void => void tally.set(rule, (tally.get(rule) ?? 0) + count),
  }
}

/** Objects that are remembered. */
export function enrichObjects(registry: Registry) {
  let sizes = (): { resource: string; objects: number }[] => []
  new Gauge({
    name: 'kubeherald_enrich_objects',
    help: 'Objects whose metadata is remembered because rules ask for it.',
    labelNames: ['resource'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { resource, objects } of sizes()) this.set({ resource }, objects)
    },
  })
  return {
    collectFrom(source: typeof sizes): void {
      sizes = source
    },
  }
}

/** What is under way, and since when. */
export function commitWaits(registry: Registry) {
  const startedMs = new Set<{ ms: number }>()
  new Gauge({
    name: 'kubeherald_commit_waiting_seconds',
    help: 'Age of the oldest commit under way; 0 when there is none.',
    registers: [registry],
    collect() {
      const [oldest] = startedMs
      this.set(oldest ? (performance.now() - oldest.ms) / 1_000 : 0)
    },
  })
  return {
    /** Gives what to call at its end. */
    begin(): () => void {
      const one = { ms: performance.now() }
      startedMs.add(one)
      return () => void startedMs.delete(one)
    },
  }
}

const LAG_RESOLUTION_MS = 500

/** Delays of the event loop since the last collection, sampled twice a second; replaces those of the library under their names. */
export function eventLoopLag(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delays.enable()
  // Each sample holds the time between two of them.
  const seconds = (nanoseconds: number) =>
    delays.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - LAG_RESOLUTION_MS / 1_000)
  const read: Record<string, () => number> = {
    min: () => seconds(delays.min),
    max: () => seconds(delays.max),
    mean: () => seconds(delays.mean),
    stddev: () => (delays.count === 0 ? 0 : delays.stddev / 1e9),
    p50: () => seconds(delays.percentile(50)),
    p90: () => seconds(delays.percentile(90)),
    p99: () => seconds(delays.percentile(99)),
  }
  for (const [what, value] of Object.entries(read)) {
    const name = `nodejs_eventloop_lag_${what}_seconds`
    registry.removeSingleMetric(name)
    new Gauge({
      name,
      help: `Delays of the event loop since the last collection: ${what}.`,
      registers: [registry],
      collect() {
        this.set(value())
        if (what === 'p99') delays.reset()
      },
    })
  }
}
