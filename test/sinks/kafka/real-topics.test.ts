import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Kafka, startKafka } from '../../servers/kafka.ts'
import { readTopic } from '../../servers/kcat.ts'
import { waitFor } from '../../wait-for.ts'
import { DELIVERED, deliverAll, makeTopic, message, never, open, produceWithKcat, withAdmin } from './bed.ts'

let kafka: Kafka
beforeAll(async () => {
  kafka = await startKafka()
})
afterAll(() => kafka[Symbol.asyncDispose]())

const object = (n: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `c-${n}` },
  data: { n: String(n) },
})

test('events: a CloudEvent in binary mode, its key the object, its value the data', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'events')
  await using sink = await open({ brokers: [...brokers], topic: 'events' })
  const sent = message({
    type: 'DELETED',
    event: { namespace: 'shop', name: 'grün\u0007' },
    object: object(1),
  })
  expect(await sink.deliver([sent], never)).toEqual([DELIVERED])
  const [record] = await readTopic(brokers, 'events')
  const { data, ...envelope } = JSON.parse(sent.cloudEvent.toString())
  expect(record).toMatchObject({ key: 'test/ConfigMap/shop/grün\u0007', value: JSON.stringify(data) })
  expect(record?.headers).toEqual({
    ce_specversion: '1.0',
    ce_id: envelope.id,
    ce_source: '/clusters/test',
    ce_type: 'dev.kubeherald.resource.deleted',
    ce_subject: envelope.subject,
    ce_time: envelope.time,
    'content-type': 'application/json',
    ce_cluster: 'test',
    ce_kind: 'ConfigMap',
    ce_apiversion: 'v1',
    ce_namespace: 'shop',
    ce_name: 'grün ',
    ce_uid: 'uid-web',
    ce_resourceversion: '7',
    ce_partitionkey: 'test/ConfigMap/shop/grün ',
  })
})

test('W3C Trace Context stands in headers of its own, in every form, also of a tombstone', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'traced', { partitions: 1 })
  await using sink = await open({ brokers: [...brokers], topic: 'traced' })
  const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, tracestate: 'vendor=a:b' }
  const routes = [{}, { format: 'structured' }, { format: 'object' }, { state: true }] as const
  const sent = routes.map((route, n) => message({ type: 'DELETED', version: String(n), route, trace }))
  await sink.deliver([...sent, message({ version: '9' })], never)
  const records = await readTopic(brokers, 'traced')
  expect(records).toHaveLength(5)
  for (const { headers } of records.slice(0, 4)) expect(headers).toMatchObject(trace)
  expect(records[3]).toMatchObject({ value: null })
  expect(Object.keys(records[4]?.headers ?? {}).filter((it) => it.startsWith('trace'))).toEqual([])
})

test('structured: the whole CloudEvent is the value; object: the object is', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'formats', { partitions: 1 })
  await using sink = await open({ brokers: [...brokers], topic: 'formats', format: 'structured' })
  const whole = message({ object: object(1) })
  const bare = message({ object: object(2), route: { format: 'object' } })
  expect(await sink.deliver([whole, bare], never)).toEqual([DELIVERED, DELIVERED])
  const [first, second] = await readTopic(brokers, 'formats')
  expect(first).toMatchObject({
    value: whole.cloudEvent.toString(),
    headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
  })
  expect(second).toMatchObject({ value: JSON.stringify(object(2)), headers: { ce_id: bare.id } })
})

test('state: the newest object under its key, and null with headers when it is deleted', async () => {
  const { brokers } = kafka
  const createTopics = { partitions: 2, replicationFactor: 1, configs: { 'segment.ms': 60_000 } }
  await using sink = await open({ brokers: [...brokers], topic: 'state', state: true, createTopics })
  const changes = [
    message({ type: 'ADDED', version: '1', object: object(1) }),
    message({ type: 'MODIFIED', version: '2', object: object(2) }),
    message({ type: 'DELETED', version: '3', object: object(2) }),
  ]
  // The sink makes the topic: its leader may refuse the first writes.
  await deliverAll(sink, changes)
  const records = await readTopic(brokers, 'state')
  expect(records.map(({ key, value }) => [key, value])).toEqual([
    ['test/ConfigMap/default/web', JSON.stringify(object(1))],
    ['test/ConfigMap/default/web', JSON.stringify(object(2))],
    ['test/ConfigMap/default/web', null],
  ])
  expect(records[2]?.headers).toMatchObject({
    ce_type: 'dev.kubeherald.resource.deleted',
    ce_id: changes[2]?.id,
  })
  const { resources } = await withAdmin(brokers, (admin) =>
    admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: 'state' }] }),
  )
  const entries = Object.fromEntries(
    resources[0]?.configEntries.map((it) => [it.configName, it.configValue]) ?? [],
  )
  expect(entries).toMatchObject({ 'cleanup.policy': 'compact', 'segment.ms': '60000' })
})

