import { expect, test } from 'vitest'
import { isUnresolved, type WatchStatus } from '../../src/model/status.ts'
import { type ApiRequest, configMap, failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'
import { DEFINED, GONE, serveWidgets, THERE, type Widgets } from './widgets.ts'

const DEFINITION_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com'
const ONE_EACH = { namesIn: (namespace: string) => [`w-${namespace}`] }

test('case 18: of a kind that went while nobody looked, what is still asked for is told as deleted, and nothing else', async () => {
  let widgets: Widgets | undefined
  const released: string[] = []
  const entry = (namespace: string) => [{ kind: 'widgets.example.com', namespaces: [namespace] }]
  await using it = await startWatchBed({
    entries: entry('dev'),
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: THERE })
    },
    wrap: (store) => ({
      ...store,
      async release(source, signal) {
        await store.release(source, signal)
        released.push(source.title)
      },
    }),
  })
  const seeded = () => waitFor(async () => (await it.position()) === '10', { what: 'the first list' })
  await seeded()
  await it.stop()
  it.start(entry('prod'))
  const both = async () => (await it.reader.keys('*:index:*')).length === 2
  await waitFor(both, { what: 'the list of the other namespace' })
  await it.stop()
  widgets?.become(GONE)
  released.length = 0
  it.start(entry('prod'))
  await it.arrived(1)
  await waitFor(() => it.statuses().some(({ phase }) => phase === 'waiting-for-kind'), {
    what: 'the kind to be waited for',
  })
  expect(await it.enqueued()).toEqual(['DELETED w-prod@5 synthesized'])
  // Nobody works on it any more: a watch that replaces it waits for no process.
  expect(released).toEqual(['widgets.example.com in prod'])
})

/** As the aggregator lists an API that it has never reached, and one whose answer it remembers. */
const SILENT = {
  metadata: { name: 'external.metrics.k8s.io' },
  versions: [{ version: 'v1', freshness: 'Stale' }],
}
const REMEMBERED = {
  metadata: { name: 'metrics.k8s.io' },
  versions: [
    {
      ...{ version: 'v1', freshness: 'Stale' },
      resources: [
        {
          resource: 'pods',
          responseKind: { kind: 'PodMetrics' },
          scope: 'Namespaced',
          verbs: ['get', 'list'],
        },
      ],
    },
  ],
}

test.each([
  ['whose resources are remembered', REMEMBERED, undefined],
  ['of which nothing is known', SILENT, expect.stringContaining('does not answer')],
])(
  'while an API %s does not answer, a kind that is not installed is waited for, and new once it comes',
  async (_, silentGroup, lastError) => {
    let widgets: Widgets | undefined
    await using it = await startWatchBed({
      entries: [{ kind: 'Widget', namespaces: ['dev'] }],
      prepare(api) {
        widgets = serveWidgets(api, { ...ONE_EACH, begin: GONE, silentGroup })
      },
    })
    await waits(it)
    expect(it.statuses()).toMatchObject([{ ready: true, ...(lastError && { lastError }) }])
    if (!lastError) expect(it.statuses()[0]).not.toHaveProperty('lastError')
    await waitFor(() => it.reader.sismember(it.keys.absentKinds, 'Widget'), { what: 'the kind to be absent' })
    widgets?.become(THERE)
    await it.arrived(1)
    expect(await it.enqueued()).toEqual(['ADDED w-dev@5 synthesized'])
  },
)

test('a kind that comes back with an API that did not answer is no new one', async () => {
  let widgets: Widgets | undefined
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev'] }],
    prepare(api) {
      // Of an aggregated API there is no definition.
      widgets = serveWidgets(api, { ...ONE_EACH, begin: GONE, silentGroup: SILENT })
    },
  })
  await waitFor(() => it.reader.sismember(it.keys.absentKinds, 'Widget'), { what: 'the kind to be absent' })
  widgets?.become({ isDefined: false, isServed: true })
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  expect(await it.enqueued()).toEqual([])
  const isRecorded = () => it.reader.sismember(it.keys.absentKinds, 'Widget')
  await waitFor(async () => !(await isRecorded()), { what: 'the kind not to be recorded as absent any more' })
})

