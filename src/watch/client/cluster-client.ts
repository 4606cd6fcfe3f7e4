import type { Readable } from 'node:stream'
import type { Metrics } from '../../observe/metrics.ts'

export type Headers = Record<string, string | string[] | undefined>

export interface ClusterResponse {
  status: number
  headers: Headers
  body: Buffer
}

export interface ClusterStream {
  status: number
  headers: Headers
  /** Decompressed as it comes. Destroy it when it is not read to its end. */
  body: Readable
}

export interface GetOptions {
  accept?: string
  /** For the whole answer; default 60 s. */
  timeoutMs?: number
  /** Maximum size of the decompressed body; default 16 MiB. A longer one is a ClusterError. */
  maxBytes?: number
}

export interface SendOptions {
  /** For the whole answer; default 60 s. */
  timeoutMs?: number
}

export interface StreamOptions {
  accept?: string
  /** Until the headers come; default 30 s. */
  headersTimeoutMs?: number
  /** Between two parts of the body, while it is being read; default: none. Its length has no limit: its reader sets one. */
  bodyTimeoutMs?: number
  /** What it is counted as; default `watch`. */
  verb?: 'get' | 'watch'
}

/** Speaks to one API server, authenticated. Network faults are thrown; HTTP errors are answers. */
export interface ClusterClient {
  /** Without credentials, for logs and messages. */
  readonly url: string
  get(path: string, options: GetOptions, signal: AbortSignal): Promise<ClusterResponse>
  /** Writes, or asks by a POST: `body` goes as JSON. */
  send(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body: unknown,
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<ClusterResponse>
  stream(path: string, options: StreamOptions, signal: AbortSignal): Promise<ClusterStream>
  /** Reads kubeconfig, tokens and certificates again: after a 401. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** No cluster, or one that does not answer; the message is shown to users. */
export class ClusterError extends Error {
  override name = 'ClusterError'
  /** The HTTP status of an answer that is the reason. */
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

/** The user of the kubeconfig has no working credentials now; another kubeconfig may. */
export class NoCredentials extends ClusterError {}

/** Counts and times what an API server is asked. */
export function countRequests(client: ClusterClient, metrics: Metrics): ClusterClient {
  async function counted<T extends { status: number }>(verb: Verb, request: Promise<T>): Promise<T> {
    const startedMs = performance.now()
    const count = (code: string) => {
      metrics.apiRequests.inc({ verb, code })
      metrics.apiSeconds.observe({ verb }, (performance.now() - startedMs) / 1_000)
    }
    try {
      const answer = await request
      count(codeLabel(answer.status))
      return answer
    } catch (error) {
      count('none')
      throw error
    }
  }
  return {
    get url() {
      return client.url
    },
    get: (...call) => counted('get', client.get(...call)),
    send: (...call) => counted(VERBS[call[0]], client.send(...call)),
    stream: (path, options, signal) => counted(options.verb ?? 'watch', client.stream(path, options, signal)),
    refresh: () => client.refresh(),
    close: () => client.close(),
  }
}

/** `get` takes an answer that ends, also a page of a list; `watch` a stream, also one of initial state. */
type Verb = 'get' | 'watch' | 'create' | 'update' | 'delete'

const VERBS = { POST: 'create', PUT: 'update', DELETE: 'delete' } as const

/** A status as a metric label; whatever a server may answer, there are not many of them. */
export function codeLabel(status: number): string {
  return KNOWN.has(status) ? String(status) : 'other'
}

const KNOWN = new Set([
  ...[200, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422, 429],
  ...[500, 501, 502, 503, 504, 505, 507, 520, 521, 522, 523, 524],
])
