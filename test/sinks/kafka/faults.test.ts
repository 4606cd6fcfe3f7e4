import { createServer } from 'node:net'
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { expect, test } from 'vitest'
import type { Outcome } from '../../../src/sink/index.ts'
import { type FakeCluster, startFakeCluster } from '../../servers/fake-broker.ts'
import { freePort } from '../../servers/ports.ts'
import { DELIVERED, deliverAll, message, never, type Options, open } from './bed.ts'

function openOn(cluster: FakeCluster, options: Partial<Options> = {}) {
  return open({
    brokers: cluster.brokers,
    topic: 'events',
    compression: 'none',
    format: 'object',
    // Brokers that answer need no limit, and a machine that pauses has none to spare.
    connectTimeout: '20s',
    timeout: '20s',
    ...options,
  })
}

const some = (count: number) =>
  Array.from({ length: count }, (_, i) => message({ uid: `u-${i}`, object: { n: i } }))
const valuesOf = (cluster: FakeCluster) =>
  cluster.log.map(({ value }) => JSON.parse(value ?? 'null').n as number)
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

test('silent loss a: a leader moves between two partitions of one batch', async () => {
  await using cluster = await startFakeCluster({ events: [0, 1] }, 2)
  cluster.told = { events: [0, 0] }
  cluster.onProduce((_, n) => {
    if (n === 2) cluster.told = undefined
    return undefined
  })
  await using sink = await openOn(cluster)
  const batch = some(40)
  const [first] = await deliverAll(sink, batch)
  expect(first).toEqual(batch.map(() => DELIVERED))
  expect(valuesOf(cluster).toSorted((a, b) => a - b)).toEqual(numbers(40))
})

test('silent loss b: an answer is lost, and a batch of the same size comes next', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce((_, n) => (n === 1 ? { append: true, answer: 'cut' } : undefined))
  await using sink = await openOn(cluster)
  const [a, b, c, d] = some(4) as [ReturnType<typeof message>, ...ReturnType<typeof message>[]]
  const lost = await sink.deliver([a, b as typeof a], never)
  expect(lost).toMatchObject([
    { kind: 'retry', reason: 'network', scope: 'sink', ambiguous: true },
    { kind: 'retry', ambiguous: true },
  ])
  expect(await sink.deliver([c as typeof a, d as typeof a], never)).toEqual([DELIVERED, DELIVERED])
  expect(valuesOf(cluster)).toEqual([0, 1, 2, 3])
  expect(cluster.produced.every(({ producerId }) => producerId === -1n)).toBe(true)
})

test('silent loss c: the partition is not in the metadata any more', async () => {
  await using cluster = await startFakeCluster({ events: [0, 0, 0] })
  await using sink = await openOn(cluster, { metadataMaxAge: '60m' })
  await deliverAll(sink, some(9))
  cluster.leaders['events'] = [0]
  cluster.onProduce(({ partition }) => (partition > 0 ? { code: 3 } : undefined))
  const again = some(9)
  const rounds = await deliverAll(sink, again)
  expect(rounds.length).toBeGreaterThan(1)
  expect(rounds[0]?.some(({ kind }) => kind === 'retry')).toBe(true)
  for (const n of numbers(9)) expect(valuesOf(cluster).filter((it) => it === n).length).toBeGreaterThan(1)
})

test("the yardstick: kafkajs' own producer does lose a record in case a", async () => {
  await using cluster = await startFakeCluster({ events: [0, 1] }, 2)
  const loses = new Kafka({ brokers: cluster.brokers, logLevel: logLevel.NOTHING }).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    idempotent: false,
    allowAutoTopicCreation: false,
    retry: { retries: 3, initialRetryTime: 10 },
  })
  await loses.connect()
  // Both partitions on broker 0 and 1; partition 1 moves to 0 while the request is under way.
  cluster.onProduce(({ partition, node }) => {
    if (partition !== 1 || node !== 1) return undefined
    cluster.leaders['events'] = [0, 0]
    return { code: 6, append: false }
  })
  const answer = await loses.send({
    topic: 'events',
    messages: [
      { partition: 0, key: 'a', value: '{"n":0}' },
      { partition: 1, key: 'b', value: '{"n":1}' },
    ],
  })
  await loses.disconnect()
  expect(answer).toHaveLength(1)
  expect(valuesOf(cluster)).toEqual([0])
})

