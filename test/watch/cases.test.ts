import { expect, test } from 'vitest'
import { configMap, endBookmark, failure } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Cases of positions, lists and what they are compared with, on a server that fails in ways a real one rarely shows. */

test('a first start is silent about what exists, then tells every change', async () => {
  await using it = await startWatchBed({ objects: [configMap('old', 5)] })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('new', 11))
  it.api.current()?.frame('MODIFIED', configMap('old', 12))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED new@11', 'MODIFIED old@12'])
})

test('with initial: emit a first start tells what exists', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: 'emit' }],
    objects: [configMap('a', 5), configMap('b', 6)],
  })
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED a@5 synthesized', 'ADDED b@6 synthesized'])
})

test('case 4: a deletion that happened while down is replayed by the server as it was', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  await it.stop()
  it.api.script((watch) => watch.frame('DELETED', configMap('a', 12)))
  it.api.resourceVersion = '12'
  it.start()
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['DELETED a@12'])
})

test('cases 6, 7, 8, 9: an in-stream 410 leads to one list, and exactly the net differences', async () => {
  await using it = await startWatchBed({
    objects: [configMap('changed', 5), configMap('gone', 6), configMap('again', 7)],
  })
  await it.watching('10')
  it.api.objects = [
    configMap('changed', 15),
    configMap('again', 18, { uid: 'another-uid' }),
    configMap('new', 19),
  ]
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  it.api.current()?.end()
  await it.watching('20')
  expect((await it.enqueued()).toSorted()).toEqual([
    'ADDED again@18 synthesized',
    'ADDED new@19 synthesized',
    'DELETED again@7 synthesized',
    'DELETED gone@6 synthesized',
    'MODIFIED changed@15 synthesized',
  ])
  const order = await it.enqueued()
  expect(order.indexOf('DELETED again@7 synthesized')).toBeLessThan(
    order.indexOf('ADDED again@18 synthesized'),
  )
  expect(await it.metric('watch_relists_total')).toMatchObject([{ labels: { cause: 'expired' }, value: 1 }])
  expect(it.statuses()).toMatchObject([{ relists: { count: 1, cause: 'expired', atMs: expect.any(Number) } }])
})

test('case 10: a 410 as the answer to the request does the same', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  it.api.objects = []
  it.api.resourceVersion = '20'
  it.api.intercept = ({ query }, response) => {
    if (query.get('resourceVersion') !== '10') return false
    response.writeHead(410).end(JSON.stringify(failure(410, 'Expired')))
    return true
  }
  it.api.current()?.end()
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['DELETED a@5 synthesized'])
})

test('case 12: a server that ends a stale watch at once, without a word, is listed within two tries', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  it.api.script(
    (watch) => watch.end(),
    (watch) => watch.end(),
  )
  it.api.objects = [configMap('a', 15)]
  it.api.resourceVersion = '20'
  it.api.current()?.end()
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['MODIFIED a@15 synthesized'])
})

test('case 20: a position that lies behind ours means a restored cluster: the difference comes out', async () => {
  await using it = await startWatchBed({
    objects: [configMap('a', 5), configMap('b', 9)],
  })
  await it.watching('10')
  await it.stop()
  it.api.objects = [configMap('a', 3)]
  it.api.resourceVersion = '7'
  it.start()
  await it.watching('7')
  expect((await it.enqueued()).toSorted()).toEqual(['DELETED b@9 synthesized', 'MODIFIED a@3 synthesized'])
})

test('case 21: an object that leaves the selector and comes back is DELETED and ADDED', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  it.api.current()?.frame('DELETED', configMap('a', 11))
  it.api.current()?.frame('ADDED', configMap('a', 12))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['DELETED a@11', 'ADDED a@12'])
})

test('cases 22, 23: a stream of initial events that is cut is taken anew, and moves no position', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: 'emit' }],
    prepare(api) {
      api.watchList = true
      let cuts = 0
      api.intercept = ({ query }, response) => {
        if (!query.has('sendInitialEvents') || cuts++ > 0) return false
        response.writeHead(200)
        response.write(`${JSON.stringify({ type: 'ADDED', object: configMap('b', 9) })}\n`)
        response.end(`${JSON.stringify({ type: 'ADDED', object: configMap('a', 5) })}\n`)
        return true
      }
      api.objects = [configMap('b', 9), configMap('a', 5), configMap('c', 7)]
    },
  })
  await it.watching('10')
  expect((await it.enqueued()).toSorted()).toEqual([
    'ADDED a@5 synthesized',
    'ADDED b@9 synthesized',
    'ADDED c@7 synthesized',
  ])
  expect(await it.position()).toBe('10')
})

test('a deletion among initial events is not lost', async () => {
  await using it = await startWatchBed({
    prepare(api) {
      api.watchList = true
      api.intercept = ({ query }, response) => {
        if (!query.has('sendInitialEvents')) return false
        response.writeHead(200)
        for (const frame of [
          { type: 'ADDED', object: configMap('a', 5) },
          { type: 'DELETED', object: configMap('a', 9) },
          { type: 'BOOKMARK', object: endBookmark('10') },
        ])
          response.write(`${JSON.stringify(frame)}\n`)
        return true
      }
    },
  })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test('case 24: a server without WatchList is listed instead', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  expect(it.api.lists()).toHaveLength(1)
})

test('case 45: positions that are no integers are compared for equality', async () => {
  await using it = await startWatchBed({
    prepare(api) {
      api.objects = [configMap('a', 'v-7')]
      api.resourceVersion = 'v-10'
    },
  })
  await it.watching('v-10')
  it.api.current()?.frame('MODIFIED', configMap('a', 'v-3'))
  it.api.current()?.frame('MODIFIED', configMap('a', 'v-3'))
  await it.arrived(1)
  it.api.current()?.frame('ADDED', configMap('b', 'v-4'))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['MODIFIED a@v-3', 'ADDED b@v-4'])
})

test('case 48: another selector is another source: nothing is told as deleted', async () => {
  const entries = [{ kind: 'ConfigMap', labels: 'a=b' }]
  await using it = await startWatchBed({
    entries,
    objects: [configMap('a', 5)],
  })
  await it.watching('10')
  await it.stop()
  entries[0] = { kind: 'ConfigMap', labels: 'a=c' }
  it.api.objects = []
  it.start()
  await waitFor(() => it.api.watches().length >= 2, { what: 'the new watch' })
  expect(it.api.watches().at(-1)?.query.get('labelSelector')).toBe('a=c')
  expect(await it.enqueued()).toEqual([])
})

test('case 49: another cluster behind the same address is begun anew, without forged deletions', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  it.api.clusterUid = 'another-cluster'
  it.api.objects = [configMap('z', 2)]
  it.api.resourceVersion = '3'
  await it.stop()
  it.start()
  await it.watching('3')
  it.api.current()?.frame('MODIFIED', configMap('z', 4))
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['MODIFIED z@4'])
})

test('case 18: a 404 of an API that merely does not answer takes nothing with it', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  let missing = true
  it.api.intercept = ({ path }, response) => {
    if (!missing || !path.endsWith('/configmaps')) return false
    response.writeHead(404).end(JSON.stringify(failure(404, 'NotFound')))
    return true
  }
  const asked = it.api.requests.length
  it.api.current()?.reset()
  await waitFor(() => it.api.requests.length > asked + 5, { what: 'some tries' })
  it.api.script((watch) => watch.frame('MODIFIED', configMap('a', 11)))
  missing = false
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['MODIFIED a@11'])
})
