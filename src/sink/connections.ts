import { Agent, type Dispatcher, ProxyAgent } from 'undici'
import { basicAuthorization } from './mask.ts'
import { guardedLookup, type ProxySetting, proxyFor } from './proxy.ts'
import type { TlsOptions } from './tls-options.ts'

export interface ConnectionOptions {
  /** Concurrent connections to one origin. */
  connections: number
  connectMs: number
  headersMs: number
  guarded: boolean
  tls?: TlsOptions | undefined
  proxy?: ProxySetting
}

/** The route to an origin. */
export interface Route {
  dispatcher: Dispatcher
  /** The origin to connect to. */
  origin: string
  /** Prefix of the path: a forwarding proxy takes the whole URL. */
  prefix: string
  headers: Readonly<Record<string, string>> | undefined
  proxy: URL | undefined
}

const KEEP_ALIVE_MS = 4_000

/** The cached connections of one client. */
export function createConnections(options: ConnectionOptions) {
  const { connectMs, guarded, tls, proxy: setting } = options
  const common = {
    allowH2: false,
    connections: options.connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: options.headersMs,
    // An exchange limits the whole body, not the pauses in it.
    bodyTimeout: 0,
  }
  const connect = { timeout: connectMs, allowH2: false, ...(guarded && { lookup: guardedLookup }) }
  const own = { ...(tls?.ca && { ca: tls.ca }) }
  const ways = new Map<string, Route>()
  const dispatchers = new Map<string, Dispatcher>()

  function dispatcherFor(key: string, make: () => Dispatcher): Dispatcher {
    const known = dispatchers.get(key)
    if (known) return known
    const made = make()
    dispatchers.set(key, made)
    return made
  }

  function direct(): Dispatcher {
    return dispatcherFor('', () => new Agent({ ...common, connect: { ...connect, ...present(tls) } }))
  }

  /** For plain http: connects to the proxy alone. */
  function forwarding(proxy: URL): Dispatcher {
    return dispatcherFor(
      `forward ${proxy.href}`,
      () => new Agent({ ...common, connect: { ...connect, ...own } }),
    )
  }

  function tunnelling(proxy: URL): Dispatcher {
    return dispatcherFor(
      `tunnel ${proxy.href}`,
      () =>
        new ProxyAgent({
          ...common,
          uri: proxy.href,
          connectTimeout: connectMs,
          proxyTls: { ...connect, ...own },
          requestTls: { timeout: connectMs, ...present(tls) },
        }),
    )
  }

  function makeWay(url: URL): Route {
    const proxy = proxyFor(url, setting, process.env)
    const { origin } = url
    if (!proxy) return { dispatcher: direct(), origin, prefix: '', headers: undefined, proxy }
    if (url.protocol === 'https:')
      return { dispatcher: tunnelling(proxy), origin, prefix: '', headers: undefined, proxy }
    const authorization = basicAuthorization(proxy)
    return {
      dispatcher: forwarding(proxy),
      origin: proxy.origin,
      prefix: origin,
      headers: { host: url.host, ...(authorization && { 'proxy-authorization': authorization }) },
      proxy,
    }
  }

  return {
    /** Throws if the environment's proxy is invalid. */
    wayTo(url: URL): Route {
      const known = ways.get(url.origin)
      if (known) return known
      const way = makeWay(url)
      ways.set(url.origin, way)
      return way
    },
    async close(): Promise<void> {
      await Promise.all([...dispatchers.values()].map((it) => it.destroy()))
    },
  }
}

/** Removes undefined options, which undici would treat as values. */
function present(tls: TlsOptions | undefined): object {
  return Object.fromEntries(Object.entries(tls ?? {}).filter(([, value]) => value !== undefined))
}