const target = { scope: 'target' }
const sinkWide = { scope: 'sink' }

test.each<[number, object]>([
  [-1, { ...sinkWide, reason: 'server-error', ambiguous: true }],
  [3, { ...target, reason: 'config' }],
  [7, { ...sinkWide, reason: 'timeout', ambiguous: true }],
  [17, { ...target, reason: 'config' }],
  [19, { ...target, reason: 'server-error' }],
  [20, { ...target, reason: 'server-error', ambiguous: true }],
  [29, { ...target, reason: 'auth' }],
  [31, { ...sinkWide, reason: 'auth' }],
  [32, { ...target, reason: 'config' }],
  [43, { ...target, reason: 'config' }],
  [56, { ...sinkWide, reason: 'server-error', ambiguous: true }],
  [76, { ...sinkWide, reason: 'config' }],
  [89, { ...sinkWide, reason: 'rate-limited' }],
  [999, { ...sinkWide, reason: 'unknown', ambiguous: true, detail: expect.stringContaining('999') }],
])('error code %i is an outage, and passes', async (code, expected) => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce(() => ({ code }))
  await using sink = await openOn(cluster)
  expect(await sink.deliver(some(3), never)).toMatchObject(
    some(3).map(() => ({ kind: 'retry', ...expected })),
  )
  cluster.onProduce(() => undefined)
  const rounds = await deliverAll(sink, some(3))
  expect(rounds).toEqual([some(3).map(() => DELIVERED)])
  expect(valuesOf(cluster)).toEqual([0, 1, 2])
})

test.each([5, 6, 8, 74])('error code %i: the new leader is asked at once', async (code) => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce((_, n) => (n === 1 ? { code } : undefined))
  await using sink = await openOn(cluster)
  expect(await sink.deliver(some(2), never)).toEqual([DELIVERED, DELIVERED])
  expect(cluster.metadataRequests).toBe(2)
})

test.each([10, 18, 44, 87])(
  'error code %i: the guilty record alone is refused, order is kept',
  async (code) => {
    await using cluster = await startFakeCluster({ events: [0] })
    const isGuilty = (value: string | null) => value === '{"n":17}' || value === '{"n":31}'
    cluster.onProduce(({ records }) => (records.some(({ value }) => isGuilty(value)) ? { code } : undefined))
    await using sink = await openOn(cluster)
    const outcomes = await sink.deliver(some(40), never)
    for (const [i, outcome] of outcomes.entries())
      expect(outcome.kind).toBe(i === 17 || i === 31 ? 'rejected' : 'delivered')
    expect(valuesOf(cluster)).toEqual(numbers(40).filter((n) => n !== 17 && n !== 31))
  },
)

test('an outage in the middle of the search for a guilty record: nothing overtakes, nothing is lost', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce(({ records }, n) => {
    if (n === 3) return { code: 19 }
    return records.some(({ value }) => value === '{"n":30}') ? { code: 87 } : undefined
  })
  await using sink = await openOn(cluster)
  const rounds = await deliverAll(sink, some(40))
  expect(rounds[0]?.slice(20).every(({ kind }) => kind === 'retry')).toBe(true)
  expect(valuesOf(cluster)).toEqual(numbers(40).filter((n) => n !== 30))
})

