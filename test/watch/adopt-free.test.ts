import { expect, test } from 'vitest'
import type {
  FormerSource,
  PeekedCheckpoint,
  Selection,
  Source,
  SourceSession,
} from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import type { PlannedSource } from '../../src/watch/plan/plan.ts'
import type { ReflectorStatus } from '../../src/watch/reflector/reflector-status.ts'
import { adopt } from '../../src/watch/reflector/takeover.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import type { WatchEntry } from '../../src/watch/schema.ts'
import { configMap, failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Former sources, some of them of a process that goes on for longer than a new source waits for it. */

interface Former {
  key: string
  isOwned: boolean
  /** Of its last commit. */
  atMs?: number
}

/** Adopts from these; `adopting` is what an earlier attempt has begun to adopt. */
async function adoptFrom(stored: readonly Former[], adopting?: readonly Selection[]) {
  const left = new Map(stored.map((it) => [it.key, it]))
  const adopted: string[] = []
  const store = {
    async peek({ key }: Source) {
      const { isOwned, atMs } = left.get(key) as Former
      return { ownerAlive: isOwned, atMs } as PeekedCheckpoint
    },
    owners: { changes: 0, wait: async () => {} },
  }
  const session = {
    checkpoint: adopting && { adopting },
    async adopt({ source }: FormerSource) {
      left.delete(source.key)
      adopted.push(source.key)
      session.checkpoint = { adopting: [] }
    },
  }
  const formers = async () =>
    [...left.keys()].map((key) => ({ source: { key, title: key } as Source, claims: () => true }))
  const leftOut = await adopt(
    { store, timing: { ...DEFAULT_TIMING, adoptWaitMs: 0 }, log: silentLog },
    { title: 'all', adoption: { formers } } as unknown as PlannedSource,
    session as unknown as SourceSession,
    { standby() {} } as unknown as ReflectorStatus,
    new AbortController().signal,
  )
  return { leftOut: leftOut?.map(({ key }) => key), adopted }
}

test('a source whose process goes on keeps its state, and the others are adopted', async () => {
  const stored = [
    { key: 'narrow', isOwned: true },
    { key: 'other', isOwned: false },
  ]
  expect(await adoptFrom(stored)).toEqual({ leftOut: ['narrow'], adopted: ['other'] })
})

test('of sources that overlap the newest is adopted first: what it knows of an object is kept', async () => {
  const stored = [3, 9, 5].map((atMs) => ({ key: `of ${atMs}`, isOwned: false, atMs }))
  expect(await adoptFrom(stored)).toMatchObject({ adopted: ['of 9', 'of 5', 'of 3'] })
})

test('a source starts over when a process goes on with all that it would adopt', async () => {
  expect(await adoptFrom([{ key: 'narrow', isOwned: true }])).toEqual({ leftOut: undefined, adopted: [] })
})

test('what an earlier attempt has adopted is kept, although a process goes on with the rest', async () => {
  expect(await adoptFrom([{ key: 'narrow', isOwned: true }], [])).toEqual({
    leftOut: ['narrow'],
    adopted: [],
  })
})

test.each<[string, WatchEntry['initial'], string[]]>([
  ['', 'now', ['ADDED c@12 synthesized']],
  [', which emits what exists,', 'emit', ['a@5', 'b@6', 'c@12'].map((it) => `ADDED ${it} synthesized`)],
])(
  'a former source that comes back%s emits nothing that a living process has adopted from it, and what is new in the rest',
  async (_, initial, expected) => {
    const inNamespace = (namespace: string, name: string, version: number) => {
      const it = configMap(name, version) as { metadata: object }
      return { ...it, metadata: { ...it.metadata, namespace } }
    }
    const objects = [inNamespace('shop', 'a', 5), inNamespace('pay', 'b', 6)]
    let isOwned = false
    await using it = await startWatchBed({
      entries: [{ kind: 'ConfigMap', initial }],
      timing: { adoptWaitMs: 200 },
      prepare(api) {
        api.onList = ({ path }) => {
          const namespace = /namespaces\/([^/]+)/.exec(path)?.[1]
          const items = objects.filter(
            (object) => namespace === undefined || object.metadata.namespace === namespace,
          )
          return { body: { metadata: { resourceVersion: api.resourceVersion }, items } }
        }
        // Whether the server splits the namespace is not known.
        api.intercept = ({ path, query }, response) => {
          if (!path.includes('/pay/') || !query.has('shardSelector')) return false
          response.writeHead(503, { 'content-type': 'application/json' })
          response.end(JSON.stringify(failure(503, 'ServiceUnavailable')))
          return true
        }
      },
      wrap: (store) => ({
        ...store,
        async peek(source, signal) {
          const checkpoint = await store.peek(source, signal)
          return checkpoint && { ...checkpoint, ownerAlive: isOwned && source.namespace === 'shop' }
        },
      }),
    })
    const isWatched = (wanted: string) =>
      waitFor(() => it.statuses().some(({ title, phase }) => title === wanted && phase === 'watching'), {
        what: () => `${wanted} to be watched; there are ${JSON.stringify(it.statuses())}`,
      })
    await isWatched('configmaps')
    await it.stop()
    it.start([{ kind: 'ConfigMap', namespaces: ['shop', 'pay'], shards: 2, initial }])
    await isWatched('configmaps in shop')
    await it.stop()
    isOwned = true
    objects.push(inNamespace('pay', 'c', 12))
    it.api.resourceVersion = '12'
    it.start()
    await isWatched('configmaps')
    expect(await it.enqueued()).toEqual(expected)
  },
)
