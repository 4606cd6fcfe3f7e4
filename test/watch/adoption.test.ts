import { expect, test } from 'vitest'
import type {
  FormerSource,
  PeekedCheckpoint,
  Source,
  SourceSession,
  SourceStore,
} from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { readLedger } from '../../src/store/ledger.ts'
import type { PlannedSource } from '../../src/watch/plan/plan.ts'
import type { ReflectorStatus } from '../../src/watch/reflector/reflector-status.ts'
import { adopt } from '../../src/watch/reflector/takeover.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import type { WatchEntry } from '../../src/watch/schema.ts'
import { configMap, failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed, type WatchBedOptions } from './bed.ts'

/** Edits of what a watch selects: its sources take over what those of before knew. */

type Labels = Record<string, string>
type Namespaced = { metadata: { namespace: string; labels?: Labels } }

function object(name: string, version: number, namespace = 'shop', labels?: Labels): Namespaced {
  const it = configMap(name, version) as Namespaced
  return { ...it, metadata: { ...it.metadata, namespace, ...(labels && { labels }) } }
}

const all: WatchEntry[] = [{ kind: 'ConfigMap' }]
const inNamespaces = (...namespaces: string[]): WatchEntry[] => [{ kind: 'ConfigMap', namespaces }]
const withLabels = (labels: string): WatchEntry[] => [{ kind: 'ConfigMap', labels }]

/** Objects that the API server has, by what is asked for; `watched` waits until those entries are watched. */
async function startBed(entries: WatchEntry[], objects: Namespaced[], options: WatchBedOptions = {}) {
  const state = { objects }
  const it = await startWatchBed({
    entries,
    ...options,
    prepare(api) {
      api.onList = ({ path, query }) => {
        const namespace = /namespaces\/([^/]+)/.exec(path)?.[1]
        const items = state.objects.filter(
          ({ metadata }) =>
            (namespace === undefined || metadata.namespace === namespace) &&
            isLabelled(metadata.labels, query.get('labelSelector') ?? ''),
        )
        return { body: { metadata: { resourceVersion: api.resourceVersion }, items } }
      }
    },
  })
  const watched = (count: number) =>
    waitFor(
      () => it.statuses().filter(({ phase, ready }) => phase === 'watching' && ready).length === count,
      {
        what: () => `${count} watches; there are ${JSON.stringify(it.statuses())}`,
      },
    )
  return { ...it, state, watched }
}

const isLabelled = (labels: Labels = {}, selector: string) =>
  selector === '' ||
  selector.split(',').every((term) => labels[term.split('=')[0] as string] === term.split('=')[1])

