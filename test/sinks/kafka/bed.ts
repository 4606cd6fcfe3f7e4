import { Kafka, logLevel } from 'kafkajs'
import type { z } from 'zod'
import type { KafkaConfig } from '../../../sinks/kafka/config.ts'
import { KafkaRoute } from '../../../sinks/kafka/config.ts'
import kafka from '../../../sinks/kafka/index.ts'
import { prepareKafkajs } from '../../../sinks/kafka/kafkajs.ts'
import type { Message, Outcome, SinkContext } from '../../../src/sink/index.ts'
import { kcat } from '../../servers/kcat.ts'
import { waitFor } from '../../wait-for.ts'
import { type MessageParts, messageOf, openSink } from '../bed.ts'

export type Options = z.input<typeof KafkaConfig>
export type Route = z.input<typeof KafkaRoute>

export const never = new AbortController().signal
export const DELIVERED: Outcome = { kind: 'delivered' }

/** A Kafka sink, opened as the core opens it. */
export function open(options: Options, context: Partial<SinkContext> = {}) {
  return openSink(kafka, options, { name: 'bus', ...context })
}

/** A message with what its rule says for the sink; of an object with the name `uid`, where it has no other. */
export function message(parts: Omit<MessageParts, 'route'> & { route?: Route } = {}): Message<KafkaRoute> {
  const route = KafkaRoute.parse(parts.route ?? {})
  const { name = parts.uid } = parts
  return messageOf({ ...parts, ...(name !== undefined && { name }), route }) as Message<KafkaRoute>
}

export type KafkaSink = Awaited<ReturnType<typeof open>>

/** As the queue does: hands in what is left until everything is delivered; gives each round's outcomes. */
export async function deliverAll(
  sink: KafkaSink,
  batch: readonly Message<KafkaRoute>[],
): Promise<Outcome[][]> {
  const rounds: Outcome[][] = []
  let rest = batch
  const untilMs = Date.now() + 200_000
  while (rest.length > 0) {
    if (Date.now() > untilMs) throw new Error(`not delivered: ${JSON.stringify(rounds.at(-1)?.[0])}`)
    const outcomes = await sink.deliver(rest, never)
    rounds.push(outcomes)
    rest = rest.filter((_, i) => outcomes[i]?.kind === 'retry' || outcomes[i]?.kind === 'later')
    if (rest.length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return rounds
}

/** Makes a topic with a client that is not ours: kafkajs' own admin. */
export async function makeTopic(
  brokers: readonly string[],
  topic: string,
  {
    partitions = 3,
    replicas = -1,
    configs = {},
  }: { partitions?: number; replicas?: number; configs?: Record<string, string> } = {},
): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    await admin.createTopics({
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor: replicas,
          configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
        },
      ],
      // It would fail on a broker that has not heard of the topic yet.
      waitForLeaders: false,
    })
    // Metadata names a leader a moment before that broker takes writes; only the leader itself knows the offsets.
    const offsets = () => admin.fetchTopicOffsets(topic).catch(() => [])
    await waitFor(async () => (await offsets()).length === partitions, {
      timeoutMs: 20_000,
      what: `leaders of ${topic}`,
    })
  })
}

export async function withAdmin<T>(
  brokers: readonly string[],
  work: (admin: import('kafkajs').Admin) => Promise<T>,
): Promise<T> {
  // Also mends the timers of the admin's connections.
  prepareKafkajs()
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

/** Writes keys with librdkafka's own partitioner. */
export async function produceWithKcat(broker: string, topic: string, keys: readonly string[]): Promise<void> {
  const args = ['-P', '-b', broker, '-t', topic, '-K', '|', '-X', 'partitioner=murmur2_random']
  await kcat(args, keys.map((key) => `${key}|x\n`).join(''))
}