test.each([
  ['that did not answer is no new one', SILENT.versions, []],
  ['that was gone for certain is a new one', [], ['ADDED w-dev@5 synthesized']],
])('a kind that comes with an API %s, to the next process too', async (_, versions, changes) => {
  let widgets: Widgets | undefined
  const silentGroup = { ...SILENT }
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: GONE, silentGroup })
    },
  })
  const recorded = () => it.reader.smembers(it.keys.absentKinds)
  await waitFor(async () => (await recorded()).includes('Widget'), { what: 'the kind to be absent' })
  await it.stop()
  silentGroup.versions = versions
  it.start()
  await waits(it)
  await it.stop()
  widgets?.become({ isDefined: false, isServed: true })
  it.start()
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  await waitFor(async () => (await recorded()).length === 0, { what: 'the kind not to be recorded any more' })
  expect(await it.enqueued()).toEqual(changes)
})

test('a kind that was watched is not ready while an API that may have it does not answer', async () => {
  let widgets: Widgets | undefined
  const silent = { metadata: { name: 'example.com' }, versions: [] as object[] }
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: THERE, silentGroup: silent })
    },
  })
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  await it.stop()
  silent.versions = [{ version: 'v1', freshness: 'Stale' }]
  widgets?.become(DEFINED)
  it.start()
  await waitFor(() => it.statuses()[0]?.lastError, { what: 'the reason' })
  expect(it.statuses()).toMatchObject([{ phase: 'resolving', ready: false }])
})

test('a proxy that answers 404 in place of the API server deletes no objects', async () => {
  let widgets: Widgets | undefined
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: THERE })
    },
  })
  const watched = () => waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  await watched()
  const usual = it.api.intercept
  const asked: string[] = []
  it.api.intercept = ({ path }, response) => {
    asked.push(path)
    response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n')
    return true
  }
  // Its watches end.
  widgets?.become(DEFINED)
  widgets?.become(THERE)
  await waitFor(() => asked.includes(DEFINITION_PATH) && asked.includes('/apis'), {
    what: 'the definition and discovery to be requested',
  })
  it.api.intercept = usual
  await watched()
  expect(it.api.watches().at(-1)?.query.get('resourceVersion')).toBe('10')
  expect(await it.enqueued()).toEqual([])
})

test.each(['while it is watched', 'while no process runs'])(
  'a kind that %s is not served any more, and is still defined, fails; its watch goes on once it is served again',
  async (when) => {
    let widgets: Widgets | undefined
    await using it = await startWatchBed({
      entries: [{ kind: 'Widget', namespaces: ['dev'] }],
      prepare(api) {
        widgets = serveWidgets(api, { ...ONE_EACH, begin: THERE })
      },
    })
    const watched = () => waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
    await watched()
    if (when === 'while no process runs') await it.stop()
    widgets?.become(DEFINED)
    if (when === 'while no process runs') it.start()
    // Of what is not resolved, the states of limits are kept.
    const isFailing = (status: WatchStatus) => status.phase === 'failing' && isUnresolved(status)
    await waitFor(() => it.statuses().some(isFailing), { what: 'the failure in the status' })
    expect(it.statuses()).toMatchObject([{ ready: false, lastError: expect.stringContaining('Widget') }])
    widgets?.become(THERE)
    await watched()
    expect(it.statuses()).toMatchObject([{ ready: true }])
    expect(await it.enqueued()).toEqual([])
  },
)

