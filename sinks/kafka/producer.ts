import type { Mask } from '../../src/sink/index.ts'
import { verdictOfAnswer } from './acknowledgement.ts'
import { type Verdict, verdictOfCode } from './codes.ts'
import { outcomeOfFault, RequestFault, Throttled } from './faults.ts'
import type { Compression } from './produce-request.ts'
import type { KafkaRecord } from './record.ts'
import { TopicFault, type Topics, type TopicView } from './topics.ts'
import type { Wire } from './wire.ts'

export interface TransmitOptions {
  wire: Wire
  topics: Topics
  compression: (bytes: number) => Compression | undefined
  /** How long the brokers may wait for their replicas. */
  timeoutMs: number
  /** For the way there and back, on top of that. */
  travelMs: number
  mask: Mask
}

export interface Target {
  readonly topic: string
  readonly partition: number
  readonly compacted: boolean
}

/** Writes a batch to one partition with one request; says what became of it. */
export type Transmit = (target: Target, records: readonly KafkaRecord[]) => Promise<Verdict>

const LEADER_NOT_AVAILABLE = 5

export function createTransmit({
  wire,
  topics,
  compression,
  timeoutMs,
  travelMs,
  mask,
}: TransmitOptions): Transmit {
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
      const verdict = ofOneBroker(verdictOfAnswer(answer, topic, partition), view)
      if (verdict.kind === 'moved' || verdict.kind === 'failed') topics.forget(topic)
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
    return second.kind === 'moved' ? { kind: 'failed', outcome: second.outcome } : second
  }
}

const MAY_BE_ONE_BROKER = new Set<string>(['network', 'timeout', 'server-error', 'unknown'])

/** Metadata came, so the cluster is there: while other brokers lead other partitions, one that fails must not stop those. */
function ofOneBroker(verdict: Verdict, { leaders }: TopicView): Verdict {
  if (verdict.kind !== 'failed' && verdict.kind !== 'moved') return verdict
  const { outcome } = verdict
  const isNarrow =
    outcome.kind !== 'retry' || outcome.scope !== 'sink' || !MAY_BE_ONE_BROKER.has(outcome.reason)
  if (isNarrow || new Set(leaders.filter((it) => it >= 0)).size < 2) return verdict
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
