import { Kafka, logLevel, Partitioners } from 'kafkajs'
import kafka from '../../sinks/kafka/index.ts'
import { prepareKafkajs } from '../../sinks/kafka/kafkajs.ts'
import { LANES, laneByKey, type Message, orderOf } from '../../src/sink/index.ts'
import { contextOf, messageOf, openSink } from '../sinks/bed.ts'
import { benchDelivery } from './pod.ts'

// One side of the Kafka row. Arguments: ours or bare, a broker, the topic, how many, the compression. Prints the seconds.
const [side = 'ours', broker = '', topic = '', countText = '0', compression = 'gzip'] = process.argv.slice(2)
const count = Number(countText)
const PARTITIONS = 3
const BATCH = 500
const never = new AbortController().signal
/** More objects than a batch has, as in a cluster. */
const OBJECTS = 4_000

/** The same records for both: 2 KB of a pod, the key its uid. */
const messages = Array.from({ length: OBJECTS }, (_, i): Message => {
  const { event, objectJson } = benchDelivery(i)
  return messageOf({ uid: event.uid, event, object: JSON.parse(objectJson.toString()), route: {} })
})

console.log(JSON.stringify({ seconds: side === 'ours' ? await ours() : await bare() }))
process.exit(0)

/** As the queue does: lanes side by side, each batch after its predecessor. */
async function ours(): Promise<number> {
  const options = { brokers: [broker], topic, compression, format: 'object' }
  await using sink = await openSink(kafka, options, contextOf())
  const lanes = Map.groupBy(messages, (it) => laneByKey(orderOf(it)))
  await sink.deliver(messages.slice(0, BATCH) as never, never)
  const startedMs = performance.now()
  await Promise.all(
    [...lanes.values()].map(async (lane) => {
      for (let left = Math.ceil(count / LANES); left > 0; left -= BATCH) {
        const batch = Array.from({ length: Math.min(BATCH, left) }, (_, i) => lane[(left + i) % lane.length])
        const outcomes = await sink.deliver(batch as never, never)
        if (outcomes.some(({ kind }) => kind !== 'delivered')) throw new Error(JSON.stringify(outcomes[0]))
      }
    }),
  )
  return (performance.now() - startedMs) / 1_000
}

/** kafkajs' producer and nothing else: ready records, one send at a time for each partition. */
async function bare(): Promise<number> {
  prepareKafkajs()
  const producer = new Kafka({
    brokers: [broker],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  }).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    idempotent: false,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    retry: { retries: 0 },
  })
  await producer.connect()
  const records = messages.map(({ event, objectJson }) => ({ key: event.uid, value: objectJson }))
  const send = (partition: number, at: number, size: number) =>
    producer.send({
      topic,
      acks: -1,
      compression: compression === 'gzip' ? 1 : 0,
      messages: Array.from({ length: size }, (_, i) => {
        const record = records[(at + i) % records.length] as { key: string; value: Buffer }
        return { ...record, partition }
      }),
    })
  await send(0, 0, BATCH)
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: PARTITIONS }, async (_, partition) => {
      for (let left = Math.ceil(count / PARTITIONS); left > 0; left -= BATCH)
        await send(partition, left, Math.min(BATCH, left))
    }),
  )
  return (performance.now() - startedMs) / 1_000
}
