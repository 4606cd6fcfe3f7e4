import { expect, test } from 'vitest'
import { type Evaluate, FencedError, PositionLostError } from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { watchCheckpoints } from '../../src/store/gauges.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { readReportsWithRules } from '../../src/store/process-reports.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE, sendAll } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

test('a first start seeds the index silently, and only later changes are enqueued', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  expect(session.checkpoint).toBeUndefined()
  await session.beginSeed(never)
  await session.seed([change('ADDED', 'a', 1), change('ADDED', 'b', 2)], never)
  await session.endList('10', never)
  expect(session.checkpoint).toMatchObject({ phase: 'watching', resourceVersion: '10' })
  await session.commit(
    [change('ADDED', 'a', 1), change('MODIFIED', 'a', 11), change('DELETED', 'b', 12)],
    '12',
    never,
  )
  expect(await it.enqueued()).toEqual(['MODIFIED a@11', 'DELETED b@12'])
  expect(it.woken).toEqual(['hook/0'])
  const { watches } = await readLedger(it.reader, it.keys, { verify: false })
  expect(watches['configmaps']).toMatchObject({ observed: 2, matched: 2 })
  expect(await it.reader.hgetall(it.keys.sinkLedger('hook'))).toEqual({ enqueued: '2' })
  expect(await it.reader.hgetall(it.keys.pending)).toEqual({ 'hook/0': '2' })
})

test('case 44: the same change twice is enqueued once', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  await session.commit([change('ADDED', 'a', 2), change('ADDED', 'a', 2)], '2', never)
  await session.commit([change('ADDED', 'a', 2), change('MODIFIED', 'a', 2)], '2', never)
  expect(await it.enqueued()).toEqual(['ADDED a@2'])
})

test('cases 5, 7, 8: a relist emits one net change per object, the old uid of a name before the new one', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  await session.beginSeed(never)
  await session.seed(
    [
      change('ADDED', 'same', 1),
      change('ADDED', 'changed', 2),
      change('ADDED', 'gone', 3),
      change('ADDED', 'again', 4),
    ],
    never,
  )
  await session.endList('4', never)
  await session.beginList('newer', never)
  const page = [
    change('ADDED', 'again', 8, 'new-uid'),
    change('ADDED', 'changed', 9),
    change('ADDED', 'same', 1),
    change('ADDED', 'new', 7),
  ]
  await session.list(page, never)
  await session.endList('10', never)
  expect(await it.enqueued()).toEqual([
    'DELETED again@4 synthesized',
    'ADDED again@8 synthesized',
    'MODIFIED changed@9 synthesized',
    'ADDED new@7 synthesized',
    'DELETED gone@3 synthesized',
  ])
})

test('cases 2, 3: a relist that is cut off and repeated by another session emits nothing twice', async () => {
  await using it = await startStoreBed()
  const first = await it.newStore().open(SOURCE, never)
  await first.beginSeed(never)
  await first.seed([change('ADDED', 'gone', 3), change('ADDED', 'again', 4)], never)
  await first.endList('4', never)
  await first.beginList('newer', never)
  await first.list([change('ADDED', 'new', 7), change('ADDED', 'again', 8, 'new-uid')], never)
  const second = await it.newStore().open(SOURCE, never)
  expect(second.checkpoint).toMatchObject({ phase: 'listing', resourceVersion: '4' })
  await second.beginList('different', never)
  await second.list([change('ADDED', 'new', 7), change('ADDED', 'again', 8, 'new-uid')], never)
  await second.endList('10', never)
  expect(await it.enqueued()).toEqual([
    'ADDED new@7 synthesized',
    'DELETED again@4 synthesized',
    'ADDED again@8 synthesized',
    'DELETED gone@3 synthesized',
  ])
})

test('case 41: a session that was replaced writes nothing any more', async () => {
  await using it = await startStoreBed()
  const old = await it.newStore().open(SOURCE, never)
  await old.beginList('newer', never)
  await old.endList('1', never)
  const next = await it.newStore().open(SOURCE, never)
  await expect(old.commit([change('ADDED', 'a', 2)], '2', never)).rejects.toThrow(FencedError)
  await next.commit([change('ADDED', 'a', 2)], '2', never)
  expect(await it.enqueued()).toEqual(['ADDED a@2'])
})

