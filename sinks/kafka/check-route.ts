import type { RuleFacts, SchemaIssue } from '../../src/sink/index.ts'
import type { KafkaConfig, KafkaRoute } from './config.ts'

/** What a rule may say only of some Kafka sinks. */
export function checkRoute(route: KafkaRoute, config: KafkaConfig, rule?: RuleFacts): SchemaIssue[] {
  const issues: SchemaIssue[] = []
  if (!route.topic && !config.topic)
    issues.push({ message: 'needs a topic, here or in the sink: { topic: k8s.events }' })
  if ((route.state ?? config.state) && (route.format ?? config.format) === 'structured')
    issues.push({
      path: [route.format ? 'format' : 'state'],
      message: 'cannot be so: state: true and format: structured exclude each other; use binary or object',
    })
  if ((route.state ?? config.state) && rule?.digests)
    issues.push({
      ...(route.state && { path: ['state'] }),
      message: 'cannot have state: true in a rule with group: a digest is no state of an object',
    })
  return issues
}
