import { type ConnectionOptions, createConnections, type Route } from './connections.ts'
import { checkConnection, type Destination, forbidden, networkFault } from './connectivity.ts'
import { outcomeOfStatus } from './http-status.ts'
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
  /** Maximum size in bytes of a success's body that the reply has; true: 64 KiB. */
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

/** Sends once; an outcome is decided by the status, and by the text of a 400. Never throws, follows no redirect. */
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

/** Maximum size of an answer that is read, unless the request asks for more. */
const MAX_REPLY_BYTES = 64 * 1024
/** Maximum size of the answer's part of a detail, which has 2 KiB; the rest is for the status and masked secrets. */
const MAX_DETAIL_BYTES = 2_000
/** The body of a success is not used; its end frees the connection for the next request. */
const SUCCESS_BODY_MS = 1_000
/** A status that is known need not wait long for a body that only explains it. */
const READ_BODY_MS = 5_000

/** The destination of a request, for its error messages. */
interface Peer extends Destination {
  /** Masks secrets. */
  mask(): Mask
}

/** Called once. `status` is 0 without a response; `body` is as long as the exchange reads, and may contain secrets. */
type Decide = (outcome: Outcome, status: number, body: string) => void

/** What is used of undici's controller of a request. */
interface Controller {
  abort(reason: Error): void
}

/**
 * One request and its answer, as undici reports them. Decides the outcome once: when the answer is there, its time is over,
 * the connection fails or it is stopped. Not declared as undici's handler, because the published types must not need undici.
 */
export class Exchange {
  readonly #decide: Decide
  readonly #peer: Peer
  /** Maximum size of a success's body that is read; 0 reads none. */
  readonly #maxSuccessBytes: number
  readonly #totalTimer: NodeJS.Timeout
  #bodyTimer: NodeJS.Timeout | undefined
  #controller: Controller | undefined
  #status = 0
  #retryAfter: string | string[] | undefined
  #chunks: Buffer[] | undefined
  #bytes = 0
  #ended = false
  #decided = false

  /** The body of a success is read only on demand: `maxSuccessBytes` of it. */
  constructor(decide: Decide, timeoutMs: number, peer: Peer, maxSuccessBytes = 0) {
    this.#decide = decide
    this.#peer = peer
    this.#maxSuccessBytes = maxSuccessBytes
    this.#totalTimer = setTimeout(outOfTime, timeoutMs, this)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#decided) controller.abort(new Error('too late'))
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status < 200) return
    this.#status = status
    const read = status >= 300 || this.#maxSuccessBytes > 0
    if (read) {
      this.#retryAfter = headers['retry-after']
      this.#chunks = []
    }
    this.#bodyTimer = setTimeout(outOfTime, read ? READ_BODY_MS : SUCCESS_BODY_MS, this)
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length
    const most = this.#maxReplyBytes()
    if (this.#bytes - chunk.length < most) this.#chunks?.push(chunk)
    if (this.#bytes > most) this.#giveUp(this.#answered())
  }

  onResponseEnd(): void {
    this.#ended = true
    this.#conclude(this.#answered())
  }

  onResponseError(_: unknown, error: unknown): void {
    // The status decides, also when the body breaks off.
    this.#conclude(this.#status > 0 ? this.#answered() : this.#failed(error))
  }

  /** Ends the request because its caller has stopped. */
  stop(): void {
    this.#giveUp(this.#status > 0 ? this.#answered() : this.#controller ? STOPPED : NOT_SENT)
  }

  outOfTime(): void {
    if (this.#status > 0) this.#giveUp(this.#answered())
    else this.#giveUp(this.#controller ? NO_ANSWER : NO_CONNECTION)
  }

  #giveUp(outcome: Outcome): void {
    this.#conclude(outcome)
    this.#controller?.abort(new Error('given up'))
  }

  #conclude(outcome: Outcome): void {
    if (this.#decided) return
    this.#decided = true
    clearTimeout(this.#totalTimer)
    clearTimeout(this.#bodyTimer)
    const body = this.#chunks === undefined ? '' : this.#body().toString('utf8', 0, this.#maxReplyBytes())
    this.#decide(outcome, this.#status, body)
  }

  #maxReplyBytes(): number {
    return this.#status < 300 && this.#maxSuccessBytes > 0 ? this.#maxSuccessBytes : MAX_REPLY_BYTES
  }

  #body(): Buffer {
    return Buffer.concat(this.#chunks ?? [])
  }

  #answered(): Outcome {
    if (this.#status < 300) return DELIVERED
    const text = this.#body().toString('utf8', 0, MAX_DETAIL_BYTES)
    const cut = !this.#ended || this.#bytes > MAX_DETAIL_BYTES
    return outcomeOfStatus(this.#status, this.#retryAfter, this.#peer.mask()(text, cut), Date.now())
  }

  #failed(error: unknown): Outcome {
    const { code, message } = (error ?? {}) as { code?: string; message?: string }
    if (code === 'UND_ERR_HEADERS_TIMEOUT') return NO_ANSWER
    if (code === 'UND_ERR_INVALID_ARG')
      return { kind: 'rejected', reason: 'config', detail: `no request can be made of it: ${message}` }
    const { reason, message: known } = networkFault(error, this.#peer)
    const detail = known ?? this.#peer.mask()(message || code || 'the connection failed')
    // After the first byte it is unknown how much has arrived.
    return { kind: 'retry', reason, detail, scope: 'sink', ...(this.#controller && { ambiguous: true }) }
  }
}

/** A function of its own: a closure for each request would cost memory for nothing. */
function outOfTime(exchange: Exchange): void {
  exchange.outOfTime()
}

const DELIVERED: Outcome = { kind: 'delivered' }
const NO_ANSWER: Outcome = {
  kind: 'retry',
  reason: 'timeout',
  detail: 'no answer in time',
  scope: 'event',
  ambiguous: true,
}
const NO_CONNECTION: Outcome = {
  kind: 'retry',
  reason: 'network',
  detail: 'no connection in time',
  scope: 'sink',
}
const NOT_SENT: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was sent',
  scope: 'sink',
}
const STOPPED: Outcome = {
  kind: 'retry',
  reason: 'unknown',
  detail: 'stopped before it was answered',
  scope: 'sink',
  ambiguous: true,
}
