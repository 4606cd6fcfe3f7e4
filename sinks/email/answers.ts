import { detailOf, networkFault, type Outcome, type Reason, type Scope } from '../../src/sink/index.ts'
import { type Refusal, type SmtpFault, TOO_LARGE } from './connection.ts'

type Retry = Extract<Outcome, { kind: 'retry' }>
type Rejected = Extract<Outcome, { kind: 'rejected' }>

/** The part of a session's address that details name. */
interface Server {
  host: string
  port: number
}

/** Servers that limit the rate or the day's number of mails (RFC 3463: X.7.x is policy; X.4.5 congestion). */
const RATE = /too many|rate.?limit|throttl|quota exceeded|sending limit|\b[45]\.4\.5\b|\b4\.7\.28\b/i
/**
 * The server wants another account, sender or permission (Microsoft: 5.7.60, 5.2.252; Amazon SES: not verified, sending paused;
 * SendGrid: verified sender). 5.1.7 and 5.1.8 are about the address of the sender (RFC 3463 §3.2).
 */
const SINK_WIDE =
  /\b5\.(?:1\.[78]|7\.60|2\.252|7\.57|7\.139)\b|sendasdenied|not verified|verified sender|sending (?:paused|suspended)|authentication.{0,40}required|must issue a starttls/i
const RELAY = /\b5\.7\.\d+\b|relay|not permitted|authenticat/i
const SIZE = /\b5\.3\.4\b|too (?:large|big)|exceeds? .{0,40}size|size exceeds?/i
const STORAGE = /\b4\.3\.\d\b/

/** Returns whether a message was refused for its size: a shorter one may be taken. */
export function isTooLarge({ answer, systemCode, stage }: SmtpFault): boolean {
  if (systemCode === TOO_LARGE && answer === '') return true
  return stage !== 'recipients' && (codeOf(answer) === 552 || (codeOf(answer) >= 500 && SIZE.test(answer)))
}

/**
 * Returns the outcome of a session or message that failed. What is the server's, the account's or the sender's fault is a retry of the
 * sink: nothing is lost while an operator mends it. See RFC 5321 §4.2 and RFC 3463.
 */
export function outcomeOfFault(fault: SmtpFault, server: Server): Retry | Rejected {
  const { stage, answer, ambiguous } = fault
  if (isTooLarge(fault))
    return rejected(`too large for the server, also when shortened: ${answer || fault.message}`)
  if (answer === '') return withoutAnswer(fault, server)
  const code = codeOf(answer)
  if (code === 0)
    return withoutAnswer(
      { ...fault, systemCode: 'EPROTOCOL', message: `it answers ${JSON.stringify(answer)}` },
      server,
    )
  const retry = (reason: Reason, scope: Scope, hint = ''): Retry => ({
    kind: 'retry',
    reason,
    detail: detailOf(`${describe(stage)}: ${answer}${hint && ` (${hint})`}`),
    scope,
    ...(ambiguous && { ambiguous: true }),
  })
  if (code === 530 && stage !== 'tls')
    return retry('auth', 'sink', 'the server wants tls or auth: see both options')
  if (stage === 'tls' && code < 500) return retry('server-error', 'sink')
  if (stage === 'tls')
    return retry(
      'config',
      'sink',
      `no STARTTLS on port ${server.port}; a server with TLS from the start needs tls: implicit`,
    )
  if (stage === 'auth')
    return code < 500
      ? retry('server-error', 'sink')
      : retry('auth', 'sink', 'is auth right? Many providers want an app password')
  if (code === 421 || stage === 'connect' || stage === 'probe')
    return retry(RATE.test(answer) ? 'rate-limited' : 'server-error', 'sink')
  if (RATE.test(answer)) return retry('rate-limited', 'sink')
  if (code === 535 || code === 538 || SINK_WIDE.test(answer)) return retry('auth', 'sink')
  if (stage === 'sender')
    return code < 500
      ? retry('server-error', 'sink')
      : retry('config', 'sink', 'the server refuses the address in from')
  if (code < 500) return retry('server-error', STORAGE.test(answer) ? 'sink' : 'event')
  return rejected(`${describe(stage)}: ${answer}`)
}

/** The recipients of one attempt: who has the message now, and who was refused. */
interface Receipts {
  accepted: readonly string[]
  refused: readonly Refusal[]
}

/**
 * Returns the outcome of a message for several recipients. Delivered if all have it. If the server may take one later, a retry for
 * those who do not have it yet; else a dead letter that names them, so that a replay goes to them only. So it is, too, if others have
 * waited long enough for each of them.
 */
