import { Counter, Gauge, type Registry } from 'prom-client'
import type { SinkMetrics } from '../sink/index.ts'

/** Metrics of a sink's own: `kubeherald_<type>_<name>{sink}`. Sinks of one type share them. */
export function createSinkMetrics(registry: Registry, type: string, sink: string): SinkMetrics {
  const labelNames = ['sink'] as const
  const registers = [registry]
  const fullName = (name: string) => `${prefixOf(type)}${name}`
  return {
    counter(name, help) {
      const known = registry.getSingleMetric(fullName(name)) as Counter<'sink'> | undefined
      const counter = known ?? new Counter({ name: fullName(name), help, labelNames, registers })
      counter.inc({ sink }, 0)
      return (n = 1) => counter.inc({ sink }, n)
    },
    gauge(name, help) {
      const known = registry.getSingleMetric(fullName(name)) as Gauge<'sink'> | undefined
      const gauge = known ?? new Gauge({ name: fullName(name), help, labelNames, registers })
      return (value) => gauge.set({ sink }, value)
    },
  }
}

/** How the names of a type's own metrics begin. */
export function prefixOf(type: string): string {
  return `kubeherald_${type.replaceAll(/[^a-zA-Z0-9]/g, '_')}_`
}
