import type { Mask } from '../../src/sink/index.ts'
import type { ClusterClient } from './client.ts'
import { outcomeOfFault, RequestFault, Throttled, type Verdict, verdictOfCode } from './errors.ts'
import type { KafkaRecord } from './format.ts'
import type { ProduceAnswer } from './kafkajs.ts'
import type { Compression } from './produce-request.ts'
import { TopicFault, type Topics, type TopicView } from './topics.ts'

interface ProducerOptions {
  wire: ClusterClient
  topics: Topics
  compression: (bytes: number) => Compression | undefined
  /** How long the brokers may wait for their replicas. */
  timeoutMs: number
  /** Allowed for the network, in addition to `timeoutMs`. */
  travelMs: number
  mask: Mask
}

export interface Target {
  readonly topic: string
  readonly partition: number
  readonly compacted: boolean
}

/** Writes a batch to one partition with one request, and returns the verdict. */
export type Produce = (target: Target, records: readonly KafkaRecord[]) => Promise<Verdict>

const LEADER_NOT_AVAILABLE = 5

export function createProducer({
  wire,
  topics,
  compression,
  timeoutMs,
  travelMs,
  mask,
}: ProducerOptions): Produce {
  async function once(target: Target, records: readonly KafkaRecord[]): Promise<Verdict> {
    const { topic, partition, compacted } = target
    let view: TopicView
    try {
      view = await topics.get(topic, compacted)
    } catch (error) {
      return failedToLearn(error, mask)
    }
    if (partition >= view.partitions) return repartitioned(topic, partition)
    const leader = view.leaders[partition] ?? -1
    if (leader < 0) return verdictOfCode(LEADER_NOT_AVAILABLE, `topic "${topic}", partition ${partition}`)
    const bytes = records.reduce((sum, it) => sum + it.bytes, 0)
    const request = { topic, partition, timeoutMs, records, compression: compression(bytes) }
    try {
      const answer = await wire.produce(leader, request, timeoutMs + travelMs)
      const answered = verdictOfAnswer(answer, topic, partition)
      const verdict = mayBeOneBroker(answered) ? ofOneBroker(answered, view) : answered
      if (verdict.kind === 'moved' || verdict.kind === 'failed') topics.forget(topic)
      // A broker that is cut off from the others still believes that it leads: its writes time out, and its metadata are stale.
      if (reasonOf(answered) === 'timeout') wire.markMetadataStale()
      return verdict
    } catch (error) {
      if (error instanceof Throttled) return { kind: 'failed', outcome: { kind: 'later', afterMs: error.ms } }
      topics.forgetLeader(leader)
      const outcome = outcomeOfFault(error, mask)
      const untouched = !(error instanceof RequestFault && error.sent) && outcome.reason === 'network'
      return ofOneBroker(untouched ? { kind: 'moved', outcome } : { kind: 'failed', outcome }, view)
    }
  }

  return async (target, records) => {
    const first = await once(target, records)
    if (first.kind !== 'moved') return first
    topics.forget(target.topic)
    const second = await once(target, records)
    if (second.kind !== 'moved') return second
    // The metadata that were just requested name the wrong leader, too.
    wire.markMetadataStale()
    return { kind: 'failed', outcome: second.outcome }
  }
}

/** Reasons of a broker's errors that may concern that broker alone. Other errors, such as a missing permission, concern the cluster. */
const MAY_BE_ONE_BROKER = new Set<string>(['network', 'timeout', 'server-error', 'unknown'])

function mayBeOneBroker(answered: Verdict): boolean {
  return MAY_BE_ONE_BROKER.has(reasonOf(answered) ?? '')
}

function reasonOf(answered: Verdict): string | undefined {
  return 'outcome' in answered && 'reason' in answered.outcome ? answered.outcome.reason : undefined
}

/** Metadata came, so the cluster is there: one of several brokers that fails must not stop what others lead, in this topic or another. */
function ofOneBroker(verdict: Verdict, { brokers }: TopicView): Verdict {
  if (verdict.kind !== 'failed' && verdict.kind !== 'moved') return verdict
  const { outcome } = verdict
  if (outcome.kind !== 'retry' || outcome.scope !== 'sink' || brokers < 2) return verdict
  return { ...verdict, outcome: { ...outcome, scope: 'target' } } as Verdict
}

export function failedToLearn(error: unknown, mask: Mask): Verdict & { kind: 'failed' } {
  if (error instanceof TopicFault) return { kind: 'failed', outcome: error.outcome }
  if (error instanceof Throttled) return { kind: 'failed', outcome: { kind: 'later', afterMs: error.ms } }
  const { ambiguous: _, ...outcome } = outcomeOfFault(error, mask)
  return { kind: 'failed', outcome }
}

function repartitioned(topic: string, partition: number): Verdict {
  const detail = `topic "${topic}" has no partition ${partition} any more`
  return {
    kind: 'failed',
    outcome: { kind: 'retry', reason: 'config', detail, scope: 'target', afterMs: 100 },
  }
}

/**
 * Accepts an acknowledgement only if it has exactly one entry, for this topic and partition, without error and with
 * an offset. Any other response is ambiguous.
 */
function verdictOfAnswer(answer: ProduceAnswer, topic: string, partition: number): Verdict {
  const about = `topic "${topic}", partition ${partition}`
  const entries = (answer?.topics ?? []).flatMap(({ topicName, partitions }) =>
    partitions.map((it) => ({ topicName, ...it })),
  )
  const [entry] = entries
  if (entries.length !== 1 || !entry)
    return unbelievable(about, `${entries.length} acknowledgements instead of one`)
  if (entry.topicName !== topic || entry.partition !== partition)
    return unbelievable(about, `an acknowledgement for "${entry.topicName}", partition ${entry.partition}`)
  if (entry.errorCode !== 0) return verdictOfCode(entry.errorCode, about)
  if (!/^\d+$/.test(String(entry.baseOffset))) return unbelievable(about, 'an acknowledgement without offset')
  return { kind: 'delivered' }
}

function unbelievable(about: string, what: string): Verdict {
  const detail = `${about}: the broker sent ${what}`
  return {
    kind: 'failed',
    outcome: { kind: 'retry', reason: 'unknown', detail, scope: 'target', ambiguous: true },
  }
}
