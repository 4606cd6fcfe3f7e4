import { once } from 'node:events'
import { expect, test } from 'vitest'
import { FencedError, type SourceSession } from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import { type CommitPlan, emptyPlan } from '../../src/store/commit/commit-plan.ts'
import { KnownEntries } from '../../src/store/commit/index-entries.ts'
import { transact } from '../../src/store/commit/transact.ts'
import { RuleTimes } from '../../src/store/limits/rule-counts.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE, sendAll } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const added = (count: number) => Array.from({ length: count }, (_, i) => `ADDED o${i}@${i + 2}`)

test('queue.md: a connection that is cut after EXEC, before its reply, enqueues once', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  for (let i = 0; i < 20; i++) {
    it.proxy.cutAfter('evalsha')
    await session.commit([change('ADDED', `o${i}`, i + 2)], String(i + 2), never)
  }
  expect(await it.enqueued()).toEqual(added(20))
  expect(await it.reader.hgetall(it.keys.sinkLedger('hook'))).toEqual({ enqueued: '20' })
  expect(it.woken).toHaveLength(20)
})

test('queue.md: a connection that is cut before EXEC arrives enqueues once', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  for (let i = 0; i < 5; i++) {
    it.proxy.hold('evalsha', { cut: true })
    await session.commit([change('ADDED', `o${i}`, i + 2)], String(i + 2), never)
  }
  expect(await it.enqueued()).toEqual(added(5))
})

test('an EXEC that arrives after its commit was tried again is discarded', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  const late = it.proxy.hold('evalsha', { cut: true })
  await session.commit([change('ADDED', 'o0', 2)], '2', never)
  late.release()
  await session.commit([change('ADDED', 'o1', 3)], '3', never)
  expect(await it.enqueued()).toEqual(added(2))
})

test('an EXEC that arrives while its commit is tried again makes the second one fail, and is found', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  const late = it.proxy.hold('evalsha', { cut: true })
  const commit = session.commit([change('ADDED', 'o0', 2)], '2', never)
  await late.seen
  const second = it.proxy.hold('evalsha')
  await second.seen
  late.release()
  await waitFor(async () => (await it.enqueued()).length === 1, { what: 'the late EXEC' })
  second.release()
  await commit
  expect(await it.enqueued()).toEqual(added(1))
  expect(session.checkpoint?.resourceVersion).toBe('2')
})