test('of a kind that is spelled in two ways, and went while nobody looked, all objects are deleted', async () => {
  let widgets: Widgets | undefined
  const spellings = { dev: 'Widget', prod: 'widgets.example.com' }
  await using it = await startWatchBed({
    entries: Object.entries(spellings).map(([namespace, kind]) => ({ kind, namespaces: [namespace] })),
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: THERE })
    },
  })
  const areWatched = () => it.statuses().filter(({ phase }) => phase === 'watching').length === 2
  await waitFor(areWatched, { what: 'both watches' })
  await it.stop()
  widgets?.become(GONE)
  it.start()
  await it.arrived(2)
  expect((await it.enqueued()).toSorted()).toEqual(
    ['dev', 'prod'].map((namespace) => `DELETED w-${namespace}@5 synthesized`),
  )
})

test('a kind whose definition may be read only since a restart counts as custom: when it has gone, its objects are deleted', async () => {
  let widgets: Widgets | undefined
  let mayRead = false
  await using it = await startWatchBed({
    entries: [{ kind: 'widgets.example.com', namespaces: ['dev'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: THERE })
      const usual = api.intercept
      api.intercept = (request, response) => {
        if (mayRead || !request.path.includes('customresourcedefinitions'))
          return usual?.(request, response) ?? false
        response.writeHead(403).end(JSON.stringify(failure(403, 'Forbidden')))
        return true
      }
    },
  })
  const watched = () => waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  await watched()
  await it.stop()
  mayRead = true
  it.start()
  await watched()
  await it.stop()
  widgets?.become(GONE)
  it.start()
  await waits(it)
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['DELETED w-dev@5 synthesized'])
})

const waits = (it: Awaited<ReturnType<typeof startWatchBed>>) =>
  waitFor(() => it.statuses().some(({ phase }) => phase === 'waiting-for-kind'), {
    what: 'the kind to be waited for',
  })

test('a kind that is spelled in two ways has come under both of them', async () => {
  let widgets: Widgets | undefined
  const spellings = { dev: 'Widget', prod: 'widgets.example.com' }
  await using it = await startWatchBed({
    entries: Object.entries(spellings).map(([namespace, kind]) => ({ kind, namespaces: [namespace] })),
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: GONE })
    },
  })
  const areWatched = (count: number) =>
    waitFor(() => it.statuses().filter(({ phase }) => phase === 'watching').length === count, {
      what: `${count} watches`,
    })
  await waits(it)
  widgets?.become(THERE)
  await areWatched(2)
  const isRemembered = async () => (await it.reader.keys('*absent*')).length > 0
  await waitFor(async () => !(await isRemembered()), { what: 'both spellings to be forgotten' })
  await it.stop()
  it.start([{ kind: 'widgets.example.com', namespaces: ['dev', 'prod', 'qa'] }])
  await areWatched(3)
  expect((await it.enqueued()).filter((event) => event.includes('w-qa'))).toEqual([])
})

test.each([
  ['widgets.example.com', true],
  ['widgets.example.com', false],
  ['example.com/v1/Widget', false],
  ['widgets.v1.example.com', false],
  ['Widget', true],
  ['wdg', true],
])(
  '%s, defined and not served yet (definitions may be listed: %s), is no new kind: a first start is silent about its objects',
  async (kind, mayListDefinitions) => {
    let widgets: Widgets | undefined
    await using it = await startWatchBed({
      entries: [{ kind, namespaces: ['dev'] }],
      prepare(api) {
        widgets = serveWidgets(api, { ...ONE_EACH, begin: DEFINED, mayListDefinitions })
      },
    })
    await waits(it)
    widgets?.become(THERE)
    await waitFor(async () => (await it.position()) === '10', { what: 'the first list' })
    await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
    expect(await it.enqueued()).toEqual([])
  },
)

test.each([
  ['that has no definition', { begin: GONE }],
  ['whose definition nothing names and none may list', { begin: DEFINED, mayListDefinitions: false }],
])('of a kind %s all is new once it is served', async (_, how) => {
  let widgets: Widgets | undefined
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, ...how })
    },
  })
  await waits(it)
  widgets?.become(THERE)
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED w-dev@5 synthesized'])
})