for (const how of ['a restart', 'a reload'] as const) {
  /** Puts other entries in force; meanwhile other objects may be there. */
  const edit = async (
    it: Awaited<ReturnType<typeof startBed>>,
    entries: WatchEntry[],
    meanwhile?: { objects: Namespaced[]; resourceVersion: string },
  ) => {
    if (meanwhile) {
      it.state.objects = meanwhile.objects
      it.api.resourceVersion = meanwhile.resourceVersion
    }
    if (how === 'a reload') return it.apply(entries)
    await it.stop()
    it.start(entries)
  }

  test(`by ${how} a watch widens from a namespace to all: what it knew is no news, what changed meanwhile is told`, async () => {
    const before = [object('same', 5), object('changes', 6), object('goes', 7), object('other', 8, 'pay')]
    await using it = await startBed(inNamespaces('shop'), before)
    await it.watched(1)
    const after = [object('same', 5), object('changes', 11), object('comes', 12), object('other', 8, 'pay')]
    await edit(it, all, { objects: after, resourceVersion: '12' })
    await it.arrived(3)
    await it.watched(1)
    expect((await it.enqueued()).toSorted()).toEqual([
      'ADDED comes@12 synthesized',
      'DELETED goes@7 synthesized',
      'MODIFIED changes@11 synthesized',
    ])
    expect((await readLedger(it.reader, it.keys, { verify: true })).balanced).toBe(true)
    expect(await it.reader.hlen(it.keys.sources)).toBe(1)
  })

  test(`by ${how} a watch narrows from all namespaces to two: nothing is deleted, and both go on from what was known`, async () => {
    const before = [object('a', 5), object('b', 6, 'pay'), object('c', 7, 'dev')]
    await using it = await startBed(all, before)
    await it.watched(1)
    const after = [object('a', 5), object('b', 11, 'pay'), object('c', 12, 'dev'), object('d', 13, 'pay')]
    await edit(it, inNamespaces('shop', 'pay'), { objects: after, resourceVersion: '13' })
    await it.arrived(2)
    await it.watched(2)
    expect((await it.enqueued()).toSorted()).toEqual(['ADDED d@13 synthesized', 'MODIFIED b@11 synthesized'])
    expect(await it.reader.hlen(it.keys.sources)).toBe(2)
    expect(await it.reader.keys(it.keys.index('*'))).toHaveLength(2)
  })

  test(`by ${how} a label selector changes: objects of both go on, those of the new one are no news`, async () => {
    const [a, b, both] = [{ app: 'a' }, { team: 'b' }, { app: 'a', team: 'b' }]
    const before = [object('old', 5, 'shop', a), object('both', 6, 'shop', both), object('new', 7, 'shop', b)]
    await using it = await startBed(withLabels('app=a'), before)
    await it.watched(1)
    const after = [
      object('both', 11, 'shop', both),
      object('new', 7, 'shop', b),
      object('fresh', 12, 'shop', both),
    ]
    await edit(it, withLabels('team=b'), { objects: after, resourceVersion: '12' })
    await it.arrived(2)
    await it.watched(1)
    expect((await it.enqueued()).toSorted()).toEqual([
      'ADDED fresh@12 synthesized',
      'MODIFIED both@11 synthesized',
    ])
    it.api.current()?.frame('MODIFIED', object('new', 14, 'shop', b))
    await it.arrived(3)
    expect((await it.enqueued()).at(-1)).toBe('MODIFIED new@14')
  })

  test(`by ${how} an edit is taken back: nothing is told twice`, async () => {
    const objects = [object('a', 5), object('b', 6, 'pay')]
    await using it = await startBed(all, objects)
    await it.watched(1)
    for (const entries of [
      inNamespaces('shop'),
      all,
      inNamespaces('pay'),
      inNamespaces('pay', 'shop'),
      all,
    ]) {
      const before = it.api.lists().length
      await edit(it, entries)
      await waitFor(() => it.api.lists().length > before, { what: 'a list' })
      await it.watched(entries[0]?.namespaces?.length ?? 1)
    }
    expect(await it.enqueued()).toEqual([])
    it.api.current()?.frame('MODIFIED', object('a', 14))
    await it.arrived(1)
    expect(await it.enqueued()).toEqual(['MODIFIED a@14'])
  })
}

test('a source stands by, ready, as long as another process works on the one that it replaces; then it goes on from that', async () => {
  let isOwned = false
  const before = [object('changes', 6), object('other', 8, 'pay')]
  await using it = await startBed(inNamespaces('shop'), before, {
    wrap: (store) => ({
      ...store,
      async peek(...args) {
        const checkpoint = await store.peek(...args)
        return checkpoint && { ...checkpoint, ownerAlive: isOwned }
      },
    }),
  })
  await it.watched(1)
  await it.stop()
  isOwned = true
  it.start(all)
  await waitFor(() => it.statuses().some(({ phase, ready }) => phase === 'standby' && ready), {
    what: 'it to stand by',
  })
  it.state.objects = [object('changes', 11), object('other', 8, 'pay')]
  it.api.resourceVersion = '11'
  isOwned = false
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['MODIFIED changes@11 synthesized'])
})

