import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { watchCheckpoints } from '../../src/store/gauges.ts'
import { countReconnects, openRedis } from '../../src/store/redis/connection.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

test('a process that does not hold a watch tells where it stands, too', async () => {
  await using it = await startStoreBed()
  const startedMs = Date.now()
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2), change('ADDED', 'b', 3)], '3', never)
  const metrics = createMetrics()
  const waiting = { key: 'Gadget', title: 'Gadget' }
  const gauges = watchCheckpoints({
    redis: it.reader,
    keys: it.keys,
    troubles: createTroubles(silentLog),
    metrics,
    watches: () => [SOURCE, waiting],
  })
  const positions = async () => (await metrics.position.get()).values
  await waitFor(async () => (await positions()).length > 0, { what: 'the gauges' })
  gauges.close()
  expect(await positions()).toEqual([{ labels: { watch: SOURCE.title }, value: expect.any(Number) }])
  const [{ value: movedAt } = { value: 0 }] = await positions()
  expect(movedAt * 1_000).toBeGreaterThanOrEqual(startedMs)
  expect(movedAt * 1_000).toBeLessThanOrEqual(Date.now())
  expect((await metrics.knownObjects.get()).values).toEqual([{ labels: { watch: SOURCE.title }, value: 2 }])
})

test('a connection that comes back is counted, the first one is not', async () => {
  await using it = await startStoreBed()
  const metrics = createMetrics()
  const report = openRedis(it.server.url, 'work', silentLog)
  countReconnects({ report }, metrics)
  const counted = async () => (await metrics.redisReconnects.get()).values[0]?.value
  await report.ping()
  expect(await counted()).toBe(0)
  for (const times of [1, 2]) {
    await it.server.kill()
    await it.server.restart()
    await waitFor(async () => (await counted()) === times, { what: `reconnect ${times}` })
  }
  report.disconnect()
})

test('an unreadable position is a trouble for as long as this process has the watch', async () => {
  await using it = await startStoreBed()
  await it.reader.set(it.keys.checkpoint(SOURCE.key), 'x')
  const troubles = createTroubles(silentLog)
  let watches = [SOURCE]
  const parts = { redis: it.reader, keys: it.keys, troubles, metrics: createMetrics() }
  const gauges = watchCheckpoints({ ...parts, watches: () => watches })
  await waitFor(() => troubles.first(), { what: 'the trouble' })
  watches = []
  await waitFor(() => troubles.first() === undefined, { timeoutMs: 30_000, what: 'its end' })
  gauges.close()
})
