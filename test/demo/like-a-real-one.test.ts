import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DISCOVERY_TYPE } from '../../src/demo/api/request.ts'
import { type DemoCluster, startDemoCluster } from '../../src/demo/cluster.ts'
import { leavesOutKubernetes } from '../components.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { seeded } from './parts.ts'

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const WATCH_LIST = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'

/** Requests that both must answer alike. */
const QUESTIONS: [path: string, accept?: string][] = [
  ['/nope'],
  ['/apis/nope.example.com/v1/things'],
  ['/api/v2/pods'],
  ['/api/v1/nopes'],
  ['/api/v1/namespaces/default/nodes'],
  ['/api/v1/namespaces/kube-system/namespaces'],
  ['/api/v1/namespaces/default/configmaps/nope'],
  ['/apis/apps/v1/namespaces/default/deployments/nope'],
  ['/api/v1/namespaces/nope/configmaps'],
  ['/api/v1/configmaps/'],
  ['/api/v1/configmaps?limit=x'],
  ['/api/v1/configmaps?limit=-1'],
  ['/api/v1/configmaps?limit=1'],
  ['/api/v1/configmaps?limit=1', METADATA_LIST],
  ['/api/v1/configmaps?limit=1', '*/*'],
  ['/api/v1/configmaps?limit=1', 'text/plain'],
  ['/api/v1/configmaps?continue=zzz'],
  ['/api/v1/configmaps?resourceVersion=abc'],
  ['/api/v1/configmaps?resourceVersion=999999999'],
  ['/api/v1/configmaps?resourceVersionMatch=Exact'],
  ['/api/v1/configmaps?resourceVersion=0&resourceVersionMatch=Exact'],
  ['/api/v1/configmaps?resourceVersion=5&resourceVersionMatch=Nope'],
  ['/api/v1/configmaps?labelSelector=a%3D%3D%3D'],
  ['/api/v1/configmaps?labelSelector=a%20in%20x'],
  ['/api/v1/configmaps?fieldSelector=data.x%3D1'],
  ['/api/v1/nodes?fieldSelector=spec.nodeName%3Dx'],
  ['/api/v1/configmaps?watch=true&sendInitialEvents=true'],
  ['/api/v1/configmaps?watch=true&resourceVersionMatch=NotOlderThan'],
  ['/api/v1/configmaps?watch=true&timeoutSeconds=x'],
  [`/api/v1/configmaps?${WATCH_LIST}&allowWatchBookmarks=true&timeoutSeconds=1`],
  ['/api/v1/configmaps?watch=true&timeoutSeconds=1&resourceVersion=999999999'],
  ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nope.example.com'],
  ['/api/v1/namespaces/kube-system'],
  ['/api/v1/namespaces/default/pods/nope/log'],
  ['/api/v1/namespaces/default/configmaps/nope/log'],
  ['/readyz'],
]

// Never left out with CI=true, nor where there is an API server; what is left out counts as skipped.
describe.skipIf(leavesOutKubernetes())('the demo cluster and a real API server', () => {
  let real: Kubernetes
  let demo: DemoCluster
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  beforeAll(async () => {
    real = await borrowKubernetes()
    demo = await startDemoCluster({ random: seeded(1), clock: Date })
  })
  afterAll(async () => {
    await agent.destroy()
    await demo.close()
    await real[Symbol.asyncDispose]()
  })

  async function ask(server: string, path: string, accept = 'application/json') {
    const headers = { accept, authorization: 'Bearer admin' }
    const answer = await request(`${server}${path}`, { headers, dispatcher: agent })
    const text = await answer.body.text()
    return { status: answer.statusCode, type: answer.headers['content-type'], ...shapeOf(text) }
  }

  test.each(QUESTIONS)('answer %s alike', async (path, accept) => {
    expect(await ask(demo.url, path, accept)).toEqual(await ask(real.url, path, accept))
  })

  test('describe a resource alike in aggregated discovery', async () => {
    const find = async (server: string) => {
      const headers = { accept: DISCOVERY_TYPE, authorization: 'Bearer admin' }
      const { body } = await request(`${server}/api`, { headers, dispatcher: agent })
      const [group] = ((await body.json()) as any).items
      const pods = group.versions[0].resources.find((it: any) => it.resource === 'pods')
      return { metadata: group.metadata, freshness: group.versions[0].freshness, pods }
    }
    const { verbs: demoVerbs, ...demoPods } = (await find(demo.url)).pods
    const realOne = await find(real.url)
    const { verbs, subresources: _, categories: _c, ...realPods } = realOne.pods
    expect(demoPods).toEqual(realPods)
    expect(verbs).toEqual(expect.arrayContaining(demoVerbs))
    expect(await find(demo.url)).toMatchObject({ metadata: realOne.metadata, freshness: realOne.freshness })
  })
})

/** What a client can act on: kinds, keys, reasons; not names and positions. */
function shapeOf(text: string): object {
  if (!text.startsWith('{')) return { text: text.trim() }
  const lines = text.includes('"type":"') ? text.trim().split('\n') : [text]
  const frames = lines.map((line) => JSON.parse(line))
  const last = frames.at(-1)
  if (frames.length > 1) return { first: keysOf(frames[0].object), last: mask(last) }
  const { kind, apiVersion, reason, code, status, details, items, metadata } = last
  const known = { kind, apiVersion, reason, code, status: typeof status }
  const causes = details?.causes?.map((it: { reason: string }) => it.reason)
  const subject = details && { name: details.name, kind: details.kind, group: details.group }
  if (kind === 'Status' && code !== 422) return { ...known, causes, subject }
  if (kind === 'Status') return known
  return { ...known, metadata: items ? undefined : keysOf(metadata), item: items?.[0] && keysOf(items[0]) }
}

function keysOf(object: object): string[] {
  return Object.keys(object).filter((key) => key !== 'managedFields')
}

function mask({ type, object }: { type: string; object: any }): object {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { type, kind: object.kind, apiVersion: object.apiVersion, metadata }
}