test('a late EXEC that arrives before its commit is decided again is counted as what it wrote', async () => {
  await using it = await startStoreBed()
  const store = it.newStore()
  const session = await store.open(SOURCE, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  const late = it.proxy.hold('evalsha', { cut: true })
  const commit = session.commit([change('ADDED', 'o0', 2)], '2', never)
  await late.seen
  const read = it.proxy.hold('hmget')
  await read.seen
  late.release()
  await waitFor(async () => (await it.enqueued()).length === 1, { what: 'the late EXEC' })
  read.release()
  await commit
  expect(it.woken).toEqual(['hook/0'])
  const text = await store.metrics.registry.metrics()
  expect(text).toMatch(/_enqueued_total\{sink="hook"\} 1$/m)
  await session.commit([change('MODIFIED', 'o0', 3)], '3', never)
  expect(await it.enqueued()).toEqual(['ADDED o0@2', 'MODIFIED o0@3'])
})

test('a commit that is tried again decides as before, also when the configuration was reloaded meanwhile', async () => {
  let lane = 'hook/0'
  await using it = await startStoreBed({ lane: () => lane })
  const session = await it.watching()
  const late = it.proxy.hold('evalsha', { cut: true })
  const commit = session.commit([change('ADDED', 'o0', 2)], '2', never)
  await late.seen
  lane = 'other/0'
  const second = it.proxy.hold('evalsha')
  await second.seen
  late.release()
  await waitFor(async () => (await it.enqueued()).length === 1, { what: 'the late EXEC' })
  second.release()
  await commit
  // The lane that got it is the one that is woken.
  expect(it.woken).toEqual(['hook/0'])
  await session.commit([change('ADDED', 'o1', 3)], '3', never)
  expect(await it.reader.hgetall(it.keys.pending)).toEqual({ 'hook/0': '1', 'other/0': '1' })
})

test('a connection that is another one by the time of the EXEC watches nothing: all is read again', async () => {
  await using it = await startStoreBed()
  await it.watching()
  const stored = await it.reader.get(it.keys.checkpoint(SOURCE.key))
  const moved = JSON.stringify({ ...JSON.parse(stored ?? '{}'), sequence: 99, holder: 'another' })
  const redis = openRedis(`redis://127.0.0.1:${it.proxy.port}`, 'commit', silentLog)
  await once(redis, 'ready')
  const commitConnection = createCommitConnection({
    redis,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const parts = {
    ...{ commitConnection, keys: it.keys, metrics: createMetrics(), clock: Date },
    stages: { evaluator: () => ({ evaluate: sendAll, laneOf: () => 'hook/0' }), enqueued() {} },
  }
  const plan: CommitPlan = {
    read() {},
    // While it thinks, the connection breaks and comes back, and somebody else moves the position.
    async compute() {
      it.proxy.cut()
      await once(redis, 'ready')
      await it.reader.set(it.keys.checkpoint(SOURCE.key), moved)
      return emptyPlan()
    },
  }
  const { checkpoint, index, unseen, old } = it.keys
  const keys = {
    ...{ checkpoint: checkpoint(SOURCE.key), index: index(SOURCE.key) },
    ...{
      unlisted: unseen(SOURCE.key),
      previous: old(SOURCE.key),
      previousJson: undefined,
      hasRoom: () => true,
    },
    ...{ limits: it.keys.ownLimits(SOURCE.key), timers: it.keys.ownLimitTimers(SOURCE.key) },
  }
  const commit = {
    source: SOURCE,
    keys,
    stored,
    next: 'mine',
    plan,
    times: new RuleTimes(),
    known: new KnownEntries(),
  }
  await expect(transact(parts, commit, never)).rejects.toThrow(FencedError)
  expect(await it.reader.get(it.keys.checkpoint(SOURCE.key))).toBe(moved)
  redis.disconnect()
})

test('an EXEC that arrives late, after another session took over, is discarded', async () => {
  await using it = await startStoreBed()
  const old = await it.watching()
  const late = it.proxy.hold('evalsha', { cut: true })
  const stop = new AbortController()
  const commit = old.commit([change('ADDED', 'o0', 2)], '2', stop.signal)
  await late.seen
  stop.abort()
  await expect(commit).rejects.toThrow()
  const next = await it.newStore().open(SOURCE, never)
  late.release()
  await next.commit([change('ADDED', 'o0', 2)], '2', never)
  expect(await it.enqueued()).toEqual(added(1))
})

test('queue.md: Redis is killed again and again under commits, and all are enqueued once', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  let done = 0
  const commits = (async () => {
    for (; done < 400; done++)
      await session.commit([change('ADDED', `o${done}`, done + 2)], String(done + 2), never)
  })()
  for (let round = 1; round <= 4; round++) {
    await waitFor(() => done >= round * 60, { what: 'some commits' })
    await it.server.kill()
    await it.server.restart()
  }
  await commits
  expect(await it.enqueued()).toEqual(added(400))
})

test('queue.md: SCRIPT FLUSH between commits changes nothing', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  for (let i = 0; i < 5; i++) {
    await it.server.command('SCRIPT', 'FLUSH')
    await session.commit([change('ADDED', `o${i}`, i + 2)], String(i + 2), never)
  }
  expect(await it.enqueued()).toEqual(added(5))
})

const REFUSALS: [reason: string, refuse: string[], mend: string[]][] = [
  ['OOM', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
  [
    'NOREPLICAS',
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
  ['READONLY', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
]

for (const [reason, refuse, mend] of REFUSALS) {
  test(`queue.md: a commit that Redis refuses with ${reason} waits, tells why, and is made once`, async () => {
    await using it = await startStoreBed()
    const store = it.newStore()
    const session = await store.open(SOURCE, never)
    await session.beginList('newer', never)
    await session.endList('1', never)
    await it.server.command(...refuse)
    const commit = session.commit([change('ADDED', 'o0', 2)], '2', never)
    await waitFor(() => store.trouble()?.includes(`(${reason})`), {
      what: () => `${reason}, not ${store.trouble()}`,
    })
    expect(it.refusals.outOfMemory > 0).toBe(reason === 'OOM')
    await it.server.command(...mend)
    await commit
    expect(await it.enqueued()).toEqual(added(1))
    expect(store.trouble()).toBeUndefined()
  })
}

test('queue.md: of two sessions on one source only one writes, and nothing is there twice', async () => {
  await using it = await startStoreBed()
  let fenced = 0
  async function lead(session: SourceSession): Promise<void> {
    for (let i = 0; i < 150; ) {
      try {
        await session.commit([change('ADDED', `o${i}`, i + 2)], String(i + 2), never)
        i++
      } catch (error) {
        if (!(error instanceof FencedError)) throw error
        fenced++
        session = await it.newStore().open(SOURCE, never)
      }
    }
  }
  const first = await it.watching()
  const second = await it.newStore().open(SOURCE, never)
  await Promise.all([lead(first), lead(second)])
  expect(await it.enqueued()).toEqual(added(150))
  expect(fenced).toBeGreaterThan(0)
})

test('a fault of our own is thrown and not waited for', async () => {
  const broken = () => {
    throw Object.assign(new TypeError('not a string'), { code: 'ERR_INVALID_ARG_TYPE' })
  }
  await using it = await startStoreBed({ decide: broken })
  const session = await it.newStore().open(SOURCE, never)
  await session.beginSeed(never).catch(() => {})
  await expect(session.commit([change('ADDED', 'o0', 2)], '2', never)).rejects.toThrow('not a string')
})
