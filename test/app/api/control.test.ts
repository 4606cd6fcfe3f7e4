import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createHandlers } from '../../../src/app/api/handlers.ts'
import { keysOf } from '../../../src/store/keys.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'

let server: RedisServer
let redis: Redis
let handlers: ReturnType<typeof createHandlers>
let readings = 0

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.[Symbol.asyncDispose]()
})

beforeEach(() => {
  handlers = createHandlers({
    redis() {
      readings++
      return redis
    },
    ...{ keys: keysOf('test'), cluster: 'test', salt: Buffer.alloc(0) },
    ...{
      config: () => ({ rules: [], sinks: [] }) as never,
      load: () => Promise.reject(new Error('no sinks')),
    },
  })
  readings = 0
})

const caller = { name: 'token:ops', role: 'act' } as const
const asked = { params: {}, query: undefined, body: undefined, caller, signal: new AbortController().signal }

test.each(['listIncidents', 'listSilences'] as const)(
  'many pages that poll %s cost one reading of Redis',
  async (operation) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => handlers[operation](asked)))
    expect(answers.map(({ items }) => items.length)).toEqual(Array.from({ length: 20 }, () => 0))
    expect(readings).toBe(1)
  },
)

test('a list that is read after a change of this process has it, also right after another reading', async () => {
  const list = async () => (await handlers.listSilences(asked)).items.map(({ reason }) => reason)
  expect(await list()).toEqual([])
  const body = { match: { namespace: 'shop' }, untilMs: Date.now() + 3_600_000, reason: 'deploy' }
  const { id } = await handlers.addSilence({ ...asked, body })
  expect(await list()).toEqual(['deploy'])
  await handlers.expireSilence({ ...asked, params: { id } })
  expect(await list()).toEqual([])
})