export function outcomeOfReceipts(
  { accepted, refused }: Receipts,
  isOver: (address: string) => boolean,
): Outcome {
  if (refused.length === 0) return { kind: 'delivered' }
  const waiting = refused.filter(mayPass)
  const has = accepted.length > 0 ? `delivered to ${accepted.join(', ')}; ` : ''
  const list = refused.map(({ address, answer }) => `${address}: ${answer}`).join('; ')
  const detail = detailOf(`${has}refused for ${list}`)
  const [first] = waiting
  if (!first) return { kind: 'rejected', reason: 'rejected', detail }
  if (first.code === 530 || SINK_WIDE.test(first.answer))
    return { kind: 'retry', reason: 'auth', detail, scope: 'sink' }
  if (first.code === 421) return { kind: 'retry', reason: 'server-error', detail, scope: 'sink' }
  if (accepted.length > 0 && waiting.every(({ address }) => isOver(address)))
    return { kind: 'rejected', reason: 'expired', detail }
  const reason = first.code >= 500 ? 'config' : RATE.test(first.answer) ? 'rate-limited' : 'server-error'
  return { kind: 'retry', reason, detail, scope: 'target' }
}

/** Not a refusal for good: a temporary one, or one that an operator can mend, such as a relay that is not permitted. */
function mayPass({ code, answer }: Refusal): boolean {
  return code < 500 || code === 530 || RATE.test(answer) || SINK_WIDE.test(answer) || RELAY.test(answer)
}

const TIMEOUTS: Readonly<Record<string, string>> = {
  CONNECT_TIMEOUT: 'no connection in time',
  GREETING_TIMEOUT: 'no greeting in time: a port with TLS from the start needs tls: implicit',
  UPGRADE_TIMEOUT: 'no TLS in time',
  SOCKET_TIMEOUT: 'no answer in time',
  STEP_TIMEOUT: 'no answer in time',
}

function withoutAnswer(
  {
    stage,
    systemCode,
    ambiguous,
    message,
  }: Pick<SmtpFault, 'stage' | 'systemCode' | 'ambiguous' | 'message'>,
  { host, port }: Server,
): Retry {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const retry = (reason: Reason, detail: string): Retry => ({
    kind: 'retry',
    reason,
    detail: detailOf(detail),
    scope: 'sink',
    ...(ambiguous && { ambiguous: true }),
  })
  const late = TIMEOUTS[systemCode]
  if (late) return retry('timeout', `${where}: ${late}`)
  if (stage === 'auth')
    return retry('config', `${where}: ${message}; auth needs tls: starttls or implicit on most servers`)
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH/.test(systemCode) || /wrong version number/i.test(message))
    return retry(
      'config',
      `${where} does not speak TLS from the start: tls: starttls is for port 587, tls: implicit for 465`,
    )
  const { reason, message: known } = networkFault(
    { code: systemCode, message },
    { host: where, secure: stage !== 'connect' },
  )
  if (known) return retry(reason, known)
  if (/no STARTTLS|does not support required STARTTLS/i.test(message))
    return retry('config', `${where}: ${message}`)
  if (systemCode === 'EPROTOCOL') return retry('config', `${where} does not speak SMTP: ${message}`)
  return retry('network', `${where}: ${message || systemCode}`)
}

function codeOf(answer: string): number {
  return Number(/^\d{3}/.exec(answer)?.[0] ?? 0)
}

function describe(stage: SmtpFault['stage']): string {
  return {
    connect: 'the server takes no session',
    tls: 'no TLS',
    auth: 'the server refuses to sign in',
    sender: 'the sender is refused',
    recipients: 'the recipients are refused',
    data: 'the message is refused',
    probe: 'the session ended',
  }[stage]
}

function rejected(detail: string): Rejected {
  return { kind: 'rejected', reason: 'rejected', detail: detailOf(detail) }
}

/** Greylisting ends after minutes, a full mailbox does not. */
const PATIENCE_MS = 600_000
const MOST_REMEMBERED = 1_000

/** Recipients that are refused for now while others get the same mail, which wait for them: not for ever. */
export class WaitedFor {
  /** By address, in Unix milliseconds; the one that was refused first comes first. */
  readonly #sinceMs = new Map<string, number>()

  /** Notes the answers to a mail that somebody has. */
  noted({ accepted, refused }: Receipts, nowMs: number): void {
    for (const address of accepted) this.#sinceMs.delete(address)
    for (const { address } of refused) if (!this.#sinceMs.has(address)) this.#sinceMs.set(address, nowMs)
    for (const address of this.#sinceMs.keys()) {
      if (this.#sinceMs.size <= MOST_REMEMBERED) return
      this.#sinceMs.delete(address)
    }
  }

  /** Whether others have waited long enough: as long as a mailbox is full, a mail now and then would be all that they get. */
  isOver(address: string, nowMs: number): boolean {
    return nowMs - (this.#sinceMs.get(address) ?? nowMs) >= PATIENCE_MS
  }
}
