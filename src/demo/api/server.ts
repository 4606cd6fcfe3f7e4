import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KubeObject } from '../objects.ts'
import { apiVersionOf } from './catalogue.ts'
import { DISCOVERY_TYPE, discoveryOf } from './discovery.ts'
import { formOf, requireDiscovery, show } from './form.ts'
import { listAnswer } from './list.ts'
import { parseFlag } from './parameters.ts'
import { type Target, targetOf } from './route.ts'
import { selectionOf } from './selection.ts'
import { Refusal } from './status.ts'
import type { Store } from './store.ts'
import { streamWatch, watchQueryOf } from './watch.ts'

export interface ApiServer extends AsyncDisposable {
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

function read(store: Store, { resource, namespace, name }: Extract<Target, { kind: 'object' }>) {
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
