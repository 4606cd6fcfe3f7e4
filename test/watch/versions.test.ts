import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { otherVersionOf } from '../../src/watch/client/discovery.ts'
import type { WatchEntry } from '../../src/watch/schema.ts'
import { configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

interface Versions {
  add(group: string): void
  remove(group: string): void
  /** Serves no other version any more. */
  serveOnly(version: string): void
  /** As if the definition were created again with it. */
  changeScope(scope: 'Namespaced' | 'Cluster'): void
}

/** Serves a custom resource in two versions, the first of which is preferred; later in another group, too. */
function serveVersions(api: ScriptedApi): Versions {
  const resource = {
    resource: 'widgets',
    responseKind: { kind: 'Widget' },
    scope: 'Namespaced',
    verbs: ['get', 'list', 'watch'],
  }
  const versions = ['v1', 'v2'].map((version) => ({ version, resources: [resource] }))
  const items = [{ metadata: { name: 'example.com' }, versions }]
  const all = [...versions]
  const isServed = (path: string) => versions.some(({ version }) => path.split('/')[3] === version)
  const watches = new Set<ServerResponse>()
  api.intercept = ({ path, isWatch, query }, response) => {
    const json = (status: number, body: object) => void response.writeHead(status).end(JSON.stringify(body))
    if (path === '/apis') json(200, { kind: 'APIGroupDiscoveryList', items })
    else if (!path.endsWith('/widgets')) return false
    else if (!isServed(path)) response.writeHead(404).end('404 page not found\n')
    else if (query.has('sendInitialEvents'))
      json(422, failure(422, 'Invalid', {}, 'sendInitialEvents is forbidden'))
    else if (isWatch) {
      watches.add(response)
      response.writeHead(200).flushHeaders()
    } else json(200, { metadata: { resourceVersion: '10' }, items: [configMap('a', 5)] })
    return true
  }
  return {
    add: (name) => void items.push({ metadata: { name }, versions }),
    remove(name) {
      items.splice(0, items.length, ...items.filter(({ metadata }) => metadata.name !== name))
    },
    serveOnly(served) {
      versions.splice(0, versions.length, ...all.filter(({ version }) => version === served))
      for (const it of watches) it.end()
    },
    changeScope(scope) {
      resource.scope = scope
    },
  }
}

test('another version of a kind that a reload names is watched, from the position of the one before', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'example.com/v1/Widget' }],
    prepare: (api) => void serveVersions(api),
  })
  const last = () => it.api.watches().at(-1)
  await waitFor(() => last()?.path === '/apis/example.com/v1/widgets', { what: 'the watch of v1' })
  it.apply([{ kind: 'example.com/v2/Widget' }])
  await waitFor(() => last()?.path === '/apis/example.com/v2/widgets', { what: 'the watch of v2' })
  expect(last()?.query.get('resourceVersion')).toBe('10')
  expect(await it.enqueued()).toEqual([])
})

test('a watch whose version is not served any more fails and names another one; it goes on from its position once it is served again', async () => {
  let served: Versions | undefined
  await using it = await startWatchBed({
    entries: [{ kind: 'example.com/v1/Widget' }],
    prepare(api) {
      served = serveVersions(api)
    },
  })
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  served?.serveOnly('v2')
  await waitFor(() => it.statuses()[0]?.lastError?.includes('widgets.example.com'), {
    what: 'the name to write in the status',
  })
  expect(it.statuses()).toMatchObject([{ phase: 'failing', ready: false }])
  served?.serveOnly('v1')
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch to go on' })
  expect(it.api.watches().at(-1)?.query.get('resourceVersion')).toBe('10')
  expect(await it.enqueued()).toEqual([])
})

test('a version that the cluster never served fails where another one is served', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'widgets.v3.example.com' }],
    prepare: (api) => void serveVersions(api),
  })
  await waitFor(() => it.statuses()[0]?.lastError?.includes('example.com/v1/Widget'), {
    what: 'what to write in the status',
  })
  expect(it.statuses()).toMatchObject([{ phase: 'failing', ready: false }])
})

