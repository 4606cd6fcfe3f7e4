import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type FakeCluster, type Fate, startFakeCluster } from '../../servers/fake-broker.ts'
import { waitFor } from '../../wait-for.ts'
import { DELIVERED, deliverAll, message, never, type Options, open } from './bed.ts'

const PASSWORD = 'the-right-password'

function openOn({ brokers }: FakeCluster, options: Partial<Options> = {}) {
  const limits = { connectTimeout: '20s', timeout: '20s' }
  return open({ brokers, topic: 'events', compression: 'none', format: 'object', ...limits, ...options })
}

/** Two brokers with passwords; the first one refuses them all, and the sink does not begin with it. */
async function startHalfOpenCluster(leaders: Record<string, number[]>) {
  const cluster = await startFakeCluster(leaders, 2)
  cluster.password = PASSWORD
  cluster.refusing.add(0)
  const sasl = { mechanism: 'plain', username: 'herald', password: PASSWORD } as const
  return { cluster, options: { brokers: cluster.brokers.slice(1), sasl } }
}

const some = (count: number) =>
  Array.from({ length: count }, (_, i) => message({ uid: `u-${i}`, object: { n: i } }))
const valuesOf = (cluster: FakeCluster) =>
  cluster.log.map(({ value }) => JSON.parse(value ?? 'null').n as number)
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

test.each<[string, Fate]>([
  ['answers that it timed out', { append: false, code: 7 }],
  ['cuts what it is sent', { append: false, answer: 'cut' }],
])('one of two brokers %s: what the other one leads goes on', async (_, fate) => {
  await using cluster = await startFakeCluster({ events: [0, 1] }, 2)
  cluster.onProduce(({ node }) => (node === 1 ? fate : undefined))
  await using sink = await openOn(cluster)
  const outcomes = await sink.deliver(some(40), never)
  const scopes = outcomes.map((it) => (it.kind === 'retry' ? it.scope : it.kind))
  expect([...new Set(scopes)].toSorted()).toEqual(['delivered', 'target'])
  cluster.onProduce(() => undefined)
  await deliverAll(
    sink,
    some(40).filter((_, i) => outcomes[i]?.kind === 'retry'),
  )
  expect(valuesOf(cluster).toSorted((a, b) => a - b)).toEqual(numbers(40))
})

test('one of two brokers fails, and it leads all of a topic: what goes to other topics goes on', async () => {
  await using cluster = await startFakeCluster({ events: [0], audit: [1] }, 2)
  cluster.onProduce(({ node }) => (node === 0 ? { append: false, code: 7 } : undefined))
  await using sink = await openOn(cluster)
  expect(await sink.deliver(some(1), never)).toMatchObject([{ kind: 'retry', scope: 'target' }])
})

test.each([
  ['one of two connected brokers does', { events: [0, 1], audit: [1] }],
  ['the only connected broker does', { events: [0], audit: [1] }],
])('%s not answer a write: metadata do not wait for it', async (_, leaders) => {
  await using cluster = await startFakeCluster(leaders, 2)
  await using sink = await openOn(cluster, { brokers: cluster.brokers.slice(0, 1) })
  await deliverAll(sink, some(40))
  cluster.onProduce(({ node }) => (node === 0 ? { append: false, answer: 'none' } : undefined))
  const slow = sink.deliver(some(40), never)
  const isUnderWay = () => cluster.produced.filter(({ node }) => node === 0).length > 1
  await waitFor(isUnderWay, { what: 'a request that waits for its answer' })
  expect(await deliverAll(sink, [message({ route: { topic: 'audit' } })])).toEqual([[DELIVERED]])
  await cluster.end(0)
  await slow
})

test('one of two brokers answers nothing while a write waits for it: metadata come from the other one', async () => {
  await using cluster = await startFakeCluster({ events: [0], audit: [1] }, 2)
  // The write is given up before metadata would be.
  const limits = { timeout: '2s', connectTimeout: '8s' }
  await using sink = await openOn(cluster, { brokers: cluster.brokers.slice(0, 1), ...limits })
  await deliverAll(sink, some(1))
  cluster.onProduce(({ node }) => (node === 0 ? { append: false, answer: 'none' } : undefined))
  const slow = sink.deliver(some(1), never)
  await waitFor(() => cluster.produced.length > 1, { what: 'a request that waits for its answer' })
  cluster.pause(0)
  // What takes longer is slow.
  await pause(1_100)
  const audit = sink.deliver([message({ route: { topic: 'audit' } })], never)
  expect(await Promise.race([slow, audit])).toEqual([DELIVERED])
  await cluster.end(0)
  await slow
})

test.each([
  ['refuses', undefined],
  ['does not replicate', 7],
])('one of two brokers has stale metadata and %s writes: the other one is asked', async (_, code) => {
  await using cluster = await startFakeCluster({ events: [1] }, 2)
  cluster.stale.set(0, { events: [0] })
  cluster.onProduce(({ node }) => (node === 0 && code ? { append: false, code } : undefined))
  await using sink = await openOn(cluster, { brokers: cluster.brokers.slice(0, 1) })
  expect(await sink.deliver(some(1), never)).toMatchObject([{ kind: 'retry' }])
  expect(await sink.deliver(some(1), never)).toEqual([DELIVERED])
})

test('one of two brokers refuses the credentials: what goes to other topics goes on', async () => {
  const { cluster, options } = await startHalfOpenCluster({ events: [0], audit: [1] })
  await using _ = cluster
  await using sink = await openOn(cluster, options)
  expect(await sink.deliver([message({ route: { topic: 'audit' } })], never)).toEqual([DELIVERED])
  expect(await sink.deliver(some(1), never)).toMatchObject([
    { kind: 'retry', scope: 'target', reason: 'auth' },
  ])
})

test('the controller refuses the credentials: what goes to topics that are there goes on', async () => {
  const { cluster, options } = await startHalfOpenCluster({ audit: [1] })
  await using _ = cluster
  await using sink = await openOn(cluster, { ...options, createTopics: { partitions: 1 } })
  expect(await sink.deliver(some(1), never)).toMatchObject([
    { kind: 'retry', scope: 'target', reason: 'auth' },
  ])
  expect(await sink.deliver([message({ route: { topic: 'audit' } })], never)).toEqual([DELIVERED])
})

test('one of two brokers refuses the credentials, and no connection is left: the other one is asked soon', async () => {
  const { cluster, options } = await startHalfOpenCluster({ events: [1], audit: [1] })
  await using _ = cluster
  await using sink = await openOn(cluster, options)
  expect(await sink.deliver([message({ route: { topic: 'audit' } })], never)).toEqual([DELIVERED])
  await cluster.end(1)
  await cluster.start(1)
  const outcomes: unknown[] = []
  while (outcomes.length < 4 && cluster.log.length < 2) outcomes.push(...(await sink.deliver(some(1), never)))
  expect(outcomes.at(-1)).toEqual(DELIVERED)
})

test('all brokers refuse the credentials: an outage of the sink', async () => {
  const { cluster, options } = await startHalfOpenCluster({ events: [0] })
  await using _ = cluster
  cluster.refusing.add(1)
  await using sink = await openOn(cluster, options)
  expect(await sink.deliver(some(1), never)).toMatchObject([{ kind: 'retry', scope: 'sink', reason: 'auth' }])
})
