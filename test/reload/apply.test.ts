import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { configOf, one, seriesOf, start, two } from './bed.ts'

const A = '[{ name: a, to: [x] }]'

test('a sink that cannot be opened keeps all as it was', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  const bad = await configOf('{ x: { type: one, mark: b }, y: { type: two, refuse: true } }', A)
  await expect(app.apply(bad)).rejects.toThrow('the sink "y" cannot be opened: no room')
  expect(one.open()).toBe(1)
  expect(app.lanes.statuses().map(({ sink }) => sink)).toEqual(['x'])
})

test('another type under the same name begins with metrics of its own, and takes the old one with it', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  expect(await seriesOf(app)).toContain('kubeherald_one_made_total{sink="x"} 1')
  await app.apply(await configOf('{ x: { type: two } }', A.replace('name: a', 'name: b')))
  const series = await seriesOf(app)
  expect(series).toContain('kubeherald_two_made_total{sink="x"} 1')
  expect(series.join('\n')).not.toMatch(/kubeherald_one_made_total\{|rule="a"/)
  expect(series).toContain('kubeherald_rule_errors_total{rule="b"} 0')
  await waitFor(() => one.open() === 0 && two.open() === 1, { what: 'the old sink to be closed' })
})

test('a limit that comes with a reload begins at zero, and what its rule has counted stays', async () => {
  await using redis = await startRedis()
  await using app = await start(redis, await configOf('{ x: { type: one } }', A))
  app.metrics.ruleErrors.inc({ rule: 'a' }, 3)
  app.metrics.ruleWaiting.set({ rule: 'a' }, 2)
  await app.apply(await configOf('{ x: { type: one } }', '[{ name: a, to: [x], throttle: { every: 1m } }]'))
  expect(await seriesOf(app)).toEqual(
    expect.arrayContaining([
      'kubeherald_rule_suppressed_total{rule="a",limit="throttle"} 0',
      'kubeherald_rule_errors_total{rule="a"} 3',
      'kubeherald_rule_waiting{rule="a"} 2',
    ]),
  )
})

test('a thousand reloads leave nothing behind', async () => {
  const program = new URL('thousand.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { before, after } = JSON.parse(await text(child.stdout))
  console.log(`heap before a thousand reloads ${before.heapKb} kB, behind them ${after.heapKb} kB`)
  expect(after.heapKb / before.heapKb).toBeLessThan(1.05)
  expect(after.series).toBe(before.series)
}, 60_000)
