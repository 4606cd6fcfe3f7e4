import type { Metrics } from './metrics.ts'

/** Removes what is told of watches, sinks and rules that the configuration does not have any more. */
export async function forgetSeries(
  { registry, ruleMatches }: Metrics,
  gone: { watches?: readonly string[]; sinks?: readonly string[]; rules?: readonly string[] },
): Promise<void> {
  const { watches = [], sinks = [], rules = [] } = gone
  for (const rule of rules) ruleMatches.forget(rule)
  const of = { watch: new Set(watches), sink: new Set(sinks), rule: new Set(rules) }
  for (const metric of registry.getMetricsAsArray() as unknown as Series[]) {
    const label = (['watch', 'sink', 'rule'] as const).find((name) => metric.labelNames.includes(name))
    if (label === undefined || of[label].size === 0) continue
    const { values } = await metric.get()
    for (const { labels } of values) {
      if (!of[label].has(labels[label] ?? '')) continue
      metric.remove(Object.fromEntries(metric.labelNames.map((name) => [name, labels[name]])))
    }
  }
}

/** What counters, gauges and histograms have in common. */
interface Series {
  labelNames: string[]
  get(): Promise<{ values: { labels: Record<string, string> }[] }>
  remove(labels: Record<string, string | undefined>): void
}
