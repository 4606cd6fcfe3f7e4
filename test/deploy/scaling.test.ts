import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
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

const dirs = [...(process.env['PATH'] ?? '').split(delimiter), join(cacheFolder(), 'prometheus/usr/bin')]
const promtool = dirs.map((dir) => join(dir, 'promtool')).find((file) => existsSync(file))

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'kubeherald')
}

/** Of one sample in the namespace kubeherald. */
const series = (name: string, pod: string, sink: string, value: number) => ({
  series: `${name}{namespace="kubeherald",pod="${pod}",sink="${sink}"}`,
  values: String(value),
})
const pending = (pod: string, sink: string, value: number) =>
  series('kubeherald_deliveries_oldest_pending_seconds', pod, sink, value)
const healthy = (pod: string, sink: string, value: number) =>
  series('kubeherald_sink_healthy', pod, sink, value)

test.skipIf(!promtool).each<[what: string, input: object[], value: number]>([
  ['nothing is known', [], 0],
  [
    'two pods tell the same of one queue',
    [pending('a', 'x', 90), pending('b', 'x', 90), healthy('a', 'x', 1)],
    90,
  ],
  [
    'a sink fails for one pod',
    [
      pending('a', 'x', 30),
      pending('a', 'y', 900),
      healthy('a', 'x', 1),
      healthy('a', 'y', 1),
      healthy('b', 'y', 0),
    ],
    30,
  ],
  ['every sink fails', [pending('a', 'x', 900), healthy('a', 'x', 0)], 0],
])('when %s, the age that scales is right', (_, input_series, value) => {
  const expr = example('keda').spec.triggers[0].metadata.query
  const promql_expr_test = [{ expr, eval_time: '0m', exp_samples: [{ labels: '{}', value }] }]
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-scaling-'))
  try {
    writeFileSync(
      join(dir, 'test.yaml'),
      stringify({ tests: [{ interval: '1m', input_series, promql_expr_test }] }),
    )
    const { status, stdout, stderr } = spawnSync(promtool ?? '', ['test', 'rules', join(dir, 'test.yaml')], {
      encoding: 'utf8',
    })
    expect({ status, output: stdout + stderr }).toMatchObject({ status: 0 })
  } finally {
    rmSync(dir, { recursive: true })
  }
})
