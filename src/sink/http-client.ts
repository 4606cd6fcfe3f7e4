import { type ConnectionOptions, createConnections, type Route } from './connections.ts'
import { checkConnection, forbidden } from './connectivity.ts'
import { type Decide, Exchange, MAX_REPLY_BYTES, type Peer } from './exchange.ts'
import { basicAuthorization, createMask, type Mask, secretsOfUrl } from './mask.ts'
import { isForbiddenHost, type ProxySetting } from './proxy.ts'
import type { Health, Outcome } from './sink.ts'
import type { TlsOptions } from './tls-options.ts'

export interface HttpOptions {
  /** Concurrent requests. */
  connections: number
  /** From sending to the end of the answer. Without it 20 s, of which the status may take 15 s; connecting never takes more than 3 s. */
  timeoutMs?: number | undefined
  /** Link-local and cloud metadata addresses are refused unless this is set. */
  allowLinkLocal?: boolean
  tls?: TlsOptions | undefined
  /** Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment. A proxy resolves names itself. */
  proxy?: ProxySetting
  /** Secrets that outcomes must not contain, besides those of URLs. */
  secrets?: readonly string[]
}

export interface HttpRequest {
  /** Default: POST. GET is for `health` and delivers nothing. */
  method?: 'POST' | 'PUT' | 'PATCH' | 'GET'
  url: URL
  headers: Readonly<Record<string, string>>
  body?: Buffer
  /** The reply shall have the body of a success, too: 64 KiB of it, or so many bytes. */
  readBody?: boolean | number
  /** Secrets that the outcome must not contain, besides the client's. */
  secrets?: readonly string[]
}

export interface Reply {
  outcome: Outcome
  /** 0 without a response. */
  status: number
  /** At most 64 KiB; for a success only with `readBody`, and as much as it asks for. It may contain secrets. */
  body: string
}

/** Sends once; an outcome is decided by the status alone. Never throws, follows no redirect. */
export interface HttpClient {
  post(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<Outcome>
  request(request: HttpRequest, signal: AbortSignal): Promise<Reply>
  /** Connects, with TLS and proxy as configured, and sends nothing. */
  check(url: URL, signal: AbortSignal): Promise<Health>
  close(): Promise<void>
}

/** How long connecting, waiting for the status, and a request as a whole may take. */
export function limitsOf(timeoutMs: number | undefined) {
  return {
    connectMs: Math.min(3_000, timeoutMs ?? 3_000),
    headersMs: timeoutMs ?? 15_000,
    totalMs: timeoutMs ?? 20_000,
  }
}

/** The HTTP client of sinks: connections reused, every answer turned into an outcome. */
export function createHttpClient(options: HttpOptions): HttpClient {
  const { secrets = [], tls, proxy } = options
  const limits = limitsOf(options.timeoutMs)
  const guarded = !options.allowLinkLocal
  const wanted: ConnectionOptions = { connections: options.connections, ...limits, guarded, tls, proxy }
  const connections = createConnections(wanted)
  const targets = new WeakMap<URL, Target>()
  const underWay = new WeakMap<AbortSignal, Set<Exchange>>()

  function targetOf(url: URL): Target {
    const known = targets.get(url)
    if (known) return known
    const target = makeTarget(url)
    targets.set(url, target)
    return target
  }

  function makeTarget(url: URL): Target {
    if (guarded && isForbiddenHost(url.hostname)) return { fault: configFault(forbidden(url.hostname)) }
    try {
      return createTarget(url, connections.wayTo(url), secrets)
    } catch (error) {
      return { fault: configFault((error as Error).message) }
    }
  }

  /** One listener per signal: a listener per request would cost a large part of a request's time. */
  function underWayWith(signal: AbortSignal): Set<Exchange> {
    const known = underWay.get(signal)
    if (known) return known
    const exchanges = new Set<Exchange>()
    underWay.set(signal, exchanges)
    const stopAll = () => {
      for (const exchange of exchanges) exchange.stop()
    }
    signal.addEventListener('abort', stopAll, { once: true })
    return exchanges
  }

  function send(request: HttpRequest, signal: AbortSignal, decide: Decide): void {
    const { url, method = 'POST', body = null } = request
    const target = targetOf(url)
    if (target.fault) return decide(target.fault, 0, '')
    const { way, path, added } = target
    const exchanges = underWayWith(signal)
    const headers = added ? { ...added, ...request.headers } : request.headers
    const peer = request.secrets ? target.withSecrets(request.secrets) : target
    const exchange = new Exchange(
      (outcome, status, text) => {
        exchanges.delete(exchange)
        decide(outcome, status, text)
      },
      limits.totalMs,
      peer,
      successBytes(request.readBody),
    )
    exchanges.add(exchange)
    if (signal.aborted) return exchange.stop()
    way.dispatcher.dispatch({ origin: way.origin, path, method, headers, body }, exchange)
  }

  return {
    post: (url, headers, body, signal) =>
      new Promise((resolve) => send({ url, headers, body }, signal, (outcome) => resolve(outcome))),
    request: (request, signal) =>
      new Promise((resolve) =>
        send(request, signal, (outcome, status, body) => resolve({ outcome, status, body })),
      ),
    async check(url, signal) {
      const target = targetOf(url)
      if (target.fault) return { ok: false, reason: 'config', detail: target.fault.detail }
      const { proxy: via } = target.way
      return checkConnection({ url, proxy: via, guarded, tls, timeoutMs: limits.connectMs }, signal)
    },
    close: () => connections.close(),
  }
}

function successBytes(readBody: boolean | number = 0): number {
  return typeof readBody === 'number' ? readBody : readBody ? MAX_REPLY_BYTES : 0
}

/** The parts that all requests to a URL share. */
type Target =
  | { fault: Outcome & { kind: 'retry' } }
  | (Peer & {
      fault?: undefined
      way: Route
      path: string
      /** Added headers; those of a request override them. */
      added: Readonly<Record<string, string>> | undefined
      withSecrets(secrets: readonly string[]): Peer
    })

function createTarget(url: URL, way: Route, secrets: readonly string[]): Target {
  const { proxy } = way
  const authorization = basicAuthorization(url)
  const all = [...secrets, ...(proxy ? secretsOfUrl(proxy) : [])]
  const destination = { host: url.host, secure: url.protocol === 'https:', via: proxy?.host }
  let mask: Mask | undefined
  return {
    ...destination,
    mask: () => (mask ??= createMask([...all, ...secretsOfUrl(url)])),
    withSecrets: (more) => ({
      ...destination,
      mask: () => createMask([...all, ...secretsOfUrl(url), ...more]),
    }),
    way,
    path: way.prefix + url.pathname + url.search,
    added:
      authorization || way.headers ? { ...way.headers, ...(authorization && { authorization }) } : undefined,
  }
}

function configFault(detail: string): Outcome & { kind: 'retry' } {
  return { kind: 'retry', reason: 'config', detail, scope: 'sink' }
}
