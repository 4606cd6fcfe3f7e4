import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pod } from '../manifests/workload.ts'
import type { KubeObject, Stored } from '../objects.ts'
import { podLog } from './pod-log.ts'
import {
  apiVersionOf,
  badRequest,
  CATALOGUE,
  DISCOVERY_TYPE,
  discoveryOf,
  expired,
  type Form,
  formOf,
  parseFlag,
  parseNumber,
  parsePosition,
  Refusal,
  requireDiscovery,
  type Selection,
  type ServedResource,
  selectionOf,
  show,
  showList,
  showPosition,
  tooLarge,
} from './request.ts'
import { lastState, type Store, type Write } from './store.ts'

interface ApiServer extends AsyncDisposable {
  url: string
}

/** The reading half of the Kubernetes API over a store: discovery, get, list and watch, on a free loopback port. */
export async function serveApi(store: Store): Promise<ApiServer> {
  const server = createServer((request, response) => {
    try {
      respond(store, request, response)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendJson(response, error.status.code, error.status)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function respond(store: Store, request: IncomingMessage, response: ServerResponse): void {
  const url = URL.parse(request.url ?? '/', 'http://demo')
  const target = url && targetOf(url.pathname)
  if (!target) return sendText(response, 404, '404 page not found\n')
  if (request.method !== 'GET') {
    const message = 'the demo cluster can only be read'
    throw new Refusal(405, 'MethodNotAllowed', message)
  }
  const accept = request.headers.accept ?? ''
  switch (target.kind) {
    case 'health':
      return sendText(response, 200, 'ok')
    case 'version':
      return sendJson(response, 200, VERSION)
    case 'discovery':
      requireDiscovery(accept)
      return sendJson(response, 200, discoveryOf(target.path), DISCOVERY_TYPE)
    case 'object':
      return sendJson(response, 200, show(read(store, target), formOf(accept)))
    case 'log':
      return sendText(response, 200, podLog(read(store, target) as Stored<Pod>, url.searchParams))
    case 'collection':
      return respondCollection(store, target, accept, url.searchParams, response)
  }
}

const VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.3-demo',
  platform: `${process.platform}/${process.arch}`,
}

function read(store: Store, { resource, namespace, name }: Extract<Target, { kind: 'object' | 'log' }>) {
  const metadata = { name, ...(resource.namespaced && { namespace }) }
  const object = store.get<KubeObject>({ apiVersion: apiVersionOf(resource), kind: resource.kind, metadata })
  if (object) return object
  const { group, plural } = resource
  const qualified = group === '' ? plural : `${plural}.${group}`
  const details = { name, ...(group !== '' && { group }), kind: plural }
  throw new Refusal(404, 'NotFound', `${qualified} "${name}" not found`, details)
}

function respondCollection(
  store: Store,
  { resource, namespace }: Extract<Target, { kind: 'collection' }>,
  accept: string,
  query: URLSearchParams,
  response: ServerResponse,
): void {
  const form = formOf(accept)
  const selects = selectionOf(resource, namespace, query)
  if (parseFlag(query.get('watch')))
    return streamWatch(store, watchQueryOf(resource, selects, form, query), response)
  sendJson(response, 200, listAnswer(store, resource, selects, form, query))
}

function sendJson(response: ServerResponse, code: number, body: object, type = 'application/json'): void {
  response.writeHead(code, { 'content-type': type }).end(JSON.stringify(body))
}

function sendText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
}

/** Answers a list: consistent, in pages with `limit`, at the position that `continue` or `resourceVersion` asks for. */
function listAnswer(
  store: Store,
  resource: ServedResource,
  selects: Selection,
  form: Form,
  query: URLSearchParams,
): object {
  const limit = parseNumber(query.get('limit')) ?? 0
  const token = query.get('continue') ? readToken(query.get('continue') ?? '') : undefined
  const revision = token?.revision ?? revisionOf(store, query)
  if (revision < store.oldestRevision())
    throw expired(token ? TOKEN_EXPIRED : `too old resource version: ${revision}`)
  const objects = store.list(resource, revision).filter(selects)
  const start = token?.start ?? 0
  const end = limit > 0 ? start + limit : objects.length
  const left = objects.length - end
  const metadata = {
    resourceVersion: String(revision),
    ...(left > 0 && { continue: writeToken({ revision, start: end }), remainingItemCount: left }),
  }
  return showList(resource, form, metadata, objects.slice(start, end))
}

const TOKEN_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.'

function revisionOf(store: Store, query: URLSearchParams): number {
  const current = store.revision()
  const match = query.get('resourceVersionMatch') ?? ''
  const asked = parsePosition(query.get('resourceVersion') ?? '')
  if (match !== '' && asked === undefined)
    throw invalid('resourceVersionMatch is forbidden unless resourceVersion is provided')
  if (!['', 'Exact', 'NotOlderThan'].includes(match)) throw invalid(`Unsupported value: "${match}"`)
  if (match === 'Exact' && asked === 0)
    throw invalid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  if (asked !== undefined && asked > current) throw tooLarge(asked, current)
  return match === 'Exact' && asked !== undefined ? asked : current
}

function invalid(message: string): Refusal {
  const what = `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${message}`
  return new Refusal(422, 'Invalid', what, { group: 'meta.k8s.io', kind: 'ListOptions' })
}

interface Token {
  revision: number
  /** Items on the pages before. */
  start: number
}

function writeToken(token: Token): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

function readToken(text: string): Token {
  try {
    const { revision, start } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Token
    if (Number.isInteger(revision) && Number.isInteger(start)) return { revision, start }
  } catch {
    // reported below
  }
  throw badRequest('invalid continue token: continue key is not valid')
}

type Target =
  | { kind: 'discovery'; path: '/api' | '/apis' }
  | { kind: 'version' }
  | { kind: 'health' }
  | { kind: 'collection'; resource: ServedResource; namespace: string }
  | { kind: 'object' | 'log'; resource: ServedResource; namespace: string; name: string }

/** Reads a path; undefined for one that no part of an API server answers. Throws Refusal for an unknown resource. */
function targetOf(pathname: string): Target | undefined {
  const path = pathname.length > 1 ? pathname.replace(/\/$/, '') : pathname
  if (path === '/api' || path === '/apis') return { kind: 'discovery', path }
  if (path === '/version') return { kind: 'version' }
  if (['/healthz', '/livez', '/readyz'].includes(path)) return { kind: 'health' }
  const [, root, ...parts] = path.split('/').map(decode)
  if (root === 'api') return resourceTarget('', parts)
  const [group = '', ...rest] = parts
  return root === 'apis' && isServed(group) ? resourceTarget(group, rest) : undefined
}

function isServed(group: string): boolean {
  return group !== '' && CATALOGUE.some((resource) => resource.group === group)
}

function resourceTarget(group: string, [version, ...parts]: readonly string[]): Target {
  const inVersion = CATALOGUE.filter((it) => it.group === group && it.version === version)
  const find = (plural: string | undefined, namespaced?: boolean) =>
    inVersion.find((it) => it.plural === plural && (namespaced ?? it.namespaced) === it.namespaced)
  // `/namespaces/shop` is an object, `/namespaces/shop/pods` a collection.
  const scoped = parts[0] === 'namespaces' && parts.length > 2
  const namespace = scoped ? (parts[1] ?? '') : ''
  const [plural, name, subresource, ...rest] = scoped ? parts.slice(2) : parts
  const resource = scoped ? find(plural, true) : find(plural)
  const isLog = subresource === 'log' && resource?.kind === 'Pod'
  if (!resource || (subresource !== undefined && !isLog) || rest.length > 0) throw unknownResource()
  if (name === undefined) return { kind: 'collection', resource, namespace }
  if (resource.namespaced && !scoped) throw unknownResource()
  return { kind: isLog ? 'log' : 'object', resource, namespace, name }
}

function unknownResource(): Refusal {
  return new Refusal(404, 'NotFound', 'the server could not find the requested resource', {})
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

interface WatchQuery {
  resource: ServedResource
  selects: Selection
  form: Form
  /** Undefined or 0: from the present state. */
  position: number | undefined
  /** Begin with all objects, then a bookmark (KEP-3157). */
  initialEvents: boolean
  bookmarks: boolean
  timeoutMs: number
}

function watchQueryOf(
  resource: ServedResource,
  selects: Selection,
  form: Form,
  query: URLSearchParams,
): WatchQuery {
  const initialEvents = parseFlag(query.get('sendInitialEvents'))
  const match = query.get('resourceVersionMatch') ?? ''
  if (initialEvents && match !== 'NotOlderThan')
    throw invalid('Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  if (!query.has('sendInitialEvents') && match !== '')
    throw invalid(
      'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    )
  return {
    resource,
    selects,
    form,
    position: parsePosition(query.get('resourceVersion') ?? ''),
    initialEvents,
    bookmarks: parseFlag(query.get('allowWatchBookmarks')),
    timeoutMs: (parseNumber(query.get('timeoutSeconds')) || DEFAULT_TIMEOUT_SECONDS) * 1_000,
  }
}

const DEFAULT_TIMEOUT_SECONDS = 1_800
const BOOKMARK_EVERY_MS = 60_000
const BOOKMARK_BEFORE_END_MS = 2_000
/** A client that does not read is disconnected, as by a real server. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** Streams changes until the timeout or until the client closes. */
function streamWatch(store: Store, query: WatchQuery, response: ServerResponse): void {
  const { resource, form, selects, position = 0 } = query
  const send = (type: string, object: object) => {
    response.write(`${JSON.stringify({ type, object })}\n`)
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
  }
  const bookmark = (annotations?: Record<string, string>) => {
    const metadata = { resourceVersion: String(store.revision()), ...(annotations && { annotations }) }
    send('BOOKMARK', showPosition(resource, form, metadata))
  }
  const pass = (write: Write) => {
    const change = write.resource === resource ? changeOf(write, selects) : undefined
    if (change) send(change.type, show(change.object, form))
  }

  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  const fromNow = position === 0 || query.initialEvents
  if (!fromNow && position < store.oldestRevision()) {
    send('ERROR', expired(`too old resource version: ${position} (${store.oldestRevision()})`).status)
    response.end()
    return
  }
  if (fromNow) {
    for (const object of store.list(resource)) if (selects(object)) send('ADDED', show(object, form))
    if (query.initialEvents && query.bookmarks) bookmark({ 'k8s.io/initial-events-end': 'true' })
  } else for (const write of store.since(position)) pass(write)

  const timers = [setTimeout(() => response.end(), query.timeoutMs)]
  const unfollow = store.follow(pass)
  if (query.bookmarks) {
    timers.push(setInterval(bookmark, BOOKMARK_EVERY_MS))
    const lastMs = query.timeoutMs - BOOKMARK_BEFORE_END_MS
    if (lastMs > 0) timers.push(setTimeout(bookmark, lastMs))
  }
  response.on('close', () => {
    unfollow()
    for (const timer of timers) clearTimeout(timer)
  })
}

/** The change as a watch with a selector sees it: an object that leaves the selection is DELETED. */
function changeOf({ before, after, revision }: Write, selects: Selection) {
  const was = before !== undefined && selects(before)
  if (after && selects(after)) return { type: was ? 'MODIFIED' : 'ADDED', object: after }
  return was ? { type: 'DELETED', object: lastState(before, revision) } : undefined
}
