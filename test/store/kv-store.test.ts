import { expect, test } from 'vitest'
import { createKeyValueStore } from '../../src/app/sink-set/contexts.ts'
import { silentLog } from '../../src/observe/log.ts'
import { memoryStore } from '../../src/sink/testkit/index.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

test('the state of a sink has an end, belongs to it alone, and locks are released by their holder only', async () => {
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  const keys = keysOf('test')
  const store = createKeyValueStore(redis, keys, 'oncall')
  const other = createKeyValueStore(redis, keys, 'other')
  await store.set('thread', 'ts-1', { ttlMs: 60_000 })
  expect([await store.get('thread'), await other.get('thread')]).toEqual(['ts-1', undefined])
  expect(await redis.pttl(keys.sinkState('oncall', 'thread'))).toBeGreaterThan(50_000)
  expect([
    await store.add('lock', 'mine', { ttlMs: 60_000 }),
    await store.add('lock', 'theirs', { ttlMs: 60_000 }),
  ]).toEqual([true, false])
  expect([await store.delete('lock', 'theirs'), await store.delete('lock', 'mine')]).toEqual([false, true])
  expect([await store.get('lock'), await store.delete('lock')]).toEqual([undefined, false])
  expect([
    await store.increment('count', { ttlMs: 60_000 }),
    await store.increment('count', { ttlMs: 1 }),
  ]).toEqual([1, 2])
  expect(await redis.pttl(keys.sinkState('oncall', 'count'))).toBeGreaterThan(50_000)
  redis.disconnect()
})

test('any number of milliseconds is an end, in Redis as in the kit', async () => {
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  const keys = keysOf('test')
  for (const store of [createKeyValueStore(redis, keys, 'x'), memoryStore()]) {
    await store.set('token', 't', { ttlMs: 60_000 / 7 })
    expect(await store.get('token')).toBe('t')
    expect(await store.add('lock', 't', { ttlMs: 60_000.5 })).toBe(true)
    expect(await store.increment('count', { ttlMs: 60_000.5 })).toBe(1)
    await store.set('over', 't', { ttlMs: -5 })
    await waitFor(async () => (await store.get('over')) === undefined, { what: 'the end' })
    await expect(store.set('token', 't', { ttlMs: Number.NaN })).rejects.toThrow(TypeError)
  }
  expect(await redis.pttl(keys.sinkState('x', 'count'))).toBeGreaterThan(50_000)
  redis.disconnect()
})
