import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Resource } from '../event.ts'
import type { Change, DemoObject, DemoStore } from './store.ts'

/** A small API server over a store: discovery, get, list in pages, watch with bookmarks and WatchList. */
export function createApi(store: DemoStore, resources: readonly Resource[]): Server {
  return createServer((request, response) => {
    try {
      route(request, response, store, resources)
    } catch (error) {
      sendStatus(response, 500, 'InternalError', (error as Error).message)
    }
  })
}

function route(
  request: IncomingMessage,
  response: ServerResponse,
  store: DemoStore,
  resources: readonly Resource[],
): void {
  const url = new URL(request.url ?? '/', 'http://demo')
  if (request.method !== 'GET')
    return sendStatus(response, 405, 'MethodNotAllowed', 'the demo cluster can only be read')
  if (url.pathname === '/version')
    return sendJson(response, 200, { major: '1', minor: '36', gitVersion: 'v1.36.0-demo' })
  if (url.pathname === '/api')
    return sendJson(response, 200, discovery(resources.filter(({ group }) => group === '')))
  if (url.pathname === '/apis')
    return sendJson(response, 200, discovery(resources.filter(({ group }) => group !== '')))
  const target = parsePath(url.pathname, resources)
  if (!target)
    return sendStatus(response, 404, 'NotFound', 'the server could not find the requested resource')
  const { resource, namespace, name } = target
  if (name !== undefined) return sendObject(response, store.find(resource, namespace, name), name)
  if (url.searchParams.get('watch') === 'true')
    return sendWatch(request, response, store, target, url.searchParams)
  sendList(request, response, store, target, url.searchParams)
}

interface Target {
  resource: Resource
  namespace: string
  name: string | undefined
}

function parsePath(path: string, resources: readonly Resource[]): Target | undefined {
  const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?$/.exec(
    path,
  )
  if (!match) return undefined
  const [, group = '', version, namespace = '', plural, name] = match
  const resource = resources.find(
    (it) => it.group === group && it.version === version && it.plural === plural,
  )
  return resource && { resource, namespace, name }
}

function discovery(resources: readonly Resource[]): object {
  const items = [...Map.groupBy(resources, ({ group }) => group)].map(([group, own]) => ({
    metadata: { name: group },
    versions: [...Map.groupBy(own, ({ version }) => version)].map(([version, some]) => ({
      version,
      freshness: 'Current',
      resources: some.map(({ kind, plural, namespaced }) => ({
        resource: plural,
        responseKind: { group, version, kind },
        scope: namespaced ? 'Namespaced' : 'Cluster',
        singularResource: kind.toLowerCase(),
        verbs: ['get', 'list', 'watch'],
      })),
    })),
  }))
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items }
}

function inScope({ namespace }: Target, query: URLSearchParams): (object: DemoObject) => boolean {
  const wanted = (query.get('labelSelector') ?? '')
    .split(',')
    .filter(Boolean)
    .map((it) => it.split(/==?/, 2))
  return ({ metadata }) =>
    (namespace === '' || metadata.namespace === namespace) &&
    wanted.every(([key = '', value]) => metadata.labels?.[key] === value)
}

function sendList(
  request: IncomingMessage,
  response: ServerResponse,
  store: DemoStore,
  target: Target,
  query: URLSearchParams,
): void {
  const all = store.list(target.resource).filter(inScope(target, query))
  const limit = Number(query.get('limit') ?? 0) || all.length
  const start = Number(query.get('continue') ?? 0)
  const page = all.slice(start, start + limit)
  const more =
    start + limit < all.length
      ? { continue: String(start + limit), remainingItemCount: all.length - start - limit }
      : {}
  const partial = (request.headers.accept ?? '').includes('PartialObjectMetadataList')
  const items = page.map(({ apiVersion, kind, ...rest }) =>
    partial ? { apiVersion, kind, metadata: rest.metadata } : rest,
  )
  const kind = partial ? 'PartialObjectMetadataList' : `${target.resource.kind}List`
  sendJson(response, 200, {
    kind,
    apiVersion: 'v1',
    metadata: { resourceVersion: String(store.revision), ...more },
    items,
  })
}

const BOOKMARK_MS = 20_000

function sendWatch(
  request: IncomingMessage,
  response: ServerResponse,
  store: DemoStore,
  target: Target,
  query: URLSearchParams,
): void {
  const { resource } = target
  const partial = (request.headers.accept ?? '').includes('PartialObjectMetadata;')
  const matches = inScope(target, query)
  response.writeHead(200, { 'content-type': 'application/json' })
  const send = (type: string, object: unknown) => response.write(`${JSON.stringify({ type, object })}\n`)
  const sendChange = ({ type, object }: Pick<Change, 'type' | 'object'>) => {
    const { metadata } = object
    if (matches(object))
      send(type, partial ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } : object)
  }
  const bookmark = (annotations?: object) =>
    send('BOOKMARK', {
      kind: resource.kind,
      apiVersion: 'v1',
      metadata: { resourceVersion: String(store.revision), ...(annotations && { annotations }) },
    })

  if (query.get('sendInitialEvents') === 'true') {
    for (const object of store.list(resource)) sendChange({ type: 'ADDED', object })
    bookmark({ 'k8s.io/initial-events-end': 'true' })
  } else {
    const missed = store.since(resource, Number(query.get('resourceVersion') ?? store.revision))
    if (!missed) {
      send('ERROR', statusOf(410, 'Expired', 'too old resource version'))
      return void response.end()
    }
    for (const change of missed) sendChange(change)
  }
  const stop = store.subscribe((change) => {
    if (change.resource === resource) sendChange(change)
  })
  const bookmarks = setInterval(bookmark, BOOKMARK_MS)
  const end = setTimeout(() => response.end(), Number(query.get('timeoutSeconds') ?? 300) * 1_000)
  response.on('close', () => {
    stop()
    clearInterval(bookmarks)
    clearTimeout(end)
  })
}

function sendObject(response: ServerResponse, object: DemoObject | undefined, name: string): void {
  if (!object) return sendStatus(response, 404, 'NotFound', `"${name}" not found`)
  sendJson(response, 200, object)
}

function sendStatus(response: ServerResponse, code: number, reason: string, message: string): void {
  sendJson(response, code, statusOf(code, reason, message))
}

function statusOf(code: number, reason: string, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
