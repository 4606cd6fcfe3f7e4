import { createHash, createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  cloudEventAttributes,
  cloudEventData,
  createMask,
  createTokenSource,
  type HttpClient,
  type Message,
  type Note,
  type Reply,
  TemplateFault,
  type TraceContext,
} from '../../src/sink/index.ts'
import { cloudEventsBatch, JSON_TYPE, limitsOf, templateBatch } from './batch-format.ts'
import type { BatchFormat } from './batches.ts'
import type { WebhookConfig } from './config.ts'
import { entriesOf } from './presets/log-entry.ts'
import type { PresetOptions } from './presets/options.ts'
import { fitted } from './presets/parts.ts'
import type { LogPreset, MessagePreset } from './presets/preset.ts'
import type { Auth, Endpoint, OAuth2 } from './request-options.ts'

/** The request body and headers of a message. */
export interface Written {
  body: Buffer
  headers: Readonly<Record<string, string>>
  note?: Note
}

type Write = (message: Message) => Written

interface Clock {
  now(): number
}

/** A sink sends one event in a request, or many. */
type Format = { write: Write; batch?: undefined } | { batch: BatchFormat & { maxReplyBytes?: number } }

/** Returns the format of a sink. Its functions may throw a TemplateFault. */
export function formatOf(config: WebhookConfig, clock: Clock): Format {
  const { service, batch } = config
  if (service && 'format' in service) return { batch: logBatch(config, service, clock) }
  if (service) return { write: presetWriter(config, service, clock) }
  if (batch?.each) return { batch: templateBatch(batch, config.contentType) }
  if (config.format === 'batch') return { batch: cloudEventsBatch(batch) }
  return { write: writerOf(config) }
}

function writerOf({ body: tree, raw, contentType, format }: WebhookConfig): Write {
  if (tree) {
    const headers = { 'content-type': contentType ?? JSON_TYPE }
    return (message) => ({ body: Buffer.from(tree.json(message)), headers })
  }
  if (raw) {
    const headers = { 'content-type': contentType ?? 'text/plain; charset=utf-8' }
    return (message) => ({ body: Buffer.from(raw.render(message)), headers })
  }
  if (format === 'binary')
    return (message) => ({ body: cloudEventData(message), headers: binaryHeaders(message) })
  const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
  return (message) => ({ body: message.cloudEvent, headers })
}

/** The attributes as the HTTP binding of CloudEvents has them in headers. */
function binaryHeaders(message: Parameters<typeof cloudEventAttributes>[0]): Record<string, string> {
  const { datacontenttype, ...attributes } = cloudEventAttributes(message)
  const headers = Object.entries(attributes).map(([name, value]) => [
    `ce-${name}`,
    percentEncoded(String(value)),
  ])
  return { 'content-type': String(datacontenttype), ...Object.fromEntries(headers) }
}

/** Space, `"`, `%`, and everything that is not printable ASCII (CloudEvents HTTP binding 1.0.2, §3.1.3.2). */
export function percentEncoded(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x7e]/gu, (it) =>
      [...Buffer.from(it)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    )
}

/** The options of a preset, as its code has them. */
export function presetOptions(config: WebhookConfig): PresetOptions {
  return { ...config, resolveAfterMs: config.resolveAfter }
}

function presetWriter(config: WebhookConfig, { body, maxBytes }: MessagePreset, clock: Clock): Write {
  const headers = { 'content-type': JSON_TYPE }
  const options = presetOptions(config)
  return (message) => {
    const { body: bytes, truncated } = fitted(maxBytes, (cut) => body(message, options, cut, clock.now()))
    return { body: bytes, headers, ...(truncated && { note: 'truncated' }) }
  }
}

/** Maximum overhead of one event: a separator and a key of its group. */
const AROUND_BYTES = 64

function logBatch(config: WebhookConfig, service: LogPreset, clock: Clock) {
  const entryOf = entriesOf(config.body, service.maxBytes)
  const { part, body, answers, maxReplyBytes } = service.format(presetOptions(config), clock)
  return {
    ...limitsOf(config.batch, service.batch),
    item(message: Message) {
      const made = part(entryOf(message))
      return { message, ...made, size: made.bytes.length + (made.group?.length ?? 0) + AROUND_BYTES }
    },
    body,
    ...(answers && { answers }),
    ...(maxReplyBytes !== undefined && { maxReplyBytes }),
  }
}

const gzipped = promisify(gzip)
/**
 * Returns the request with its body compressed by gzip (RFC 9110 §8.4.1.3), outside of the event loop. Small ones are, too: a receiver
 * without gzip refuses all requests then, which is a failure of the sink.
 */
export async function compressed(written: Written): Promise<Written> {
  const body = await gzipped(written.body)
  return { ...written, body, headers: { ...written.headers, 'content-encoding': 'gzip' } }
}

