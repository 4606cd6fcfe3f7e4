import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { LeaseObject } from '../../src/watch/leases/lease.ts'

export interface LeaseServer extends AsyncDisposable {
  readonly url: string
  readonly leases: Map<string, LeaseObject>
  readonly requests: { method: string; path: string; atMs: number }[]
  /** The most requests that were under way at once. */
  readonly busiest: number
  /** How long each answer takes; 0 unless a test sets it. */
  delayMs: number
  /** Called before (`applied` false) and after a request was done; true when it has dealt with the answer itself. */
  fault:
    | ((request: { method: string; path: string; applied: boolean }, response: ServerResponse) => boolean)
    | undefined
  /** Writes as somebody else would. */
  touch(name: string, change: (lease: LeaseObject) => LeaseObject): void
}

/** The Leases of an API server, kept in memory with resourceVersions, for faults that a real one rarely shows. */
export async function startLeaseServer(): Promise<LeaseServer> {
  const leases = new Map<string, LeaseObject>()
  let version = 0

  function store(lease: LeaseObject): LeaseObject {
    const { name } = lease.metadata
    const stored = {
      ...lease,
      metadata: { ...lease.metadata, uid: name, resourceVersion: String(++version) },
    }
    leases.set(name, stored)
    return stored
  }

  function select(selector: string): LeaseObject[] {
    const pairs = selector.split(',').map((it) => it.split('='))
    return [...leases.values()].filter(({ metadata }) =>
      pairs.every(([key = '', value]) => metadata.labels?.[key] === value),
    )
  }

  function apply(
    method: string,
    { name, selector }: { name: string; selector: string },
    body: string,
  ): [status: number, body: unknown] {
    const current = leases.get(name)
    if (method === 'GET' && name === '') return [200, { items: select(selector) }]
    if (method === 'GET') return current ? [200, current] : [404, failure(404)]
    const sent = JSON.parse(body) as LeaseObject & { preconditions?: { resourceVersion?: string } }
    if (method === 'POST') return leases.has(sent.metadata.name) ? [409, failure(409)] : [201, store(sent)]
    if (!current) return [404, failure(404)]
    const read = method === 'DELETE' ? sent.preconditions?.resourceVersion : sent.metadata.resourceVersion
    if (read !== current.metadata.resourceVersion) return [409, failure(409)]
    if (method === 'PUT') return [200, store(sent)]
    leases.delete(name)
    return [200, {}]
  }

  let open = 0
  let busiest = 0
  const server = createServer(async (message, response) => {
    busiest = Math.max(busiest, ++open)
    response.once('close', () => open--)
    let text = ''
    for await (const chunk of message) text += chunk
    const { pathname, searchParams } = new URL(message.url ?? '/', 'http://api')
    const { method = 'GET' } = message
    const request = { method, path: pathname }
    it.requests.push({ ...request, atMs: performance.now() })
    if (it.fault?.({ ...request, applied: false }, response)) return
    const name = pathname.split('/leases')[1]?.slice(1) ?? ''
    const [status, body] = apply(method, { name, selector: searchParams.get('labelSelector') ?? '' }, text)
    if (it.fault?.({ ...request, applied: true }, response)) return
    if (it.delayMs > 0) await pause(it.delayMs)
    answer(response, status, body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const it: LeaseServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leases,
    requests: [],
    get busiest() {
      return busiest
    },
    delayMs: 0,
    fault: undefined,
    touch: (name, change) => void store(change(leases.get(name) as LeaseObject)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return it
}

export function answer(response: ServerResponse, status: number, body: unknown = failure(status)): true {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  return true
}

function failure(code: number): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `it is ${code}`,
    reason: 'Test',
    code,
  }
}
