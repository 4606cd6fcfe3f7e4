import {
  defineSink,
  type Message,
  type Preview,
  type RuleFacts,
  type SchemaIssue,
  TemplateFault,
} from '../../src/sink/index.ts'
import { KafkaConfig, KafkaRoute } from './config.ts'
import { destinationOf, laneOf, recordOf } from './format.ts'
/** Writes every event to Kafka, in order for each key, and counts it only with a verified acknowledgement. */
export default defineSink<KafkaConfig, KafkaRoute>({
  apiVersion: 1,
  type: 'kafka',
  config: KafkaConfig,
  route: KafkaRoute,
  checkRoute,
  showsChanges: () => false,
  maxBatch: 500,
  example: `{ type: kafka, brokers: ["\${env:KAFKA_BROKER}"], topic: kubernetes.changes }`,
  // For dry runs in which the variables of these options are missing.
  placeholders: { brokers: 'kubeherald-placeholder.invalid:9092', mechanism: 'plain' },
  lane: laneOf,
  preview,
  // kafkajs is loaded when a sink is opened, not when a configuration is checked.
  open: async (config, context) => (await import('./open.ts')).openKafka(config, context),
})

/** Checks options of a rule that depend on the sink's. */
function checkRoute(route: KafkaRoute, config: KafkaConfig, rule?: RuleFacts): SchemaIssue[] {
  const issues: SchemaIssue[] = []
  if (!route.topic && !config.topic)
    issues.push({ message: 'needs a topic, here or in the sink: { topic: k8s.events }' })
  if ((route.state ?? config.state) && (route.format ?? config.format) === 'structured')
    issues.push({
      path: [route.format ? 'format' : 'state'],
      message: 'cannot be so: state: true and format: structured exclude each other; use binary or object',
    })
  if (!(route.state ?? config.state)) return issues
  const place = route.state ? { path: ['state'] } : {}
  const { digests, incompleteBy } = rule ?? {}
  if (digests)
    issues.push({
      ...place,
      message: 'cannot have state: true in a rule with group: a digest is not a state of an object',
    })
  else if (incompleteBy !== undefined)
    issues.push({
      ...place,
      message: `has state: true, and "${incompleteBy}" keeps some changes back, so that the topic keeps an old state, or a deleted object for ever: leave one of them out`,
      severity: 'warning',
    })
  return issues
}

/** Returns the record and its topic. Throws a TemplateFault if there is none. */
function preview(message: Message<KafkaRoute>, config: KafkaConfig): Preview {
  const place = destinationOf(message, config)
  if ('kind' in place) throw new TemplateFault('detail' in place ? place.detail : place.kind)
  const { value } = recordOf(message, place)
  return {
    target: `topic ${place.topic}, key ${place.key}`,
    options: { topic: place.topic, key: place.key },
    body: value === null ? '(a tombstone: no value)' : value.toString(),
  }
}
