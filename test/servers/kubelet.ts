import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority } from './certificates.ts'
import type { Kubernetes } from './kubernetes.ts'

interface LogRequest {
  /** `shop/web-1/app` */
  container: string
  query: URLSearchParams
  atMs: number
}

export interface Kubelet extends AsyncDisposable {
  readonly requests: LogRequest[]
  /** Answers requests for logs; as a kubelet, which sends text. */
  answer: (request: LogRequest, response: ServerResponse) => void
  /** Creates a pod on this node. */
  pod(namespace: string, name: string, containers?: readonly string[]): Promise<void>
  /** Writes an Event about a pod, as a kubelet does. */
  event(namespace: string, pod: string, fields: object): Promise<void>
}

/** The part of a kubelet that serves logs, as a node of a real cluster: the API server asks it as it asks any. */
export async function startKubelet({ request }: Pick<Kubernetes, 'request'>): Promise<Kubelet> {
  const server = createServer(createAuthority('kubelet').issue('kubelet'), (message, response) => {
    const { pathname, searchParams: query } = new URL(message.url ?? '/', 'https://kubelet')
    const container = pathname.replace(/^\/containerLogs\//, '')
    const asked = { container, query, atMs: Date.now() }
    kubelet.requests.push(asked)
    kubelet.answer(asked, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await request('POST', '/api/v1/nodes', { metadata: { name: 'node-1' } })
  await request('PATCH', '/api/v1/nodes/node-1/status', {
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  })
  let events = 0
  const kubelet: Kubelet = {
    requests: [],
    answer: (_, response) => void response.end('nothing\n'),
    async pod(namespace, name, containers = ['app']) {
      await request('POST', `/api/v1/namespaces/${namespace}/pods`, {
        metadata: { name },
        spec: { nodeName: 'node-1', containers: containers.map((it) => ({ name: it, image: 'app:1' })) },
      })
    },
    async event(namespace, pod, fields) {
      await request('POST', `/api/v1/namespaces/${namespace}/events`, {
        metadata: { name: `${pod}.${++events}` },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name: pod },
        type: 'Warning',
        reason: 'BackOff',
        message: 'Back-off restarting failed container app',
        count: 1,
        ...fields,
      })
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return kubelet
}
