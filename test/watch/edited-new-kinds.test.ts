import { expect, test } from 'vitest'
import { type ApiRequest, configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'
import { GONE, serveWidgets, THERE, type Widgets } from './widgets.ts'

/** Selections of a kind that was absent are edited while one of its namespaces, `prod`, has not begun. */

const LABELLED = { kind: 'Widget', labels: 'app=a' }

interface Faults {
  forbidsProd: boolean
  /** Lists that are not answered. */
  holds(request: ApiRequest): boolean
  /** Delays the start of a source. */
  beforeStart(): Promise<void>
}

/** Each namespace has a widget with the label, and an older one without. */
function serveNamespaces(api: ScriptedApi, faults: Faults) {
  const widgets = serveWidgets(api, { namesIn: () => [], begin: GONE })
  const usual = api.intercept
  api.intercept = (request, response) => {
    const { path, isWatch, query } = request
    const answer = (status: number, body: object) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (path.includes('/prod/') && faults.forbidsProd) answer(403, failure(403, 'Forbidden'))
    else if (isWatch || !path.endsWith('/widgets') || query.has('sendInitialEvents'))
      return usual?.(request, response) ?? false
    else if (!faults.holds(request)) {
      const own = /namespaces\/([^/]+)/.exec(path)?.[1]
      const items = ['dev', 'qa', 'prod']
        .filter((namespace) => own === undefined || namespace === own)
        .flatMap((namespace) => [
          configMap(`w-${namespace}`, 5, { namespace }),
          ...(query.has('labelSelector') ? [] : [configMap(`old-${namespace}`, 4, { namespace })]),
        ])
      answer(200, { metadata: { resourceVersion: '10' }, items })
    }
    return true
  }
  return widgets
}

/** Watches these namespaces by the label, until all but `prod` are watched. */
async function startLabelled(namespaces: string[], own: { shards?: number } = {}) {
  let widgets: Widgets | undefined
  const faults: Faults = { forbidsProd: true, holds: () => false, beforeStart: async () => {} }
  const it = await startWatchBed({
    entries: [{ ...LABELLED, namespaces, ...own }],
    prepare(api) {
      widgets = serveNamespaces(api, faults)
    },
    wrap: (store) => ({
      ...store,
      absentKinds: {
        ...store.absentKinds,
        async has(kind, signal) {
          await faults.beforeStart()
          return store.absentKinds.has(kind, signal)
        },
      },
    }),
  })
  const watching = (wanted: string) =>
    waitFor(() => it.statuses().some(({ title, phase }) => title === wanted && phase === 'watching'), {
      what: () => `${wanted} to be watched; there are ${JSON.stringify(it.statuses())}`,
    })
  const edited = (path: string) =>
    waitFor(
      () =>
        it.api
          .watches()
          .some((request) => request.path.includes(path) && !request.query.has('labelSelector')),
      { what: `a watch of ${path} by the edited selection` },
    )
  await waitFor(() => it.statuses().some(({ phase }) => phase === 'waiting-for-kind'), {
    what: 'the kind to be waited for',
  })
  widgets?.become(THERE)
  for (const namespace of namespaces)
    if (namespace !== 'prod') await watching(`widgets.example.com in ${namespace}`)
  return {
    it,
    edited,
    names: async () => (await it.enqueued()).map((label) => label.split('@')[0]).toSorted(),
    faults,
    become: (availability: typeof THERE) => widgets?.become(availability),
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  }
}

test('what an edit adds is no news in a namespace whose former source another one has begun to take over', async () => {
  const namespaces = ['dev', 'qa', 'prod']
  await using bed = await startLabelled(namespaces, { shards: 2 })
  let asked = 0
  bed.faults.beforeStart = async () => {
    if (++asked === 2) await bed.edited('/dev/')
  }
  bed.it.apply([{ kind: 'Widget', namespaces, shards: 2 }])
  await bed.edited('/qa/')
  expect(asked).toBe(2)
  expect(await bed.names()).toEqual(['ADDED w-dev', 'ADDED w-qa'])
})

test('what an edit adds is no news after a restart during the first list of the edited selection', async () => {
  const namespaces = ['dev', 'prod']
  await using bed = await startLabelled(namespaces, { shards: 2 })
  const entries = [{ kind: 'Widget', namespaces, shards: 2 }]
  let held = 0
  bed.faults.holds = ({ path, query }) => path.includes('/dev/') && !query.has('shardSelector') && ++held > 0
  bed.it.apply(entries)
  await waitFor(() => held > 0, { what: 'the list of the edited selection' })
  await bed.it.stop()
  bed.faults.holds = () => false
  bed.it.start(entries)
  await bed.edited('/dev/')
  expect(await bed.names()).toEqual(['ADDED w-dev'])
})

test.each([
  ['of its own', ['prod', 'dev'], ['prod', 'dev'], '/prod/'],
  ['of all namespaces', ['dev', 'prod'], undefined, '/v1/widgets'],
])(
  'all is new in a namespace that begins after an edit, as part of a source %s',
  async (_, before, after, path) => {
    await using bed = await startLabelled(before)
    bed.it.apply([{ kind: 'Widget', ...(after && { namespaces: after }) }])
    if (after) await bed.edited('/dev/')
    bed.faults.forbidsProd = false
    await bed.edited(path)
    const expected = [
      'ADDED old-prod',
      'ADDED w-dev',
      'ADDED w-prod',
      ...(after ? [] : ['ADDED old-qa', 'ADDED w-qa']),
    ]
    expect(await bed.names()).toEqual(expected.toSorted())
  },
)

test('all of a kind that went is new when it is back, also by a selection that was edited meanwhile, and after a restart during its first list', async () => {
  await using bed = await startLabelled(['dev'])
  const entries = [{ kind: 'Widget', namespaces: ['dev'] }]
  const waits = () =>
    waitFor(() => bed.it.statuses().some(({ phase }) => phase === 'waiting-for-kind'), {
      what: 'the kind to be waited for',
    })
  bed.become(GONE)
  await bed.it.arrived(2)
  await waits()
  let held = 0
  bed.faults.holds = () => ++held > 0
  bed.it.apply(entries)
  await bed.it.applied()
  await waits()
  bed.become(THERE)
  await waitFor(() => held > 0, { what: 'the list of the edited selection' })
  await bed.it.stop()
  bed.faults.holds = () => false
  bed.it.start(entries)
  await bed.edited('/dev/')
  expect(await bed.names()).toEqual(['ADDED old-dev', 'ADDED w-dev', 'ADDED w-dev', 'DELETED w-dev'])
})
