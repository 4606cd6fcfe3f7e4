import { collectDefaultMetrics, Registry } from 'prom-client'
import { mapInSlices } from '../text/yielding.ts'
import { version } from '../version.ts'
import { deliveryMetrics, redisMetrics } from './delivery-metrics.ts'
import { type ConfiguredRule, type MetricDefinition, registerEventLoopLag } from './metric-types.ts'
import type { Vitals } from './server/health.ts'
import { REFUSAL_REASONS, serverMetrics } from './server-metrics.ts'
import { buildMetrics, configurationMetrics, watchMetrics } from './watch-metrics.ts'

/** In the order of the tables in docs/metrics.md, which are generated from them: `npx vitest run test/observe/metrics-page.test.ts --update`. */
export const METRIC_TABLES = [
  ...[buildMetrics, configurationMetrics, watchMetrics, deliveryMetrics],
  ...[redisMetrics, serverMetrics],
]

/**
 * Every metric of the program; a new one is an entry in one of the tables. Label values are bounded: watches, sinks and rules of
 * the configuration, and fixed lists.
 */
const METRICS = {
  ...buildMetrics,
  ...configurationMetrics,
  ...watchMetrics,
  ...deliveryMetrics,
  ...redisMetrics,
  ...serverMetrics,
}

type Handles = { [Key in keyof typeof METRICS]: ReturnType<(typeof METRICS)[Key]['create']> }

/** The metrics of `METRICS`, under their keys. */
export type Metrics = Handles & { registry: Registry }

const DEFINITIONS = Object.entries(METRICS) as unknown as [keyof Handles, MetricDefinition<unknown>][]

/** Creates a registry with every metric of the program, and with those of the process (`process_*`, `nodejs_*`). */
export function createMetrics(): Metrics {
  const registry = new Registry()
  // prom-client's own sampler of the event loop would wake the process a hundred times a second.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 })
  registerEventLoopLag(registry)
  // Gauges with the name of a counter; those without `_total` count the same by type.
  for (const kind of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${kind}_total`)
  const handles = DEFINITIONS.map(([key, definition]) => [key, definition.create(registry)])
  const metrics = { registry, ...Object.fromEntries(handles) } as Metrics
  metrics.buildInfo.set({ version, node_version: process.versions.node }, 1)
  metrics.ledgerBalanced.set(1)
  for (const reason of REFUSAL_REASONS) metrics.requestsRefused.inc({ reason }, 0)
  return metrics
}

/** Adds the initial samples of sinks and rules. A counter that has a sample keeps its value. */
export async function startAtZero(
  metrics: Metrics,
  { sinks, rules }: { sinks: readonly { name: string }[]; rules: readonly ConfiguredRule[] },
): Promise<void> {
  await mapInSlices(rules, (rule) => addInitialSamples(metrics, 'rule', rule.name, rule))
  for (const sink of sinks) addInitialSamples(metrics, 'sink', sink.name, sink)
}

type Subject = keyof NonNullable<MetricDefinition<unknown>['initial']>

function addInitialSamples(metrics: Metrics, label: Subject, value: string, subject: unknown): void {
  for (const [key, { initial, labels, addZero }] of DEFINITIONS) {
    const samples = (initial?.[label] as ((it: unknown) => boolean | readonly string[]) | undefined)?.(
      subject,
    )
    if (!samples) continue
    if (samples === true) addZero(metrics[key], { [label]: value })
    else
      for (const second of samples) addZero(metrics[key], { [label]: value, [labels[1] as string]: second })
  }
}

/** Sets the gauges that are read at every scrape, and adds the initial samples of new watches. */
export function sampleVitals(metrics: Metrics, { watches, metadata = [], sinks }: Vitals): void {
  const all = [...watches, ...metadata]
  for (const [key, { read, labels }] of DEFINITIONS) {
    const gauge = metrics[key] as Metrics['watchPhase']
    // Watches come and go: a kind that is resolved gets the title of its source.
    if (read?.watch) gauge.reset()
    for (const status of read?.watch ? all : []) set(gauge, labels, status.title, read?.watch?.(status))
    for (const status of read?.sink ? sinks : []) set(gauge, labels, status.sink, read?.sink?.(status))
  }
  // Without a source the title is only the configuration's spelling of the kind.
  for (const status of all)
    if (status.key !== status.title)
      addInitialSamples(metrics, 'watch', status.title, { metadataOnly: metadata.includes(status) })
}

function set(
  gauge: { set(labels: Record<string, string>, value: number): void },
  [first = '', second = '']: readonly string[],
  subject: string,
  value: number | undefined | Readonly<Record<string, number>>,
): void {
  if (typeof value === 'number') gauge.set({ [first]: subject }, value)
  else
    for (const [key, own] of Object.entries(value ?? {})) gauge.set({ [first]: subject, [second]: key }, own)
}
