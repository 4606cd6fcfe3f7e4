import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions } from 'node:tls'

/** A request as the scripted server saw it. */
export interface ApiRequest {
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  atMs: number
  isWatch: boolean
}

/** What is done with one connection of a watch. */
export interface WatchConnection {
  request: ApiRequest
  /** Sends one frame. */
  frame(type: string, object: unknown): void
  /** Sends bytes as they are. */
  raw(bytes: string | Buffer): void
  /** The clean end. */
  end(): void
  /** Cuts the connection. */
  reset(): void
}

export type ListAnswer = (
  request: ApiRequest,
) => { status?: number; headers?: Record<string, string>; body: unknown } | undefined

export interface ScriptedApi extends AsyncDisposable {
  readonly url: string
  readonly requests: ApiRequest[]
  /** Lists that came, without those that only ask for the position (limit=1). */
  lists(): ApiRequest[]
  watches(): ApiRequest[]
  /** Objects that lists give, and the position they give. */
  objects: unknown[]
  resourceVersion: string
  clusterUid: string
  /** Answers a list otherwise; undefined means as usual. */
  onList: ListAnswer | undefined
  /** Answers anything otherwise, before all else. True when it did. */
  intercept: ((request: ApiRequest, response: ServerResponse) => boolean) | undefined
  /** Takes the next watch connections, one after the other; without a script they stay open and silent. */
  script(...handlers: ((connection: WatchConnection) => void)[]): void
  /** The newest open watch. */
  current(): WatchConnection | undefined
  watchList: boolean
  /** Takes these certificates for new connections. */
  rotate(tls: SecureContextOptions): void
}

export interface ScriptedApiOptions {
  /** With certificates it speaks https; with a `ca` it demands a client's that this has issued. */
  tls?: SecureContextOptions | undefined
}

/** An API server that does what a test tells it, for faults that a real one rarely shows. Serves ConfigMaps. */
export async function startScriptedApi({ tls }: ScriptedApiOptions = {}): Promise<ScriptedApi> {
  const handlers: ((connection: WatchConnection) => void)[] = []
  let current: WatchConnection | undefined
  const listener: RequestListener = (message, response) => {
    const url = new URL(message.url ?? '/', 'http://api')
    const request: ApiRequest = {
      path: url.pathname,
      query: url.searchParams,
      headers: message.headers,
      atMs: Date.now(),
      isWatch: url.searchParams.get('watch') === 'true',
    }
    api.requests.push(request)
    if (api.intercept?.(request, response)) return
    route(request, response)
  }
  const secure = tls && createTlsServer({ ...tls, requestCert: Boolean(tls.ca) }, listener)
  const server = secure ?? createServer(listener)

  function route(request: ApiRequest, response: ServerResponse): void {
    if (request.path === '/api') return json(response, 200, discovery())
    if (request.path === '/apis') return json(response, 200, { kind: 'APIGroupDiscoveryList', items: [] })
    if (request.path === '/apis/apiextensions.k8s.io/v1/customresourcedefinitions')
      return json(response, 200, { metadata: { resourceVersion: api.resourceVersion }, items: [] })
    if (request.path === '/api/v1/namespaces/kube-system')
      return json(response, 200, { metadata: { uid: api.clusterUid } })
    if (!/\/(?:configmaps|events)$/.test(request.path)) return json(response, 404, failure(404, 'NotFound'))
    if (request.isWatch) return watch(request, response)
    const answer = api.onList?.(request)
    if (answer) return json(response, answer.status ?? 200, answer.body, answer.headers)
    json(response, 200, { metadata: { resourceVersion: api.resourceVersion }, items: api.objects })
  }

  function watch(request: ApiRequest, response: ServerResponse): void {
    if (request.query.get('sendInitialEvents') === 'true' && !api.watchList) {
      return json(response, 422, failure(422, 'Invalid', {}, NO_WATCH_LIST))
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    const connection: WatchConnection = {
      request,
      frame: (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`),
      raw: (bytes) => void response.write(bytes),
      end: () => void response.end(),
      reset: () => void response.destroy(),
    }
    if (request.query.get('sendInitialEvents') === 'true') {
      for (const object of api.objects) connection.frame('ADDED', object)
      connection.frame('BOOKMARK', endBookmark(api.resourceVersion))
    }
    current = connection
    handlers.shift()?.(connection)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const api: ScriptedApi = {
    url,
    requests: [],
    lists: () =>
      api.requests.filter(
        (it) => it.path.endsWith('/configmaps') && !it.isWatch && it.query.get('limit') !== '1',
      ),
    watches: () => api.requests.filter((it) => it.isWatch && !it.query.has('sendInitialEvents')),
    objects: [],
    resourceVersion: '10',
    clusterUid: 'cluster-uid',
    onList: undefined,
    intercept: undefined,
    script: (...more) => void handlers.push(...more),
    current: () => current,
    watchList: false,
    rotate: (next) => secure?.setSecureContext(next),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return api
}

const NO_WATCH_LIST =
  'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled'

/** A ConfigMap as a watch sends it. */
export function configMap(
  name: string,
  resourceVersion: number | string,
  extra: object = {},
): Record<string, any> {
  const metadata = {
    name,
    namespace: 'default',
    uid: `uid-of-${name}`,
    resourceVersion: String(resourceVersion),
    ...extra,
  }
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata }
}

/** A Status as an ERROR frame or an answer carries it. */
export function failure(
  code: number,
  reason: string,
  details: object = {},
  message = `it is ${reason}`,
): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    reason,
    code,
    details,
  }
}

export function endBookmark(resourceVersion: string): object {
  const annotations = { 'k8s.io/initial-events-end': 'true' }
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion, annotations } }
}

function discovery(): object {
  const configMaps = {
    resource: 'configmaps',
    responseKind: { group: '', version: 'v1', kind: 'ConfigMap' },
    scope: 'Namespaced',
    singularResource: 'configmap',
    verbs: ['get', 'list', 'watch'],
    shortNames: ['cm'],
  }
  const events = {
    ...configMaps,
    resource: 'events',
    responseKind: { group: '', version: 'v1', kind: 'Event' },
    singularResource: 'event',
    shortNames: ['ev'],
  }
  return {
    kind: 'APIGroupDiscoveryList',
    items: [{ metadata: { name: '' }, versions: [{ version: 'v1', resources: [configMaps, events] }] }],
  }
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