test('3,200 records of 96 objects, from 16 lanes at once: all there, each once, in order for each key', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'order')
  await using sink = await open({ brokers: [...brokers], topic: 'order' })
  const lanes = Array.from({ length: 16 }, (_, lane) =>
    Array.from({ length: 200 }, (_, i) =>
      message({
        uid: `u-${lane}-${i % 6}`,
        version: String(i + 1),
        event: { id: `${lane}/${i}` },
        object: object(i),
      }),
    ),
  )
  await Promise.all(
    lanes.map(async (lane) => {
      for (let i = 0; i < lane.length; i += 100) await deliverAll(sink, lane.slice(i, i + 100))
    }),
  )
  const records = await readTopic(brokers, 'order')
  expect(records).toHaveLength(3_200)
  expect(new Set(records.map(({ headers }) => headers['ce_id'])).size).toBe(3_200)
  for (const ofKey of Map.groupBy(records, ({ key }) => key).values()) {
    const versions = ofKey.map(({ headers }) => Number(headers['ce_resourceversion']))
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    expect(new Set(ofKey.map(({ partition }) => partition)).size).toBe(1)
  }
})

test('keys are in the partitions where librdkafka puts them', async () => {
  const { brokers } = kafka
  const keys = Array.from({ length: 600 }, (_, i) => `${['prod/', 'имя-', '🚀', ''][i % 4]}key-${i * 7}`)
  await makeTopic(brokers, 'ours', { partitions: 7 })
  await makeTopic(brokers, 'theirs', { partitions: 7 })
  await using sink = await open({ brokers: [...brokers], topic: 'ours', key: '{{ uid }}' })
  await deliverAll(
    sink,
    keys.map((uid) => message({ uid })),
  )
  await produceWithKcat(brokers[0] as string, 'theirs', keys)
  const places = async (topic: string) =>
    Object.fromEntries((await readTopic(brokers, topic)).map(({ key, partition }) => [key, partition]))
  expect(await places('ours')).toEqual(await places('theirs'))
})

test.each(['gzip', 'zstd', 'lz4', 'none'] as const)('%s is read by others', async (compression) => {
  const { brokers } = kafka
  const topic = `codec-${compression}`
  await makeTopic(brokers, topic, { partitions: 1 })
  await using sink = await open({ brokers: [...brokers], topic, compression, format: 'object' })
  const batch = Array.from({ length: 50 }, (_, n) => message({ uid: `u-${n}`, object: object(n) }))
  await deliverAll(sink, batch)
  expect((await readTopic(brokers, topic)).map(({ value }) => value)).toEqual(
    batch.map(({ objectJson }) => objectJson.toString()),
  )
})

test('one oversized record of 100 is refused alone; the others are there, in order', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'limits', { partitions: 1, configs: { 'max.message.bytes': '60000' } })
  await using sink = await open({ brokers: [...brokers], topic: 'limits', compression: 'none' })
  const batch = Array.from({ length: 100 }, (_, i) =>
    message({
      uid: `u-${i % 5}`,
      version: String(i),
      object: { padding: 'x'.repeat(i === 41 ? 70_000 : 900) },
    }),
  )
  const outcomes = await sink.deliver(batch, never)
  expect(outcomes.filter(({ kind }) => kind === 'delivered')).toHaveLength(99)
  expect(outcomes[41]).toEqual({
    kind: 'rejected',
    reason: 'rejected',
    detail: 'topic "limits", partition 0: MESSAGE_TOO_LARGE (larger than max.message.bytes of the topic)',
  })
  const versions = (await readTopic(brokers, 'limits')).map(({ headers }) =>
    Number(headers['ce_resourceversion']),
  )
  expect(versions).toEqual(Array.from({ length: 100 }, (_, i) => i).filter((i) => i !== 41))
})

