import { expect, test } from 'vitest'
import type { SourceSession, SourceStore } from '../../src/model/change.ts'
import { configMap, failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Cases of a process that ends: at any moment, orderly or not. */

type Commit = SourceSession['commit']

/** A store of which commits go through `around`. */
function withCommit(store: SourceStore, around: (commit: Commit) => Commit): SourceStore {
  return {
    ...store,
    async open(source, signal) {
      const session = await store.open(source, signal)
      session.commit = around(session.commit.bind(session))
      return session
    },
  }
}

/** Never resolves; ends with the process. */
const until = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('case 1: a process that ends after the write and before it knows of it loses nothing and repeats nothing', async () => {
  let written = false
  await using it = await startWatchBed({
    wrap: (store) =>
      withCommit(store, (commit) => async (changes, position, signal) => {
        await commit(changes, position, signal)
        if (written) return
        written = true
        await until(signal)
      }),
  })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await waitFor(() => written, { what: 'the write' })
  await it.stop()
  it.api.resourceVersion = '11'
  it.start()
  await it.watching('11')
  it.api.current()?.frame('ADDED', configMap('b', 12))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED a@11', 'ADDED b@12'])
})

test('case 43: a Redis that was put back to an older state gives repeats with the same ids, and nothing is lost', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await it.arrived(1)
  const copy = await it.server.copy()
  it.api.current()?.frame('MODIFIED', configMap('a', 12))
  it.api.current()?.frame('ADDED', configMap('b', 13))
  await it.arrived(3)
  const before = await it.ids()
  await it.server.kill()
  await it.server.restore(copy)
  await it.server.restart()
  it.api.script((watch) => {
    watch.frame('MODIFIED', configMap('a', 12))
    watch.frame('ADDED', configMap('b', 13))
  })
  it.api.resourceVersion = '14'
  // Only a write shows that Redis is not what it was.
  it.api.current()?.frame('ADDED', configMap('c', 14))
  await waitFor(() => it.api.watches().at(-1)?.query.get('resourceVersion') === '11', {
    what: 'a watch from the older position',
  })
  it.api.current()?.frame('ADDED', configMap('c', 14))
  await it.arrived(4)
  expect(await it.enqueued()).toEqual(['ADDED a@11', 'MODIFIED a@12', 'ADDED b@13', 'ADDED c@14'])
  expect((await it.ids()).slice(0, 3)).toEqual(before)
})

test('case 25: a bookmark moves the position only behind the changes before it', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  it.api.current()?.frame('BOOKMARK', { metadata: { resourceVersion: '15' } })
  await waitFor(async () => (await it.position()) === '15', { what: 'position 15' })
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test('case 25: a bookmark that comes while the change before it is being written moves nothing, should the process end then', async () => {
  let writing = false
  await using it = await startWatchBed({
    wrap: (store) =>
      withCommit(store, (commit) => (changes, position, signal) => {
        if (writing) return commit(changes, position, signal)
        writing = true
        return until(signal)
      }),
  })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await waitFor(() => writing, { what: 'the write to begin' })
  it.api.current()?.frame('BOOKMARK', { metadata: { resourceVersion: '15' } })
  it.api.current()?.end()
  await it.stop()
  expect(await it.position()).toBe('10')
  const before = it.api.watches().length
  it.api.resourceVersion = '15'
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.start()
  await it.arrived(1)
  expect(it.api.watches()[before]?.query.get('resourceVersion')).toBe('10')
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test.each([
  ['a watch is open', () => false],
  ['a list hangs', (path: string) => path.endsWith('/configmaps')],
  ['the cluster does not say what it has', (path: string) => path === '/api'],
])('case 50: nothing is asked for after a stop while %s', async (_, hangs) => {
  await using it = await startWatchBed({
    prepare(api) {
      api.intercept = ({ path }) => hangs(path)
    },
  })
  const awaited = () => it.api.watches().length > 0 || it.api.requests.some(({ path }) => hangs(path))
  await waitFor(awaited, { what: 'that moment' })
  await it.stop()
  await expectQuiet(it)
})

test('case 50: nothing is asked for after a stop in a pause between two tries', async () => {
  await using it = await startWatchBed({
    timing: { backoffFirstMs: 100, backoffMaxMs: 100 },
    random: () => 1,
    prepare(api) {
      api.intercept = ({ isWatch, query }, response) => {
        if (!isWatch || query.has('sendInitialEvents')) return false
        response.writeHead(503).end(JSON.stringify(failure(503, 'Unavailable')))
        return true
      }
    },
  })
  await waitFor(() => it.api.watches().length >= 2 && it.statuses()[0]?.phase === 'reconnecting', {
    what: 'a pause',
  })
  await it.stop()
  await expectQuiet(it)
})

/** Several times as long as any pause of the bed. What was on its way at the stop may arrive a moment later. */
async function expectQuiet({ api }: Awaited<ReturnType<typeof startWatchBed>>): Promise<void> {
  const stoppedMs = Date.now()
  await waitFor(() => Date.now() - stoppedMs > 100, { what: 'what was on its way' })
  const [asked, since] = [api.requests.length, Date.now()]
  await waitFor(() => api.requests.length > asked || Date.now() - since > 500, { what: 'the time' })
  expect(api.requests).toHaveLength(asked)
}
