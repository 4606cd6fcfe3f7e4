import { Agent } from 'undici'
import { Exchange } from './exchange.ts'
import { guardedLookup, isForbiddenHost } from './link-local.ts'
import { basicAuthorization, createMask, type Mask, secretsOfUrl } from './mask.ts'
import type { Outcome } from './outcome.ts'

export interface HttpOptions {
  /** Requests under way at once. */
  connections: number
  /** From sending to the end of the answer. Without it 20 s, of which the status may take 15 s; connecting never takes more than 3 s. */
  timeoutMs?: number | undefined
  /** Link-local and cloud metadata addresses are refused unless this is set. */
  allowLinkLocal?: boolean
  /** What outcomes must not tell, besides the URL's own secrets. */
  secrets?: readonly string[]
}

export interface HttpClient {
  /** Sends once; the outcome is decided by the status alone. Never throws, follows no redirect. */
  post(url: URL, headers: Record<string, string>, body: Buffer, signal: AbortSignal): Promise<Outcome>
  close(): Promise<void>
}

const KEEP_ALIVE_MS = 4_000

/** How long connecting, waiting for the status, and a request as a whole may take. */
export function limitsOf(timeoutMs: number | undefined) {
  return {
    connectMs: Math.min(3_000, timeoutMs ?? 3_000),
    headersMs: timeoutMs ?? 15_000,
    totalMs: timeoutMs ?? 20_000,
  }
}

/** The HTTP client of sinks: one agent, connections reused, every answer turned into an outcome. */
export function createHttpClient(options: HttpOptions): HttpClient {
  const { secrets = [] } = options
  const limits = limitsOf(options.timeoutMs)
  const agent = new Agent({
    allowH2: false,
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: limits.headersMs,
    // An exchange limits the whole body, not the pauses in it.
    bodyTimeout: 0,
    connect: {
      timeout: limits.connectMs,
      ...(!options.allowLinkLocal && { lookup: guardedLookup }),
    },
  })
  const targets = new WeakMap<URL, Target>()
  const underWay = new WeakMap<AbortSignal, Set<Exchange>>()

  function targetOf(url: URL): Target {
    const known = targets.get(url)
    if (known) return known
    const target = {
      origin: url.origin,
      path: url.pathname + url.search,
      authorization: basicAuthorization(url),
      mask: createMask([...secrets, ...secretsOfUrl(url)]),
      fault: !options.allowLinkLocal && isForbiddenHost(url.hostname) ? forbidden(url.hostname) : undefined,
    }
    targets.set(url, target)
    return target
  }

  /** A listener for each request would cost a good part of what a request costs. */
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

  return {
    post(url, headers, body, signal) {
      const { origin, path, authorization, mask, fault } = targetOf(url)
      if (fault) return Promise.resolve(fault)
      const exchanges = underWayWith(signal)
      return new Promise((resolve) => {
        const exchange = new Exchange(
          (outcome) => {
            exchanges.delete(exchange)
            resolve(outcome)
          },
          limits.totalMs,
          mask,
        )
        exchanges.add(exchange)
        if (signal.aborted) return exchange.stop()
        const sent = authorization && !hasAuthorization(headers) ? { ...headers, authorization } : headers
        agent.dispatch({ origin, path, method: 'POST', headers: sent, body }, exchange)
      })
    },
    close: () => agent.destroy(),
  }
}

/** What is the same for all requests to a URL. */
interface Target {
  origin: string
  path: string
  authorization: string | undefined
  mask: Mask
  fault: Outcome | undefined
}

function hasAuthorization(headers: Record<string, string>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}

function forbidden(host: string): Outcome {
  return {
    kind: 'retry',
    reason: 'config',
    detail: `${host} is a link-local or metadata address; allowLinkLocal permits it`,
    scope: 'sink',
  }
}
