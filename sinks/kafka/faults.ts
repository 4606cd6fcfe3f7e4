import type { Mask } from '../../src/sink/index.ts'
import { type Retry, verdictOfCode } from './codes.ts'

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

/** The error that the others wrap: kafkajs' wrappers say that nothing can be retried even when a broker is only down. */
export function rootCause(error: unknown): Error & { code?: unknown; type?: unknown; errors?: unknown } {
  let root = error as Error
  for (let depth = 0; depth < 20; depth++) {
    const inner = root?.cause ?? (root as { originalError?: unknown })?.originalError
    if (!(inner instanceof Error)) break
    root = inner
  }
  return root instanceof Error ? root : new Error(String(root))
}

/** What a failed request means for what was to be sent: never a dead letter. */
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
  // Codes that kafkajs does not know stand in the message only.
  if (code === -99) return Number(/(-?(?<!\d)\d+)$/.exec(message)?.[1] ?? -1)
  return name.includes('Protocol') || name.includes('Topic') ? code : undefined
}
