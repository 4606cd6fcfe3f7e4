import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { benchEvent, benchEventFrame } from './event.ts'
import { type BenchFrame, benchFrames, benchPod } from './pod.ts'

// A process of its own: an API server whose watch sends pod events as fast as they are read, or so many a second.
// Arguments: how many, how many a second (0: as fast as can be), how many pods there are, `Event` for new Events in place of
// changes of pods. Prints its port, and says "watch" to its parent whenever a watch is opened.
const [count = 0, perSecond = 0, objects = 0] = process.argv.slice(2, 5).map(Number)
const ofEvents = process.argv[5] === 'Event'
const frames = benchFrames(500)
const START = 1_000_000
const CHUNK = 20
/** The latest state that anybody was told: one that goes back would be that of a restored etcd. */
let newest = START

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://feed')
  if (pathname === '/api') return json(response, CATALOGUE)
  if (pathname === '/apis') return json(response, { kind: 'APIGroupDiscoveryList', items: [] })
  if (pathname.endsWith('/kube-system')) return json(response, { metadata: { uid: 'bench' } })
  if (searchParams.has('sendInitialEvents')) return json(response, { code: 422, reason: 'Invalid' }, 422)
  if (ofEvents && !pathname.endsWith('/events')) return metadata(response, pathname, searchParams)
  if (searchParams.get('watch') !== 'true') return json(response, page(searchParams))
  process.send?.('watch')
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  const from = Number(searchParams.get('resourceVersion')) - START
  void (perSecond > 0 ? paced(response, from) : pump(response, from))
})

async function pump(response: ServerResponse, from: number): Promise<void> {
  for (let i = from; i < count && !response.destroyed; ) {
    let chunk = ''
    for (const end = Math.min(i + CHUNK, count); i < end; i++) chunk += frameAt(i, '0')
    if (!response.write(chunk, 'latin1')) await new Promise((resolve) => response.once('drain', resolve))
  }
}

async function paced(response: ServerResponse, from: number): Promise<void> {
  const startedMs = performance.now()
  for (let i = from; i < count && !response.destroyed; ) {
    const due = from + Math.floor(((performance.now() - startedMs) / 1_000) * perSecond)
    for (; i < Math.min(count, due); i++) response.write(frameAt(i, String(nowMs())), 'latin1')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Finer than Date.now(). */
function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

function frameAt(i: number, sentAt: string): string {
  const resourceVersion = START + 1 + i
  newest = Math.max(newest, resourceVersion)
  if (ofEvents) return benchEventFrame(i, resourceVersion, sentAt)
  const [head, middle, tail] = frames[i % frames.length] as BenchFrame
  return head + resourceVersion + middle + sentAt + tail
}

/** Of what Events are about, for rules that use its labels; nothing of it changes. */
function metadata(response: ServerResponse, pathname: string, query: URLSearchParams): void {
  if (query.get('watch') === 'true') return void response.writeHead(200).flushHeaders()
  const pods = Array.from({ length: 200 }, (_, i) => benchEvent(i).involvedObject)
  const named = pathname.endsWith('/namespaces') ? [{ name: 'default', uid: 'uid-of-default' }] : pods
  const items = named.map((it) => ({
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { ...it, resourceVersion: '5', labels: { env: 'prod', team: 'shop' } },
  }))
  json(response, { metadata: { resourceVersion: String(newest) }, items })
}

function page(query: URLSearchParams): object {
  const start = Number(query.get('continue') ?? 0)
  const end = Math.min(start + Number(query.get('limit') ?? objects), objects)
  const items = Array.from({ length: Math.max(0, end - start) }, (_, i) => {
    const { metadata } = benchPod(start + i)
    const kind = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
    return { ...kind, metadata: { ...metadata, resourceVersion: '5' } }
  })
  return {
    metadata: { resourceVersion: String(newest), ...(end < objects && { continue: String(end) }) },
    items,
  }
}

const RESOURCES = [
  ...(ofEvents ? [resource('events', 'Event')] : []),
  resource('pods', 'Pod'),
  resource('namespaces', 'Namespace', 'Cluster'),
]
const CATALOGUE = {
  kind: 'APIGroupDiscoveryList',
  items: [{ metadata: {}, versions: [{ version: 'v1', resources: RESOURCES }] }],
}

function resource(name: string, kind: string, scope = 'Namespaced'): object {
  return { resource: name, responseKind: { kind }, scope, verbs: ['list', 'watch'] }
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