test.each<[string, Parameters<FakeCluster['onProduce']>[0]]>([
  ['for another partition', () => ({ append: false, entries: [{ partition: 1 }] })],
  ['for another topic', () => ({ append: false, entries: [{ topic: 'others' }] })],
  ['without entry', () => ({ append: false, entries: [] })],
  ['with two entries', () => ({ append: false, entries: [{}, { partition: 1 }] })],
  ['without offset', () => ({ append: false, entries: [{ offset: -1n }] })],
])('an acknowledgement %s is none', async (_, fate) => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce((batch, n) => (n === 1 ? fate(batch, n) : undefined))
  await using sink = await openOn(cluster)
  const rounds = await deliverAll(sink, some(2))
  expect(rounds[0]).toMatchObject([
    { kind: 'retry', ambiguous: true },
    { kind: 'retry', ambiguous: true },
  ])
  expect(valuesOf(cluster)).toEqual([0, 1])
})

test.each(['cut', 'garbage', 'none'] as const)(
  'dropped before it is written (%s): delivered once, later',
  async (answer) => {
    await using cluster = await startFakeCluster({ events: [0] })
    cluster.onProduce((_, n) => (n === 1 ? { append: false, answer } : undefined))
    // Without a readable answer time decides. Where the machine pauses, connections and later answers come too late as well.
    const limits = {
      cut: {},
      garbage: { timeout: '5s', connectTimeout: '5s' },
      none: { timeout: '100ms', connectTimeout: '300ms' },
    }
    await using sink = await openOn(cluster, limits[answer])
    const rounds = await deliverAll(sink, some(2))
    const sent = rounds.find(([it]) => it?.kind !== 'retry' || it.ambiguous)
    expect(sent).toMatchObject([{ kind: 'retry', scope: 'sink', ambiguous: true }, { kind: 'retry' }])
    const written = answer === 'none' ? cluster.produced.length - 1 : 1
    expect(valuesOf(cluster)).toEqual(Array.from({ length: written }, () => [0, 1]).flat())
  },
)

test('a partition without leader delays its own records alone', async () => {
  await using cluster = await startFakeCluster({ events: [0, -1] })
  await using sink = await openOn(cluster)
  const outcomes = await sink.deliver(some(20), never)
  const kinds = Map.groupBy(outcomes, ({ kind }) => kind)
  expect(kinds.get('delivered')?.length).toBe(cluster.log.length)
  expect(kinds.get('retry')?.length).toBe(20 - cluster.log.length)
  for (const it of kinds.get('retry') ?? [])
    expect(it).toMatchObject({ scope: 'target', reason: 'server-error' })
})

test('throttled by quotas: it paces itself, and that is no failure', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce((_, n) => (n === 1 ? { throttleMs: 1_500 } : undefined))
  await using sink = await openOn(cluster)
  expect(await sink.deliver(some(1), never)).toEqual([DELIVERED])
  const [outcome] = await sink.deliver(some(1), never)
  expect(outcome).toEqual({ kind: 'later', afterMs: expect.any(Number) })
})

test('one of two seeds is down: the other is asked', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  const brokers = [`127.0.0.1:${await freePort()}`, ...cluster.brokers]
  await using sink = await openOn(cluster, { brokers })
  expect(await sink.deliver(some(1), never)).toEqual([DELIVERED])
})

test('all brokers down: an outage of the sink, told with the address', async () => {
  const broker = `127.0.0.1:${await freePort()}`
  await using sink = await open({ brokers: [broker], topic: 'events' })
  expect(await sink.deliver(some(1), never)).toEqual([
    { kind: 'retry', reason: 'network', scope: 'sink', detail: expect.stringContaining(broker) },
  ])
  expect(await sink.health?.(never)).toMatchObject({ ok: false, reason: 'network' })
})

