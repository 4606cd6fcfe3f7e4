import { expect, test } from 'vitest'
import { configMap, type WatchConnection } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** etcd deletes all keys of a lease that expires, such as those of Events, in one transaction: their deletions have one resourceVersion. */

type Bed = Awaited<ReturnType<typeof startWatchBed>>

test.each<[string, (it: Bed) => Promise<void> | void]>([
  ['the watch ends', (it) => it.api.current()?.end()],
  ['the connection is cut', (it) => it.api.current()?.reset()],
  [
    'the process is started again',
    async (it) => {
      await it.stop()
      it.start()
    },
  ],
])('deletions of one revision each arrive once, although %s between them', async (_, interrupt) => {
  await using it = await startWatchBed({ objects: [configMap('a', 5), configMap('b', 6)] })
  await it.watching('10')
  it.api.resourceVersion = '20'
  it.api.current()?.frame('DELETED', configMap('a', 20))
  await it.arrived(1)
  it.api.script((watch) => {
    if (Number(watch.request.query.get('resourceVersion')) >= 20) return
    watch.frame('DELETED', configMap('a', 20))
    watch.frame('DELETED', configMap('b', 20))
    watch.frame('ADDED', configMap('c', 21))
  })
  await interrupt(it)
  await waitFor(async () => (await it.enqueued()).includes('ADDED c@21'), { what: 'the change after them' })
  expect(await it.enqueued()).toEqual(['DELETED a@20', 'DELETED b@20', 'ADDED c@21'])
})

test('a bookmark between deletions of one revision is not their end', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5), configMap('b', 6)] })
  await it.watching('10')
  it.api.resourceVersion = '20'
  it.api.current()?.frame('DELETED', configMap('a', 20))
  it.api.current()?.frame('BOOKMARK', configMap('', 20))
  await it.arrived(1)
  it.api.script((watch) => {
    if (Number(watch.request.query.get('resourceVersion')) >= 20)
      return watch.frame('ADDED', configMap('c', 21))
    watch.frame('DELETED', configMap('a', 20))
    watch.frame('DELETED', configMap('b', 20))
    watch.frame('ADDED', configMap('c', 21))
  })
  it.api.current()?.end()
  await waitFor(async () => (await it.enqueued()).includes('ADDED c@21'), { what: 'the change after them' })
  expect(await it.enqueued()).toEqual(['DELETED a@20', 'DELETED b@20', 'ADDED c@21'])
})

test('after deletions a watch continues behind the last position that is certainly complete', async () => {
  const objects = ['a', 'b', 'c', 'd'].map((name, i) => configMap(name, i + 1))
  await using it = await startWatchBed({ objects })
  await it.watching('10')
  const send = (...frames: Parameters<WatchConnection['frame']>[]) => {
    for (const frame of frames) it.api.current()?.frame(...frame)
  }
  const reaches = (position: string) =>
    waitFor(async () => (await it.position()) === position, { what: `position ${position}` })
  send(['MODIFIED', configMap('a', 11)])
  await reaches('11')
  send(['DELETED', configMap('a', 20)])
  await it.arrived(2)
  expect(await it.position()).toBe('11')
  send(['DELETED', configMap('b', 21)])
  await reaches('20')
  send(['DELETED', configMap('c', 21)], ['DELETED', configMap('d', 22)])
  await reaches('21')
  send(['BOOKMARK', configMap('', 23)])
  await reaches('23')
  expect(await it.enqueued()).toHaveLength(5)
})

test('a watch whose last change was a deletion is not behind, also when it continues before it', async () => {
  const timing = { probeAfterMs: 100, stalledMs: 60_000, settleMs: 20 }
  await using it = await startWatchBed({ timing, objects: [configMap('a', 5)] })
  await it.watching('10')
  it.api.resourceVersion = '20'
  const resend = (watch: WatchConnection) => watch.frame('DELETED', configMap('a', 20))
  it.api.script(resend)
  const connection = it.api.current() as WatchConnection
  resend(connection)
  await it.arrived(1)
  const probes = () => it.api.requests.filter(({ query }) => query.get('limit') === '1').length
  const areProbed = async (times: number) => {
    const before = probes()
    await waitFor(() => probes() >= before + times, { what: 'probes' })
  }
  await areProbed(2)
  connection.end()
  await waitFor(() => it.api.watches().length === 2, { what: 'the watch to continue' })
  await areProbed(3)
  await waitFor(() => it.statuses()[0]?.behind === undefined, { what: 'the watch not to be behind' })
  expect(it.api.lists()).toHaveLength(1)
  expect(await it.enqueued()).toEqual(['DELETED a@20'])
})

test('the index of a watch whose last change was a deletion is compared with the state after it', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', verify: 50 }],
    objects: [configMap('a', 5)],
  })
  await it.watching('10')
  it.api.onList = ({ query }) => {
    const at = query.get('resourceVersion')
    if (at === null) return undefined
    return { body: { metadata: { resourceVersion: at }, items: at === '20' ? [] : [configMap('a', 5)] } }
  }
  it.api.current()?.frame('DELETED', configMap('a', 20))
  await it.arrived(1)
  const comparedAtMs = it.statuses()[0]?.verified?.atMs ?? 0
  const isCompared = () => (it.statuses()[0]?.verified?.atMs ?? 0) > comparedAtMs
  await waitFor(isCompared, { what: 'a comparison' })
  const again = it.statuses()[0]?.verified?.atMs ?? 0
  await waitFor(() => (it.statuses()[0]?.verified?.atMs ?? 0) > again, { what: 'a second comparison' })
  expect(it.statuses()[0]?.verified?.differences).toBe(0)
})
