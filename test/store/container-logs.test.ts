import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ContainerLog } from '../../src/model/delivery.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createLogStore } from '../../src/store/container-logs.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'

const keys = keysOf('test')
let server: RedisServer
let redis: ReturnType<typeof openRedis>
let nowMs = 1_800_000_000_000

beforeAll(async () => {
  server = await startRedis()
  redis = openRedis(server.url, 'work', silentLog)
})
afterAll(async () => {
  redis.disconnect()
  await server[Symbol.asyncDispose]()
})
beforeEach(() => redis.flushall())

const storeWith = (maxmemory: number | undefined = 0) =>
  createLogStore({ redis, keys, maxmemory: () => maxmemory, clock: { now: () => nowMs } })

/** Text that does not compress. */
const noise = (bytes: number) =>
  Array.from({ length: bytes }, () => String.fromCharCode(33 + Math.random() * 90)).join('')
const log = (text: string): ContainerLog => ({ container: 'app', previous: true, text })

test('a log is read as it was stored, and only by its own id', async () => {
  const store = storeWith()
  await store.put('a', log('it crashed'))
  await store.put('b', { previous: false, error: 'the pod no longer exists' })
  expect(await store.get(['b', 'c', 'a'])).toEqual([
    { previous: false, error: 'the pod no longer exists' },
    undefined,
    log('it crashed'),
  ])
  expect(await store.get([])).toEqual([])
})

test('the oldest go when all together exceed the bound, and each byte is counted', async () => {
  const store = storeWith(1_000_000)
  for (let i = 0; i < 40; i++) {
    nowMs++
    await store.put(`log-${i}`, log(noise(2_000)))
  }
  const left = (await store.get(Array.from({ length: 40 }, (_, i) => `log-${i}`))).map(
    (it) => it !== undefined,
  )
  const kept = left.filter(Boolean).length
  expect(kept).toBeGreaterThan(3)
  expect(kept).toBeLessThanOrEqual(10)
  expect(left.slice(-kept).every(Boolean)).toBe(true)
  await store.put('log-39', log(noise(2_000)))
  const sizes = (await redis.hvalsBuffer(keys.logs)).map(({ length }) => length + 200)
  expect(Number(await redis.get(keys.logBytes))).toBe(sizes.reduce((sum, it) => sum + it, 0))
  expect(await redis.zcard(keys.logTimes)).toBe(sizes.length)
})

test('logs expire after a day, together with all keys', async () => {
  const store = storeWith()
  await store.put('old', log('old'))
  nowMs += 86_400_001
  await store.put('new', log('new'))
  expect(await store.get(['old', 'new'])).toEqual([undefined, log('new')])
  for (const key of [keys.logs, keys.logTimes, keys.logBytes])
    expect(await redis.pttl(key)).toBeGreaterThan(0)
})

test('what cannot be read counts as not stored', async () => {
  await redis.hset(keys.logs, 'odd', 'x', 'other', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1]))
  expect(await storeWith().get(['odd', 'other'])).toEqual([undefined, undefined])
})
