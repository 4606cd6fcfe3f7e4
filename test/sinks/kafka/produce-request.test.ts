import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { encodeHeaders, type KafkaRecord } from '../../../sinks/kafka/format.ts'
import { encodeProduce } from '../../../sinks/kafka/produce-request.ts'
import { createRandom } from '../../rules/random.ts'

const produceV7 = createRequire(import.meta.url)('kafkajs/src/protocol/requests/produce/v7/request')

const TOPIC = 'événements'
/** What the leader fills in: kafkajs writes 0 there, Java's client and ours -1, for "not known". */
const LEADER_EPOCH = 26 + Buffer.byteLength(TOPIC) + 12

interface Plain {
  key: string
  value: Buffer | null
  headers: Record<string, string>
}

function recordOf({ key, value, headers }: Plain): KafkaRecord {
  const own = { key: Buffer.from(key), value, headers: encodeHeaders(headers) }
  return { ...own, bytes: 40 + own.key.length + (value?.length ?? 0) + own.headers.length }
}

async function asKafkajsWrites(records: readonly Plain[], nowMs: number): Promise<Buffer> {
  const messages = records.map((it) => ({ ...it, timestamp: nowMs }))
  const partitions = [{ partition: 3, messages, firstSequence: -1 }]
  const topicData = [{ topic: TOPIC, partitions }]
  const request = produceV7({ acks: -1, timeout: 10_000, producerEpoch: -1, topicData })
  return (await request.encode()).buffer
}

test('a request is, byte for byte, the one that kafkajs itself would write, but for the epoch of the leader', async () => {
  const { next, pick } = createRandom(7)
  const text = () => pick(['', 'a', 'ключ', '😀', 'x'.repeat(63), 'x'.repeat(64), 'y'.repeat(9_000)])
  for (let round = 0; round < 50; round++) {
    const records = Array.from({ length: 1 + Math.floor(next() * 130) }, (): Plain => {
      const names = ['ce_id', 'ce_имя', 'content-type'].slice(0, Math.floor(next() * 4))
      const headers = Object.fromEntries(names.map((name) => [name, text()]))
      return { key: text() || 'k', value: next() < 0.1 ? null : Buffer.from(text()), headers }
    })
    const nowMs = 1_795_252_447_312 + round
    const request = { topic: TOPIC, partition: 3, timeoutMs: 10_000, records: records.map(recordOf) }
    const ours = await encodeProduce(request, nowMs)
    expect(ours.buffer.readInt32BE(LEADER_EPOCH)).toBe(-1)
    ours.buffer.writeInt32BE(0, LEADER_EPOCH)
    expect(ours.buffer.toString('hex')).toBe((await asKafkajsWrites(records, nowMs)).toString('hex'))
  }
})