test('case 41: who may not own a source any more does not take it', async () => {
  await using it = await startStoreBed()
  const owner = await it.newStore().open(SOURCE, never)
  await owner.beginList('newer', never)
  await owner.endList('1', never)
  const refused = () => {
    throw new Error('the lease is lost')
  }
  await expect(it.newStore().open(SOURCE, never, refused)).rejects.toThrow('the lease is lost')
  await owner.commit([change('ADDED', 'a', 2)], '2', never)
  expect(await it.enqueued()).toEqual(['ADDED a@2'])
})

test('case 42: a commit waits while Redis is down, and is made once when it is back', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  await it.server.kill()
  const commit = session.commit([change('ADDED', 'a', 2)], '2', never)
  await it.server.restart()
  await commit
  expect(await it.enqueued()).toEqual(['ADDED a@2'])
})

test('case 43: a Redis that lost the position fences the session, so that the source starts from what is stored', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  await it.reader.flushall()
  await expect(session.commit([change('ADDED', 'a', 2)], '2', never)).rejects.toThrow(FencedError)
})

test('a commit ends when its signal aborts while Redis is down', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  await session.beginList('newer', never)
  await it.server.kill()
  const stop = new AbortController()
  const commit = session.commit([], '2', stop.signal)
  stop.abort()
  await expect(commit).rejects.toThrow(/abort/i)
})

test('a resource that is gone for certain emits DELETED for all of its objects', async () => {
  await using it = await startStoreBed()
  const session = await it.newStore().open(SOURCE, never)
  await session.beginSeed(never)
  await session.seed(
    Array.from({ length: 2_500 }, (_, i) => change('ADDED', `o${i}`, i + 1)),
    never,
  )
  await session.endList('3000', never)
  await session.markAbsent(never)
  expect(new Set(await it.enqueued()).size).toBe(2_500)
  expect(session.checkpoint).toMatchObject({ phase: 'absent' })
  expect(await it.reader.hlen(it.keys.index('configmaps'))).toBe(0)
})

test('case 2: a burst that needs several transactions moves the position with each: what was committed is not replayed', async () => {
  let failing = true
  const decide: Evaluate = (source, transitions) => {
    if (failing && transitions.some(({ name }) => name === 'o1900')) throw new Error('killed between two')
    return sendAll(source, transitions)
  }
  await using it = await startStoreBed({ decide })
  const first = await it.watching()
  // Objects that live for a short time only, so that the index no longer knows them.
  const burst = Array.from({ length: 1_000 }, (_, i) => [
    change('ADDED', `o${2 * i}`, 100 + 2 * i),
    change('DELETED', `o${2 * i}`, 101 + 2 * i),
  ]).flat()
  await expect(first.commit(burst, '2100', never)).rejects.toThrow('killed')
  failing = false

  const second = await it.newStore().open(SOURCE, never)
  const position = Number(second.checkpoint?.resourceVersion)
  expect(position).toBe(Number(burst[999]?.object.resourceVersion))
  await second.commit(
    burst.filter(({ object }) => Number(object.resourceVersion) > position),
    '2100',
    never,
  )
  expect(await it.enqueued()).toEqual(
    burst.map(({ type, object }) => `${type} ${object.name}@${object.resourceVersion}`),
  )
})

test('changes of one position are never parted, whatever their number', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  const burst = Array.from({ length: 1_500 }, (_, i) => change('ADDED', `o${i}`, i < 990 ? i + 2 : 5_000))
  await session.commit(burst, '5000', never)
  expect(await it.enqueued()).toHaveLength(1_500)
  // Begin, end, and one transaction for all: the position they share must not be durable without them.
  expect(session.checkpoint?.sequence).toBe(3)
})

test("a position of our own, which a failover took back, is nobody else's: there is no one to wait for", async () => {
  await using it = await startStoreBed()
  const store = it.newStore(undefined, undefined, 'us')
  const session = await store.open(SOURCE, never)
  await session.beginList('newer', never)
  await it.reader.set(it.keys.instance('us'), '{}')
  expect(await store.peek(SOURCE, never)).toMatchObject({ ownerAlive: false })
  expect(await it.newStore(undefined, undefined, 'them').peek(SOURCE, never)).toMatchObject({
    ownerAlive: true,
  })
})

