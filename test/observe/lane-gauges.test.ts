import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { watchLanes } from '../../src/store/gauges.ts'
import { publishReport } from '../../src/store/process-reports.ts'
import { change, SOURCE } from '../store/objects.ts'
import { never, startStoreBed } from '../store/store-bed.ts'
import { waitFor } from '../wait-for.ts'

async function bed() {
  const stack = new AsyncDisposableStack()
  const store = stack.use(await startStoreBed())
  const session = await store.watching()
  await session.commit([change('ADDED', 'a', 2), change('ADDED', 'b', 3)], '3', never)
  const metrics = createMetrics()
  return {
    ...store,
    metrics,
    watch() {
      const gauges = watchLanes({
        redis: store.reader,
        keys: store.keys,
        metrics,
        clock: Date,
        configured: () => ['configured'],
        rules: () => new Set(['all']),
      })
      stack.defer(async () => void (await gauges.close()))
    },
    deadLetters: async () => (await metrics.deadLetters.get()).values,
    pending: async () => {
      const { values } = await metrics.pending.get()
      return Object.fromEntries(values.map(({ labels, value }) => [labels.sink, value]))
    },
    lanes: async () =>
      (await metrics.pendingLanes.get()).values.find(({ labels }) => labels.sink === 'hook')?.value,
    balanced: async () => (await metrics.ledgerBalanced.get()).values[0]?.value,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('dead letters that are there are told at once, without those that were dropped', async () => {
  await using it = await bed()
  await it.reader.hset(it.keys.sinkLedger('hook'), { enqueued: 7, dead: 5, discarded: 2 })
  it.watch()
  await waitFor(async () => (await it.deadLetters()).length > 0, { what: 'the gauge' })
  expect(await it.deadLetters()).toEqual([
    { labels: { sink: 'configured' }, value: 0 },
    { labels: { sink: 'hook' }, value: 3 },
  ])
  // Before some are dropped: an increase is seen only of a series that was there.
  expect((await it.metrics.deadLettersDropped.get()).values).toEqual([{ labels: { sink: 'hook' }, value: 0 }])
  expect(await it.balanced()).toBe(1)
})

test('counters that contradict each other are told', async () => {
  await using it = await bed()
  expect(await it.balanced()).toBe(1)
  await it.reader.hincrby(it.keys.watchLedger(SOURCE.key), 'observed', 1)
  it.watch()
  await waitFor(async () => (await it.balanced()) === 0, { what: 'the ledger not to balance' })
})

test('a sink that was removed is told as long as something waits for it, one of the configuration always', async () => {
  await using it = await bed()
  await it.reader.hset(it.keys.pending, 'hook/1', 0)
  it.watch()
  await waitFor(async () => (await it.pending())['hook'] === 2, { what: 'the gauge' })
  expect(await it.pending()).toEqual({ configured: 0, hook: 2 })
  expect(await it.lanes()).toBe(1)
  await it.reader.hset(it.keys.pending, 'hook/0', 0)
  await waitFor(async () => !('hook' in (await it.pending())), { what: 'the gauge to vanish' })
  expect(await it.pending()).toEqual({ configured: 0 })
})

test('processes that are alive are told by role', async () => {
  await using it = await bed()
  const report = { version: '0', host: 'h', pid: 1, startedMs: 0, atMs: 0, watches: [], sinks: [] }
  for (const [id, role] of Object.entries({ a: 'deliver', b: 'deliver', c: 'watch' } as const))
    await publishReport(it.reader, it.keys, { ...report, id, role })
  it.watch()
  const instances = async () => (await it.metrics.instances.get()).values.map(({ value }) => value)
  await waitFor(async () => (await instances()).length > 0, { what: 'the gauge' })
  expect(await instances()).toEqual([0, 1, 2])
})

test('a commit is told: how long it waits, how much it takes, how late it is', async () => {
  await using it = await startStoreBed()
  const metrics = createMetrics()
  const session = await it.newStore(undefined, metrics).open(SOURCE, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  const waits = async () =>
    (await metrics.registry.getSingleMetric('kubeherald_commit_waiting_seconds')?.get())?.values[0]?.value
  const sum = async (name: string) => {
    const { values = [] } = (await metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get()) ?? {}
    return values.find((it) => (it as { metricName?: string }).metricName?.endsWith('_sum'))?.value
  }
  expect(await waits()).toBe(0)
  await it.server.stop()
  const observedAtMs = Date.now() - 60_000
  const late = { ...change('ADDED', 'a', 2), observedAtMs }
  const commit = session.commit([late, change('ADDED', 'b', 3)], '3', never)
  await waitFor(async () => Number(await waits()) > 0.1, { what: 'the commit to wait' })
  await it.server.restart()
  await commit
  expect(await waits()).toBe(0)
  expect(await sum('commit_changes')).toBe(2)
  expect(Number(await sum('enqueue_latency_seconds'))).toBeGreaterThanOrEqual(60)
  expect((await metrics.enqueuedBytes.get()).values[0]?.value).toBeGreaterThan(50)
})

test('rules are told with what waits for them and when they matched last, removed ones as long as something waits', async () => {
  await using it = await bed()
  const { reader, keys } = it
  await reader.zadd(keys.rules, 5_000, 'all', 6_000, 'removed', 7_000, 'forgotten')
  await reader.hset(keys.ruleLedger('all'), { matched: 5, sent: 2, waiting: 3 })
  await reader.hset(keys.ruleLedger('removed'), { matched: 1, waiting: 1 })
  await reader.hset(keys.ruleLedger('forgotten'), { matched: 1, sent: 1 })
  it.watch()
  const valuesOf = async (gauge: 'ruleWaiting' | 'ruleLastMatch') =>
    (await it.metrics[gauge].get()).values.map(({ labels, value }) => `${labels.rule} ${value}`)
  await waitFor(async () => (await valuesOf('ruleWaiting')).length > 0, { what: 'the gauges' })
  expect(await valuesOf('ruleWaiting')).toEqual(['all 3', 'removed 1'])
  expect(await valuesOf('ruleLastMatch')).toEqual(['all 5'])
})