test('a kind whose definition is removed before it is served is a new one when it comes back', async () => {
  let widgets: Widgets | undefined
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: DEFINED })
    },
  })
  await waits(it)
  widgets?.become(GONE)
  const recorded = () => it.reader.sismember(it.keys.absentKinds, 'Widget')
  await waitFor(recorded, { what: 'the kind to be recorded as absent' })
  widgets?.become(THERE)
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED w-dev@5 synthesized'])
})

test('a kind that leaves the configuration before it comes, and returns, is recorded as absent again', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap' }, { kind: 'Widget', namespaces: ['dev'] }],
    prepare: (api) => void serveWidgets(api, { ...ONE_EACH, begin: GONE }),
  })
  const recorded = () => it.reader.sismember(it.keys.absentKinds, 'Widget')
  await waitFor(recorded, { what: 'the kind to be recorded as absent' })
  it.apply([{ kind: 'ConfigMap' }])
  // As when the configuration has not had it for a week.
  await it.applied()
  await it.reader.srem(it.keys.absentKinds, 'Widget')
  it.apply([{ kind: 'ConfigMap' }, { kind: 'Widget', namespaces: ['dev'] }])
  await waitFor(recorded, { what: 'the kind to be recorded as absent again' })
})

test('of a kind that was absent all is new in each namespace, also in one that begins after others are watched', async () => {
  let widgets: Widgets | undefined
  let asked = 0
  const late = Promise.withResolvers<void>()
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev', 'prod'] }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: GONE })
    },
    wrap: (store) => ({
      ...store,
      absentKinds: {
        ...store.absentKinds,
        async has(kind, signal) {
          if (++asked === 2) await late.promise
          return store.absentKinds.has(kind, signal)
        },
      },
    }),
  })
  await waits(it)
  widgets?.become(THERE)
  await it.arrived(1)
  await waitFor(() => it.statuses().some(({ phase }) => phase === 'watching'), { what: 'the first watch' })
  late.resolve()
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED w-dev@5 synthesized', 'ADDED w-prod@5 synthesized'])
  const isRecorded = () => it.reader.sismember(it.keys.absentKinds, 'Widget')
  await waitFor(async () => !(await isRecorded()), { what: 'the kind not to be recorded as absent any more' })
})

test('of a kind that was absent, what an edit adds is no news, although a namespace that cannot be read is not split yet', async () => {
  let widgets: Widgets | undefined
  const isUnlabelled = ({ path, query }: ApiRequest) => path.includes('/dev/') && !query.has('labelSelector')
  await using it = await startWatchBed({
    entries: [{ kind: 'Widget', namespaces: ['dev', 'prod'], labels: 'app=a', shards: 2 }],
    prepare(api) {
      widgets = serveWidgets(api, { ...ONE_EACH, begin: GONE })
      const usual = api.intercept
      api.intercept = (request, response) => {
        const isForbidden = request.path.includes('/prod/')
        if (!isForbidden && (request.isWatch || !isUnlabelled(request)))
          return usual?.(request, response) ?? false
        const inDev = { namespace: 'dev' }
        const items = [configMap('w-dev', 5, inDev), configMap('unlabelled', 4, inDev)]
        const list = { metadata: { resourceVersion: '10' }, items }
        response.writeHead(isForbidden ? 403 : 200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(isForbidden ? failure(403, 'Forbidden') : list))
        return true
      }
    },
  })
  await waits(it)
  widgets?.become(THERE)
  await it.arrived(1)
  await waitFor(() => it.statuses().some(({ phase }) => phase === 'watching'), { what: 'the first watch' })
  it.apply([{ kind: 'Widget', namespaces: ['dev', 'prod'], shards: 2 }])
  await waitFor(() => it.api.watches().some(isUnlabelled), { what: 'the watch of the edited selection' })
  expect(await it.enqueued()).toEqual(['ADDED w-dev@5 synthesized'])
})
