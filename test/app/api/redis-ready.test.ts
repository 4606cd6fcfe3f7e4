import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createApi } from '../../../src/app/api/api.ts'
import { createRedisReady } from '../../../src/app/api/redis-ready.ts'
import type { Handlers } from '../../../src/app/api/routes.ts'
import { openSite, type SiteParts } from '../../../src/app/api/site.ts'
import { silentLog } from '../../../src/observe/log.ts'
import type { ApiCall } from '../../../src/observe/server/site.ts'
import { waitFor } from '../../wait-for.ts'

class AwayRedis extends EventEmitter {
  status = 'connecting'
}

test('requests wait for Redis together, some of them only, and go on when it is there', async () => {
  const redis = new AwayRedis()
  const ready = createRedisReady(() => redis as never, { withinMs: 60_000 })
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
  const ready = createRedisReady(() => new AwayRedis() as never, { withinMs: 1 })
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

test('clients of the stream that come in the same moment after a start wait for Redis, all of them', async () => {
  const away = Object.assign(new AwayRedis(), { disconnect() {} })
  const parts = {
    ...{ keys: {}, cluster: 'c', salt: Buffer.alloc(8), log: silentLog, countRefusal() {} },
    ...{ openRedis: () => away, config: () => ({ server: {} }) },
  }
  const site = openSite(parts as unknown as SiteParts)
  const server = createServer((request, response) => void site.serve(request, response)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  let answered = 0
  const { port } = server.address() as AddressInfo
  let asked = 0
  server.on('request', () => asked++)
  const leaving = new AbortController()
  for (let i = 0; i < 100; i++)
    fetch(`http://127.0.0.1:${port}/api/v1/stream`, { signal: leaving.signal })
      .then(() => answered++)
      .catch(() => {})
  await waitFor(() => asked === 100 && away.listenerCount('ready') === 1, { what: 'all clients' })
  expect(answered).toBe(0)
  leaving.abort()
  site.close()
  server.closeAllConnections()
  server.close()
})
