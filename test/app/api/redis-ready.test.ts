import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { createApi } from '../../../src/app/api/api.ts'
import { createRedisReady } from '../../../src/app/api/redis-ready.ts'
import type { Handlers } from '../../../src/app/api/routes.ts'
import { silentLog } from '../../../src/observe/log.ts'
import type { ApiCall } from '../../../src/observe/server/site.ts'
import { waitFor } from '../../wait-for.ts'

class AwayRedis extends EventEmitter {
  status = 'connecting'
}

test('requests wait for Redis together, some of them only, and go on when it is there', async () => {
  const redis = new AwayRedis()
  const ready = createRedisReady(() => redis as never, 60_000)
  const ends: (string | number)[] = []
  const ask = () =>
    ready().then(
      () => ends.push('ready'),
      (error) => ends.push(error.status),
    )
  const all = Array.from({ length: 40 }, ask)
  await waitFor(() => ends.length === 8, { what: 'those beyond the bound' })
  expect(ends).toEqual(Array.from({ length: 8 }, () => 503))
  expect(redis.listenerCount('ready')).toBe(1)
  redis.status = 'ready'
  redis.emit('ready')
  await Promise.all(all)
  expect(ends.filter((it) => it === 'ready')).toHaveLength(32)
  await ready()
})

test('without Redis they end with 503, and later ones wait again', async () => {
  const ready = createRedisReady(() => new AwayRedis() as never, 1)
  for (let i = 0; i < 40; i++) await expect(ready()).rejects.toMatchObject({ status: 503 })
})

test('a request that reads much has its place before it waits for Redis', async () => {
  const away = Promise.withResolvers<void>()
  let waiting = 0
  const ready = () => {
    waiting++
    return away.promise
  }
  const handlers = { listHistory: async () => ({ items: [] }) } as unknown as Handlers
  const api = createApi({ ready, handlers, stream: async () => {}, audit: () => {}, log: silentLog })
  const answered: number[] = []
  const ask = (name: string) => {
    const response = new EventEmitter() as EventEmitter & Record<string, unknown>
    Object.assign(response, {
      writeHead: (status: number) => void answered.push(status),
      end: () => response.emit('close'),
    })
    return api({
      ...{ request: { method: 'GET', headers: {}, complete: true }, response, path: '/api/v1/history' },
      ...{ query: new URLSearchParams(), caller: { name, role: 'read' } },
    } as unknown as ApiCall)
  }
  const all = ['a', 'a', 'a', 'a', 'b', 'b', 'c', 'c', 'd'].map(ask)
  await waitFor(() => waiting === 4, { what: 'the first requests' })
  away.resolve()
  await Promise.all(all)
  expect(answered).toEqual(Array.from({ length: 9 }, () => 200))
  expect(waiting).toBe(9)
})
