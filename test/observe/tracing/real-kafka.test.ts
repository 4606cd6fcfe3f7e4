import { expect, test } from 'vitest'
import { startKafka } from '../../servers/kafka.ts'
import { readTopic } from '../../servers/kcat.ts'
import { makeTopic } from '../../sinks/kafka/bed.ts'
import { startTracedBed, treeOf } from './bed.ts'

test('a change is one trace from the watch to the record in Kafka, whose header goes on from the delivery', async () => {
  await using kafka = await startKafka()
  await makeTopic(kafka.brokers, 'traced', { partitions: 1 })
  const sink = `{ type: kafka, brokers: ${JSON.stringify(kafka.brokers)}, topic: traced, compression: none }`
  await using bed = await startTracedBed({ sink })
  await bed.deliver()
  bed.make('web')
  // Each process sends its spans when it likes.
  const names = ['watch configmaps', 'commit configmaps', 'match', 'send hook', 'process hook', 'settle']
  const spans = await bed.spans(
    (all) => names.every((name) => all.some((it) => it.name === name)),
    'both sides of the queue',
  )
  const deliver = spans.find(({ name }) => name === 'deliver hook')
  expect(treeOf(spans, deliver?.traceId ?? '')).toEqual([
    'watch configmaps > commit configmaps',
    'watch configmaps > match',
    'watch configmaps > send hook > process hook > deliver hook > render',
    'watch configmaps > send hook > process hook > settle',
  ])
  const [record, ...more] = await readTopic(kafka.brokers, 'traced')
  expect(more).toEqual([])
  expect(record?.headers['traceparent']).toBe(`00-${deliver?.traceId}-${deliver?.spanId}-01`)
  expect(record?.headers).toMatchObject({ ce_name: 'web', ce_cluster: 'prod-eu' })
})
