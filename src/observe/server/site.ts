import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { type Access, type Asking, type Caller, isRefusal, type Refusal } from './access.ts'
import { sendFile, sendProblem } from './answer.ts'
import { pageFiles } from './page-files.ts'
import type { Refused } from './refusals.ts'

/** Serves the page and the API. */
export type Site = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** A request to the API that may be served. */
export interface ApiCall {
  request: IncomingMessage
  response: ServerResponse
  /** As in the request, such as `/api/v1/events/a%2Fb`. */
  path: string
  query: URLSearchParams
  caller: Caller
  /** Whether the configuration that is in force by now has the same caller with the same rights, for an answer that lasts. */
  isStillAllowed(): boolean
  /** Notes that the rights of the caller are not enough. */
  noteRefusal(reason: Refused['reason']): void
}

interface SiteParts {
  /** Returns the access of the configuration in force. */
  access(): Access
  api(call: ApiCall): Promise<void>
  /** Called for each request that is refused. */
  onRefused(refused: Refused): void
}

const API = /^\/api(\/|$)/
/** The first steps of the paths that the page has views for, besides `/`. */
const VIEWS = new Set([
  ...['objects', 'events', 'live', 'sinks', 'dead-letters', 'rules', 'watches', 'silences'],
  ...['incidents', 'ledger'],
])

export function createSite({ access, api, onRefused }: SiteParts): Site {
  return async (request, response) => {
    const { method = '', url = '', headers, httpVersion, socket } = request
    const end = url.indexOf('?')
    const path = end === -1 ? url : url.slice(0, end)
    const query = end === -1 ? '' : url.slice(end + 1)
    const asking: Asking = { method, url, headers, httpVersion, peer: peerOf(socket) }
    const note = (reason: Refused['reason'], who?: string) => {
      const { host, origin } = headers
      onRefused({ reason, method, path, peer: asking.peer, host, origin, who })
    }
    if (!API.test(path)) {
      const refusal = access().page(asking)
      if (refusal) note(refusal.reason)
      return servePage(request, response, path, refusal)
    }
    const caller = access().api(asking)
    if (isRefusal(caller)) {
      note(caller.reason)
      return refuse(request, response, caller)
    }
    const noteRefusal: ApiCall['noteRefusal'] = (reason) => note(reason, caller.name)
    const isStillAllowed = () => isDeepStrictEqual(access().api(asking), caller)
    const call = { request, response, path, query: new URLSearchParams(query), caller }
    return api({ ...call, isStillAllowed, noteRefusal })
  }
}

/** A server on `::` has clients of IPv4 as `::ffff:10.1.2.3`. */
function peerOf({ remoteAddress = '' }: IncomingMessage['socket']): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '')
}

function refuse(request: IncomingMessage, response: ServerResponse, { status, detail }: Refusal) {
  const headers = status === 401 ? { 'www-authenticate': 'Bearer realm="kubeherald"' } : undefined
  return sendProblem(request, response, status, detail, headers)
}

async function servePage(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  refusal: Refusal | undefined,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return sendProblem(request, response, 405, 'only GET and HEAD', { allow: 'GET, HEAD' })
  if (refusal) return refuse(request, response, refusal)
  const isAsset = path.startsWith('/assets/')
  const isView = path === '/' || VIEWS.has(/^\/([^/]+)/.exec(path)?.[1] ?? '')
  if (!isAsset && !isView)
    return sendProblem(request, response, 404, 'there are /, /api/v1, /livez, /readyz and /metrics')
  const files = await pageFiles()
  if (!files) return sendProblem(request, response, 404, 'the page was not built; the API is at /api/v1')
  const file = files.get(isAsset ? path : '/index.html')
  if (!file) return sendProblem(request, response, 404, 'there is no such file')
  return sendFile(request, response, file, isAsset)
}
