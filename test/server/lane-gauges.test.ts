import { expect, test } from 'vitest'
import { createMetrics } from '../../src/metrics.ts'
import { watchLanes } from '../../src/queue/lane-gauges.ts'
import { change, SOURCE } from '../queue/objects.ts'
import { never, startStoreBed } from '../queue/store-bed.ts'
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
    watch(uses = () => true) {
      const gauges = watchLanes({ redis: store.reader, keys: store.keys, metrics, clock: Date, uses })
      stack.defer(async () => void (await gauges.close()))
    },
    deadLetters: async () => (await metrics.deadLetters.get()).values,
    balanced: async () => (await metrics.ledgerBalanced.get()).values[0]?.value,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('dead letters that are there are told at once, without those that were dropped', async () => {
  await using it = await bed()
  await it.reader.hset(it.keys.sinkLedger('hook'), { enqueued: 7, dead: 5, discarded: 2 })
  it.watch()
  await waitFor(async () => (await it.deadLetters()).length > 0, { what: 'the gauge' })
  expect(await it.deadLetters()).toEqual([{ labels: { sink: 'hook' }, value: 3 }])
  expect(await it.balanced()).toBe(1)
})

test('counters that contradict each other are told', async () => {
  await using it = await bed()
  expect(await it.balanced()).toBe(1)
  await it.reader.hincrby(it.keys.watchLedger(SOURCE.key), 'observed', 1)
  it.watch()
  await waitFor(async () => (await it.balanced()) === 0, { what: 'the ledger not to balance' })
})

test('a sink that the configuration does not have is told while something waits for it', async () => {
  await using it = await bed()
  it.watch(() => false)
  const pending = async () => (await it.metrics.pending.get()).values
  await waitFor(async () => (await pending()).length > 0, { what: 'the gauge' })
  expect(await pending()).toEqual([{ labels: { sink: 'hook' }, value: 2 }])
  for (const lane of await it.reader.hkeys(it.keys.pending)) await it.reader.hset(it.keys.pending, lane, 0)
  await waitFor(async () => (await pending()).length === 0, { what: 'the gauge to go' })
})
