import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/sink/index.ts'
import { type FakeCluster, type Produced, startFakeCluster } from '../../servers/fake-broker.ts'
import { DELIVERED, deliverAll, message, never, type Options, open } from './bed.ts'

// A broker answers with an error that names no cause. A record may be the cause, or the broker itself.
const UNCLEAR = [-1, 999]

function openOn({ brokers }: FakeCluster, options: Partial<Options> = {}) {
  const limits = { connectTimeout: '20s', timeout: '20s' }
  return open({ brokers, topic: 'events', compression: 'none', format: 'object', ...limits, ...options })
}

/** Two brokers. The first one leads the only partition: it is one of several, which may fail while the other works. */
const startCluster = () => startFakeCluster({ events: [0], audit: [1] }, 2)

const some = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => version(`u-${first + i}`, first + i))
const version = (uid: string, n: number) => message({ uid, object: { n } })
const valuesOf = (cluster: FakeCluster) =>
  cluster.log.map(({ value }) => JSON.parse(value ?? 'null').n as number)
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)
const kindOf = (it: Outcome) => (it.kind === 'retry' ? it.scope : it.kind)

/** Batches with one of these records get the error code. */
const failsOver =
  (code: number, ...bad: number[]) =>
  ({ records }: Produced) =>
    records.some(({ value }) => bad.includes(JSON.parse(value ?? 'null').n)) ? { code } : undefined

test.each(UNCLEAR)(
  'error code %i for each batch with certain records: they fail alone, the others are delivered in order',
  async (code) => {
    await using cluster = await startCluster()
    cluster.onProduce(failsOver(code, 17, 31))
    await using sink = await openOn(cluster)
    const outcomes = await sink.deliver(some(40), never)
    expect(outcomes.map(kindOf)).toEqual(
      numbers(40).map((n) => (n === 17 || n === 31 ? 'event' : 'delivered')),
    )
    expect(outcomes[17]).toMatchObject({ kind: 'retry', ambiguous: true })
    expect(valuesOf(cluster)).toEqual(numbers(40).filter((n) => n !== 17 && n !== 31))
  },
)

test('the last record of a batch fails alone: the others were delivered, so it is at fault itself', async () => {
  await using cluster = await startCluster()
  cluster.onProduce(failsOver(-1, 3))
  await using sink = await openOn(cluster)
  const outcomes = await sink.deliver(some(4), never)
  expect(outcomes.map(kindOf)).toEqual(['delivered', 'delivered', 'delivered', 'event'])
})

test('records of several calls in one batch: the calls without the bad record are delivered', async () => {
  await using cluster = await startCluster()
  cluster.onProduce(failsOver(-1, 5))
  await using sink = await openOn(cluster)
  const outcomes = await Promise.all([0, 4, 8].map((first) => sink.deliver(some(4, first), never)))
  expect(cluster.produced[0]?.records).toHaveLength(12)
  expect(outcomes.flat().map(kindOf)).toEqual(numbers(12).map((n) => (n === 5 ? 'event' : 'delivered')))
})

test('later records of an object do not overtake one that fails alone, and follow it when it passes', async () => {
  await using cluster = await startCluster()
  cluster.onProduce(failsOver(-1, 2))
  await using sink = await openOn(cluster)
  const batch = numbers(12).map((n) => version(`u-${n % 3}`, n))
  const outcomes = await sink.deliver(batch, never)
  expect(outcomes.map(kindOf)).toEqual(numbers(12).map((n) => (n % 3 === 2 ? 'event' : 'delivered')))
  expect(valuesOf(cluster)).toEqual(numbers(12).filter((n) => n % 3 !== 2))
  cluster.onProduce(() => undefined)
  await deliverAll(
    sink,
    batch.filter((_, i) => outcomes[i]?.kind === 'retry'),
  )
  expect(valuesOf(cluster).filter((n) => n % 3 === 2)).toEqual([2, 5, 8, 11])
})

test('a record of another object with the same key does not overtake one that fails alone', async () => {
  await using cluster = await startCluster()
  cluster.onProduce(failsOver(-1, 0))
  await using sink = await openOn(cluster, { key: '{{ object.key }}' })
  const batch = ['a', 'b', 'a', 'b'].map((key, n) => message({ uid: `u-${n}`, object: { n, key } }))
  const outcomes = await sink.deliver(batch, never)
  expect(outcomes.map(kindOf)).toEqual(['event', 'delivered', 'event', 'delivered'])
  expect(valuesOf(cluster)).toEqual([1, 3])
})

