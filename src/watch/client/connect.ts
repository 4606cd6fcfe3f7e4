import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Agent, type Dispatcher, EnvHttpProxyAgent, ProxyAgent, request } from 'undici'
import { isListed } from '../../sink/proxy.ts'
import {
  type ClusterClient,
  ClusterError,
  type ClusterResponse,
  type GetOptions,
  type Headers,
} from './cluster-client.ts'
import { type ClusterAccess, type Credentials, type KubeconfigOptions, loadAccess } from './kubeconfig.ts'

interface ConnectOptions extends KubeconfigOptions {
  userAgent: string
}

/**
 * Connects to the API server that the kubeconfig names. One long-lived agent, HTTP/1.1: a socket for each watch, so that
 * TCP keepalive notices a peer that is gone (over HTTP/2 one silent connection would stall them all).
 */
export function connectCluster(options: ConnectOptions): ClusterClient {
  let access = loadAccess(options)
  let agent: { key: string; dispatcher: Dispatcher } | undefined
  let pending: Promise<Credentials> | undefined

  /** The agent for these certificates; a rotated one replaces it, and the old one ends with its last stream. */
  function dispatcherFor(tls: Credentials['tls']): Dispatcher {
    const key = JSON.stringify(tls)
    if (agent?.key === key) return agent.dispatcher
    void agent?.dispatcher.close().catch(() => {})
    agent = { key, dispatcher: createDispatcher(access, tls, options.env) }
    return agent.dispatcher
  }

  /** One exec plug-in runs for all requests that wait for credentials; none waits for it without limit. */
  async function credentials(limitMs: number, signal: AbortSignal): Promise<Credentials> {
    signal.throwIfAborted()
    pending ??= access.credentials().finally(() => {
      pending = undefined
    })
    pending.catch(() => {})
    const given = Promise.withResolvers<never>()
    const onAbort = () => given.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(() => given.reject(new ClusterError(NO_CREDENTIALS_YET)), limitMs)
    try {
      return await Promise.race([pending, given.promise])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function open(
    path: string,
    accept: string | undefined,
    extra: Record<string, string>,
    limits: Limits,
    { headers, tls }: Credentials,
    signal: AbortSignal,
    write: { method?: 'POST' | 'PUT' | 'DELETE'; body?: string } = {},
  ) {
    let informational = 0
    return request(`${access.server}${path}`, {
      dispatcher: dispatcherFor(tls),
      headers: {
        ...headers,
        ...extra,
        accept: accept ?? 'application/json',
        'accept-encoding': 'gzip',
        'user-agent': options.userAgent,
      },
      // Joined with none: Node never frees a signal with a time limit that AbortSignal.any joins once more.
      signal,
      // Each of them starts the time limit for the headers again. What is thrown here ends the request.
      onInfo() {
        if (++informational > MAX_INFORMATIONAL)
          throw new ClusterError('the API server sends informational answers (1xx) without end')
      },
      ...limits,
      ...write,
    })
  }

  async function whole(
    path: string,
    accept: string | undefined,
    extra: Record<string, string>,
    { timeoutMs = 60_000, maxBytes = MAX_ANSWER_BYTES }: Pick<GetOptions, 'timeoutMs' | 'maxBytes'>,
    signal: AbortSignal,
    write?: Parameters<typeof open>[6],
  ): Promise<ClusterResponse> {
    const user = await credentials(timeoutMs, signal)
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const limits = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }
    const { statusCode, headers, body } = await open(path, accept, extra, limits, user, deadline, write)
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of decoded(headers, body) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes)
        throw new ClusterError(`the answer to ${pathOnly(path)} has more than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    return { status: statusCode, headers, body: Buffer.concat(chunks) }
  }

  return {
    get url() {
      return redactUrl(access.server)
    },
    get(path, { accept, ...bounds }, signal) {
      return whole(path, accept, {}, bounds, signal)
    },
    send(method, path, body, bounds, signal) {
      const extra = { 'content-type': 'application/json' }
      return whole(path, undefined, extra, bounds, signal, { method, body: JSON.stringify(body) })
    },
    async stream(path, { accept, headersTimeoutMs = 30_000, bodyTimeoutMs = 0 }, signal) {
      const user = await credentials(headersTimeoutMs, signal)
      const limits = { headersTimeout: headersTimeoutMs, bodyTimeout: bodyTimeoutMs }
      const { statusCode, headers, body } = await open(path, accept, {}, limits, user, signal)
      return { status: statusCode, headers, body: decoded(headers, body) }
    },
    async refresh() {
      access = loadAccess(options)
    },
    async close() {
      await agent?.dispatcher.destroy()
    },
  }
}

interface Limits {
  headersTimeout: number
  bodyTimeout: number
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const MAX_INFORMATIONAL = 100
const NO_CREDENTIALS_YET = 'the exec plug-in of the kubeconfig has not given credentials in time'
const KEEPALIVE_AFTER_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000

function createDispatcher(
  access: ClusterAccess,
  tls: Credentials['tls'],
  env: NodeJS.ProcessEnv,
): Dispatcher {
  const common = { allowH2: false, connections: null, keepAliveTimeout: 30_000 }
  const connect = {
    ...tls,
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: KEEPALIVE_AFTER_MS,
  }
  if (access.proxyUrl)
    return new ProxyAgent({ ...common, uri: checkedProxy(access.proxyUrl), requestTls: connect })
  const httpsProxy = env['https_proxy'] ?? env['HTTPS_PROXY']
  const httpProxy = env['http_proxy'] ?? env['HTTP_PROXY']
  if (!httpsProxy && !httpProxy) return new Agent({ ...common, connect })
  const noProxy = env['no_proxy'] ?? env['NO_PROXY'] ?? ''
  // EnvHttpProxyAgent compares NO_PROXY with host names and addresses, but does not support CIDR ranges (10.0.0.0/8).
  if (isListed(new URL(access.server), noProxy)) return new Agent({ ...common, connect })
  return new EnvHttpProxyAgent({
    ...common,
    connect,
    requestTls: connect,
    noProxy,
    ...(httpsProxy && { httpsProxy: checkedProxy(httpsProxy) }),
    ...(httpProxy && { httpProxy: checkedProxy(httpProxy) }),
  })
}

function checkedProxy(url: string): string {
  if (/^https?:\/\//.test(url)) return url
  throw new ClusterError(
    `cannot use the proxy ${redactUrl(url)}: only http:// and https:// proxies are supported`,
  )
}

/** Streams may be compressed in several gzip members, one per flush: each frame must come out immediately. */
export function decoded(headers: Headers, body: Readable): Readable {
  if (headers['content-encoding'] !== 'gzip') return body
  const gunzip = createGunzip()
  body.on('error', (error) => gunzip.destroy(error))
  gunzip.on('close', () => body.destroy())
  return body.pipe(gunzip)
}

function pathOnly(path: string): string {
  return path.replace(/\?.*/, '')
}

function redactUrl(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
  } catch {
    return 'with an unreadable address'
  }
}
