import type { Metric, Registry } from 'prom-client'
import { Breath } from './slices.ts'

/**
 * Forgets every series that carries one of these values of a label, in slices; `prefix` narrows that to metrics of such names.
 */
export async function forgetSeries(
  registry: Registry,
  label: string,
  forgotten: readonly string[],
  prefix = '',
): Promise<void> {
  const all = new Set(forgotten)
  if (all.size === 0) return
  const breath = new Breath()
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = name.startsWith(prefix) ? (registry.getSingleMetric(name) as Metric) : undefined
    if (!metric) continue
    const { values } = await metric.get()
    for (const { labels } of values) {
      if (breath.isDue()) await breath.take()
      if (!all.has(String((labels as Record<string, unknown>)[label]))) continue
      const { le: _, ...own } = labels as Record<string, string | number>
      metric.remove(own)
    }
  }
}
