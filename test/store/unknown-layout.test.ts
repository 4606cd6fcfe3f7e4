import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { LAYOUT, LayoutChangedError, watchSchema } from '../../src/store/redis/layout.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { startLaneBed } from './lane-bed.ts'
import { change } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const keys = keysOf('test')
const NEWER = String(LAYOUT + 1)

async function startBed() {
  const server = await startRedis()
  const redis = openRedis(server.url, 'command', silentLog)
  const other = openRedis(server.url, 'command', silentLog)
  return {
    redis,
    other,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      other.disconnect()
      await server[Symbol.asyncDispose]()
    },
  }
}

test.each(['1', NEWER, `${LAYOUT}>${NEWER}`, 'odd'])(
  'layout %s is refused, and nothing is written',
  async (stored) => {
    await using it = await startBed()
    await it.redis.set(keys.schema, stored)
    const { refusals } = await checkRedis({ redis: it.redis, keys })
    expect(refusals).toEqual([
      expect.stringContaining(`layout ${stored}, this version of kubeherald knows layout ${LAYOUT}`),
    ])
    expect(await it.redis.get(keys.schema)).toBe(stored)
    expect(await it.redis.keys('*')).toEqual([keys.schema])
  },
)

test('a process that runs writes nothing more from the moment a newer one converts, not even a commit that was evaluated before', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  await session.commit([change('ADDED', 'o0', 2)], '2', never)
  const before = await it.reader.get(keys.checkpoint('pods'))
  await it.reader.set(keys.schema, `${LAYOUT}>${NEWER}`)
  await expect(session.commit([change('ADDED', 'o1', 3)], '3', never)).rejects.toThrow(LayoutChangedError)
  // Between its reads and its transaction: that is what is refused.
  await it.reader.set(keys.schema, LAYOUT)
  const held = it.proxy.hold('evalsha')
  const commit = session.commit([change('ADDED', 'o1', 3)], '3', never)
  const refused = expect(commit).rejects.toThrow(LayoutChangedError)
  await held.seen
  await it.reader.set(keys.schema, NEWER)
  held.release()
  await refused
  expect(await it.enqueued()).toEqual(['ADDED o0@2'])
  expect(await it.reader.get(keys.checkpoint('pods'))).toBe(before)
})

test('a worker delivers and acknowledges nothing in another layout', async () => {
  await using bed = await startLaneBed()
  await bed.put('hook/0', 'a@1')
  const took: string[] = []
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  bed.work({
    hook: {
      async deliver(batch) {
        took.push(...batch.map(({ event }) => event.name))
        asked.resolve()
        await answer.promise
        return batch.map(() => ({ kind: 'delivered' as const }))
      },
      async close() {},
    },
  })
  await asked.promise
  // As a process that converts it does.
  await bed.redis.multi().set(keys.schema, `${LAYOUT}>99`).del(keys.slots).exec()
  answer.resolve()
  await bed.put('hook/1', 'b@1')
  const refused = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await bed.redis.info('commandstats'))?.[1])
  const before = await refused()
  await waitFor(async () => (await refused()) > before + 2, { what: 'heartbeats after it' })
  expect(took).toEqual(['a'])
  expect(await bed.redis.hget(keys.pending, 'hook/0')).toBe('1')
  expect(await bed.redis.hget(keys.pending, 'hook/1')).toBe('1')
})

test('a running process reports another layout once, and writes the layout again when Redis has lost it', async () => {
  await using it = await startBed()
  const reported: string[] = []
  const watching = watchSchema({ redis: it.redis, keys }, ({ message }) => reported.push(message))
  await waitFor(async () => (await it.other.get(keys.schema)) === String(LAYOUT), { what: 'the mark' })
  await it.other.set(keys.schema, NEWER)
  await waitFor(() => reported.length > 0, { what: 'the report of the change' })
  expect(reported).toEqual([expect.stringContaining(`have layout ${NEWER} now`)])
  watching.close()
})