test('a source that its process leaves to others waits for nobody, and a session left over from before is fenced', async () => {
  await using it = await startStoreBed()
  const [ours, theirs] = [it.newStore(undefined, undefined, 'us'), it.newStore(undefined, undefined, 'them')]
  const session = await ours.open(SOURCE, never)
  await session.beginList('newer', never)
  await it.reader.set(it.keys.instance('us'), '{}')
  expect(await theirs.peek(SOURCE, never)).toMatchObject({ ownerAlive: true })
  await theirs.release(SOURCE, never)
  expect(await theirs.peek(SOURCE, never)).toMatchObject({ ownerAlive: true })
  await ours.release(SOURCE, never)
  expect(await theirs.peek(SOURCE, never)).toMatchObject({ ownerAlive: false, phase: 'listing' })
  await expect(session.endList('7', never)).rejects.toThrow(FencedError)
  await theirs.open(SOURCE, never)
  await it.reader.set(it.keys.instance('them'), '{}')
  expect(await ours.peek(SOURCE, never)).toMatchObject({ ownerAlive: true })
})

test('a session that Redis went back behind learns that, and not that another process works on its source', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  const before = (await it.reader.get(it.keys.checkpoint(SOURCE.key))) ?? ''
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  await it.reader.set(it.keys.checkpoint(SOURCE.key), before)
  const lost = session.commit([change('ADDED', 'b', 3)], '3', never)
  await expect(lost).rejects.toThrow(PositionLostError)
  await expect(lost).rejects.toThrow(/went back/)
})

test('a session that took over, and that Redis went back behind, learns it, too', async () => {
  await using it = await startStoreBed()
  await it.watching()
  const before = (await it.reader.get(it.keys.checkpoint(SOURCE.key))) ?? ''
  const next = await it.newStore().open(SOURCE, never)
  await it.reader.set(it.keys.checkpoint(SOURCE.key), before)
  await expect(next.commit([change('ADDED', 'b', 3)], '3', never)).rejects.toThrow(/went back/)
})

for (const garbage of ['garbage', '{}', '[]', 'null', '{"phase":"watching","resourceVersion":7}'])
  test(`a checkpoint that reads ${garbage} is named, with what to do`, async () => {
    await using it = await startStoreBed()
    const session = await it.watching()
    const key = it.keys.checkpoint(SOURCE.key)
    const before = (await it.reader.get(key)) ?? ''
    await it.reader.set(key, garbage)
    const refused = session.commit([change('ADDED', 'b', 3)], '3', never)
    await expect(refused).rejects.toThrow(new RegExp(`${key}.*redis-cli DEL`))
    await expect(it.newStore().open(SOURCE, never)).rejects.toThrow(/redis-cli DEL/)
    expect(await it.newStore().peek(SOURCE, never)).toBeUndefined()
    const troubles = createTroubles(silentLog)
    const parts = { redis: it.reader, keys: it.keys, troubles, metrics: createMetrics() }
    const gauges = watchCheckpoints({ ...parts, watches: () => [SOURCE] })
    await waitFor(() => troubles.first()?.includes(key), { what: 'the trouble' })
    gauges.close()
    await it.reader.set(key, before)
    await (await it.newStore().open(SOURCE, never)).commit([change('ADDED', 'b', 3)], '3', never)
    expect(await it.enqueued()).toEqual(['ADDED b@3'])
  })

test('what is stored of sources, clusters and processes may hold anything', async () => {
  await using it = await startStoreBed()
  await it.watching()
  const store = it.newStore()
  await it.reader.hset(it.keys.sources, { bad: 'x', none: 'null', list: '[]', empty: '{}' })
  expect((await store.stored(never)).map(({ key }) => key)).toEqual([SOURCE.key])
  await it.reader.hset(it.keys.identities, { address: '{', none: 'null' })
  expect(await store.identities.get('address', never)).toBeUndefined()
  expect(await store.identities.ofUid('uid', never)).toBeUndefined()
  for (const [id, text] of [
    ['a', 'x'],
    ['b', '{}'],
    ['c', '{"role":"all","watches":{}}'],
  ] as const) {
    await it.reader.sadd(it.keys.instances, id)
    await it.reader.set(it.keys.instance(id), text)
    await it.reader.set(it.keys.instanceRules(id), '{')
  }
  expect(await readReportsWithRules(it.reader, it.keys)).toEqual([])
})
