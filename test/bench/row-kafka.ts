import { missingForKafka, startKafka } from '../servers/kafka.ts'
import { makeTopic } from '../sinks/kafka/bed.ts'
import { median, pairs, perSecond } from './pairs.ts'
import { measure } from './processes.ts'
import type { Row } from './row.ts'

const RECORDS = 30_000
const LEAST = 0.5

export const kafkaRow: Row = {
  name: 'kafka',
  title:
    "the Kafka sink's deliver(), 2 KB, three partitions / a bare loop of kafkajs' producer in the same safe mode",
  async measure({ pairs: count }) {
    const missing = missingForKafka()
    if (missing !== undefined) {
      return { ours: `not measured: no ${missing}`, yardstick: '-', target: `≥ ${LEAST} ×`, met: false }
    }
    await using kafka = await startKafka()
    const [broker = ''] = kafka.brokers
    await makeTopic(kafka.brokers, 'bench')
    const side = async (name: string) =>
      RECORDS / (await measure('./kafka-loop.ts', name, broker, 'bench', String(RECORDS), 'gzip')).seconds
    const rates = await pairs(
      count,
      () => side('ours'),
      () => side('bare'),
    )
    const ratio = median(rates.map(({ a, b }) => a / b))
    return {
      ours: perSecond(median(rates.map(({ a }) => a))),
      yardstick: perSecond(median(rates.map(({ b }) => b))),
      ratio,
      target: `≥ ${LEAST} ×`,
      met: ratio >= LEAST,
    }
  },
}
