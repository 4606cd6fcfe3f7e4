import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { MetadataCache } from '../../src/watch/metadata/cache.ts'
import { createCacheStore } from '../../src/watch/metadata/cache-store.ts'
import { WatchProgress } from '../../src/watch/reflector/progress.ts'
import { configMap, failure, type ScriptedApi, type WatchConnection } from '../servers/scripted-api.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Cases of a watch whose connection lives and whose position does not move. */

/** Probes and relists soon. Silent watches do not end by themselves. */
const SOON = { probeAfterMs: 200, stalledMs: 300 }
/** Never probes. */
const NO_PROBES = { probeAfterMs: 600_000, stalledMs: 600_000 }

type Bed = Awaited<ReturnType<typeof startWatchBed>>

/** The collection goes on, and no watch shows it. */
function moveOn(api: ScriptedApi): void {
  api.objects = [configMap('missed', 15)]
  api.resourceVersion = '20'
}

function probes(api: ScriptedApi) {
  return api.requests.filter((it) => it.path.endsWith('/configmaps') && it.query.get('limit') === '1')
}

const behind = (it: Bed) => it.statuses()[0]?.behind
const untilBehind = (it: Bed) => waitFor(() => (behind(it)?.ms ?? 0) > 0, { what: 'the watch to be behind' })
const relists = async (it: Bed) =>
  (await it.metric('watch_relists_total')).map(({ labels, value }) => [labels['cause'], value])

/** Bytes of a frame that is never complete, for as long as the connection is open. */
function trickle({ raw, request }: WatchConnection, until: AbortSignal): void {
  raw(`{"type":"ADDED","object":{"from":"${request.query.get('resourceVersion')}`)
  const timer = setInterval(() => raw('x'), 20)
  until.addEventListener('abort', () => clearInterval(timer))
}

test('a watch that receives bytes and never a frame is behind, and is listed', async () => {
  const end = new AbortController()
  await using it = await startWatchBed({
    timing: SOON,
    prepare: (api) => api.script((watch) => trickle(watch, end.signal)),
  })
  await it.watching('10')
  moveOn(it.api)
  await untilBehind(it)
  expect(behind(it)).toMatchObject({ waitsFor: 'api-server' })
  await it.watching('20')
  end.abort()
  expect(await it.enqueued()).toEqual(['ADDED missed@15 synthesized'])
  expect(await relists(it)).toEqual([['stalled', 1]])
  await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
})

test('a watch that receives nothing while the collection goes on is behind, and is listed', async () => {
  await using it = await startWatchBed({ timing: SOON })
  await it.watching('10')
  moveOn(it.api)
  await untilBehind(it)
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED missed@15 synthesized'])
  expect(await relists(it)).toEqual([['stalled', 1]])
})

