import { createHash } from 'node:crypto'
import {
  createTokenSource,
  type HttpClient,
  type Message,
  type Reply,
  type TraceContext,
} from '../../src/sink/index.ts'
import type { WebhookConfig } from './config.ts'
import type { Written } from './formats.ts'
import type { Auth, OAuth2 } from './options/auth.ts'
import { signatureHeaders } from './signature.ts'

/** What of a request is not written in its body. */
export type Envelope = Pick<Message, 'id' | 'trace'>

interface Clock {
  now(): number
}

/** Sends what was written, signed and with what shows who we are. */
export function createSender(config: WebhookConfig, http: HttpClient, userAgent: string, clock: Clock) {
  const { secret, method, headers, auth } = config
  const common = { 'user-agent': userAgent, ...inLowerCase(headers), ...authorizationOf(auth) }
  const tokens = auth?.oauth2 && tokensOf(auth.oauth2, http, userAgent)

  function send(
    url: URL,
    { id, trace }: Envelope,
    written: Written,
    signal: AbortSignal,
    token?: string,
  ): Promise<Reply> {
    const { body } = written
    const signed = signatureHeaders(secret, id, body, clock.now())
    const sent = { ...traceHeaders(trace, common), ...common, ...written.headers, ...signed }
    if (token === undefined) return http.request({ method, url, headers: sent, body }, signal)
    const authorized = { ...sent, authorization: `Bearer ${token}` }
    return http.request({ method, url, headers: authorized, body, secrets: [token] }, signal)
  }

  return {
    async health(signal: AbortSignal) {
      const granted = await tokens?.get(signal)
      return granted && 'fault' in granted ? granted.fault : undefined
    },
    close: () => tokens?.close(),
    async send(url: URL, envelope: Envelope, written: Written, signal: AbortSignal): Promise<Reply> {
      if (!tokens) return send(url, envelope, written, signal)
      const first = await tokens.get(signal)
      if ('fault' in first) return { outcome: first.fault, status: 0, body: '' }
      const reply = await send(url, envelope, written, signal, first.token)
      if (reply.status !== 401) return reply
      // Revoked before its time: once, with a new one.
      const second = await tokens.get(signal, first.token)
      return 'fault' in second ? reply : send(url, envelope, written, signal, second.token)
    },
  }
}

function tokensOf({ scopes, ...credentials }: OAuth2, http: HttpClient, userAgent: string) {
  return createTokenSource({ ...credentials, scope: scopes.join(' ') }, http, userAgent)
}

export function authorizationOf(auth: Auth | undefined): Record<string, string> {
  if (auth?.bearer !== undefined) return { authorization: `Bearer ${auth.bearer}` }
  if (!auth?.basic) return {}
  const { username, password } = auth.basic
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

/** W3C Trace Context, unless the configuration has a context of its own. */
function traceHeaders(
  trace: TraceContext | undefined,
  own: Readonly<Record<string, string>>,
): Readonly<TraceContext> | undefined {
  return 'traceparent' in own ? undefined : trace
}

/** One request has one trace: that of the first message which has one; spans of a batch are linked. */
export function envelopeOf(messages: readonly Message[]): Envelope {
  const trace = messages.find((it) => it.trace !== undefined)?.trace
  return { id: idOfBatch(messages), ...(trace && { trace }) }
}

/** Of the same messages always the same. */
function idOfBatch(messages: readonly Message[]): string {
  if (messages.length === 1) return (messages[0] as Message).id
  const hash = createHash('sha256')
  for (const { id } of messages) hash.update(id).update('\n')
  return `batch_${hash.digest('hex').slice(0, 40)}`
}

function inLowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
