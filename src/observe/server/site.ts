import type { IncomingMessage, ServerResponse } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { type Access, type Asking, type Caller, isRefusal, type Refusal } from './access.ts'
import { sendFile, sendProblem } from './answer.ts'
import { pageFiles } from './page-files.ts'

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
}

interface SiteParts {
  /** Of the configuration in force. */
  access(): Access
  api(call: ApiCall): Promise<void>
}

const API = /^\/api(\/|$)/
/** The first steps of the paths that the page has views for, besides `/`. */
const VIEWS = new Set([
  ...['objects', 'events', 'live', 'sinks', 'dead-letters', 'rules', 'watches', 'silences'],
  ...['incidents', 'ledger'],
])

export function createSite({ access, api }: SiteParts): Site {
  return async (request, response) => {
    const { method = '', url = '', headers, socket } = request
    const [path = '', query = ''] = url.split('?', 2)
    const asking: Asking = { method, url, headers, peer: socket.remoteAddress ?? '' }
    if (!API.test(path)) return servePage(request, response, path, access().page(asking))
    const caller = access().api(asking)
    if (isRefusal(caller)) return refuse(request, response, caller)
    const isStillAllowed = () => isDeepStrictEqual(access().api(asking), caller)
    return api({ request, response, path, query: new URLSearchParams(query), caller, isStillAllowed })
  }
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
