import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { historyExtent } from '../../src/store/history/read-history.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { createMemoryGate } from '../../src/store/redis/memory-gate.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

const MB = 1024 * 1024

async function bed(share = () => 1) {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis({ args: ['--maxmemory', '64mb'] }))
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const keys = keysOf('test')
  const metrics = createMetrics()
  const troubles = createTroubles(silentLog)
  const gate = createMemoryGate({ redis, keys, troubles, metrics, log: silentLog, share })
  stack.defer(() => gate.close())
  const gauge = async (name: 'backPressure' | 'redisMaxMemory' | 'redisUp') =>
    (await metrics[name].get()).values[0]?.value
  return {
    server,
    redis,
    keys,
    troubles,
    gate,
    gauge,
    fill: (bytes: number) => redis.setrange('filler', bytes - 1, 'x'),
    /** How often the gate has asked. */
    samples: async () => Number(/cmdstat_info:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1]),
    ballast: () => redis.strlen(keys.ballast),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test.concurrent('it closes when Redis is 80 % full, and opens when there is room again', async () => {
  await using it = await bed()
  await it.gate.room(AbortSignal.timeout(5_000))
  await it.fill(56 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  expect(await it.gauge('backPressure')).toBe(1)
  expect(await it.gauge('redisMaxMemory')).toBe(64 * MB)
  let through = 0
  const { signal } = new AbortController()
  const waiting = [1, 2, 3].map(() => it.gate.room(signal).then(() => through++))
  expect(through).toBe(0)
  await it.redis.del('filler')
  await Promise.all(waiting)
  expect(it.gate.isClosed()).toBe(false)
  expect(await it.gauge('backPressure')).toBe(0)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test.concurrent('journal and history make room first, and status has that the history is gone', async () => {
  await using it = await bed()
  const beforeMs = Date.now()
  for (let i = 0; i < 10; i++)
    for (const stream of [it.keys.journal, it.keys.history, it.keys.suppressed])
      await it.redis.xadd(stream, '*', 'z', 'x'.repeat(MB))
  await it.redis.set(it.keys.journalBytes, 10 * MB)
  await it.fill(22 * MB)
  const records = [it.keys.journal, it.keys.journalBytes, it.keys.history, it.keys.suppressed]
  await waitFor(async () => (await it.redis.exists(...records)) === 0, { what: 'the records to go' })
  await waitFor(() => !it.gate.isClosed(), { what: 'the gate to open' })
  const lost = async () => (await historyExtent(it.redis, it.keys)).lost
  await waitFor(async () => (await lost())?.why === 'full', { what: 'the reason' })
  expect((await lost())?.atMs).toBeGreaterThanOrEqual(beforeMs)
})

/** Previous objects of a source, a MB each. */
async function keep({ redis, keys }: Awaited<ReturnType<typeof bed>>, source: string, objects: number) {
  await redis.hset(keys.sources, source, '{}')
  for (let uid = 0; uid < objects; uid++) await redis.hset(keys.old(source), uid, 'x'.repeat(MB))
}

test.concurrent('previous objects of the largest source make room where deliveries do not', async () => {
  await using it = await bed()
  await keep(it, 'a', 20)
  await keep(it, 'b', 8)
  await it.fill(28 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  await it.gate.room(AbortSignal.timeout(60_000))
  expect(await Promise.all(['a', 'b'].map((source) => it.redis.exists(it.keys.old(source))))).toEqual([0, 1])
})

test.concurrent('previous objects stay where they are not what fills Redis', async () => {
  await using it = await bed()
  await keep(it, 'a', 2)
  await it.fill(56 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  const measured = async () =>
    Number(/cmdstat_memory\|usage:calls=(\d+)/.exec(await it.redis.info('commandstats'))?.[1] ?? 0)
  const before = await measured()
  await waitFor(async () => (await measured()) > before, { what: 'an attempt', timeoutMs: 40_000 })
  const samples = await it.samples()
  await waitFor(async () => (await it.samples()) > samples, { what: 'the next sample' })
  expect(await it.redis.hlen(it.keys.old('a'))).toBe(2)
  expect(it.gate.isClosed()).toBe(true)
})

test.concurrent('there is room for large previous objects until all take a tenth of Redis', async () => {
  await using it = await bed()
  const measured = async () =>
    Number(/cmdstat_memory\|usage:calls=(\d+)/.exec(await it.redis.info('commandstats'))?.[1] ?? 0)
  await it.fill(39 * MB)
  await keep(it, 'a', 2)
  const before = await measured()
  await waitFor(async () => (await measured()) > before + 1, { what: 'two measurements' })
  expect(it.gate.hasRoomForPrevious()).toBe(true)
  await keep(it, 'b', 5)
  await waitFor(() => !it.gate.hasRoomForPrevious(), { what: 'no room for large ones' })
  await it.redis.del(it.keys.old('b'))
  await waitFor(() => it.gate.hasRoomForPrevious(), { what: 'room for large ones' })
})

test.concurrent('clusters that share a Redis make room together', async () => {
  await using it = await bed(() => 0.25)
  // Less than is needed to open, and more than a quarter of it.
  await keep(it, 'a', 4)
  await it.fill(47 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  await waitFor(async () => (await it.redis.exists(it.keys.old('a'))) === 0, {
    what: 'the objects to go',
    timeoutMs: 30_000,
  })
})

test.concurrent('it stays closed where previous objects cannot be deleted', async () => {
  await using it = await bed()
  await keep(it, 'a', 12)
  await it.server.command('ACL', 'SETUSER', 'default', '-unlink')
  await it.fill(38 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  const refusals = async () =>
    (await it.redis.info('commandstats')).match(/cmdstat_unlink:.*rejected_calls=(\d+)/)?.[1]
  // Journal and history are refused first.
  await waitFor(async () => Number(await refusals()) > 1, { what: 'the second refusal' })
  const polls = await it.samples()
  await waitFor(async () => (await it.samples()) > polls + 1, { what: 'the next samples' })
  expect(it.gate.isClosed()).toBe(true)
})

test.concurrent('whoever waits at it gives up with its signal', async () => {
  await using it = await bed()
  await it.fill(56 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  const stop = new AbortController()
  const waiting = it.gate.room(stop.signal)
  stop.abort()
  await expect(waiting).rejects.toThrow(/abort/i)
  await expect(it.gate.room(stop.signal)).rejects.toThrow(/abort/i)
})

test.concurrent('without a limit it never closes and keeps no ballast', async () => {
  await using it = await bed()
  await waitFor(async () => (await it.ballast()) > 0, { what: 'the ballast' })
  await it.server.command('CONFIG', 'SET', 'maxmemory', '0')
  await it.redis.del(it.keys.ballast)
  await waitFor(async () => (await it.gauge('redisMaxMemory')) === 0, { what: 'a sample' })
  expect(await it.ballast()).toBe(0)
  expect(it.gate.isClosed()).toBe(false)
})

test.concurrent('a full Redis gets the room of the ballast, so that scripts of workers run again, and the ballast comes back', async () => {
  await using it = await bed()
  await waitFor(async () => (await it.ballast()) > 0, { what: 'the ballast' })
  const used = async () => Number(/used_memory:(\d+)/.exec(await it.redis.info('memory'))?.[1])
  await it.server.command('CONFIG', 'SET', 'maxmemory', String((await used()) - 100_000))
  const write = () => it.redis.eval("return redis.call('SET', KEYS[1], '1')", 1, 'settled')
  await expect(write()).rejects.toThrow('OOM')
  it.gate.onOutOfMemory()
  expect(it.gate.isClosed()).toBe(true)
  await waitFor(() => write().catch(() => undefined), { what: 'a script to run' })
  expect(await it.ballast()).toBe(0)
  await it.server.command('CONFIG', 'SET', 'maxmemory', String(64 * MB))
  await waitFor(async () => (await it.ballast()) > 0, { what: 'the ballast to be back' })
  await it.gate.room(AbortSignal.timeout(10_000))
})

test.concurrent('a ballast that vanished is made again', async () => {
  await using it = await bed()
  await waitFor(async () => (await it.ballast()) > 0, { what: 'the ballast' })
  await it.redis.flushall()
  await waitFor(async () => (await it.ballast()) > 0, { what: 'the ballast to be back' })
})

test.concurrent('a Redis that is gone shows in the metrics', async () => {
  await using it = await bed()
  await waitFor(async () => (await it.gauge('redisUp')) === 1, { what: 'a sample' })
  it.redis.disconnect()
  await waitFor(async () => (await it.gauge('redisUp')) === 0, { what: 'redis_up 0' })
})

test.concurrent('a Redis that is told to evict is a trouble until it is not', async () => {
  await using it = await bed()
  await it.server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  await waitFor(() => it.troubles.first()?.includes('allkeys-lru'), { what: 'the trouble' })
  await it.server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  await waitFor(() => it.troubles.first() === undefined, { what: 'its end' })
})

test.concurrent('a new master that evicts is a trouble', async () => {
  await using it = await bed()
  await waitFor(async () => (await it.gauge('redisUp')) === 1, { what: 'a sample' })
  await it.server.kill()
  await it.server.restart('--maxmemory-policy', 'volatile-lru')
  await waitFor(() => it.troubles.first()?.includes('volatile-lru'), { what: 'the trouble' })
})

test.concurrent('a user who may no longer ask how full Redis is: it opens, and that is shown', async () => {
  await using it = await bed()
  await it.fill(56 * MB)
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close' })
  await it.server.command('ACL', 'SETUSER', 'default', '-info')
  await waitFor(() => !it.gate.isClosed(), { what: 'the gate to open' })
  expect(it.troubles.first()).toContain('NOPERM')
  await it.server.command('ACL', 'SETUSER', 'default', '+info')
  await waitFor(() => it.gate.isClosed(), { what: 'the gate to close again' })
  expect(it.troubles.first()).toBeUndefined()
})
