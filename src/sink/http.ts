import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, type Dispatcher, request } from 'undici'
import type { Outcome, Reason, Scope } from './index.ts'

export interface HttpOptions {
  /** Requests under way at once. */
  connections: number
  /** For the whole request. */
  timeoutMs: number
  /** Link-local and cloud metadata addresses are refused unless this is set. */
  allowLinkLocal?: boolean
}

export interface HttpClient {
  /** Sends once; the outcome is decided by the status alone. Never throws, follows no redirect. */
  post(url: URL, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<Outcome>
  close(): Promise<void>
}

const CONNECT_TIMEOUT_MS = 3_000
const HEADERS_TIMEOUT_MS = 15_000
const KEEP_ALIVE_MS = 4_000
const MAX_RESPONSE_BYTES = 64 * 1024
const MAX_DETAIL_BYTES = 2 * 1024
/** A status that is known need not wait long for a body that only explains it. */
const BODY_TIMEOUT_MS = 5_000

/** The HTTP client of sinks: one agent, connections reused, every answer turned into an outcome. */
export function createHttpClient(options: HttpOptions): HttpClient {
  const agent = new Agent({
    allowH2: false,
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, options.timeoutMs),
    bodyTimeout: BODY_TIMEOUT_MS,
    connect: {
      timeout: Math.min(CONNECT_TIMEOUT_MS, options.timeoutMs),
      ...(!options.allowLinkLocal && { lookup: guardedLookup }),
    },
  })
  return {
    async post(url, headers, body, signal) {
      if (!options.allowLinkLocal && isForbiddenHost(url.hostname)) return forbidden(url.hostname)
      try {
        // The agent limits each phase; an abort signal with a timer for each request would cost as much as the request.
        return await judgeAnswer(
          await request(url, { dispatcher: agent, method: 'POST', headers, body, signal }),
        )
      } catch (error) {
        return networkFault(error)
      }
    },
    close: () => agent.destroy(),
  }
}

async function judgeAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Outcome> {
  if (statusCode >= 200 && statusCode < 300) {
    // Delivered, whatever the body does; a small one is read, so that the connection can be used again.
    await body.dump({ limit: MAX_RESPONSE_BYTES }).catch(() => {})
    return { kind: 'delivered' }
  }
  return outcomeOfStatus(statusCode, headers['retry-after'], await readStart(body), Date.now())
}

/** The first bytes of an answer; what comes too late or too long is left. */
async function readStart(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= MAX_DETAIL_BYTES) break
    }
  } catch {
    // The status is known; the explanation may be incomplete.
  }
  body.destroy()
  return Buffer.concat(chunks).toString('utf8', 0, MAX_DETAIL_BYTES)
}

/**
 * What a status means. A sink that is throttled, misconfigured or unavailable fails as a whole; 500 and its rarer
 * relatives may be the event's own fault, so they count as its failure where others succeed.
 */
export function outcomeOfStatus(
  status: number,
  retryAfter: string | string[] | undefined,
  text: string,
  nowMs: number,
): Outcome {
  const detail = `HTTP ${status}${text && `: ${text}`}`
  const [reason, scope] = policyOf(status)
  if (scope === undefined) return { kind: 'rejected', reason, detail }
  const afterMs = retryAfterMs(retryAfter, nowMs)
  return { kind: 'retry', reason, detail, scope, ...(afterMs !== undefined && { afterMs }) }
}

function policyOf(status: number): readonly [reason: Reason, retryScope?: Scope] {
  if (status >= 300 && status < 400) return ['config', 'sink']
  if (status === 429) return ['rate-limited', 'sink']
  if (status === 401 || status === 403 || status === 407) return ['auth', 'sink']
  if (status === 410) return ['gone', 'sink']
  if (status === 404) return ['config', 'sink']
  if (status === 408) return ['timeout', 'sink']
  if (status === 409) return ['server-error', 'event']
  if (status === 425 || status === 502 || status === 503 || status === 504) return ['server-error', 'sink']
  if (status >= 500) return ['server-error', 'event']
  return ['rejected']
}

const MAX_RETRY_AFTER_MS = 3_600_000

/** Seconds or an HTTP date (RFC 9110 §10.2.3), at most an hour; undefined when it is neither. */
export function retryAfterMs(value: string | string[] | undefined, nowMs: number): number | undefined {
  const text = String(value ?? '').trim()
  if (text === '') return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : undefined
}

function networkFault(error: unknown): Outcome {
  const {
    code = '',
    message = '',
    name = '',
  } = (error ?? {}) as { code?: string; message?: string; name?: string }
  if (name === 'TimeoutError' || code === 'UND_ERR_HEADERS_TIMEOUT') {
    return { kind: 'retry', reason: 'timeout', detail: 'no answer in time', scope: 'event' }
  }
  const detail = [code, code ? '' : message].filter(Boolean).join(' ') || 'the connection failed'
  return { kind: 'retry', reason: 'network', detail, scope: 'sink' }
}

function forbidden(host: string): Outcome {
  return {
    kind: 'retry',
    reason: 'config',
    detail: `${host} is a link-local or metadata address; allowLinkLocal permits it`,
    scope: 'sink',
  }
}

const FORBIDDEN = new BlockList()
FORBIDDEN.addSubnet('169.254.0.0', 16, 'ipv4')
FORBIDDEN.addSubnet('fe80::', 10, 'ipv6')
FORBIDDEN.addAddress('fd00:ec2::254', 'ipv6')

function isForbiddenHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'metadata.google.internal' || isForbiddenAddress(bare)
}

function isForbiddenAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  const family = isIP(mapped)
  return family !== 0 && FORBIDDEN.check(mapped, family === 6 ? 'ipv6' : 'ipv4')
}

/** Checks the address, not the name: a name may point anywhere by the time it is used. */
const guardedLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, options, (error, address, family) => {
    const addresses = Array.isArray(address) ? address.map((it) => it.address) : [address]
    const bad = error ? undefined : addresses.find((it) => isForbiddenAddress(it))
    if (bad === undefined) return callback(error, address as string, family)
    callback(Object.assign(new Error('link-local address'), { code: 'ELINKLOCAL' }), '', 0)
  })
}
