import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import SMTPConnection, {
  type SMTPConnectionOptions,
  type SMTPConnectionSendInfo,
} from 'nodemailer/lib/smtp-connection'
import { printable, type TlsOptions } from '../../src/sink/index.ts'
import type { TlsMode } from './config.ts'

/** The step of a session that failed. */
type Stage = 'connect' | 'tls' | 'auth' | 'sender' | 'recipients' | 'data' | 'probe'

/** A server's refusal of one recipient. */
export interface Refusal {
  address: string
  code: number
  /** The answer, with its code: `550 5.1.1 no such user`. */
  answer: string
}

interface FaultParts {
  stage: Stage
  /** The server's answer, with its code; '' if there was none. */
  answer?: string | undefined
  /** Error code of the system or TLS, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`, or of nodemailer, such as `GREETING_TIMEOUT`. */
  systemCode?: string
  /** The message may have been taken: its text was sent, and the answer is missing. */
  ambiguous?: boolean
  /** All recipients that were tried. */
  refused?: readonly Refusal[]
  message: string
}

const CONNECT_MARGIN_MS = 200

/** The `systemCode` of a message that is larger than the server announced. */
export const TOO_LARGE = 'EMESSAGE'

/** A session or a message failed. */
export class SmtpFault extends Error {
  override name = 'SmtpFault'
  readonly stage: Stage
  readonly answer: string
  readonly systemCode: string
  readonly ambiguous: boolean
  readonly refused: readonly Refusal[]
  constructor({ stage, answer = '', systemCode = '', ambiguous = false, refused = [], message }: FaultParts) {
    super(message)
    this.stage = stage
    this.answer = answer
    this.systemCode = systemCode
    this.ambiguous = ambiguous
    this.refused = refused
  }
}

export interface SessionOptions {
  host: string
  port: number
  tls: { mode: TlsMode } & TlsOptions
  auth?: { user: string; password: string } | undefined
  /** The domain of the sender. */
  domain?: string | undefined
  timeoutMs: number
}

/** What is sent: the envelope and the bytes of the message. */
export interface Mail {
  from: string
  to: readonly string[]
  raw: Buffer
}

export interface Sent {
  accepted: readonly string[]
  refused: readonly Refusal[]
  /** The Message-ID that the server gave it in place of ours, as Amazon SES and Microsoft 365 do. */
  serverMessageId?: string | undefined
}

/** A session with the server, for one message after the other. */
export interface Session {
  /** How many messages it has sent, also those that failed. */
  readonly sent: number
  /** When the last step ended well, as of `performance.now()`; minus infinity if the session has to be probed before the next one. */
  readonly lastMs: number
  /**
   * Returns who got it. Throws a SmtpFault, also when nobody did. Rejects with the signal's reason. The answer to the message itself may
   * take longer than the timeout, until `untilMs` by `performance.now()`, but at least the timeout.
   */
  send(mail: Mail, signal: AbortSignal, untilMs: number): Promise<Sent>
  /** Asks whether the session still works (RSET). Throws a SmtpFault. */
  probe(signal: AbortSignal): Promise<void>
  isAlive(): boolean
  /** Sends QUIT, and does not wait for the answer. */
  quit(): void
  /** Ends it immediately. */
  destroy(): void
}