/** The parts of a message that are sent outside of the body. */
type Envelope = Pick<Message, 'id' | 'trace'>

/** What a preset changes of requests. */
interface Conduct {
  method?: 'PUT' | undefined
  headers?: Readonly<Record<string, string>> | undefined
  /** How many bytes of a success are read; true for 64 KiB. */
  readBody?: boolean | number | undefined
}

/** Sends the body with signature and authorization headers. */
export function createSender(
  config: WebhookConfig,
  http: HttpClient,
  parts: { userAgent: string; clock: Clock; conduct: Conduct; tokenHttp: HttpClient },
) {
  const { secret, headers, auth } = config
  const { userAgent, clock, conduct, tokenHttp } = parts
  const { method = config.method, readBody = false } = conduct
  const common = {
    'user-agent': userAgent,
    ...conduct.headers,
    ...inLowerCase(headers),
    ...authorizationOf(auth),
  }
  const tokens = auth?.oauth2 && tokensOf(auth.oauth2, tokenHttp, userAgent)

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
    if (token === undefined) return http.request({ method, url, headers: sent, body, readBody }, signal)
    const authorized = { ...sent, authorization: `Bearer ${token}` }
    return http.request({ method, url, headers: authorized, body, readBody, secrets: [token] }, signal)
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

/** Returns the id of a batch: the same for the same messages. */
function idOfBatch(messages: readonly Message[]): string {
  if (messages.length === 1) return (messages[0] as Message).id
  const hash = createHash('sha256')
  for (const { id } of messages) hash.update(id).update('\n')
  return `batch_${hash.digest('hex').slice(0, 40)}`
}

function inLowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/**
 * Returns the headers of Standard Webhooks 1.0.0. The id is the same for all attempts. The timestamp is the
 * attempt's, so each attempt is signed again, once with each secret.
 */
function signatureHeaders(
  secrets: readonly string[],
  id: string,
  body: Buffer,
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  id = headerId(id)
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secrets.length === 0) return headers
  const signatures = secrets.map((secret) => `v1,${sign(secret, id, timestamp, body)}`)
  return { ...headers, 'webhook-signature': signatures.join(' ') }
}

function sign(secret: string, id: string, timestamp: string, body: Buffer): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
}

/** Standard Webhooks forbids full stops in ids; those of the API server contain none. */
function headerId(id: string): string {
  if (/^[\x21-\x2d\x2f-\x7e]+$/.test(id)) return id
  return encodeURIComponent(id.toWellFormed()).replaceAll('.', '%2E')
}

const MAX_URL = 8_000

/** Returns the URL of a message. Throws a TemplateFault if the values make no valid URL. */
export function urlOf({ base, template }: Endpoint): (message: Message) => URL {
  if (!template) return () => base
  return (message) => {
    const filled = template.render(message)
    if (filled.length > MAX_URL)
      throw new TemplateFault(`url: what is filled in makes more than ${MAX_URL} characters`)
    if (hasDotSegment(filled))
      throw new TemplateFault(
        'url: what is filled in makes a "." or ".." between slashes, which leads elsewhere',
      )
    const url = URL.parse(`${base.origin}${filled}`)
    if (url?.origin !== base.origin) throw new TemplateFault('url: what is filled in makes no URL')
    url.username = base.username
    url.password = base.password
    return url
  }
}

/** As URLs are parsed: without line breaks and blanks at the end, with `\` for `/` and `%2e` for a dot. */
function hasDotSegment(filled: string): boolean {
  const [path = ''] = filled.replace(/[\t\r\n]|[\0- ]+$/g, '').split(/[?#]/, 1)
  return path.split(/[/\\]/).some((segment) => /^(\.|%2e){1,2}$/i.test(segment))
}

/**
 * Returns the printable URL of a message. A fixed path may be a secret, as in chat services, and is left out. A
 * template's path is shown, except literal parts that look like tokens. Throws as `urlOf`.
 */
export function shownUrl(endpoint: Endpoint, message: Message): string {
  const { origin, pathname, search } = urlOf(endpoint)(message)
  if (!endpoint.template) return origin
  const literals = endpoint.template.source.split(/\{\{[^{}]*\}\}|\{%[^{}]*%\}/)
  const secrets = literals.flatMap((it) => [
    ...it.split(/[/?&=]/).filter(looksLikeToken),
    ...[...it.matchAll(/=([^&=]{3,})/g)].map(([, value = '']) => value),
  ])
  return origin + createMask(secrets)(pathname + search)
}

function looksLikeToken(text: string): boolean {
  return text.length >= 16 || (text.length >= 8 && /\d/.test(text) && /[a-z]/i.test(text))
}
