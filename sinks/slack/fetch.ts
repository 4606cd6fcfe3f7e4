import { Agent, type Dispatcher, ProxyAgent, type RequestInit, Response, fetch as undiciFetch } from 'undici'

export interface FetchOptions {
  proxy?: URL | undefined
  /** PEM of authorities to trust instead of the usual ones. */
  ca?: string | undefined
}

export interface Fetching {
  /** Sends once, follows no redirect, reads at most 1 MiB of the answer; ends when one of the signals aborts. */
  fetch(url: string | URL, init: RequestInit, signal: AbortSignal): Promise<Response>
  close(): Promise<void>
}

const MAX_BYTES = 1024 * 1024
const CONNECT_MS = 5_000
const NO_BODY = new Set([101, 204, 205, 304])

/** Slack's client buffers whatever comes, and knows neither proxies nor authorities: this is what it sends through. */
export function createFetching({ proxy, ca }: FetchOptions): Fetching {
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
 * Aborts one turn of the event loop later. A process that was frozen runs its timers first when it wakes: an answer that lies
 * in the socket by then says that the message was posted, and must not be thrown away.
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
