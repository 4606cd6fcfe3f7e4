import type { Mask, Outcome } from '../../src/sink/index.ts'

/** The result of a produce request for a batch of records. */
export type Verdict =
  | { kind: 'delivered' }
  /** A record of the batch is refused: halve the batch until that record is alone. */
  | { kind: 'refused'; detail: string }
  /** Another broker leads the partition now: refresh the metadata and try once more. */
  | { kind: 'moved'; outcome: Retry }
  | { kind: 'failed'; outcome: Retry | Later; mayBeOfRecord?: never }
  /** The broker fails, or a record of the batch makes it fail: halve the batch to find out. */
  | { kind: 'failed'; outcome: Retry; mayBeOfRecord: true }

export type Retry = Extract<Outcome, { kind: 'retry' }>
type Later = Extract<Outcome, { kind: 'later' }>

type Policy = 'refused' | 'moved' | readonly [Retry['reason'], Retry['scope'], ambiguous?: 'ambiguous']

const UNKNOWN_SERVER_ERROR = -1

/** Kafka's error codes that an answer to metadata, produce, and the making of topics may carry. */
const CODES: Readonly<Record<number, readonly [name: string, policy: Policy, hint?: string]>> = {
  [UNKNOWN_SERVER_ERROR]: ['UNKNOWN_SERVER_ERROR', ['server-error', 'sink', 'ambiguous']],
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
  29: ['TOPIC_AUTHORIZATION_FAILED', ['auth', 'target'], 'the user lacks permission to Write or Describe'],
  31: ['CLUSTER_AUTHORIZATION_FAILED', ['auth', 'sink']],
  32: [
    'INVALID_TIMESTAMP',
    ['config', 'target'],
    'the clocks differ more than message.timestamp.*.max.ms of the topic',
  ],
  33: ['UNSUPPORTED_SASL_MECHANISM', ['auth', 'sink']],
  34: ['ILLEGAL_SASL_STATE', ['auth', 'sink']],
  35: ['UNSUPPORTED_VERSION', ['config', 'sink'], 'the brokers are too old or too new'],
  36: ['TOPIC_ALREADY_EXISTS', 'moved'],
  37: ['INVALID_PARTITIONS', ['config', 'target'], 'look at createTopics.partitions'],
  38: ['INVALID_REPLICATION_FACTOR', ['config', 'target'], 'look at createTopics.replicationFactor'],
  40: ['INVALID_CONFIG', ['config', 'target'], 'look at createTopics.configs'],
  41: ['NOT_CONTROLLER', 'moved'],
  42: ['INVALID_REQUEST', ['config', 'sink']],
  43: ['UNSUPPORTED_FOR_MESSAGE_FORMAT', ['config', 'target']],
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

/** Maps an error code to a verdict. An unknown code means retry. `about` names the request in the detail. */
export function verdictOfCode(code: number, about: string, said?: string): Verdict {
  if (code === 0) return { kind: 'delivered' }
  const known = CODES[code]
  const [name, policy, hint] = known ?? [`error code ${code}`, ['unknown', 'sink', 'ambiguous'] as const]
  const why = said || hint
  const detail = `${about}: ${name}${why ? ` (${why})` : ''}`
  if (policy === 'refused') return { kind: 'refused', detail }
  if (policy === 'moved')
    return {
      kind: 'moved',
      outcome: { kind: 'retry', reason: 'server-error', detail, scope: 'target', afterMs: 250 },
    }
  const [reason, scope, ambiguous] = policy
  const mayBeOfRecord = !known || code === UNKNOWN_SERVER_ERROR
  return {
    kind: 'failed',
    outcome: { kind: 'retry', reason, detail, scope, ...(ambiguous && { ambiguous: true }) },
    ...(mayBeOfRecord && { mayBeOfRecord }),
  }
}

/** Throttled by the brokers' quotas: how long to wait. */
export class Throttled extends Error {
  override name = 'Throttled'
  readonly ms: number
  constructor(ms: number) {
    super(`throttled by the brokers for ${ms} ms`)
    this.ms = ms
  }
}

/** A request failed. `sent`: its bytes had left, so it may have been done. */
export class RequestFault extends Error {
  override name = 'RequestFault'
  readonly sent: boolean
  readonly broker: string
  constructor(broker: string, sent: boolean, cause: unknown) {
    super(`the request to ${broker} failed`, { cause })
    this.broker = broker
    this.sent = sent
  }
}

/** No answer, or no connection, in time. */
export class OutOfTime extends Error {
  override name = 'OutOfTime'
}

/** Returns the innermost error: kafkajs' wrappers are not retriable even when only a broker is down. */
export function rootCause(error: unknown): Error & { code?: unknown; type?: unknown; errors?: unknown } {
  let root = error as Error
  for (let depth = 0; depth < 20; depth++) {
    const inner = root?.cause ?? (root as { originalError?: unknown })?.originalError
    if (!(inner instanceof Error)) break
    root = inner
  }
  return root instanceof Error ? root : new Error(String(root))
}

/** Maps a failed request to an outcome, which is never a dead letter. */
export function outcomeOfFault(error: unknown, mask: Mask): Retry {
  const fault = error instanceof RequestFault ? error : undefined
  const root = rootCause(error)
  const where = fault ? `broker ${fault.broker}: ` : ''
  const ambiguous = fault?.sent ? ({ ambiguous: true } as const) : {}
  const retry = (reason: Retry['reason'], detail: string): Retry => ({
    kind: 'retry',
    reason,
    detail: mask(`${where}${detail}`).slice(0, 1_000),
    scope: 'sink',
    ...ambiguous,
  })
  const protocol = protocolCode(root)
  if (protocol !== undefined) {
    const verdict = verdictOfCode(protocol, where.slice(0, -2) || 'Kafka', root.message)
    if (verdict.kind === 'failed' && verdict.outcome.kind === 'retry')
      return { ...verdict.outcome, detail: mask(verdict.outcome.detail), ...ambiguous }
    return retry('server-error', `error code ${protocol}: ${root.message}`)
  }
  if (isAuthentication(root)) return retry('auth', root.message)
  const code = String(root.code ?? '')
  if (isTls(code, root.message)) return retry('config', `TLS: ${root.message}`)
  if (root instanceof OutOfTime) return retry('timeout', root.message)
  if (root.name === 'KafkaJSServerDoesNotSupportApiKey')
    return retry('config', 'it does not speak the versions of the protocol that are needed')
  return retry('network', root.message || code || 'the connection failed')
}

export function isAuthentication({ name, type }: ReturnType<typeof rootCause>): boolean {
  return name === 'KafkaJSSASLAuthenticationError' || name === 'TokenFault' || /SASL/.test(String(type ?? ''))
}

function isTls(code: string, message: string): boolean {
  return (
    /^(ERR_(SSL|TLS)|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH)/.test(code) ||
    /certificate|SSL routines|altnames|tlsv1 alert/i.test(message)
  )
}

function protocolCode({ name, code, message }: ReturnType<typeof rootCause>): number | undefined {
  if (typeof code !== 'number') return undefined
  // Codes that kafkajs does not know are only in the message.
  if (code === -99) return Number(/(-?(?<!\d)\d+)$/.exec(message)?.[1] ?? -1)
  return name.includes('Protocol') || name.includes('Topic') ? code : undefined
}