test('a connection that is frozen is noticed before its deadline', async () => {
  await using proxy = await startTcpProxy(0)
  await using it = await startWatchBed({
    timing: { ...SOON, probeTimeoutMs: 300 },
    serverAt(api) {
      proxy.retarget(Number(new URL(api.url).port))
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  await it.watching('10')
  await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
  proxy.freeze()
  moveOn(it.api)
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED missed@15 synthesized'])
})

test.concurrent.each([
  ['nothing', []],
  ['the deletion that it has processed', [configMap('gone', 5)]],
])('a watch that receives %s and falls silent, twice at one position, is listed', async (_, objects) => {
  const end = new AbortController()
  const fallSilent = (watch: WatchConnection) => {
    if (objects.length > 0) watch.frame('DELETED', configMap('gone', 12))
    trickle(watch, end.signal)
  }
  await using it = await startWatchBed({
    // One that is not even answered in this time did not fall silent.
    timing: { ...NO_PROBES, watchSeconds: [1, 1], graceMs: 3_000 },
    objects,
    prepare: (api) => api.script(fallSilent, fallSilent),
  })
  await it.watching('10')
  moveOn(it.api)
  await it.watching('20')
  end.abort()
  const from = it.api.watches().map(({ query }) => query.get('resourceVersion'))
  expect(from.slice(0, 3)).toEqual(['10', '10', '20'])
  expect(await it.enqueued()).toEqual([
    ...objects.map(() => 'DELETED gone@12'),
    'ADDED missed@15 synthesized',
  ])
})

test('an error of the server that waits behind a commit until the watch is overdue is what the watch ended with', async () => {
  const stuck = Promise.withResolvers<void>()
  await using it = await startWatchBed({
    timing: { ...NO_PROBES, watchSeconds: [1, 1], graceMs: 100 },
    wrap: (store) => ({
      ...store,
      async open(source, signal) {
        const session = await store.open(source, signal)
        const commit = session.commit.bind(session)
        session.commit = async (changes, ...rest) => {
          if (changes.length > 0) await stuck.promise
          return commit(changes, ...rest)
        }
        return session
      },
    }),
  })
  // Whatever fails, the bed ends only when the commit does.
  using _stuck = { [Symbol.dispose]: stuck.resolve }
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  it.api.objects = [configMap('a', 11)]
  it.api.resourceVersion = '20'
  // Longer than the watch and its grace.
  await pause(2_000)
  stuck.resolve()
  await it.watching('20')
  expect(await relists(it)).toEqual([['expired', 1]])
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test('reconnects at one position end in a list when the collection is ahead', async () => {
  await using it = await startWatchBed({ timing: SOON })
  await it.watching('10')
  moveOn(it.api)
  it.api.intercept = ({ isWatch, query }, response) => {
    if (!isWatch || query.get('resourceVersion') !== '10') return false
    response.writeHead(500).end(JSON.stringify(failure(500, 'InternalError')))
    return true
  }
  it.api.current()?.reset()
  await it.arrived(1)
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['ADDED missed@15 synthesized'])
  expect(await relists(it)).toEqual([['stalled', 1]])
})

test('a position that is older than the watch is noticed while the watch is open', async () => {
  await using it = await startWatchBed({ timing: SOON, objects: [configMap('a', 5), configMap('b', 9)] })
  await it.watching('10')
  it.api.objects = [configMap('a', 3)]
  it.api.resourceVersion = '7'
  await it.watching('7')
  expect((await it.enqueued()).toSorted()).toEqual(['DELETED b@9 synthesized', 'MODIFIED a@3 synthesized'])
  expect(await relists(it)).toEqual([['regression', 1]])
})

test('a quiet watch with bookmarks is never behind, and nothing is probed', async () => {
  const [probeAfterMs, startedMs] = [300, performance.now()]
  // Before the newest stored position was sent. Where the machine pauses, a probe may come, but only this time later.
  let [movedMs, tooSoon, seen] = [startedMs, 0, 0]
  await using it = await startWatchBed({
    timing: { probeAfterMs, stalledMs: 200 },
    prepare: (api) => {
      api.onList = ({ query }) => {
        tooSoon += Number(query.get('limit') === '1' && performance.now() - movedMs < probeAfterMs)
        return undefined
      }
    },
  })
  await it.watching('10')
  await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
  for (let bookmark = 1; bookmark <= 25 || performance.now() - startedMs < 5 * probeAfterMs; bookmark++) {
    const sentMs = performance.now()
    it.api.resourceVersion = String(10 + bookmark)
    it.api.current()?.frame('BOOKMARK', configMap('', 10 + bookmark))
    await waitFor(async () => (await it.position()) === String(10 + bookmark), { what: 'the bookmark' })
    movedMs = sentMs
    if (probes(it.api).length === 0 && behind(it)?.waitsFor === 'api-server') seen++
  }
  expect([seen, tooSoon]).toEqual([0, 0])
  expect(it.api.lists().length).toBeLessThanOrEqual(1 + probes(it.api).length)
})

test('a quiet collection whose watch has no bookmarks is never behind', async () => {
  await using it = await startWatchBed({ timing: { probeAfterMs: 100, stalledMs: 100 } })
  await it.watching('10')
  await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
  for (let known = probes(it.api).length; probes(it.api).length < known + 3; await pause(10))
    expect(behind(it)).toBeUndefined()
  expect(it.api.lists()).toHaveLength(1)
})

test('where positions move without changes and bookmarks, lists that find nothing become rare', async () => {
  const timing = { probeAfterMs: 60, stalledMs: 60 }
  await using it = await startWatchBed({
    timing,
    prepare(api) {
      api.onList = () => ({ body: { metadata: { resourceVersion: String(++version) }, items: [] } })
    },
  })
  let version = 10
  const stalled = async () => (await relists(it)).find(([cause]) => cause === 'stalled')?.[1] ?? 0
  await waitFor(async () => (await stalled()) === 1, { what: 'the first comparison' })
  const first = performance.now()
  let most = 0
  const third = async () => {
    most = Math.max(most, behind(it)?.ms ?? 0)
    return (await stalled()) === 3
  }
  await waitFor(third, { what: 'the third comparison', timeoutMs: 20_000 })
  // 60 ms, then 240 ms and 960 ms until the next probe.
  expect(performance.now() - first).toBeGreaterThan(0.9 * (4 + 16) * timing.probeAfterMs)
  expect(await it.enqueued()).toEqual([])
})

test.each([403, 429, 503, 'a reset'])(
  'a watch that gets nothing but %s for long is behind',
  async (answer) => {
    await using it = await startWatchBed({ timing: NO_PROBES })
    await it.watching('10')
    await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
    it.api.intercept = (_, response) => {
      // An answer is a contact.
      if (typeof answer === 'number') response.writeHead(answer).end(JSON.stringify(failure(answer, 'No')))
      else response.destroy()
      return true
    }
    it.api.current()?.reset()
    await waitFor(() => (behind(it)?.ms ?? 0) > 1_000, { what: 'the watch to be behind for a second' })
    it.api.intercept = undefined
    await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
  },
)

test('a comparison that never ends is behind', async () => {
  await using it = await startWatchBed({ timing: NO_PROBES })
  await it.watching('10')
  await waitFor(() => behind(it) === undefined, { what: 'the watch to be up to date' })
  let pages = 0
  it.api.onList = ({ query }) => {
    if (query.get('limit') === '1') return undefined
    const metadata = { resourceVersion: '20', continue: `page${++pages}` }
    return { body: { metadata, items: [configMap('a', 15)] } }
  }
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await waitFor(() => (behind(it)?.ms ?? 0) > 1_000, { what: 'the watch to be behind for a second' })
  expect(it.statuses()[0]).toMatchObject({ phase: 'listing', ready: true })
  it.api.onList = undefined
})

test.each([
  ['a commit', 'commit'],
  ['the end of a limit', 'expire'],
] as const)('%s that waits for Redis is why a watch is behind, and no list is asked for', async (_, call) => {
  const stuck = Promise.withResolvers<void>()
  let [hasBegun, isOver] = [false, false]
  await using it = await startWatchBed({
    timing: { probeAfterMs: 100, stalledMs: 100 },
    wrap: (store) => ({
      ...store,
      async open(source, signal) {
        const session = await store.open(source, signal)
        const original = session[call].bind(session) as (...args: unknown[]) => Promise<void>
        session[call] = async (...args: unknown[]) => {
          hasBegun = true
          await stuck.promise
          isOver = true
          return original(...args)
        }
        if (call === 'expire')
          Object.defineProperty(session, 'dueMs', { get: () => (isOver ? undefined : 0) })
        return session
      },
    }),
  })
  // Whatever fails, the bed ends only when the call does.
  using _stuck = { [Symbol.dispose]: stuck.resolve }
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await waitFor(() => hasBegun, { what: 'the call' })
  it.api.resourceVersion = '20'
  await waitFor(() => behind(it)?.waitsFor === 'redis', { what: 'the watch to be behind because of Redis' })
  expect(it.api.lists()).toHaveLength(1)
  stuck.resolve()
  await it.arrived(1)
  await waitFor(() => behind(it)?.waitsFor !== 'redis', { what: 'the call to be done' })
})

test('probes of ten quiet watches are few: at most one each in the time after which a watch probes', async () => {
  const probeAfterMs = 500
  const namespaces = Array.from({ length: 10 }, (_, i) => `n${i}`)
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', namespaces }],
    timing: { probeAfterMs, stalledMs: 500 },
  })
  await waitFor(() => it.api.watches().length === 10, { what: 'ten watches' })
  const [before, fromMs] = [it.api.requests.length, performance.now()]
  await waitFor(() => probes(it.api).length >= 30, { what: 'three probes of each' })
  const periods = Math.ceil((performance.now() - fromMs) / (0.9 * probeAfterMs))
  expect(it.api.requests.length - before).toBeLessThanOrEqual(10 * periods)
  expect(it.api.lists()).toHaveLength(10)
})

test('a process that stands by is not behind: the one that works on the watch is', async () => {
  let first: WatchConnection | undefined
  await using it = await startWatchBed({
    timing: { ...SOON, stalledMs: 600_000, standbyPatienceMs: 600_000 },
    prepare: (api) =>
      api.script((watch) => {
        first = watch
      }),
    wrap: (store) => ({
      ...store,
      async peek(...args) {
        const checkpoint = await store.peek(...args)
        return checkpoint && { ...checkpoint, ownerAlive: true }
      },
    }),
  })
  await it.watching('10')
  it.start()
  await waitFor(() => it.api.watches().length === 2, { what: 'the watch of the second process' })
  it.api.resourceVersion = '20'
  first?.frame('ADDED', configMap('a', 11))
  const inPhase = (wanted: string) => it.statuses().find(({ phase }) => phase === wanted)
  await waitFor(() => inPhase('standby'), { what: 'the first process to stand by' })
  await waitFor(() => (inPhase('watching')?.behind?.ms ?? 0) > 500, { what: 'the second one to be behind' })
  expect(inPhase('standby')?.behind).toBeUndefined()
})

test.each(['redis', 'metadata'])(
  'a comparison knows that it found what the watch had missed: %s',
  async (kind) => {
    const compared = vi.spyOn(WatchProgress.prototype, 'compared')
    const cache = new MetadataCache({ maxObjects: 1_000, clock: performance, onEvict() {}, onExclude() {} })
    await using it = await startWatchBed({
      timing: SOON,
      ...(kind === 'metadata' && { wrap: () => createCacheStore(cache, performance) }),
    })
    await it.watching('10')
    it.api.objects = [configMap('missed', 15)]
    it.api.resourceVersion = '20'
    await waitFor(() => compared.mock.calls.length > 0, { what: 'the comparison' })
    expect(compared.mock.calls[0]).toEqual([true])
    compared.mockRestore()
  },
)
