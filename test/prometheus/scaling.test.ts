import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { promtool } from '../servers/prometheus.ts'

const KEDA = fileURLToPath(new URL('../../deploy/examples/keda.yaml', import.meta.url))

/** Of one sample in the namespace kubeherald. */
const series = (name: string, pod: string, sink: string, value: number) => ({
  series: `${name}{namespace="kubeherald",pod="${pod}",sink="${sink}"}`,
  values: String(value),
})
const pending = (pod: string, sink: string, value: number) =>
  series('kubeherald_deliveries_oldest_pending_seconds', pod, sink, value)
const healthy = (pod: string, sink: string, value: number) =>
  series('kubeherald_sink_healthy', pod, sink, value)

test.each<[what: string, input: object[], value: number]>([
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
  const expr = parse(readFileSync(KEDA, 'utf8')).spec.triggers[0].metadata.query
  const promql_expr_test = [{ expr, eval_time: '0m', exp_samples: [{ labels: '{}', value }] }]
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-scaling-'))
  try {
    writeFileSync(
      join(dir, 'test.yaml'),
      stringify({ tests: [{ interval: '1m', input_series, promql_expr_test }] }),
    )
    expect(promtool(['test', 'rules', join(dir, 'test.yaml')])).toMatchObject({ code: 0 })
  } finally {
    rmSync(dir, { recursive: true })
  }
})
