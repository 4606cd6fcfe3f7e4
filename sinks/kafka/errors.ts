import type { Outcome } from '../../src/sink/index.ts'

/** What an answer, or the lack of one, means for a batch of records. */
export type Verdict =
  | { kind: 'delivered' }
  /** A record of the batch is not wanted: halve it until that one is known. */
  | { kind: 'refused'; detail: string }
  /** Somebody else leads the partition by now: look again, and try once more. */
  | { kind: 'moved'; outcome: Retry }
  | { kind: 'failed'; outcome: Retry | Later }

export type Retry = Extract<Outcome, { kind: 'retry' }>
export type Later = Extract<Outcome, { kind: 'later' }>

type Policy = 'refused' | 'moved' | readonly [Retry['reason'], Retry['scope'], ambiguous?: 'ambiguous']

/** Kafka's error codes that an answer to metadata, produce, and the making of topics may carry. */
const CODES: Readonly<Record<number, readonly [name: string, policy: Policy, hint?: string]>> = {
  [-1]: ['UNKNOWN_SERVER_ERROR', ['server-error', 'sink', 'ambiguous']],
  2: ['CORRUPT_MESSAGE', ['server-error', 'target']],
  3: [
    'UNKNOWN_TOPIC_OR_PARTITION',
    ['config', 'target'],
    'it does not exist; create it, or let createTopics do it',
  ],
  5: ['LEADER_NOT_AVAILABLE', 'moved'],
  6: ['NOT_LEADER_FOR_PARTITION', 'moved'],
  7: ['REQUEST_TIMED_OUT', ['timeout', 'sink', 'ambiguous']],
  8: ['BROKER_NOT_AVAILABLE', 'moved'],
  9: ['REPLICA_NOT_AVAILABLE', 'moved'],
  10: ['MESSAGE_TOO_LARGE', 'refused', 'larger than max.message.bytes of the topic'],
  13: ['NETWORK_EXCEPTION', ['network', 'sink', 'ambiguous']],
  17: ['INVALID_TOPIC_EXCEPTION', ['config', 'target'], 'the brokers do not accept this name'],
  18: ['RECORD_LIST_TOO_LARGE', 'refused', 'larger than segment.bytes of the topic'],
  19: ['NOT_ENOUGH_REPLICAS', ['server-error', 'target'], 'fewer replicas in sync than min.insync.replicas'],
  20: [
    'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
    ['server-error', 'target', 'ambiguous'],
    'fewer replicas in sync than min.insync.replicas',
  ],
  21: ['INVALID_REQUIRED_ACKS', ['config', 'sink']],
  29: ['TOPIC_AUTHORIZATION_FAILED', ['auth', 'target'], 'the user lacks the right to Write or Describe'],
  31: ['CLUSTER_AUTHORIZATION_FAILED', ['auth', 'sink']],
  32: ['INVALID_TIMESTAMP', 'refused', 'the clocks differ more than message.timestamp.*.max.ms of the topic'],
  33: ['UNSUPPORTED_SASL_MECHANISM', ['auth', 'sink']],
  34: ['ILLEGAL_SASL_STATE', ['auth', 'sink']],
  35: ['UNSUPPORTED_VERSION', ['config', 'sink'], 'the brokers are too old or too new'],
  36: ['TOPIC_ALREADY_EXISTS', 'moved'],
  37: ['INVALID_PARTITIONS', ['config', 'target'], 'look at createTopics.partitions'],
  38: ['INVALID_REPLICATION_FACTOR', ['config', 'target'], 'look at createTopics.replicationFactor'],
  40: ['INVALID_CONFIG', ['config', 'target'], 'look at createTopics.configs'],
  41: ['NOT_CONTROLLER', 'moved'],
  42: ['INVALID_REQUEST', ['config', 'sink']],
  43: ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 'refused'],
  44: ['POLICY_VIOLATION', 'refused'],
  56: ['KAFKA_STORAGE_ERROR', ['server-error', 'sink', 'ambiguous']],
  58: ['SASL_AUTHENTICATION_FAILED', ['auth', 'sink']],
  72: ['LISTENER_NOT_FOUND', 'moved'],
  74: ['FENCED_LEADER_EPOCH', 'moved'],
  75: ['UNKNOWN_LEADER_EPOCH', 'moved'],
  76: ['UNSUPPORTED_COMPRESSION_TYPE', ['config', 'sink'], 'choose another compression'],
  87: [
    'INVALID_RECORD',
    'refused',
    'the brokers hold it to be invalid, such as a record without key for a compacted topic',
  ],
  89: ['THROTTLING_QUOTA_EXCEEDED', ['rate-limited', 'sink']],
}

/** What an error code means; one that nobody knows will pass. `about` is what it was the answer for. */
export function verdictOfCode(code: number, about: string, said?: string): Verdict {
  if (code === 0) return { kind: 'delivered' }
  const [name, policy, hint] = CODES[code] ?? [
    `error code ${code}`,
    ['unknown', 'sink', 'ambiguous'] as const,
  ]
  const why = said || hint
  const detail = `${about}: ${name}${why ? ` (${why})` : ''}`
  if (policy === 'refused') return { kind: 'refused', detail }
  if (policy === 'moved')
    return {
      kind: 'moved',
      outcome: { kind: 'retry', reason: 'server-error', detail, scope: 'target', afterMs: 250 },
    }
  const [reason, scope, ambiguous] = policy
  return {
    kind: 'failed',
    outcome: { kind: 'retry', reason, detail, scope, ...(ambiguous && { ambiguous: true }) },
  }
}
