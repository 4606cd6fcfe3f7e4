import type { WebClient } from '@slack/web-api'
import { Agent, type Dispatcher, ProxyAgent, type RequestInit, Response, fetch as undiciFetch } from 'undici'
import type { Mask } from '../../src/sink/index.ts'
import {
  type Circumstances,
  classifyCode,
  classifyFault,
  classifyStatus,
  throttled,
  unexpectedBody,
  type Verdict,
} from './errors.ts'

export type Answer = Record<string, unknown>

type Called = { ok: true; answer: Answer } | { ok: false; verdict: Verdict }

/** Slack's Web API: one attempt for each call, every failure classified. */
export interface SlackApi {
  call(
    method: string,
    args: Record<string, unknown>,
    about: Omit<Circumstances, 'mask'>,
    signal: AbortSignal,
  ): Promise<Called>
}

interface ApiOptions {
  token: string
  apiUrl: URL
  timeoutMs: number
  userAgent: string
  mask: Mask
}

/** A logger for Slack's packages, whose messages contain tokens and contents. */
export const QUIET = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  setName() {},
  getLevel: () => 'error' as never,
}

/** It is CommonJS: bundled, it has nothing but a default export. */
async function loadClient(): Promise<typeof import('@slack/web-api')> {
  const loaded: object = await import('@slack/web-api')
  return 'default' in loaded ? (loaded.default as typeof import('@slack/web-api')) : (loaded as never)
}

/** Loads Slack's client: a configuration without Slack never does. */
export async function createSlackApi(options: ApiOptions, fetching: Transport): Promise<SlackApi> {
  const { WebClient } = await loadClient()
  const clients = new WeakMap<AbortSignal, WebClient>()

  /** The client has no signal for a call, so each signal has a client. */
  function clientFor(signal: AbortSignal): WebClient {
    const known = clients.get(signal)
    if (known) return known
    const client = new WebClient(options.token, {
      slackApiUrl: options.apiUrl.href,
      timeout: options.timeoutMs,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: QUIET,
      headers: { 'User-Agent': options.userAgent },
      fetch: ((url: string, init: never) => fetching.fetch(url, init, signal)) as never,
    })
    clients.set(signal, client)
    return client
  }

  return {
    async call(method, args, about, signal) {
      try {
        const answer = await clientFor(signal).apiCall(method, args)
        return { ok: true, answer: answer as unknown as Answer }
      } catch (error) {
        return { ok: false, verdict: await verdictOf(error, { ...about, mask: options.mask }) }
      }
    },
  }
}

/** Returns the class of what a call of Slack's client was rejected with. */
export async function verdictOf(error: unknown, about: Circumstances): Promise<Verdict> {
  const { ErrorCode } = await loadClient()
  const { code, data, retryAfter, statusCode, message } = (error ?? {}) as Failure
  if (code === ErrorCode.RateLimitedError) return throttled(retryAfter)
  if (/^Retry header did not contain a valid timeout/.test(String(message))) return throttled(undefined)
  if (code === ErrorCode.PlatformError) {
    const { error: word, needed, response_metadata: more } = data ?? {}
    return classifyCode(
      String(word ?? ''),
      { needed: textOf(needed), messages: textsOf(data?.errors) ?? textsOf(more?.messages) },
      about,
    )
  }
  if (code === ErrorCode.HTTPError) return classifyStatus(Number(statusCode))
  // `null` and the like: the client stumbles over an answer that is JSON but no object.
  if (error instanceof TypeError && code === undefined && error.cause === undefined)
    return unexpectedBody('null', about.mask)
  return classifyFault(error, about.mask)
}

interface Failure {
  code?: string
  message?: string
  retryAfter?: number
  statusCode?: number
  data?: {
    error?: unknown
    needed?: unknown
    errors?: unknown
    response_metadata?: { messages?: unknown }
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value.map(String) : undefined
}

interface FetchOptions {
  proxy?: URL | undefined
  /** PEM of authorities to trust instead of the usual ones. */
  ca?: string | undefined
}

export interface Transport {
  /** Sends once, follows no redirect, reads at most 1 MiB of the answer; ends when one of the signals aborts. */
  fetch(url: string | URL, init: RequestInit, signal: AbortSignal): Promise<Response>
  /** For connections of others that take the same way. */
  readonly dispatcher: Dispatcher
  close(): Promise<void>
}

const MAX_BYTES = 1024 * 1024
const CONNECT_MS = 5_000
const NO_BODY = new Set([101, 204, 205, 304])

/**
 * The transport of Slack's client, which itself buffers responses without a bound and supports neither proxies nor
 * custom authorities.
 */
export function createTransport({ proxy, ca }: FetchOptions): Transport {
  const common = { connections: 20, pipelining: 1, keepAliveTimeout: 4_000, allowH2: false }
  const tls = ca === undefined ? {} : { ca }
  const dispatcher: Dispatcher = proxy
    ? new ProxyAgent({ ...common, uri: proxy.href, requestTls: tls, proxyTls: tls })
    : new Agent({ ...common, connect: { timeout: CONNECT_MS, ...tls } })
  return {
    async fetch(url, init, signal) {
      const ends = afterReading(AbortSignal.any(init.signal ? [signal, init.signal] : [signal]))
      try {
        return await send(url, { ...init, redirect: 'error', dispatcher, signal: ends.signal })
      } finally {
        ends.dispose()
      }
    },
    dispatcher,
    close: () => dispatcher.destroy(),
  }
}

async function send(url: string | URL, init: RequestInit): Promise<Response> {
  const response = await undiciFetch(url, init)
  const body = await bounded(response)
  const headers = new Headers([...response.headers])
  readableRetryAfter(headers)
  const { status, statusText } = response
  return new Response(NO_BODY.has(status) ? null : body, { status, statusText, headers: [...headers] })
}

/**
 * Aborts one turn of the event loop later. A process that was frozen runs its timers first when it wakes. A
 * response that is in the socket by then proves that the message was posted, and must be read.
 */
function afterReading(signal: AbortSignal): { signal: AbortSignal; dispose(): void } {
  const later = new AbortController()
  const abort = () => void setImmediate(() => later.abort(signal.reason))
  if (signal.aborted) later.abort(signal.reason)
  else signal.addEventListener('abort', abort, { once: true })
  return { signal: later.signal, dispose: () => signal.removeEventListener('abort', abort) }
}

async function bounded(response: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`HTTP ${response.status} with an answer of more than 1 MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Slack's client reads seconds only; some proxies write dates. */
function readableRetryAfter(headers: Headers): void {
  const value = headers.get('retry-after')
  if (value === null || /^\d+$/.test(value)) return
  const seconds = Math.ceil((Date.parse(value) - Date.now()) / 1_000)
  if (Number.isFinite(seconds)) headers.set('retry-after', String(Math.max(1, seconds)))
  else headers.delete('retry-after')
}
