import { type Verdict, verdictOfCode } from './codes.ts'
import type { ProduceAnswer } from './kafkajs.ts'

/**
 * Believes an acknowledgement only when it is one: exactly one entry, for this topic and partition, without error and with the
 * offset of what was written. Anything else may have been written or not.
 */
export function verdictOfAnswer(answer: ProduceAnswer, topic: string, partition: number): Verdict {
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