test('a source whose state another process is taking over is left to it: to open it would fence that process', async () => {
  let isOwned = false
  await using it = await startBed(inNamespaces('shop'), [object('a', 6)], {
    timing: { fencedPauseMs: 600_000 },
    wrap: (store) => ({
      ...store,
      async peek(...args) {
        const checkpoint = await store.peek(...args)
        return checkpoint && { ...checkpoint, ownerAlive: isOwned && !checkpoint.released }
      },
    }),
  })
  await it.watched(1)
  const [checkpoint = ''] = await it.reader.keys(it.keys.checkpoint('*'))
  await it.stop()
  it.start(all)
  await it.watched(1)
  isOwned = true
  // As while its index moves.
  const moving = { phase: 'seeding', resourceVersion: '', sequence: 9, atMs: 1, holder: 'a', adopting: [] }
  const text = JSON.stringify({ ...moving, released: true })
  await it.reader.set(checkpoint, text)
  it.start(inNamespaces('shop'))
  await waitFor(() => it.statuses().some(({ phase, ready }) => phase === 'standby' && ready), {
    what: 'it to stand by',
  })
  expect(await it.reader.get(checkpoint)).toBe(text)
})

test('what another process adopts while a source stands by is adopted from that one, once it is free', async () => {
  const former = (key: string) => ({ source: { key, title: key } as Source, claims: () => true })
  // Two former sources: the owner of the first leaves it, and another process adopts it for a third selection.
  const steps = [
    { stored: ['narrow'], owned: ['narrow'] },
    { stored: ['third'], owned: ['third'] },
    { stored: ['third'], owned: [] },
  ]
  const adopted: string[] = []
  const now = () => steps[0] as (typeof steps)[0]
  const store = {
    peek: async ({ key }: Source) => ({ ownerAlive: now().owned.includes(key) }) as PeekedCheckpoint,
    owners: { changes: 0, wait: async () => void steps.shift() },
  }
  const session = {
    checkpoint: undefined as object | undefined,
    adopt: async ({ source }: FormerSource) => {
      adopted.push(source.key)
      session.checkpoint = { adopting: [] }
    },
  }
  const formers = async () => now().stored.map(former)
  const source = { title: 'all', adoption: { formers } } as unknown as PlannedSource
  const report = { standby() {} } as unknown as ReflectorStatus
  const parts = { store, timing: DEFAULT_TIMING, log: silentLog }
  const { signal } = new AbortController()
  expect(await adopt(parts, source, session as unknown as SourceSession, report, signal)).toEqual([])
  expect(adopted).toEqual(['third'])
})

/** Every source has a living process. */
const OWNED: WatchBedOptions = {
  timing: { adoptWaitMs: 200 },
  wrap: (store) => ({
    ...store,
    async peek(...args) {
      const checkpoint = await store.peek(...args)
      return checkpoint && { ...checkpoint, ownerAlive: true }
    },
  }),
}

test('a process that goes on by the selection of before keeps what it knows: the new watch begins from now, and says so', async () => {
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) }
  await using it = await startBed(inNamespaces('shop'), [object('a', 6)], { ...OWNED, log })
  await it.watched(1)
  await it.stop()
  const index = await it.reader.keys(it.keys.index('*'))
  it.start(all)
  await it.watched(1)
  expect(warnings).toEqual([expect.stringContaining('starts over, without its state')])
  expect(await it.enqueued()).toEqual([])
  expect(await it.reader.exists(...index)).toBe(1)
})

test('with "initial: emit", only what that process does not select is new, also when the list is interrupted', async () => {
  const emit = (entries: WatchEntry[]) => entries.map((it) => ({ ...it, initial: 'emit' as const }))
  const shop = [object('a', 6), object('b', 7, 'shop', { app: 'b' })]
  await using it = await startBed(emit(withLabels('app=b')), shop, OWNED)
  await it.watched(1)
  await it.arrived(1)
  await it.stop()
  const failed = Promise.withResolvers<void>()
  it.api.intercept = ({ isWatch, query }, response) => {
    if (isWatch || query.get('labelSelector')) return false
    failed.resolve()
    response.writeHead(500).end()
    return true
  }
  it.start(emit(all))
  await failed.promise
  await it.stop()
  it.api.intercept = undefined
  it.start(emit(all))
  await it.watched(1)
  expect(await it.enqueued()).toEqual(['ADDED b@7 synthesized', 'ADDED a@6 synthesized'])
})