const V1 = 'example.com/v1/Widget'
const V3 = 'example.com/v3/Widget'
test.each<[string, WatchEntry[], string]>([
  ['the whole', [{ kind: V1 }, { kind: V3 }], 'waiting-for-kind'],
  ['the whole, and a namespace', [{ kind: V1 }, { kind: V3, namespaces: ['shop'] }], 'waiting-for-kind'],
  [
    'all namespaces but one',
    [
      { kind: V3, namespaces: ['!dev'] },
      { kind: V1, namespaces: ['!dev'] },
    ],
    'waiting-for-kind',
  ],
  ['a namespace, and the whole', [{ kind: V1, namespaces: ['shop'] }, { kind: V3 }], 'failing'],
  [
    'other labels',
    [
      { kind: V1, labels: 'team=a' },
      { kind: V3, labels: 'team=b' },
    ],
    'failing',
  ],
])(
  'of two entries for clusters of different versions, the one that is not served fails only where it misses objects: %s',
  async (_, entries, phase) => {
    await using it = await startWatchBed({ entries, prepare: (api) => void serveVersions(api) })
    const statusOf = (title: string) => it.statuses().find((status) => status.title.startsWith(title))
    await waitFor(() => statusOf('widgets')?.phase === 'watching', { what: 'the watch' })
    await waitFor(() => statusOf(V3)?.phase !== 'resolving', { what: 'the version that is not served' })
    expect(statusOf(V3)).toMatchObject({ phase, ready: phase !== 'failing' })
  },
)

test.each(['serving.knative.dev/Service', 'services.knative.dev', 'knative.dev/v1/Service'])(
  '%s does not name the Service of another group',
  (spelling) => {
    const names = { kind: 'Service', plural: 'services', singular: 'service', shortNames: ['svc'] }
    const service = { group: '', version: 'v1', namespaced: true, preferred: true, ...names }
    expect(otherVersionOf(spelling, { resources: [service], silentGroups: [] })).toBeUndefined()
  },
)

test('a watch goes on when its kind comes in another group, too, and the status shows the ambiguity', async () => {
  let served: Versions | undefined
  const entries = [{ kind: 'Widget' }]
  await using it = await startWatchBed({
    idle: true,
    prepare(api) {
      served = serveVersions(api)
    },
  })
  const manager = it.start(entries)
  const last = () => it.api.watches().at(-1)
  await waitFor(() => last()?.path === '/apis/example.com/v1/widgets', { what: 'the watch' })
  served?.add('other.example.com')
  manager.apply(entries)
  await manager.applied
  const phases = () => it.statuses().map(({ phase }) => phase)
  expect(phases().toSorted()).toEqual(['failing', 'watching'])
  expect(it.statuses().find(({ phase }) => phase === 'failing')?.lastError).toContain('ambiguous')
})

test('a kind that was ambiguous at the start is watched once one of its groups has gone, and a later ambiguity is logged again', async () => {
  let served: Versions | undefined
  const logged: string[] = []
  const log = { ...silentLog, error: (_: unknown, message?: string) => void logged.push(message ?? '') }
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget' }],
    log,
    prepare(api) {
      served = serveVersions(api)
      served.add('other.example.com')
    },
  })
  await waitFor(() => it.statuses()[0]?.phase === 'failing', { what: 'the ambiguity in the status' })
  served?.remove('other.example.com')
  await waitFor(() => it.api.watches().length > 0, { what: 'a watch' })
  expect(it.api.watches()[0]?.path).toBe('/apis/example.com/v1/widgets')
  await waitFor(() => it.statuses().every(({ phase }) => phase === 'watching'), {
    what: 'the end of the problem',
  })
  served?.add('other.example.com')
  it.apply([{ kind: 'Widget' }])
  await waitFor(() => logged.length === 2, { what: 'the ambiguity in the log again' })
  expect(logged[1]).toBe(logged[0])
})

test('an entry with namespaces is watched once its kind, whose definition had come for the whole cluster, is namespaced again', async () => {
  let served: Versions | undefined
  await using it = await startWatchBed({
    entries: [{ kind: 'widgets.example.com', namespaces: ['shop'] }],
    prepare(api) {
      served = serveVersions(api)
      served.changeScope('Cluster')
    },
  })
  await waitFor(() => it.statuses()[0]?.phase === 'failing', { what: 'the problem in the status' })
  served?.changeScope('Namespaced')
  const path = '/apis/example.com/v1/namespaces/shop/widgets'
  await waitFor(() => it.api.watches().some((watch) => watch.path === path), { what: 'a watch' })
})
