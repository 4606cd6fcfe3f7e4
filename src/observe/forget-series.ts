import type { Metric, Registry } from 'prom-client'
import { TimeSlice } from '../text/yielding.ts'

/** Removes the series whose label has one of these values, of metrics whose names begin with `prefix`. Yields between slices. */
export async function forgetSeries(
  registry: Pick<Registry, 'getMetricsAsArray' | 'getSingleMetric'>,
  label: string,
  values: readonly string[],
  prefix = '',
): Promise<void> {
  const removed = new Set(values)
  if (removed.size === 0) return
  const timeSlice = new TimeSlice()
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = name.startsWith(prefix) ? (registry.getSingleMetric(name) as Metric) : undefined
    if (!metric) continue
    const { values: samples } = await metric.get()
    for (const { labels } of samples) {
      if (timeSlice.isDue()) await timeSlice.take()
      if (!removed.has(String((labels as Record<string, unknown>)[label]))) continue
      const { le: _, ...own } = labels as Record<string, string | number>
      metric.remove(own)
    }
  }
}