/** Takes connections and says what it is told to, or nothing. */
async function startOddPeer(says?: string) {
  const port = await freePort()
  const sockets = new Set<import('node:net').Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (says !== undefined) socket.write(says)
  }).listen(port, '127.0.0.1')
  return {
    broker: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test.each([undefined, 'SSH-2.0-OpenSSH_9.2\r\n'])(
  'a peer that is no Kafka and says %s ends in time',
  async (says) => {
    await using peer = await startOddPeer(says)
    await using sink = await open({ brokers: [peer.broker], topic: 'events', connectTimeout: '200ms' })
    expect(await sink.deliver(some(1), never)).toMatchObject([
      { kind: 'retry', scope: 'sink', reason: 'timeout' },
    ])
  },
)

test('a stop ends a delivery that hangs, says what may have arrived, and closing ends too', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  const stop = new AbortController()
  cluster.onProduce(() => {
    stop.abort()
    return { answer: 'none' }
  })
  await using sink = await openOn(cluster)
  const batch = Array.from({ length: 600 }, (_, i) => message({ uid: `u-${i}`, object: { n: i } }))
  const outcomes = await sink.deliver(batch, stop.signal)
  const ambiguous = outcomes.filter((it: Outcome) => it.kind === 'retry' && it.ambiguous)
  expect(outcomes.every(({ kind }) => kind === 'retry')).toBe(true)
  expect(ambiguous).toHaveLength(500)
  await sink.close()
  expect(await sink.deliver(batch.slice(0, 1), never)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
})

test('closing does not wait for a broker that hangs: the process has to end', {
  timeout: 8_000,
}, async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce(() => ({ answer: 'none' }))
  const sink = await openOn(cluster)
  const stop = new AbortController()
  const delivery = sink.deliver(some(2), stop.signal)
  while (cluster.produced.length === 0) await new Promise(setImmediate)
  stop.abort()
  expect(await delivery).toMatchObject([{ kind: 'retry', ambiguous: true }, { kind: 'retry' }])
  await sink.close()
})

test('what still waits behind a broker that hangs is not sent by a sink that is closed', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  cluster.onProduce(() => ({ answer: 'none' }))
  const sink = await openOn(cluster)
  const batch = Array.from({ length: 501 }, (_, i) => message({ uid: `u-${i}` }))
  const first = sink.deliver(batch.slice(0, 500), never)
  while (cluster.produced.length === 0) await new Promise(setImmediate)
  const second = sink.deliver(batch.slice(500), never)
  await new Promise(setImmediate)
  await sink.close()
  expect((await first).every((it) => it.kind === 'retry' && it.ambiguous)).toBe(true)
  const [outcome] = await second
  expect(outcome).toMatchObject({ kind: 'retry', detail: expect.stringContaining('closed') })
  expect(outcome).not.toHaveProperty('ambiguous')
  expect(cluster.produced).toHaveLength(1)
})

test('closing during sends: what was sent is acknowledged, and twice is once', async () => {
  await using cluster = await startFakeCluster({ events: [0, 0, 0] })
  const sink = await openOn(cluster)
  const delivery = sink.deliver(some(30), never)
  while (cluster.produced.length === 0) await new Promise(setImmediate)
  await Promise.all([sink.close(), sink.close()])
  expect(await delivery).toEqual(some(30).map(() => DELIVERED))
})

test('an idle sink sets no timer, and nothing of it is left when it is closed', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  const before = process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length
  const sink = await openOn(cluster)
  await deliverAll(sink, some(3))
  const real = globalThis.setTimeout
  let timers = 0
  globalThis.setTimeout = Object.assign((...args: Parameters<typeof real>) => {
    timers++
    return real(...args)
  }, real) as typeof real
  await new Promise((resolve) => real(resolve, 200))
  globalThis.setTimeout = real
  expect(timers).toBe(0)
  expect(process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length).toBeLessThanOrEqual(before)
  await sink.close()
})

test('an object whose key changes: its later record waits for the earlier one', async () => {
  await using cluster = await startFakeCluster({ events: [0, 0, 0, 0] })
  await using sink = await openOn(cluster, { key: '{{ object.key }}' })
  const batch = Array.from({ length: 8 }, (_, n) => message({ uid: 'one', object: { n, key: `k-${n}` } }))
  cluster.onProduce((_, n) => (n === 3 ? { code: 19 } : undefined))
  const rounds = await deliverAll(sink, batch)
  expect(rounds.length).toBe(2)
  expect(valuesOf(cluster)).toEqual(numbers(8))
})
