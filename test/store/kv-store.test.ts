import { expect, test } from 'vitest'
import { createKeyValueStore } from '../../src/app/sink-set/contexts.ts'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startRedis } from '../servers/redis.ts'

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
