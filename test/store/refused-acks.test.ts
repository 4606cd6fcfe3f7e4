import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { startReporting } from '../../src/store/process-reports.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { refusalOfWrites } from '../../src/store/redis/requirements.ts'
import type { RedisServer } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'

type Step = (server: RedisServer) => Promise<unknown>

const command =
  (...args: string[]): Step =>
  (server) =>
    server.command(...args)

/** A snapshot that fails makes Redis refuse writes, as a full disk does. */
const failSnapshot: Step = async (server) => {
  const gone = mkdtempSync(join(tmpdir(), 'kubeherald-gone-'))
  await server.command('CONFIG', 'SET', 'save', '3600 1')
  await server.command('CONFIG', 'SET', 'dir', gone)
  rmSync(gone, { recursive: true })
  await server.command('BGSAVE')
  await waitFor(async () => (await persistence(server)).includes('rdb_last_bgsave_status:err'), {
    what: 'the failed snapshot',
  })
}

const mendSnapshot: Step = async (server) => {
  await server.command('CONFIG', 'SET', 'dir', server.dir)
  await server.command('BGSAVE')
}

const persistence = async (server: RedisServer) => String(await server.command('INFO', 'persistence'))

const REFUSALS: [reason: string, refuse: Step, mend: Step][] = [
  ['OOM', command('CONFIG', 'SET', 'maxmemory', '1'), command('CONFIG', 'SET', 'maxmemory', '0')],
  ['MISCONF', failSnapshot, mendSnapshot],
  ['READONLY', command('REPLICAOF', '127.0.0.1', '1'), command('REPLICAOF', 'NO', 'ONE')],
  [
    'NOREPLICAS',
    command('CONFIG', 'SET', 'min-replicas-to-write', '1'),
    command('CONFIG', 'SET', 'min-replicas-to-write', '0'),
  ],
  [
    'NOPERM',
    command('ACL', 'SETUSER', 'default', '-hincrby'),
    command('ACL', 'SETUSER', 'default', '+hincrby'),
  ],
]

const PROTECTED = ['--enable-protected-configs', 'yes']

for (const [reason, refuse, mend] of REFUSALS) {
  test.concurrent(`an acknowledgement that is refused with ${reason} is reported, and is made once when Redis accepts it again`, async () => {
    await using it = await startLaneBed({ redisArgs: PROTECTED })
    const troubles = createTroubles(silentLog)
    await it.put('hook/0', 'a@1', 'b@1')
    // Redis begins to refuse while the sink has the delivery.
    const sink = scriptedSink(async ({ event }) => {
      if (event.name !== 'a') return { kind: 'rejected', reason: 'rejected', detail: 'no' }
      await refuse(it.server)
      return DELIVERED
    })
    const lanes = it.work({ hook: sink }, { troubles })
    lanes.wake(['hook/0'])
    await waitFor(() => troubles.first()?.includes(reason), { what: () => `${reason}: ${troubles.first()}` })
    await mend(it.server)
    await it.drained('hook')
    await waitFor(() => troubles.first() === undefined, { what: () => `no trouble: ${troubles.first()}` })
    expect(sink.took).toEqual(['a@1'])
    expect(await it.redis.xlen(it.keys.deadLetters)).toBe(1)
    expect(await it.ledger()).toMatchObject({
      sinks: { hook: { enqueued: 2, delivered: 1, dead: 1, pending: 0 } },
      balanced: true,
    })
  })
}

test.concurrent('what waits in a full Redis is delivered, and makes room', async () => {
  await using it = await startLaneBed()
  const troubles = createTroubles(silentLog)
  for (let i = 0; i < 16; i++) await it.put(`hook/n${i}`, ...numbered(`object-${i}`, 25))
  const used = Number(/used_memory:(\d+)/.exec(await it.redis.info('memory'))?.[1])
  await it.server.command('CONFIG', 'SET', 'maxmemory', String(used - 100_000))
  const sink = scriptedSink(() => DELIVERED)
  it.work({ hook: sink }, { troubles })
  const left = async () => (await it.redis.keys(it.keys.lane('hook/*'))).length
  await waitFor(async () => (await left()) === 0, { what: 'empty lanes' })
  expect(sink.took).toHaveLength(16 * 25)
  await waitFor(() => troubles.first()?.includes('OOM'), { what: 'a full Redis to be shown' })
  await it.server.command('CONFIG', 'SET', 'maxmemory', '0')
  expect(await it.ledger()).toMatchObject({ balanced: true, verified: true })
  await waitFor(() => troubles.first() === undefined, { what: () => `no trouble: ${troubles.first()}` })
})

test.concurrent('a key of the acknowledgement that holds something else is named, and nothing is counted before it is gone', async () => {
  await using it = await startLaneBed()
  const troubles = createTroubles(silentLog)
  await it.put('hook/0', 'a@1')
  const key = it.keys.sinkLedger('hook')
  const sink = scriptedSink(async () => {
    await it.redis.rename(key, 'kept')
    await it.redis.set(key, 'foreign')
    return DELIVERED
  })
  const lanes = it.work({ hook: sink }, { troubles })
  lanes.wake(['hook/0'])
  await waitFor(() => troubles.first()?.includes(key), { what: () => `${key}: ${troubles.first()}` })
  expect(await it.redis.xlen(it.keys.lane('hook/0'))).toBe(1)
  await it.redis.rename('kept', key)
  await it.drained('hook')
  await waitFor(() => troubles.first() === undefined, { what: 'its end' })
  expect(sink.took).toEqual(['a@1'])
  expect((await it.ledger()).balanced).toBe(true)
})

test.concurrent('a lane that holds something else is named, and goes on when it is gone', async () => {
  await using it = await startLaneBed()
  const troubles = createTroubles(silentLog)
  const key = it.keys.lane('hook/0')
  await it.put('hook/0', 'a@1')
  await it.redis.rename(key, 'kept')
  await it.redis.set(key, 'foreign')
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ hook: sink }, { troubles })
  lanes.wake(['hook/0'])
  await waitFor(() => troubles.first()?.includes(key), { what: () => `${key}: ${troubles.first()}` })
  await it.redis.rename('kept', key)
  await it.drained('hook')
  await waitFor(() => troubles.first() === undefined, { what: 'its end' })
  expect(sink.took).toEqual(['a@1'])
})

test.concurrent('a Redis that refuses writes shows also while there is nothing to deliver', async () => {
  await using it = await startLaneBed({ redisArgs: PROTECTED })
  const troubles = createTroubles(silentLog)
  const view = () => ({ watches: [], sinks: [] })
  const parts = { redis: it.redis, keys: it.keys, clock: Date, id: 'one', metrics: createMetrics() }
  await failSnapshot(it.server)
  const report = startReporting(parts, 'all', view, troubles)
  await waitFor(() => troubles.first()?.includes('MISCONF'), { what: 'the trouble' })
  expect(await refusalOfWrites(it.redis)).toContain('BGSAVE')
  await mendSnapshot(it.server)
  await waitFor(() => troubles.first() === undefined, { what: 'its end' })
  await waitFor(async () => (await refusalOfWrites(it.redis)) === undefined, { what: 'a good snapshot' })
  await report.close()
})
