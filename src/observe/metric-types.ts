import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SinkStatus, WatchStatus } from '../model/status.ts'

interface Named {
  name: string
}

/** The parts of a rule that decide which of its series exist from the start. */
export interface ConfiguredRule extends Named {
  drop?: boolean | undefined
  condition?: { for?: number | undefined } | undefined
  group?: unknown
  resolve?: unknown
}

/** True for one sample, or the values of the second label. */
type InitialSamples = boolean | readonly string[]

interface Options {
  /** Markdown that docs/metrics.md adds to the help text. */
  details?: string
  /** The value is read from Redis, so every process exposes the same one. */
  shared?: true
  /** The samples of 0 that exist before the first event, so that `increase()` sees it. By the metric's first label. */
  initial?: {
    rule?(rule: ConfiguredRule): InitialSamples
    sink?(sink: Named): InitialSamples
    watch?(watch: { metadataOnly: boolean }): InitialSamples
  }
  /** Reads a gauge at every scrape: its value, or one for each value of the second label; undefined for no sample. */
  read?: {
    watch?(status: WatchStatus): number | undefined | Readonly<Record<string, number>>
    sink?(status: SinkStatus): number | undefined
  }
}

/** One metric: its series, its line in docs/metrics.md, and the source of its samples where the code does not count them itself. */
export interface MetricDefinition<Handle> extends Options {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  create(registry: Registry): Handle
  /** Adds a sample of 0; counters and gauges that have one keep its value. */
  addZero(handle: Handle, labels: Record<string, string>): void
}

/** Buckets of durations in seconds, and of counts. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
export const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000]

/** A watch of metadata alone has no events. */
export const WATCH_WITH_EVENTS = { initial: { watch: (it: { metadataOnly: boolean }) => !it.metadataOnly } }

export function counter<L extends string>(
  name: string,
  help: string,
  labels: readonly L[],
  options: Options = {},
): MetricDefinition<Counter<L>> {
  return scalar('counter', name, help, labels, options, (config) => new Counter<L>(config))
}

export function gauge<L extends string>(
  name: string,
  help: string,
  labels: readonly L[],
  options: Options = {},
): MetricDefinition<Gauge<L>> {
  return scalar('gauge', name, help, labels, options, (config) => new Gauge<L>(config))
}

function scalar<L extends string, Handle extends Counter<L> | Gauge<L>>(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  labels: readonly L[],
  options: Options,
  create: (config: { name: string; help: string; labelNames: readonly L[]; registers: Registry[] }) => Handle,
): MetricDefinition<Handle> {
  const fullName = `kubeherald_${name}`
  return {
    ...options,
    name: fullName,
    type,
    help,
    labels,
    create: (registry) => create({ name: fullName, help, labelNames: labels, registers: [registry] }),
    addZero: (it, own) => it.inc(own as Record<L, string>, 0),
  }
}

export function histogram<L extends string>(
  name: string,
  help: string,
  labels: readonly L[],
  buckets: number[],
  options: Options = {},
): MetricDefinition<Histogram<L>> {
  const config = { name: `kubeherald_${name}`, help, labelNames: labels, buckets }
  return {
    ...options,
    name: config.name,
    type: 'histogram',
    help,
    labels,
    create: (registry) => new Histogram({ ...config, registers: [registry] }),
    addZero: (it, own) => it.zero(own as Record<L, string>),
  }
}

interface Tally {
  inc(value: string, count?: number): void
}

/** A counter with one label that is counted in a map, because `Counter.inc` with labels costs half a microsecond. */
export function tally(name: string, help: string, label: string, options: Options): MetricDefinition<Tally> {
  const definition = counter(name, help, [label], options)
  return {
    ...definition,
    addZero: (it, labels) => it.inc(labels[label] as string, 0),
    create(registry) {
      const counts = new Map<string, number>()
      const exposed = new Counter({
        name: definition.name,
        help,
        labelNames: [label],
        registers: [registry],
        collect() {
          this.reset()
          for (const [value, count] of counts) this.inc({ [label]: value }, count)
        },
      })
      exposed.remove = (labels: unknown) =>
        void counts.delete((labels as Record<string, string>)[label] as string)
      return { inc: (value, count = 1) => void counts.set(value, (counts.get(value) ?? 0) + count) }
    },
  }
}

interface CollectedGauge {
  /** Reads the values at every scrape, by the value of the label. */
  collectFrom(source: () => Iterable<readonly [value: string, count: number]>): void
}

/** A gauge with one label whose values another part of the program has. */
export function collected(
  name: string,
  help: string,
  label: string,
  options: Options,
): MetricDefinition<CollectedGauge> {
  const definition = gauge(name, help, [label], options)
  return {
    ...definition,
    addZero() {},
    create(registry) {
      let read = (): Iterable<readonly [string, number]> => []
      new Gauge({
        name: definition.name,
        help,
        labelNames: [label],
        registers: [registry],
        collect() {
          this.reset()
          for (const [value, count] of read()) this.set({ [label]: value }, count)
        },
      })
      return {
        collectFrom(source) {
          read = source
        },
      }
    },
  }
}

interface OldestGauge {
  /** Returns a function to call at the end of the operation. */
  begin(): () => void
}

/** The age of the oldest operation in progress, in seconds. */
export function oldest(name: string, help: string): MetricDefinition<OldestGauge> {
  const definition = gauge(name, help, [])
  return {
    ...definition,
    addZero() {},
    create(registry) {
      const started = new Set<{ ms: number }>()
      new Gauge({
        name: definition.name,
        help,
        registers: [registry],
        collect() {
          const [first] = started
          this.set(first ? (performance.now() - first.ms) / 1_000 : 0)
        },
      })
      return {
        begin() {
          const operation = { ms: performance.now() }
          started.add(operation)
          return () => void started.delete(operation)
        },
      }
    },
  }
}

const LAG_RESOLUTION_MS = 500

/** Registers the event loop's delays since the last scrape, sampled twice a second, under prom-client's names. */
export function registerEventLoopLag(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delays.enable()
  // Each sample is the time between two timers, so it includes the resolution.
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
  for (const [statistic, value] of Object.entries(read)) {
    const name = `nodejs_eventloop_lag_${statistic}_seconds`
    registry.removeSingleMetric(name)
    new Gauge({
      name,
      help: `Delays of the event loop since the last scrape: ${statistic}.`,
      registers: [registry],
      collect() {
        this.set(value())
        if (statistic === 'p99') delays.reset()
      },
    })
  }
}
