import { Counter, Gauge, type Registry } from 'prom-client'
import type { SinkMetrics } from '../sink/index.ts'

/** So many metrics the sinks of one type may have: a plug-in that needs more makes names out of what it delivers. */
const MAX_NAMES = 50

type Own = Counter<'sink'> | Gauge<'sink'>

const own = new WeakMap<Registry, Map<string, Own>>()

/**
 * Metrics of a sink's own: `kubeherald_<type>_<name>{sink}`. Sinks of one type share them. Their only label is the sink, so
 * nothing that is delivered makes a series; metrics beyond the limit count nothing and are told by `onRefused`. Throws when
 * the name is another metric's.
 */
export function createSinkMetrics(
  registry: Registry,
  type: string,
  sink: string,
  onRefused: () => void = () => {},
): SinkMetrics {
  const labelNames = ['sink'] as const
  const registers = [registry]
  const prefix = prefixOf(type)
  const known = own.get(registry) ?? new Map<string, Own>()
  own.set(registry, known)

  /** A metric of that name and kind; a new one while there is room for it. */
  function have<M extends Own>(
    name: string,
    kind: { new (...args: never[]): M },
    create: () => M,
  ): M | undefined {
    const fullName = prefix + name
    const before = known.get(fullName)
    if (before instanceof kind) return before
    if (before || registry.getSingleMetric(fullName))
      throw new Error(`the metric ${fullName} is there already, as something else: choose another name`)
    if ([...known.keys()].filter((it) => it.startsWith(prefix)).length >= MAX_NAMES) return void onRefused()
    const metric = create()
    known.set(fullName, metric)
    return metric
  }

  return {
    counter(name, help) {
      const config = { name: prefix + name, help, labelNames, registers }
      const counter = have(name, Counter<'sink'>, () => new Counter(config))
      counter?.inc({ sink }, 0)
      return (n = 1) => counter?.inc({ sink }, n)
    },
    gauge(name, help) {
      const config = { name: prefix + name, help, labelNames, registers }
      const gauge = have(name, Gauge<'sink'>, () => new Gauge(config))
      return (value) => gauge?.set({ sink }, value)
    },
  }
}

/** How the names of a type's own metrics begin. */
export function prefixOf(type: string): string {
  return `kubeherald_${type.replaceAll(/[^a-zA-Z0-9]/g, '_')}_`
}
