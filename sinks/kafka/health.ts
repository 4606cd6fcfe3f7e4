import type { Health, Mask } from '../../src/sink/index.ts'
import type { KafkaConfig } from './config.ts'
import { TopicFault, viewOf } from './topics.ts'
import { failedToLearn } from './transmit.ts'
import type { Wire } from './wire.ts'

const TOPIC_RESOURCE = 2
/** Every cluster may have it, and what is said of it does not matter. */
const ANY_TOPIC = '__consumer_offsets'

/** Can we reach the brokers, do they know us, are the topics there that are known beforehand? */
export async function checkHealth(config: KafkaConfig, wire: Wire, mask: Mask): Promise<Health> {
  const topic = config.topic?.constant ? config.topic.source : undefined
  try {
    const answer = await wire.metadata([topic ?? ANY_TOPIC])
    if (topic === undefined) return { ok: true }
    const view = viewOf(answer, topic, 0)
    if (view instanceof TopicFault) {
      if (view.missing && config.createTopics)
        return { ok: true, warnings: [`topic "${topic}" is not there yet; it will be created`] }
      return { ok: false, reason: view.outcome.reason, detail: view.outcome.detail }
    }
    const leaderless = view.leaders.flatMap((leader, partition) => (leader < 0 ? [partition] : []))
    const warnings = [
      ...(leaderless.length > 0
        ? [`topic "${topic}": no broker leads partition ${leaderless.join(', ')}`]
        : []),
      ...(await policyWarnings(topic, config.state, wire)),
    ]
    return { ok: true, ...(warnings.length > 0 && { warnings }) }
  } catch (error) {
    const { outcome } = failedToLearn(error, mask)
    if (outcome.kind === 'later') return { ok: true, warnings: ['the brokers throttle us'] }
    return { ok: false, reason: outcome.reason, detail: outcome.detail }
  }
}

/** Compaction that does not fit loses records, or keeps those of deleted objects for ever. */
async function policyWarnings(topic: string, state: boolean, wire: Wire): Promise<string[]> {
  const name = 'cleanup.policy'
  const request = { resources: [{ type: TOPIC_RESOURCE, name: topic, configNames: [name] }] }
  // It takes a right that delivering does not need.
  const answer = await wire.describeConfigs(request).catch(() => undefined)
  const policy = answer?.resources[0]?.configEntries?.find((it) => it.configName === name)?.configValue
  if (policy === undefined) return []
  const compacted = policy.includes('compact')
  if (state && !compacted)
    return [
      `topic "${topic}" has cleanup.policy=${policy}; with state: true it should be compact, or old objects are lost by age`,
    ]
  if (!state && compacted)
    return [
      `topic "${topic}" has cleanup.policy=${policy}, which keeps the newest event of each object only; did you mean state: true?`,
    ]
  return []
}
