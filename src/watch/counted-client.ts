import type { Metrics } from '../metrics.ts'
import type { ClusterClient } from './cluster-client.ts'

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
