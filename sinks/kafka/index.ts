import { defineSink } from '../../src/sink/index.ts'
import { laneOf } from './addressed.ts'
import { checkRoute } from './check-route.ts'
import { KafkaConfig, KafkaRoute } from './config.ts'
import { preview } from './preview.ts'

/** Writes every event to Kafka, in order for each key, and counts it only with a verified acknowledgement. */
export default defineSink<KafkaConfig, KafkaRoute>({
  apiVersion: 1,
  type: 'kafka',
  config: KafkaConfig,
  route: KafkaRoute,
  checkRoute,
  tellsChanges: () => false,
  maxBatch: 500,
  lane: laneOf,
  preview,
  // kafkajs is loaded when a sink is opened, not when a configuration is checked.
  open: async (config, context) => (await import('./open.ts')).openKafka(config, context),
})