test('a namespace that is taken out keeps its place', async () => {
  await using it = await startBed(inNamespaces('shop', 'pay'), [object('a', 5), object('b', 6, 'pay')])
  await it.watched(2)
  it.apply(inNamespaces('shop'))
  await it.watched(1)
  it.state.objects = [object('a', 5), object('b', 11, 'pay')]
  it.api.resourceVersion = '11'
  it.apply(inNamespaces('shop', 'dev'))
  await it.watched(2)
  it.api.intercept = ({ isWatch, path, query }, response) => {
    if (!isWatch || !path.includes('/pay/') || query.get('resourceVersion') !== '10') return false
    response.writeHead(410).end('{"kind":"Status","code":410,"reason":"Expired"}')
    return true
  }
  it.apply(inNamespaces('shop', 'pay'))
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['MODIFIED b@11 synthesized'])
})

test('while nobody knows whether a namespace is split into shards, what was known of it waits for its source', async () => {
  await using it = await startBed(all, [object('a', 5), object('b', 6, 'pay')])
  await it.watched(1)
  let isAnswered = false
  it.api.intercept = ({ path, query }, response) => {
    if (isAnswered || !path.includes('/pay/') || !query.has('shardSelector')) return false
    response.writeHead(503, { 'content-type': 'application/json' })
    response.end(JSON.stringify(failure(503, 'ServiceUnavailable')))
    return true
  }
  it.state.objects = [object('a', 5), object('b', 11, 'pay')]
  it.api.resourceVersion = '11'
  it.apply([{ kind: 'ConfigMap', namespaces: ['shop', 'pay'], shards: 2 }])
  await waitFor(() => it.statuses().some(({ title, ready }) => title.endsWith('in shop') && ready), {
    what: 'the other namespace to be watched',
  })
  isAnswered = true
  await it.watched(2)
  expect(await it.enqueued()).toEqual(['MODIFIED b@11 synthesized'])
  expect(await it.reader.hlen(it.keys.sources)).toBe(2)
})

/** Fails as a process that ends would, at the n-th call of one of these. */
function failing(store: SourceStore, at: { calls: number }): SourceStore {
  return {
    ...store,
    async open(...args) {
      const session = await store.open(...args)
      for (const name of ['adopt', 'beginList', 'list', 'endList'] as const) {
        const call = session[name].bind(session) as (...args: unknown[]) => Promise<void>
        session[name] = async (...given: unknown[]) => {
          const ended = () =>
            new Promise<void>((_, reject) =>
              (given[1] as AbortSignal).addEventListener('abort', () => reject(new Error('ended'))),
            )
          if (--at.calls === 0) await ended()
          await call(...given)
          if (--at.calls === 0) await ended()
        }
      }
      return session
    },
  }
}

for (let calls = 1; calls <= 9; calls++)
  for (const isTakenBack of [false, true])
    test(`a process that ends at step ${calls} of an edit, which is ${isTakenBack ? 'taken back' : 'kept'}: each change is told once`, async () => {
      const at = { calls: Number.POSITIVE_INFINITY }
      const [first, second] = [inNamespaces('shop'), all]
      const before = [object('same', 5), object('changes', 6), object('goes', 7), object('other', 8, 'pay')]
      await using it = await startBed(first, before, { wrap: (store) => failing(store, at) })
      await it.watched(1)
      await it.stop()
      it.state.objects = [
        object('same', 5),
        object('changes', 11),
        object('comes', 12),
        object('other', 8, 'pay'),
      ]
      it.api.resourceVersion = '12'
      at.calls = calls
      it.start(second)
      await waitFor(() => at.calls <= 0 || it.statuses().some(({ ready }) => ready), { what: 'the step' })
      at.calls = Number.POSITIVE_INFINITY
      await it.stop()
      // What happened since cannot be had any more, should the first selection go on as if nothing had been.
      it.api.intercept = ({ isWatch, query }, response) => {
        if (!isWatch || query.get('resourceVersion') !== '10') return false
        response.writeHead(410, { 'content-type': 'application/json' })
        response.end(JSON.stringify(failure(410, 'Expired')))
        return true
      }
      it.start(isTakenBack ? first : second)
      await it.arrived(3)
      await it.watched(1)
      expect((await it.enqueued()).toSorted()).toEqual([
        'ADDED comes@12 synthesized',
        'DELETED goes@7 synthesized',
        'MODIFIED changes@11 synthesized',
      ])
    })
