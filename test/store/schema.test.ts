import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { openRedis } from '../../src/queue/connection.ts'
import { publishReport } from '../../src/queue/instances.ts'
import { keysOf } from '../../src/queue/keys.ts'
import { LAYOUT, LayoutChangedError } from '../../src/queue/layout.ts'
import { foreignLayout, type Migration, prepareSchema } from '../../src/queue/schema.ts'
import { watchSchema } from '../../src/queue/schema-watch.ts'
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

/** Layout 2 calls the salt otherwise, layout 3 writes it twice. */
const renameSalt: Migration = {
  from: 1,
  to: 2,
  async migrate(redis, { salt }, write) {
    if (await redis.exists(salt)) await write((multi) => multi.rename(salt, `${salt}-2`))
  },
}
const doubleSalt: Migration = {
  from: 2,
  to: 3,
  migrate: (_redis, { salt }, write) => write((multi) => multi.copy(`${salt}-2`, `${salt}-3`)),
}
const migrations = [doubleSalt, renameSalt]

const report = (layout?: number) => ({
  id: 'abc',
  role: 'all' as const,
  version: '0.1.0',
  ...(layout !== undefined && { layout }),
  host: 'node-1',
  pid: 17,
  startedMs: 0,
  atMs: 0,
  watches: [],
  sinks: [],
})

test('an older layout is converted step by step, and the next start finds it done', async () => {
  await using it = await startBed()
  await it.redis.mset(keys.schema, '1', keys.salt, 'x')
  const parts = { redis: it.redis, keys, log: silentLog, layout: 3, migrations }
  expect(await prepareSchema(parts)).toBeUndefined()
  expect(await it.redis.mget(keys.schema, keys.salt, `${keys.salt}-2`, `${keys.salt}-3`)).toEqual([
    '3',
    null,
    'x',
    'x',
  ])
  expect(await prepareSchema(parts)).toBeUndefined()
  expect(await it.redis.exists(keys.schemaLock)).toBe(0)
})

test('a newer layout, one that somebody converts to it, and one without a way are refused and left alone', async () => {
  await using it = await startBed()
  for (const [stored, told] of [
    [
      NEWER,
      `layout ${NEWER}, this version of kubeherald knows layout ${LAYOUT}: run the newer version that wrote them`,
    ],
    [
      `${LAYOUT}>${NEWER}`,
      `layout ${LAYOUT}>${NEWER}, this version of kubeherald knows layout ${LAYOUT}: run the newer version`,
    ],
    ['odd', 'layout odd'],
  ] as const) {
    await it.redis.set(keys.schema, stored)
    expect(await prepareSchema({ redis: it.redis, keys, log: silentLog })).toContain(told)
    expect(await it.redis.get(keys.schema)).toBe(stored)
  }
  await it.redis.set(keys.schema, '1')
  const noWay = { redis: it.redis, keys, log: silentLog, layout: 3, migrations: [doubleSalt] }
  expect(await prepareSchema(noWay)).toContain('start "run" of this version, or of one in between')
  expect(foreignLayout(null)).toBeUndefined()
})

test('nothing is converted while a process of an older version runs; it is named', async () => {
  await using it = await startBed()
  await it.redis.mset(keys.schema, '1', keys.salt, 'x')
  for (const old of [report(), report(1)]) {
    await publishReport(it.redis, keys, old)
    const parts = { redis: it.redis, keys, log: silentLog, layout: 2, migrations, patienceMs: 300 }
    expect(await prepareSchema(parts)).toContain(
      'an older version runs: 0.1.0 on node-1 (pid 17); stop it first',
    )
  }
  expect(await it.redis.mget(keys.schema, keys.salt)).toEqual(['1', 'x'])
  // Once it is gone, the one that waited goes on by itself.
  const waiting = prepareSchema({ redis: it.redis, keys, log: silentLog, layout: 2, migrations })
  await it.other.del(keys.instance('abc'))
  expect(await waiting).toBeUndefined()
  expect(await it.redis.get(keys.schema)).toBe('2')
})

test('of two that convert at once one does it, and both go on', async () => {
  await using it = await startBed()
  await it.redis.mset(keys.schema, '1', keys.salt, 'x')
  let runs = 0
  const counted: Migration = {
    ...renameSalt,
    async migrate(redis, keys, write) {
      runs++
      await renameSalt.migrate(redis, keys, write)
    },
  }
  const both = [it.redis, it.other].map((redis) =>
    prepareSchema({ redis, keys, log: silentLog, layout: 2, migrations: [counted] }),
  )
  expect(await Promise.all(both)).toEqual([undefined, undefined])
  expect(runs).toBe(1)
})

test('what another one converted just before our turn is not converted again', async () => {
  for (const [reached, told] of [
    [3, undefined],
    [4, 'layout 4, this version of kubeherald knows layout 3: run the newer version'],
  ] as const) {
    await using it = await startBed()
    await it.redis.mset(keys.schema, '1', keys.salt, 'x')
    const set = it.redis.set.bind(it.redis) as (...args: unknown[]) => Promise<'OK'>
    // The lock is free again by the time that we ask for it.
    it.redis.set = (async (...args: unknown[]) => {
      await it.other.mset(keys.schema, String(reached), `${keys.salt}-${reached}`, 'x')
      await it.other.del(keys.salt)
      return set(...args)
    }) as typeof it.redis.set
    let runs = 0
    const counted = migrations.map((it) => ({
      ...it,
      migrate: async () => void runs++,
    }))
    const parts = { redis: it.redis, keys, log: silentLog, layout: 3, migrations: counted }
    const refusal = await prepareSchema(parts)
    if (told === undefined) expect(refusal).toBeUndefined()
    else expect(refusal).toContain(told)
    expect(runs).toBe(0)
    expect(await it.redis.mget(keys.schema, keys.schemaLock)).toEqual([String(reached), null])
  }
})

test('a step that broke off is begun again; one that lost its lock writes nothing', async () => {
  await using it = await startBed()
  await it.redis.mset(keys.schema, '1', keys.salt, 'x')
  const parts = { redis: it.redis, keys, log: silentLog, layout: 2 }
  const breaks: Migration = {
    ...renameSalt,
    async migrate(redis, keys, write) {
      await it.other.set(keys.schemaLock, 'another')
      await renameSalt.migrate(redis, keys, write)
    },
  }
  await expect(prepareSchema({ ...parts, migrations: [breaks] })).rejects.toThrow('another process took over')
  expect(await it.redis.mget(keys.schema, keys.salt)).toEqual(['1>2', 'x'])
  await it.redis.del(keys.schemaLock)
  expect(await prepareSchema({ ...parts, migrations })).toBeUndefined()
  expect(await it.redis.mget(keys.schema, keys.salt, `${keys.salt}-2`)).toEqual(['2', null, 'x'])
})

test('a process that runs writes nothing more from the moment a newer one converts, not even what was decided', async () => {
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
  // As whoever converts does it.
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

test('a running process is told, once, and marks the layout anew where Redis lost it', async () => {
  await using it = await startBed()
  const told: string[] = []
  const watching = watchSchema({ redis: it.redis, keys }, ({ message }) => told.push(message))
  await waitFor(async () => (await it.other.get(keys.schema)) === String(LAYOUT), { what: 'the mark' })
  await it.other.set(keys.schema, NEWER)
  await waitFor(() => told.length > 0, { what: 'the change to be told' })
  expect(told).toEqual([expect.stringContaining(`have layout ${NEWER} now`)])
  watching.close()
})