test('order holds over the batches of a call: what is behind the bad record in a later batch waits', async () => {
  await using cluster = await startCluster()
  cluster.onProduce(failsOver(-1, 7))
  await using sink = await openOn(cluster)
  const batch = [...some(500), version('u-7', 500), version('u-8', 501)]
  const outcomes = await sink.deliver(batch, never)
  expect(numbers(502).filter((n) => outcomes[n]?.kind !== 'delivered')).toEqual([7, 500])
  expect([outcomes[7], outcomes[500]].map((it) => kindOf(it as Outcome))).toEqual(['event', 'event'])
  expect(outcomes[500]).not.toHaveProperty('ambiguous')
})

test.each(UNCLEAR)(
  'error code %i for everything: the broker fails, and it gets few requests for a large batch',
  async (code) => {
    await using cluster = await startCluster()
    cluster.onProduce(() => ({ code }))
    await using sink = await openOn(cluster)
    const outcomes = await sink.deliver(some(500), never)
    expect(new Set(outcomes.map(kindOf))).toEqual(new Set(['target']))
    expect(outcomes.every((it) => it.kind === 'retry' && it.ambiguous)).toBe(true)
    expect(cluster.produced.length).toBeLessThan(40)
  },
)

test('the broker begins to fail during the search: what failed since then is not held against its records', async () => {
  await using cluster = await startCluster()
  cluster.onProduce((batch) => (valuesOf(cluster).length >= 25 ? { code: -1 } : failsOver(-1, 3, 30)(batch)))
  await using sink = await openOn(cluster)
  const outcomes = await sink.deliver(some(100), never)
  const delivered = valuesOf(cluster)
  expect(delivered).toEqual(numbers(1 + delivered.length).filter((n) => n !== 3))
  expect(outcomes.map(kindOf)).toEqual(
    numbers(100).map((n) => (n === 3 ? 'event' : n <= delivered.length ? 'delivered' : 'target')),
  )
})

test('another failure in the middle of the search: nothing overtakes, nothing is lost', async () => {
  await using cluster = await startCluster()
  cluster.onProduce((batch) => (cluster.produced.length === 3 ? { code: 19 } : failsOver(-1, 30)(batch)))
  await using sink = await openOn(cluster)
  const outcomes = await sink.deliver(some(40), never)
  expect(outcomes.map(kindOf)).toEqual(numbers(40).map((n) => (n < 20 ? 'delivered' : 'target')))
  cluster.onProduce(() => undefined)
  await deliverAll(sink, some(20, 20))
  expect(valuesOf(cluster)).toEqual(numbers(40))
})

test('a failure that passes while a batch is halved: all is delivered by the same call, in order', async () => {
  await using cluster = await startCluster()
  cluster.onProduce((_, n) => (n === 1 ? { code: -1 } : undefined))
  await using sink = await openOn(cluster)
  expect(await sink.deliver(some(40), never)).toEqual(some(40).map(() => DELIVERED))
  expect(valuesOf(cluster)).toEqual(numbers(40))
})

test('a request of one record fails: it is at fault itself if its partition took others since the last failure', async () => {
  await using cluster = await startCluster()
  cluster.onProduce(failsOver(-1, 0))
  await using sink = await openOn(cluster)
  const attempt = async () => kindOf((await sink.deliver(some(1), never))[0] as Outcome)
  expect(await attempt()).toBe('target')
  await deliverAll(sink, some(1, 1))
  expect(await attempt()).toBe('event')
  expect(await attempt()).toBe('target')
})

test('a stop during the search: what was in a batch without a clear answer may have arrived', async () => {
  await using cluster = await startCluster()
  const stop = new AbortController()
  cluster.onProduce((_, n) => {
    if (n === 2) stop.abort()
    return n === 2 ? { answer: 'none' } : { code: -1 }
  })
  await using sink = await openOn(cluster)
  const outcomes = await sink.deliver(some(4), stop.signal)
  expect(outcomes.every((it) => it.kind === 'retry' && it.scope === 'sink' && it.ambiguous)).toBe(true)
})
