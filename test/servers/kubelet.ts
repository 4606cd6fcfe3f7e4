import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority } from './certificates.ts'
import type { ApiRequest, Kubernetes } from './kubernetes.ts'

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
  await registerNode(request, port)
  let events = 0
  const kubelet: Kubelet = {
    requests: [],
    answer: (_, response) => void response.end('nothing\n'),
    pod: (namespace, name, containers) => createPod(request, namespace, name, containers),
    async event(namespace, pod, fields) {
      await createEvent(request, { namespace, pod, name: `${pod}.${++events}` }, fields)
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

/** Creates the node `node-1`, whose kubelet has this port. */
export async function registerNode(request: ApiRequest, port: number): Promise<void> {
  await request('POST', '/api/v1/nodes', { metadata: { name: 'node-1' } })
  await request('PATCH', '/api/v1/nodes/node-1/status', {
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    },
  })
}

/** Creates a pod on that node. */
export async function createPod(
  request: ApiRequest,
  namespace: string,
  name: string,
  containers: readonly string[] = ['app'],
): Promise<void> {
  await request('POST', `/api/v1/namespaces/${namespace}/pods`, {
    metadata: { name },
    spec: { nodeName: 'node-1', containers: containers.map((it) => ({ name: it, image: 'app:1' })) },
  })
}

/** Writes an Event about a pod, as a kubelet does when a container crashes again and again. */
export async function createEvent(
  request: ApiRequest,
  { namespace, pod, name }: { namespace: string; pod: string; name: string },
  fields: object = {},
): Promise<void> {
  await request('POST', `/api/v1/namespaces/${namespace}/events`, {
    metadata: { name },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name: pod },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container app',
    count: 1,
    ...fields,
  })
}
