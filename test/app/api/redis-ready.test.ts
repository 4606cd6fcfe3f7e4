import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createApi } from '../../../src/app/api/api.ts'
import { ApiError, type Handlers } from '../../../src/app/api/routes.ts'
import { createRedisReady, openSite, type SiteParts } from '../../../src/app/api/site.ts'
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

/** An API of which only the history answers, when Redis is there. */
function apiOf(ready: () => Promise<void>, log = silentLog) {
  const handlers = { listHistory: async () => ({ items: [] }) } as unknown as Handlers
  const api = createApi({ ready, handlers, stream: ready, audit: () => {}, log })
  const answered: number[] = []
  return {
    answered,
    ask(name: string, path = '/history') {
      const response = new EventEmitter() as EventEmitter & Record<string, unknown>
      Object.assign(response, {
        writeHead: (status: number) => void answered.push(status),
        end: () => response.emit('close'),
      })
      return api({
        ...{ request: { method: 'GET', headers: {}, complete: true }, response, path: `/api/v1${path}` },
        ...{ query: new URLSearchParams(), caller: { name, role: 'read' } },
      } as unknown as ApiCall)
    },
  }
}

test('many requests that fail for the same cause are one line of the log', async () => {
  const lines: object[] = []
  const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) }
  const { ask, answered } = apiOf(() => Promise.reject(new ApiError(503, 'Redis is not connected')), log)
  for (let i = 0; i < 5; i++) for (const path of ['/history', '/overview', '/stream']) await ask('a', path)
  expect(answered).toEqual(Array.from({ length: 15 }, () => 503))
  expect(lines).toMatchObject([{ path: '/api/v1/history', requests: 1 }])
})

test('a request that reads much has its place before it waits for Redis', async () => {
  const away = Promise.withResolvers<void>()
  let waiting = 0
  const ready = () => {
    waiting++
    return away.promise
  }
  const { ask, answered } = apiOf(ready)
  const all = ['a', 'a', 'a', 'a', 'b', 'b', 'c', 'c', 'd'].map((it) => ask(it))
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
