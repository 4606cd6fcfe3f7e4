import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Metrics, sampleVitals } from '../metrics.ts'
import { type Check, describeChecks, liveness, readiness, type Vitals } from './health.ts'
import type { Site } from './site.ts'

export interface HealthServer {
  url: string
  close(): Promise<void>
}

interface ServerOptions {
  host: string
  port: number
  /** Where the port is taken, the system chooses another one. */
  orAnyPort?: boolean
  metrics: Metrics
  vitals(): Vitals
  /** For a whole request to come in. */
  patienceMs?: number
  maxConnections?: number
  /** Serves all other paths; called for each of their requests, so that it is loaded for the first one. */
  site?(): Promise<Site>
}

/** Every pod in the cluster may connect, and may never send its request. */
const PATIENCE_MS = 5_000
/** With more, the oldest one is closed that has sent no whole request, or has its whole answer. */
const MAX_CONNECTIONS = 1_500

/** All addresses of this machine, of both families. */
const ALL = '::'

/** More requests for metrics within a second share the last text: one takes milliseconds of the process. */
const RENDERED_PER_SECOND = 20

/** The port is taken, or the address is not ours. */
class ServerError extends Error {
  override name = 'ServerError'
}

/** GET /livez, /readyz and /metrics, which wait for nothing else; and the page and the API, where there is a `site`. */
export async function startServer(options: ServerOptions): Promise<HealthServer> {
  const { host, port, patienceMs = PATIENCE_MS, maxConnections = MAX_CONNECTIONS } = options
  const page = metricsPage(options)
  /** Those without a new request for the longest time first; with the last answer of each. */
  const connections = new Map<Socket, ServerResponse | undefined>()
  const limits = {
    headersTimeout: patienceMs,
    requestTimeout: patienceMs,
    connectionsCheckingInterval: Math.ceil(patienceMs / 5),
  }
  const server = createServer(limits, (request, response) => {
    connections.delete(request.socket)
    connections.set(request.socket, response)
    // All others are being answered. Probes and metrics are never refused.
    const isCrowded = connections.size > maxConnections
    answer(request, response, { ...options, page }, isCrowded).catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    connections.set(socket, undefined)
    socket.once('close', () => connections.delete(socket))
    if (connections.size > maxConnections) closeOldest(connections, socket)
  })
  const listen = async (at: number) => {
    // Without a host Node listens on `::`, which takes IPv4 as well, or on 0.0.0.0 where the kernel has no IPv6.
    server.listen(at, host === ALL ? undefined : host)
    await once(server, 'listening')
  }
  const listening = listen(port).catch((error: NodeJS.ErrnoException) => {
    if (!options.orAnyPort || error.code !== 'EADDRINUSE') throw error
    return listen(0)
  })
  await listening.catch((error: NodeJS.ErrnoException) => {
    throw new ServerError(`cannot listen on ${host}:${port}: ${adviceOn(error)}, or server: false`)
  })
  const { address, port: ours } = server.address() as AddressInfo
  const name = host === ALL ? address : host
  return {
    url: `http://${name.includes(':') ? `[${name}]` : name}:${ours}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/**
 * Closes the oldest connection without an answer under way, except the newest one: that may be of a probe. Where there is none, the oldest
 * one whose client has not read its whole answer: clients that never read must not keep all places.
 */
function closeOldest(connections: Map<Socket, ServerResponse | undefined>, newest: Socket): void {
  for (const isOver of ['writableFinished', 'writableEnded'] as const)
    for (const [socket, response] of connections) {
      if (socket === newest || (response && !response[isOver])) continue
      connections.delete(socket)
      socket.destroy()
      return
    }
}

function adviceOn({ code, message }: NodeJS.ErrnoException): string {
  const port = 'choose another server.port in the configuration'
  const host =
    'set server.host in the configuration to 127.0.0.1, "::" for all interfaces, or an address of this machine'
  switch (code) {
    case 'EADDRINUSE':
      return `another process listens there; ${port}`
    case 'EACCES':
      return `this user may not listen on that port; ${port}`
    case 'EADDRNOTAVAIL':
      return `this machine has no such address; ${host}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name of the host is not known; ${host}`
    default:
      return `${code ?? message}; check server.host and server.port in the configuration`
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { metrics, vitals, site, page }: ServerOptions & { page(): Promise<string> },
  isCrowded: boolean,
): Promise<void> {
  const path = request.url?.split('?')[0]
  const isOurs = path === '/livez' || path === '/readyz' || path === '/metrics'
  if (!isOurs && site) {
    if (!isCrowded) return (await site())(request, response)
    response.setHeader('connection', 'close')
    return send(response, 503, 'too many connections\n')
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'only GET and HEAD\n')
  switch (path) {
    case '/livez':
      return sendChecks(response, liveness(vitals()))
    case '/readyz':
      return sendChecks(response, readiness(vitals()))
    case '/metrics':
      return send(response, 200, await page(), metrics.registry.contentType)
    default:
      return send(response, 404, 'there are /livez, /readyz and /metrics\n')
  }
}

/** Returns a function that gives the metrics as text: of now, or of at most a second ago where many ask. */
function metricsPage({ metrics, vitals }: Pick<ServerOptions, 'metrics' | 'vitals'>): () => Promise<string> {
  let beganMs = Number.NEGATIVE_INFINITY
  let rendered = 0
  let last: Promise<string> | undefined
  return () => {
    const nowMs = performance.now()
    if (nowMs - beganMs >= 1_000) {
      beganMs = nowMs
      rendered = 0
    }
    if (last && rendered >= RENDERED_PER_SECOND) return last
    rendered++
    sampleVitals(metrics, vitals())
    last = metrics.registry.metrics()
    return last
  }
}

function sendChecks(response: ServerResponse, checks: readonly Check[]): void {
  send(response, checks.every(({ ok }) => ok) ? 200 : 503, describeChecks(checks))
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' })
  response.end(body)
}
