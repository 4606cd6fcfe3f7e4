import type { Metric, Registry } from 'prom-client'

/** Forgets every series that carries a label's value; `prefix` narrows that to metrics of such names. */
export async function forgetSeries(
  registry: Registry,
  label: string,
  value: string,
  prefix = '',
): Promise<void> {
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = name.startsWith(prefix) ? (registry.getSingleMetric(name) as Metric) : undefined
    if (!metric) continue
    const { values } = await metric.get()
    for (const { labels } of values) {
      if ((labels as Record<string, unknown>)[label] !== value) continue
      const { le: _, ...own } = labels as Record<string, string | number>
      metric.remove(own)
    }
  }
}
