import { expect, test } from 'vitest'
import { createReloadState } from '../../../src/app/reload.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'

const seriesOf = async ({ registry }: ReturnType<typeof createMetrics>) =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith('kubeherald_config_'))

test('a rejected file is told since its first fault, until one is good', async () => {
  const metrics = createMetrics()
  let nowMs = 1_000
  const state = createReloadState({ metrics, clock: { now: () => nowMs } }, 'aaa')
  expect(await seriesOf(metrics)).toEqual([
    'kubeherald_config_reloads_total{result="success"} 0',
    'kubeherald_config_reloads_total{result="failure"} 0',
    'kubeherald_config_last_reload_successful 1',
    'kubeherald_config_last_reload_success_timestamp_seconds 1',
  ])
  nowMs = 2_000
  state.rejected('one')
  nowMs = 3_000
  state.rejected('two')
  expect(state.status()).toEqual({
    digest: 'aaa',
    appliedMs: 1_000,
    rejected: { sinceMs: 2_000, problem: 'two' },
  })
  expect(await seriesOf(metrics)).toEqual([
    'kubeherald_config_reloads_total{result="success"} 0',
    'kubeherald_config_reloads_total{result="failure"} 2',
    'kubeherald_config_last_reload_successful 0',
    'kubeherald_config_last_reload_success_timestamp_seconds 1',
  ])
  nowMs = 4_000
  state.applied('bbb', ['redis'])
  expect(state.status()).toEqual({ digest: 'bbb', appliedMs: 4_000, restart: ['redis'] })
  expect(await seriesOf(metrics)).toEqual([
    'kubeherald_config_reloads_total{result="success"} 1',
    'kubeherald_config_reloads_total{result="failure"} 2',
    'kubeherald_config_last_reload_successful 1',
    'kubeherald_config_last_reload_success_timestamp_seconds 4',
  ])
})
