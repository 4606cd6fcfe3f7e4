import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { PageFile } from './page-files.ts'

/** Headers of every answer except those of probes and metrics. */
const SECURITY = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
}

const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"

/** Smaller answers fit into a few packets. */
const MIN_COMPRESSED = 4_096
/** Whoever has not read an answer by then is cut off. */
const SLOW_MS = 30_000

const compress = promisify(gzip)

interface Answer {
  status: number
  type: string
  body: Buffer
  /** Made already. */
  gzipped?: Buffer
  headers?: Readonly<Record<string, string>>
}

/** Sends an answer of the API. It resolves when the answer was read, or the client is gone. */
export function sendData(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  const { headers, ...rest } = answer
  const own = { 'cache-control': 'no-store', 'content-security-policy': DATA_POLICY, ...headers }
  return send(request, response, { ...rest, headers: own })
}

/** Sends a file of the page. */
export function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { body, gzipped, type, etag }: PageFile,
  isLasting: boolean,
): Promise<void> {
  const headers = {
    'cache-control': isLasting ? 'public, max-age=31536000, immutable' : 'no-cache',
    'content-security-policy': PAGE_POLICY,
    etag,
  }
  if (request.headers['if-none-match'] === etag)
    return send(request, response, { status: 304, type, body: EMPTY, headers })
  return send(request, response, { status: 200, type, body, gzipped, headers })
}

const EMPTY = Buffer.alloc(0)

/** What is wrong with a request, as RFC 9457 has it. */
export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const body = Buffer.from(
    JSON.stringify({ type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail }),
  )
  return sendData(request, response, { status, type: 'application/problem+json', body, headers })
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** The headers of a stream of events. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, {
    ...SECURITY,
    'content-security-policy': DATA_POLICY,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  response.flushHeaders()
}

async function send(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  if (response.headersSent || response.destroyed) return
  const { status, type } = answer
  const isCompressed = answer.body.length >= MIN_COMPRESSED && acceptsGzip(request)
  const body = isCompressed
    ? (answer.gzipped ?? (await compress(answer.body, { level: constants.Z_BEST_SPEED })))
    : answer.body
  if (response.headersSent || response.destroyed) return
  // What is left of a body would be taken for the next request.
  const isUnread = !request.complete
  response.writeHead(status, {
    ...SECURITY,
    vary: 'accept-encoding',
    ...answer.headers,
    ...(status !== 304 && { 'content-type': type, 'content-length': body.length }),
    ...(isCompressed && { 'content-encoding': 'gzip' }),
    ...(isUnread && { connection: 'close' }),
  })
  await new Promise<void>((resolve) => {
    const slow = setTimeout(() => response.destroy(), SLOW_MS)
    response.once('close', () => {
      clearTimeout(slow)
      resolve()
    })
    response.end(request.method === 'HEAD' || status === 304 ? undefined : body)
  })
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  return /(^|[,\s])gzip\s*(,|;\s*q=(0\.[0-9]*[1-9]|1)|$)/i.test(String(headers['accept-encoding'] ?? ''))
}
