import { expect, test } from 'vitest'
import { createSinkMetrics } from '../../src/app/sink-set/contexts.ts'
import { forgetSeries } from '../../src/observe/forget-series.ts'
import { createMetrics, sampleVitals, startAtZero } from '../../src/observe/metrics.ts'

const WATCH = {
  key: 'pods#1',
  title: 'pods',
  phase: 'watching' as const,
  resourceVersion: '7',
  lastContactMs: 90,
  aliveUntilMs: 200,
  ready: true,
}

test.each(['watch', 'sink', 'rule'])(
  'of a %s that is removed nothing is left, of the others everything',
  async (label) => {
    const metrics = createMetrics()
    const names = ['stays', 'goes'].map((name) => ({ name }))
    await startAtZero(metrics, { sinks: names, rules: names })
    for (const { name } of names) {
      metrics.ruleMatches.inc(name, 3)
      createSinkMetrics(metrics.registry, 'slack', name).counter('digests_total', 'Digests.')()
      metrics.latency.observe({ sink: name }, 1)
    }
    sampleVitals(metrics, {
      nowMs: 100,
      watches: names.map(({ name }) => ({ ...WATCH, title: name })),
      sinks: names.map(({ name }) => ({ sink: name, healthy: true, quarantined: 0, failingTargets: 0 })),
      redisTrouble: undefined,
      redisFull: false,
      stopping: false,
    })
    const told = async (name: string) => {
      const lines = (await metrics.registry.metrics()).split('\n')
      return lines.filter((line) => line.includes(`${label}="${name}"`)).length
    }
    const before = await told('goes')
    expect(before).toBeGreaterThan(1)
    expect(await told('stays')).toBe(before)
    await forgetSeries(metrics.registry, label, ['goes'])
    expect(await told('goes')).toBe(0)
    expect(await told('stays')).toBe(before)
  },
)