test('a topic that is not there is waited for, and delays no other', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'there')
  await using sink = await open({ brokers: [...brokers], topic: '{{ name }}' })
  const batch = [message({ name: 'late' }), message({ name: 'there' })]
  expect(await sink.deliver(batch, never)).toEqual([
    {
      kind: 'retry',
      reason: 'config',
      scope: 'target',
      detail: expect.stringContaining('topic "late": UNKNOWN_TOPIC_OR_PARTITION (it does not exist'),
    },
    DELIVERED,
  ])
  await makeTopic(brokers, 'late')
  await deliverAll(sink, batch.slice(0, 1))
  expect(await readTopic(brokers, 'late')).toHaveLength(1)
})

test('a topic that is deleted under the sink stops its own records alone', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'stays')
  await makeTopic(brokers, 'goes')
  await using sink = await open({ brokers: [...brokers], topic: '{{ name }}' })
  const batch = [message({ name: 'goes' }), message({ name: 'stays' })]
  await deliverAll(sink, batch)
  await withAdmin(brokers, (admin) => admin.deleteTopics({ topics: ['goes'] }))
  // A broker takes records of a deleted topic for a moment.
  const refused = await waitFor(
    async () => {
      const [goes, stays] = await sink.deliver(batch, never)
      expect(stays).toEqual(DELIVERED)
      return goes?.kind === 'delivered' ? undefined : goes
    },
    { what: 'the topic to be gone' },
  )
  expect(refused).toMatchObject({ kind: 'retry', scope: 'target' })
  expect(await sink.deliver(batch, never)).toMatchObject([
    { kind: 'retry', scope: 'target', reason: 'config', detail: expect.stringContaining('"goes"') },
    DELIVERED,
  ])
})

test('partitions that vanish, as with a topic that is made anew, lose nothing', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'shrinks', { partitions: 4 })
  await using sink = await open({ brokers: [...brokers], topic: 'shrinks' })
  const batch = Array.from({ length: 40 }, (_, i) => message({ uid: `u-${i}`, event: { id: `e-${i}` } }))
  await deliverAll(sink, batch)
  await withAdmin(brokers, (admin) => admin.deleteTopics({ topics: ['shrinks'] }))
  await waitFor(
    () =>
      makeTopic(brokers, 'shrinks', { partitions: 1 })
        .then(() => true)
        .catch(() => false),
    { what: 'the topic to be made anew' },
  )
  await deliverAll(sink, batch)
  const ids = (await readTopic(brokers, 'shrinks')).map(({ headers }) => headers['ce_id'])
  expect([...new Set(ids)].toSorted()).toEqual(batch.map(({ id }) => id).toSorted())
})

test('more partitions are used while it runs, and it is told', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'grows', { partitions: 1 })
  const told: object[] = []
  const silent = { debug() {}, info() {}, error() {} }
  const log = { ...silent, warn: (fields: object) => void told.push(fields) }
  await using sink = await open({ brokers: [...brokers], topic: 'grows', metadataMaxAge: '100ms' }, { log })
  const batch = Array.from({ length: 40 }, (_, i) => message({ uid: `u-${i}` }))
  await deliverAll(sink, batch)
  await withAdmin(brokers, (admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: 'grows', count: 4 }] }),
  )
  const used = async () => new Set((await readTopic(brokers, 'grows')).map(({ partition }) => partition)).size
  while ((await used()) < 4) await deliverAll(sink, batch)
  expect(told).toEqual([{ topic: 'grows', before: 1, now: 4 }])
})

test('health names what is missing, and what does not fit', async () => {
  const { brokers } = kafka
  await using absent = await open({ brokers: [...brokers], topic: 'absent' })
  expect(await absent.health?.(never)).toMatchObject({
    ok: false,
    reason: 'config',
    detail: expect.stringContaining('"absent"'),
  })
  await makeTopic(brokers, 'by-age')
  await using state = await open({ brokers: [...brokers], topic: 'by-age', state: true })
  expect(await state.health?.(never)).toEqual({
    ok: true,
    warnings: [expect.stringContaining('cleanup.policy=delete')],
  })
  await using events = await open({ brokers: [...brokers], topic: 'by-age' })
  expect(await events.health?.(never)).toEqual({ ok: true })
})
