import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { find, ROOT, renderChart } from './render.ts'

const example = (name: string) => parse(readFileSync(join(ROOT, `deploy/examples/${name}.yaml`), 'utf8'))
const REDIS = { redis: { url: 'redis://r:6379' } }
const scaled = (by: string) =>
  renderChart({ ...REDIS, mode: 'split', deliver: { autoscaling: { [by]: { enabled: true } } } })

test('what scales the pods that deliver is alone in it: their Deployment names no number', async () => {
  const replicas = async (values: object) => {
    const manifests = await renderChart({ ...REDIS, mode: 'split', ...values })
    return ['watch', 'deliver'].map(
      (role) => find(manifests, 'Deployment', `herald-kubeherald-${role}`)['spec'].replicas,
    )
  }
  expect(await replicas({})).toEqual([1, 2])
  expect(await replicas({ deliver: { autoscaling: { hpa: { enabled: true } } } })).toEqual([1, undefined])
  expect(await replicas({ deliver: { autoscaling: { keda: { enabled: true } } } })).toEqual([1, undefined])
})

test('the examples say the same as the chart', async () => {
  const specOf = (manifest: any) => ({ ...manifest.spec, scaleTargetRef: manifest.spec.scaleTargetRef.kind })
  const hpa = find(await scaled('hpa'), 'HorizontalPodAutoscaler')
  expect(specOf(example('hpa'))).toEqual(specOf(hpa))
  expect(specOf(example('keda'))).toEqual(specOf(find(await scaled('keda'), 'ScaledObject')))
  const [{ name, metricsQuery }] = example('prometheus-adapter').rules.external
  expect(name.as).toBe(hpa['spec'].metrics[0].external.metric.name)
  const asked = metricsQuery
    .replaceAll('<<.Series>>', 'kubeherald_deliveries_oldest_pending_seconds')
    .replaceAll('<<.LabelMatchers>>', 'namespace="kubeherald"')
  expect(asked).toBe(example('keda').spec.triggers[0].metadata.query)
})
