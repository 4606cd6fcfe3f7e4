import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Kafka, startKafka } from '../../servers/kafka.ts'
import { readTopic } from '../../servers/kcat.ts'
import { waitFor } from '../../wait-for.ts'
import { deliverAll, makeTopic, message, open, withAdmin } from './bed.ts'

/** Topics that change, and states that follow each other fast, while records are sent. */

let kafka: Kafka
beforeAll(async () => {
  kafka = await startKafka()
})
afterAll(() => kafka[Symbol.asyncDispose]())

type Sent = Parameters<typeof deliverAll>[1]

/** Objects of 4 lanes, `count` numbered changes for each lane in batches of 10. */
function stream(sink: Parameters<typeof deliverAll>[0], count: number) {
  let sent = 0
  const ids: string[] = []
  async function lane(n: number): Promise<void> {
    for (let i = 0; i < count; i += 10) {
      const batch = Array.from({ length: 10 }, (_, k) =>
        message({ uid: `u-${n}-${k % 5}`, version: String(i + k + 1), event: { id: `${n}/${i + k + 1}` } }),
      )
      await deliverAll(sink, batch)
      ids.push(...batch.map(({ id }) => id))
      sent += batch.length
    }
  }
  return { sent: () => sent, ids, done: Promise.all([0, 1, 2, 3].map(lane)) }
}

type Records = Awaited<ReturnType<typeof readTopic>>

/** The versions of each key in each partition, as each came first. */
function firstsOf(records: Records): number[][] {
  return [...Map.groupBy(records, ({ key, partition }) => `${key} ${partition}`).values()].map((them) => [
    ...new Set(them.map(({ headers }) => Number(headers['ce_resourceversion']))),
  ])
}

function expectOrder(records: Records): void {
  for (const versions of firstsOf(records)) expect(versions).toEqual(versions.toSorted((a, b) => a - b))
}

test('states of names that are deleted and made again: the last record of each is its last state', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'states', { configs: { 'cleanup.policy': 'compact' } })
  await using sink = await open({
    brokers: [...brokers],
    topic: 'states',
    state: true,
    key: '{{ namespace }}/{{ name }}',
  })
  const last = new Map<string, string | null>()
  /** Each name lives for 1 to 4 changes, then it is deleted and made again with another uid. */
  function storm(name: string, steps: number): Sent {
    let life = 0
    let age = 0
    return Array.from({ length: steps }, (_, i) => {
      const type = age === 0 ? 'ADDED' : age > (life * 7) % 4 ? 'DELETED' : 'MODIFIED'
      const object = { name, step: i }
      last.set(`default/${name}`, type === 'DELETED' ? null : JSON.stringify(object))
      const change = message({ name, uid: `${name}-${life}`, version: String(i + 1), type, object })
      age = type === 'DELETED' ? 0 : age + 1
      if (type === 'DELETED') life++
      return change
    })
  }
  const lanes = Array.from({ length: 4 }, (_, lane) => {
    const storms = Array.from({ length: 5 }, (_, i) => storm(`web-${lane}-${i}`, 100 + lane * 5 + i))
    return Array.from({ length: 120 }, (_, i) => storms.flatMap((it) => it.slice(i, i + 1))).flat()
  })
  await Promise.all(
    lanes.map(async (lane) => {
      for (let i = 0; i < lane.length; i += 60) await deliverAll(sink, lane.slice(i, i + 60))
    }),
  )
  const records = await readTopic(brokers, 'states')
  expect(records).toHaveLength(lanes.flat().length)
  expect(new Map(records.map(({ key, value }) => [key, value]))).toEqual(last)
  expect(new Set([...last.values()].map((it) => it === null)).size).toBe(2)
})

test('a topic that is deleted amid 2,000 records is made anew, and what comes after is in it', async () => {
  const { brokers } = kafka
  const createTopics = { partitions: 3, replicationFactor: 1 }
  await using sink = await open({ brokers: [...brokers], topic: 'anew', createTopics })
  const running = stream(sink, 500)
  await waitFor(() => running.sent() >= 700, { what: 'the first records' })
  await withAdmin(brokers, (admin) => admin.deleteTopics({ topics: ['anew'] }))
  await running.done
  const records = await readTopic(brokers, 'anew')
  expectOrder(records)
  const there = new Set(records.map(({ headers }) => headers['ce_id']))
  // What is missing went into the topic that was deleted: no key has a gap after its first record here.
  const ofKeys = Map.groupBy(running.ids, (id) => {
    const [lane, version] = id.split('/')
    return `${lane}-${(Number(version) - 1) % 5}`
  })
  expect(ofKeys.size).toBe(20)
  for (const ids of ofKeys.values()) {
    const from = ids.findIndex((id) => there.has(id))
    expect(from).toBeGreaterThan(0)
    expect(ids.slice(from).filter((id) => !there.has(id))).toEqual([])
  }
})

test('partitions that are added amid records: none is missing, order holds in each partition', async () => {
  const { brokers } = kafka
  await makeTopic(brokers, 'more', { partitions: 2 })
  await using sink = await open({ brokers: [...brokers], topic: 'more', metadataMaxAge: '100ms' })
  const running = stream(sink, 1_000)
  await waitFor(() => running.sent() >= 1_000, { what: 'the first records' })
  await withAdmin(brokers, (admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: 'more', count: 6 }] }),
  )
  await running.done
  const records = await readTopic(brokers, 'more')
  expectOrder(records)
  expect(new Set(records.map(({ headers }) => headers['ce_id'])).size).toBe(running.ids.length)
  expect(new Set(records.map(({ partition }) => partition)).size).toBeGreaterThan(2)
})
