import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Kafka, startKafka } from '../../servers/kafka.ts'
import { readTopic } from '../../servers/kcat.ts'
import { waitFor } from '../../wait-for.ts'
import { deliverAll, type KafkaSink, makeTopic, message, never, open, withAdmin } from './bed.ts'

let kafka: Kafka
beforeAll(async () => {
  kafka = await startKafka({ brokers: 3 })
  const { brokers } = kafka
  await makeTopic(brokers, 'events')
  await makeTopic(brokers, 'moves', { partitions: 6 })
  await makeTopic(brokers, 'strict', { partitions: 1, configs: { 'min.insync.replicas': '3' } })
  await makeTopic(brokers, 'outage')
})
afterAll(() => kafka[Symbol.asyncDispose]())

/** Between two batches of a lane: what a broker that starts needs the processor for goes on meanwhile. */
const PAUSE_MS = 20

/** Delivers numbered changes of 12 objects, one lane for each three, until it is told to stop. */
function stream(sink: KafkaSink) {
  let going = true
  let sent = 0
  async function lane(n: number): Promise<void> {
    for (let version = 1; going; version++) {
      const batch = [0, 1, 2].map((i) =>
        message({ uid: `u-${n}-${i}`, version: String(version), event: { id: `${n}/${i}/${version}` } }),
      )
      await deliverAll(sink, batch)
      sent += batch.length
      await pause(PAUSE_MS)
    }
  }
  const done = Promise.all([0, 1, 2, 3].map(lane))
  return {
    sent: () => sent,
    async stop() {
      going = false
      await done
      return sent
    },
  }
}

/** Every change is there, and the first of each comes in order. */
async function expectWhole(brokers: readonly string[], topic: string, sent: number): Promise<void> {
  const records = await readTopic(brokers, topic)
  const ids = new Set(records.map(({ headers }) => headers['ce_id']))
  expect(ids.size).toBe(sent)
  for (const ofKey of Map.groupBy(records, ({ key }) => key).values()) {
    const versions = ofKey.map(({ headers }) => Number(headers['ce_resourceversion']))
    const firsts = versions.filter((it, i) => versions.indexOf(it) === i)
    expect(firsts).toEqual(firsts.toSorted((a, b) => a - b))
  }
}

async function moreThan(count: number, running: ReturnType<typeof stream>): Promise<void> {
  const from = running.sent()
  while (running.sent() < from + count) await pause(20)
}

test('a broker is killed and comes back: nothing is lost, order holds; too few replicas in sync delay their topic alone', async () => {
  const { brokers } = kafka
  await using strict = await open({
    brokers: [...brokers],
    topic: 'strict',
    timeout: '1s',
    connectTimeout: '1s',
  })
  await using sink = await open({
    brokers: [...brokers],
    topic: 'events',
    timeout: '2s',
    connectTimeout: '1s',
  })
  await deliverAll(strict, [message()])
  const running = stream(sink)
  await moreThan(100, running)
  await kafka.kill(0)
  const tooFew = await waitFor(
    async () => {
      const [it] = await strict.deliver([message()], never)
      return it?.kind === 'retry' && it.detail.includes('NOT_ENOUGH_REPLICAS') ? it : undefined
    },
    { timeoutMs: 30_000, what: 'the answer that there are too few replicas' },
  )
  expect(tooFew).toMatchObject({ scope: 'target', reason: 'server-error' })
  await moreThan(100, running)
  await kafka.start(0)
  await moreThan(100, running)
  const rounds = await deliverAll(strict, [message()])
  expect(rounds.at(-1)).toEqual([{ kind: 'delivered' }])
  await expectWhole(brokers, 'events', await running.stop())
})

test('a broker hands its partitions over: its leaders move, nothing is lost, order holds', async () => {
  const { brokers } = kafka
  await kafka.ready()
  await using sink = await open({
    brokers: [...brokers],
    topic: 'moves',
    timeout: '2s',
    connectTimeout: '1s',
  })
  const leaders = () =>
    withAdmin([brokers[0] as string], async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: ['moves'] })
      return topics[0]?.partitions.map(({ leader }) => leader) ?? []
    })
  const running = stream(sink)
  await moreThan(100, running)
  expect(new Set(await leaders())).toContain(2)
  await kafka.stop(1)
  await moreThan(100, running)
  expect(new Set(await leaders())).not.toContain(2)
  await expectWhole(brokers, 'moves', await running.stop())
})

test('all brokers are down: the sink waits, nothing is lost, order holds when two of three are back', async () => {
  const { brokers } = kafka
  await using sink = await open({
    brokers: [...brokers],
    topic: 'outage',
    timeout: '1s',
    connectTimeout: '1s',
  })
  const running = stream(sink)
  await moreThan(100, running)
  await Promise.all([0, 1, 2].map((i) => kafka.kill(i)))
  expect(await sink.deliver([message({ uid: 'late' })], never)).toMatchObject([
    { kind: 'retry', scope: 'sink' },
  ])
  await Promise.all([0, 2].map((i) => kafka.start(i)))
  await moreThan(100, running)
  await expectWhole(brokers, 'outage', await running.stop())
})
