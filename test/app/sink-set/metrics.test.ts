import { expect, test } from 'vitest'
import { createSinkMetrics } from '../../../src/app/sink-set/contexts.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'

test('a sink that makes names out of what it delivers gets so many metrics, and the rest is told', async () => {
  const { registry } = createMetrics()
  let refused = 0
  const metrics = createSinkMetrics(registry, 'acme', 'one', () => refused++)
  for (let i = 0; i < 1_000; i++) metrics.counter(`object_${i}_total`, 'Of one object.')()
  const own = registry.getMetricsAsArray().filter(({ name }) => name.startsWith('kubeherald_acme_'))
  expect(own.length).toBe(50)
  expect(refused).toBe(950)
  metrics.counter('object_7_total', 'Of one object.')(2)
  const seventh = await registry.getSingleMetric('kubeherald_acme_object_7_total')?.get()
  expect(seventh?.values).toEqual([{ labels: { sink: 'one' }, value: 3 }])
})

test('sinks of one type share a metric, and each has its own sample', async () => {
  const { registry } = createMetrics()
  for (const sink of ['one', 'two']) createSinkMetrics(registry, 'acme', sink).gauge('depth', 'Depth.')(4)
  expect(await registry.getSingleMetricAsString('kubeherald_acme_depth')).toMatch(
    /sink="one"} 4\n.*sink="two"} 4$/,
  )
})

test.each([
  ['of kubeherald itself', 'redis', 'up', 'kubeherald_redis_up'],
  ['of another kind', 'acme', 'calls', 'kubeherald_acme_calls'],
])('a plug-in cannot write into a metric %s', (_, type, name, fullName) => {
  const metrics = createSinkMetrics(createMetrics().registry, type, 'one')
  if (type === 'acme') metrics.counter(name, 'Calls.')
  expect(() => metrics.gauge(name, 'Anything.')).toThrow(`the metric ${fullName} is there already`)
})