/** Connects, starts TLS, signs in. Throws a SmtpFault. Rejects with the signal's reason. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  signal.throwIfAborted()
  const connection = new SMTPConnection(connectionOptions(options))
  let alive = true
  let sent = 0
  let lastMs = performance.now()
  connection.on('end', () => {
    alive = false
  })

  /** Runs one step of the session; an error, an abort or the end of its time closes the connection. */
  async function step<T>(
    stage: Stage,
    stop: AbortSignal,
    run: (done: (error: unknown, result?: T) => void, mayTake: (ms: number) => void) => void,
    more: () => Pick<FaultParts, 'ambiguous'> = () => ({}),
  ): Promise<T> {
    const settled = Promise.withResolvers<T>()
    const fail = (error: unknown) => settled.reject(faultOf(error, stage, more()))
    // nodemailer reports the reason after the end.
    const onEnd = () => setImmediate(() => fail(new Error('the connection was closed')))
    const onAbort = () => settled.reject(new Interrupted(stop, more().ambiguous === true))
    // nodemailer's own limits of a connection name what was missing: they come first.
    const limitMs = stage === 'connect' ? options.timeoutMs + CONNECT_MARGIN_MS : options.timeoutMs
    let timer: NodeJS.Timeout | undefined
    const mayTake = (ms: number) => {
      clearTimeout(timer)
      timer = setTimeout(() => fail({ timeoutType: 'STEP_TIMEOUT', message: 'no answer in time' }), ms)
    }
    mayTake(limitMs)
    connection.once('error', fail)
    connection.once('end', onEnd)
    stop.addEventListener('abort', onAbort, { once: true })
    try {
      if (stop.aborted) onAbort()
      else if (!alive) onEnd()
      else run((error, result) => (error ? fail(error) : settled.resolve(result as T)), mayTake)
      const result = await settled.promise
      lastMs = performance.now()
      return result
    } catch (error) {
      const isRefused = error instanceof SmtpFault && (error.answer !== '' || error.systemCode === TOO_LARGE)
      // The session goes on after a message that was refused, but needs a reset.
      if (stage === 'data' && isRefused) lastMs = Number.NEGATIVE_INFINITY
      else destroy()
      throw error
    } finally {
      clearTimeout(timer)
      connection.off('error', fail)
      connection.off('end', onEnd)
      stop.removeEventListener('abort', onAbort)
    }
  }

  function destroy(): void {
    alive = false
    connection.close()
  }

  // Without a listener an error of an idle session would end the process; nodemailer closes the connection itself.
  connection.on('error', () => {
    alive = false
  })
  await step<void>('connect', signal, (done) => connection.connect((error) => done(error)))
  const { auth } = options
  if (auth) {
    if (!connection.allowsAuth) {
      destroy()
      throw new SmtpFault({ stage: 'auth', message: 'the server offers no authentication here' })
    }
    const credentials = { user: auth.user, pass: auth.password }
    await step('auth', signal, (done) => connection.login(credentials, done))
  }

  return {
    get sent() {
      return sent
    },
    get lastMs() {
      return lastMs
    },
    async send({ from, to, raw }, stop, untilMs) {
      sent++
      let started = false
      const envelope = { from, to: [...to], size: raw.length }
      const info = await step<SMTPConnectionSendInfo>(
        'data',
        stop,
        (done, mayTake) => {
          // Read when the server has taken the envelope, and not before.
          const body = new Readable({
            read() {
              started = true
              mayTake(answerMs(options.timeoutMs, untilMs))
              this.push(raw)
              this.push(null)
            },
          })
          connection.send(envelope, body, done)
        },
        () => ({ ambiguous: started }),
      )
      const { accepted, rejectedErrors, serverMessageId } = info
      return { accepted, refused: refusalsIn(rejectedErrors), serverMessageId }
    },
    async probe(stop) {
      await step('probe', stop, (done) => connection.reset(done))
    },
    isAlive: () => alive,
    quit() {
      if (!alive) return
      alive = false
      connection.quit()
      connection.close()
    },
    destroy,
  }
}

const LONGER = 3

/**
 * How long the answer to a message may take. A server scans it before, and delivers it also when nobody waits for the answer: it would
 * come twice. RFC 5321 §4.5.3.2.6 asks for more time than for other steps.
 */
function answerMs(timeoutMs: number, untilMs: number): number {
  return Math.max(timeoutMs, Math.min(LONGER * timeoutMs, untilMs - performance.now()))
}

/** The signal aborted a step. */
export class Interrupted extends Error {
  override name = 'AbortError'
  readonly ambiguous: boolean
  constructor(signal: AbortSignal, ambiguous: boolean) {
    super('stopped', { cause: signal.reason })
    this.ambiguous = ambiguous
  }
}

function connectionOptions({ host, port, tls, domain, timeoutMs }: SessionOptions): SMTPConnectionOptions {
  const { mode, servername, ...certificates } = tls
  return {
    host,
    port,
    // A pod has no full name. nodemailer would send [127.0.0.1] then, for which Google's relay closes the connection: it wants a domain.
    ...(domain !== undefined && !hostname().includes('.') && { name: domain }),
    secure: mode === 'implicit',
    requireTLS: mode === 'starttls',
    ignoreTLS: mode === 'none',
    tls: { minVersion: 'TLSv1.2', ...certificates, ...(servername !== undefined && { servername }) },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // Idle sessions live longer than a step.
    socketTimeout: 10 * timeoutMs,
    socketCloseTimeout: 0,
    maxResponseSize: 64 * 1_024,
    allowInternalNetworkInterfaces: true,
  }
}

const STAGES: Readonly<Record<string, Stage>> = {
  'MAIL FROM': 'sender',
  'RCPT TO': 'recipients',
  DATA: 'data',
  STARTTLS: 'tls',
}

/** An error of nodemailer, which has the code of the system as `originalCode`, and the server's answer as `response`. */
function faultOf(error: unknown, during: Stage, { ambiguous }: Pick<FaultParts, 'ambiguous'>): SmtpFault {
  if (error instanceof SmtpFault) return error
  const it = (error ?? {}) as Record<string, unknown>
  const answer = answerIn(it['response'])
  const command = String(it['command'] ?? '')
  const stage = STAGES[command] ?? (command.startsWith('AUTH') ? 'auth' : during)
  return new SmtpFault({
    stage,
    answer,
    systemCode: String(it['timeoutType'] ?? it['originalCode'] ?? it['code'] ?? ''),
    // An answer with a code is a certain one.
    ambiguous: ambiguous === true && !/^[45]\d\d/.test(answer),
    refused: refusalsIn(it['rejectedErrors']),
    message: String(it['message'] ?? error),
  })
}

function refusalsIn(errors: unknown): Refusal[] {
  if (!Array.isArray(errors)) return []
  return errors.map(({ recipient, responseCode, response }: Record<string, unknown>) => ({
    address: String(recipient),
    code: Number(responseCode) || 0,
    answer: answerIn(response),
  }))
}

const MAX_ANSWER = 1_000

/** One line of a server's answer, which may have many, of any length. */
function answerIn(response: unknown): string {
  return typeof response === 'string' ? printable(response.slice(0, MAX_ANSWER)) : ''
}
