import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { watchLanes } from '../../src/store/gauges.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { readReports } from '../../src/store/process-reports.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, scriptedSink, startLaneBed } from './lane-bed.ts'

/** More than one read of the register takes. */
const MANY = 12_000

/** What another program may have written into the register of lanes. */
const FIELDS: [what: string, name: (i: number) => string, value: string][] = [
  ['fields that are no lanes', (i) => `field${i}`, 'x'],
  ['numbers that are no lanes', (i) => `field${i}`, '7'],
  ['lanes of sinks that nobody has', (i) => `sink${i}/0`, '3'],
  ['lanes of a sink that nobody has', (i) => `other/${i}`, '1'],
  ['lanes of our sink with values that are no numbers', (i) => `hook/x${i}`, 'x'],
]

for (const [what, name, value] of FIELDS) {
  test(`very many ${what} are removed from the register, and hold up no delivery`, async () => {
    await using it = await startLaneBed()
    await it.put('hook/0', 'a@1')
    for (let start = 0; start < MANY; start += 4_000) {
      const some = Array.from({ length: 4_000 }, (_, i) => [name(start + i), value])
      await it.redis.hset(it.keys.pending, ...some.flat())
    }
    const { sinks, balanced } = await it.ledger()
    expect(Object.keys(sinks)).toEqual(['hook'])
    expect({ pending: sinks['hook']?.pending, balanced }).toEqual({ pending: 1, balanced: true })
    const metrics = createMetrics()
    const gauges = watchLanes({
      ...{ redis: it.redis, keys: it.keys, metrics, clock: Date },
      configured: () => ['hook'],
      rules: () => new Set<string>(),
    })
    expect(await gauges.close()).toBe(1)
    expect((await metrics.pending.get()).values).toEqual([{ labels: { sink: 'hook' }, value: 1 }])
    const sink = scriptedSink(() => DELIVERED)
    it.work({ hook: sink })
    await waitFor(() => sink.took.length === 1, { what: 'the delivery' })
    await waitFor(async () => (await it.redis.hlen(it.keys.pending)) === 1, {
      timeoutMs: 30_000,
      what: 'the register to hold our lane alone',
    })
    expect((await it.ledger()).balanced).toBe(true)
  })
}

test('a lane in which something lies stays in the register, also of a sink that nobody has', async () => {
  await using it = await startLaneBed()
  await it.put('gone/0', 'a@1')
  await it.redis.hset(it.keys.pending, 'foreign', 'x')
  it.work({ hook: scriptedSink(() => DELIVERED) })
  await waitFor(async () => (await it.redis.hexists(it.keys.pending, 'foreign')) === 0, { what: 'a sweep' })
  expect(await it.redis.hgetall(it.keys.pending)).toEqual({ 'gone/0': '1' })
})

test('very many names of processes are forgotten; those that are alive come back', async () => {
  await using it = await startLaneBed()
  for (let start = 0; start < MANY; start += 4_000)
    await it.redis.sadd(it.keys.instances, ...Array.from({ length: 4_000 }, (_, i) => `p${start + i}`))
  expect(await readReports(it.redis, it.keys)).toEqual([])
  expect(await it.redis.exists(it.keys.instances)).toBe(0)
})

test('counters whose key holds something else are shown as unbalanced, and stop no status', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'a@1')
  await it.redis.set(it.keys.sinkLedger('hook'), 'foreign')
  const ledger = await readLedger(it.redis, it.keys, { verify: true })
  expect(ledger).toMatchObject({ sinks: { hook: { pending: 1 } }, balanced: false })
})
