import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { benchFrames, benchPod } from './pod.ts'

/**
 * A process of its own: an API server whose watch sends pod events as fast as they are read, or at a rate.
 * Settings come in the path's query of the kubeconfig's server? No: as arguments. Prints its port.
 */
const [countText = '0', rateText = '0', objectsText = '0'] = process.argv.slice(2)
const count = Number(countText)
const rate = Number(rateText)
const objects = Number(objectsText)
const frames = benchFrames(500)
const START = 1_000_000

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://feed')
  if (url.pathname === '/api') return json(response, discovery())
  if (url.pathname === '/apis') return json(response, { kind: 'APIGroupDiscoveryList', items: [] })
  if (url.pathname.endsWith('/kube-system')) return json(response, { metadata: { uid: 'bench' } })
  if (url.searchParams.has('sendInitialEvents')) return json(response, { code: 422, reason: 'Invalid' }, 422)
  if (url.searchParams.get('watch') !== 'true') return list(response, url.searchParams)
  response.writeHead(200, { 'content-type': 'application/json' })
  const from = Number(url.searchParams.get('resourceVersion'))
  void (rate > 0 ? paced(response) : pump(response, from - START))
})

async function pump(response: ServerResponse, sent: number): Promise<void> {
  for (let i = sent; i < count; ) {
    let chunk = ''
    for (const end = Math.min(i + 20, count); i < end; i++) chunk += frameAt(i)
    if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve))
    if (response.destroyed) return
  }
}

async function paced(response: ServerResponse): Promise<void> {
  const startedMs = performance.now()
  for (let i = 0; i < count && !response.destroyed; ) {
    const due = Math.min(count, Math.floor(((performance.now() - startedMs) / 1_000) * rate))
    for (; i < due; i++) response.write(frameAt(i))
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

function frameAt(i: number): string {
  const { head, tail } = frames[i % frames.length] as { head: string; tail: string }
  return `${head}${START + 1 + i}${tail}`
}

function list(response: ServerResponse, query: URLSearchParams): void {
  const limit = Number(query.get('limit') ?? objects)
  const start = Number(query.get('continue') ?? 0)
  const end = Math.min(start + limit, objects)
  const items = Array.from({ length: Math.max(0, end - start) }, (_, i) => {
    const pod = benchPod(start + i) as { metadata: Record<string, unknown> }
    const { managedFields: _managed, ...metadata } = pod.metadata
    return {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { ...metadata, resourceVersion: '5' },
    }
  })
  const more = end < objects ? { continue: String(end) } : {}
  json(response, { metadata: { resourceVersion: String(START), ...more }, items })
}

function discovery(): object {
  const pods = {
    resource: 'pods',
    responseKind: { kind: 'Pod' },
    scope: 'Namespaced',
    verbs: ['list', 'watch'],
  }
  return {
    kind: 'APIGroupDiscoveryList',
    items: [{ metadata: { name: '' }, versions: [{ version: 'v1', resources: [pods] }] }],
  }
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
