import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** A list in two pages of which the second is asked for too late; whole, it gives what is there by then. */
function expireSecondPage(api: ScriptedApi, firstPage: unknown[], later: unknown[]): void {
  api.onList = ({ query }) => {
    if (query.get('limit') === '1') return undefined
    if (query.has('continue')) return { status: 410, body: failure(410, 'Expired') }
    if (!query.has('limit')) return { body: { metadata: { resourceVersion: '20' }, items: later } }
    return { body: { metadata: { resourceVersion: '19', continue: 'more' }, items: firstPage } }
  }
}

test('case 19: when a continue token expires, what went meanwhile is told as deleted', async () => {
  await using it = await startWatchBed({
    objects: [configMap('a', 5), configMap('b', 6), configMap('c', 7)],
  })
  await it.watching('10')
  expireSecondPage(
    it.api,
    [configMap('a', 5), configMap('b', 6)],
    [configMap('b', 6), configMap('c', 7), configMap('d', 18)],
  )
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('20')
  expect((await it.enqueued()).toSorted()).toEqual(['ADDED d@18 synthesized', 'DELETED a@5 synthesized'])
})

test('case 19: a first list whose token expires leaves no ghosts in the index', async () => {
  await using it = await startWatchBed({
    prepare: (api) =>
      expireSecondPage(
        api,
        [configMap('gone', 5), configMap('b', 6)],
        [configMap('b', 6), configMap('c', 7)],
      ),
  })
  await it.watching('20')
  it.api.onList = undefined
  it.api.objects = [configMap('b', 6), configMap('c', 7)]
  it.api.resourceVersion = '30'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('30')
  expect(await it.enqueued()).toEqual([])
})

test('a first start at a position indexes the state of then, and tells what came after', async () => {
  const asked: string[] = []
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: { resourceVersion: '7' } }],
    prepare(api) {
      api.onList = ({ query }) => {
        asked.push(`${query.get('resourceVersion')} ${query.get('resourceVersionMatch')}`)
        return { body: { metadata: { resourceVersion: '7' }, items: [configMap('a', 5)] } }
      }
    },
  })
  await it.watching('7')
  expect(asked[0]).toBe('7 Exact')
  expect(await it.enqueued()).toEqual([])
})

test('a first start at a position that the server forgot begins now', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: { resourceVersion: '7' } }],
    objects: [configMap('a', 5)],
    prepare(api) {
      api.onList = ({ query }) =>
        query.get('resourceVersionMatch') === 'Exact'
          ? { status: 410, body: failure(410, 'Expired') }
          : undefined
    },
  })
  await it.watching('10')
  expect(await it.enqueued()).toEqual([])
})

test('a list keeps the bytes of its items: numbers of any size, and their own spelling', async () => {
  const object =
    '{"metadata":{"name":"big","namespace":"default","uid":"u","resourceVersion":"12"},"data":{"n":9007199254740993,"f":1.0,"e":1e400}}'
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: 'emit' }],
    prepare: answerRaw,
  })
  function answerRaw(api: ScriptedApi): void {
    api.intercept = ({ path, isWatch, query }, response) => {
      if (!path.endsWith('/configmaps') || isWatch || query.get('limit') === '1') return false
      response.end(
        `{"kind":"ConfigMapList","metadata":{"resourceVersion":"12"},"items":[${object}, ${object.replace('"u"', '"v"').replace('"big"', '"big2"')}]}\n`,
      )
      return true
    }
  }
  await it.arrived(2)
  const [first] = await it.objects()
  expect(first).toBe(`{"kind":"ConfigMap","apiVersion":"v1",${object.slice(1)}`)
})

test('a list that the server compresses is read like another', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: 'emit' }],
    prepare(api) {
      api.intercept = ({ path, isWatch, headers }, response) => {
        if (!path.endsWith('/configmaps') || isWatch) return false
        expect(headers['accept-encoding']).toBe('gzip')
        const page = { metadata: { resourceVersion: '12' }, items: [configMap('a', 5), configMap('b', 6)] }
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(page)))
        return true
      }
    },
  })
  await it.watching('12')
  expect(await it.enqueued()).toEqual(['ADDED a@5 synthesized', 'ADDED b@6 synthesized'])
})

test('an item without an identity is counted and passed over; the others come', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', initial: 'emit' }],
    objects: [{ kind: 'ConfigMap', data: {} }, configMap('a', 5)],
  })
  await it.watching('10')
  expect(await it.enqueued()).toEqual(['ADDED a@5 synthesized'])
  expect(await it.metric('frames_malformed_total')).toMatchObject([{ value: 1 }])
})

test('case 24: a server that never ends its initial state is listed in pages the next time', async () => {
  let streams = 0
  await using it = await startWatchBed({
    objects: [configMap('a', 5)],
    prepare(api) {
      api.watchList = true
      api.intercept = ({ query }, response) => {
        if (!query.has('sendInitialEvents')) return false
        streams++
        response.writeHead(200).end(`${JSON.stringify({ type: 'ADDED', object: configMap('a', 5) })}\n`)
        return true
      }
    },
  })
  await it.watching('10')
  expect(streams).toBe(1)
})

test('a selector that the server refuses does not turn streams of initial state off for others', async () => {
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', namespaces: ['one'], fields: 'no.such.field=1' }],
    prepare(api) {
      api.watchList = true
      api.intercept = ({ query }, response) => {
        if (!query.has('fieldSelector')) return false
        response
          .writeHead(400)
          .end(JSON.stringify(failure(400, 'BadRequest', {}, 'field label not supported')))
        return true
      }
    },
  })
  await waitFor(() => it.statuses().some(({ phase }) => phase === 'failing'), { what: 'the watch to fail' })
  const bad = { kind: 'ConfigMap', namespaces: ['one'], fields: 'no.such.field=1' }
  it.apply([bad, { kind: 'ConfigMap', namespaces: ['default'] }])
  const streamed = () => it.api.requests.filter(({ query }) => query.has('sendInitialEvents'))
  const own = () =>
    streamed().some(({ path, query }) => path.includes('/default/') && !query.has('fieldSelector'))
  await waitFor(own, { what: 'a stream of initial state for the other watch' })
})

test('what an interrupted relist had copied does not stay in Redis', async () => {
  await using it = await startWatchBed({
    objects: Array.from({ length: 50 }, (_, i) => configMap(`o${i}`, i + 1)),
  })
  await it.watching('10')
  let cuts = 0
  it.api.resourceVersion = '20'
  it.api.intercept = ({ path, isWatch, query }, response) => {
    if (!path.endsWith('/configmaps') || isWatch || query.get('limit') === '1' || cuts >= 5) return false
    cuts++
    response.writeHead(200)
    response.write('{"metadata":{')
    setImmediate(() => response.destroy())
    return true
  }
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('20')
  expect(cuts).toBe(5)
  expect(await it.reader.keys('*unseen*')).toEqual([])
})

test('of two processes one finishes a first list that takes longer than the other waits, and the other stands by', async () => {
  const pages = 8
  await using it = await startWatchBed({
    timing: { standbyPatienceMs: 600_000 },
    // The processes of the bed report nothing, and this one is alive: nobody takes over what it watches.
    wrap: (store) => ({
      ...store,
      async peek(source, signal) {
        const found = await store.peek(source, signal)
        return found && { ...found, ownerAlive: found.phase === 'watching' || found.ownerAlive }
      },
    }),
    prepare(api) {
      api.intercept = ({ path, isWatch, query }, response) => {
        if (!path.endsWith('/configmaps') || isWatch || query.get('limit') === '1') return false
        const page = Number(query.get('continue') ?? 0)
        const next = page + 1 < pages ? { continue: String(page + 1) } : {}
        const metadata = { resourceVersion: '10', ...next }
        const body = JSON.stringify({ metadata, items: [configMap(`o${page}`, page + 1)] })
        setTimeout(() => response.end(body), 150)
        return true
      }
    },
  })
  it.start()
  const phases = () => it.statuses().map(({ phase }) => phase)
  await waitFor(() => phases().includes('watching') && phases().includes('standby'), {
    what: () => `one to watch, one to stand by: ${phases()}`,
  })
})

test('a watch whose position went while nothing ran says that it begins anew, once', async () => {
  const errors: string[] = []
  const log = {
    ...silentLog,
    error: (fields: object, message: string) => void errors.push(`${JSON.stringify(fields)} ${message}`),
  }
  await using it = await startWatchBed({ log })
  await it.watching('10')
  await it.stop()
  const [source = ''] = (await it.server.command('HKEYS', keysOf('test').sources)) as string[]
  await it.server.command('DEL', keysOf('test').checkpoint(source))
  for (let i = 0; i < 2; i++) {
    it.start()
    await waitFor(() => it.statuses().some(({ ready }) => ready), { what: 'the watch' })
    await it.stop()
  }
  expect(errors).toEqual([
    '{"watch":"configmaps"} Redis has lost the position of this watch: it starts over, and changes since the last stop are not emitted',
  ])
})

test('a watch that a reload adds is not ready before it has a position, from the moment of the reload on', async () => {
  await using it = await startWatchBed()
  await it.watching('10')
  await waitFor(() => it.statuses().every(({ ready }) => ready), { what: 'the watch to be ready' })
  const listed = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  it.api.intercept = ({ path, isWatch }, response) => {
    if (!path.includes('/default/') || isWatch) return false
    listed.resolve()
    void goOn.promise.then(() => response.destroy())
    return true
  }
  it.apply([{ kind: 'ConfigMap', namespaces: ['default'] }])
  expect(it.statuses().filter(({ ready }) => !ready)).toMatchObject([{ phase: 'resolving' }])
  await listed.promise
  expect(it.statuses().some(({ ready }) => !ready)).toBe(true)
  it.api.intercept = undefined
  goOn.resolve()
  await waitFor(() => it.statuses().every(({ ready }) => ready), { what: 'all to be ready' })
})

test('a relist with an item that cannot be read deletes nothing; the next complete one does', async () => {
  await using it = await startWatchBed({
    objects: [configMap('a', 5), configMap('b', 6), configMap('gone', 7)],
  })
  await it.watching('10')
  const { uid: _, ...metadata } = configMap('b', 6).metadata
  it.api.objects = [configMap('a', 5), { ...configMap('b', 6), metadata }, configMap('new', 18)]
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['ADDED new@18 synthesized'])
  it.api.objects = [configMap('a', 5), configMap('b', 6), configMap('new', 18)]
  it.api.resourceVersion = '30'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('30')
  expect(await it.enqueued()).toEqual(['ADDED new@18 synthesized', 'DELETED gone@7 synthesized'])
})

test('a first list with an item that cannot be read ends, and the object is sent once it can be read', async () => {
  const { uid: _, ...metadata } = configMap('b', 6).metadata
  await using it = await startWatchBed({
    objects: [configMap('a', 5), { ...configMap('b', 6), metadata }],
  })
  await it.watching('10')
  it.api.objects = [configMap('a', 5), configMap('b', 6)]
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await it.watching('20')
  expect(await it.enqueued()).toEqual(['ADDED b@6 synthesized'])
})

test.each([1, 2, 3])(
  'a list whose pages lead in a circle of %i is given up, and deletes nothing',
  async (circle) => {
    await using it = await startWatchBed()
    await it.watching('10')
    let isMended = false
    let lists = 0
    let pages = 0
    it.api.onList = ({ query }) => {
      if (query.get('limit') === '1') return undefined
      if (!query.has('continue')) lists++
      const next = isMended ? {} : { continue: `page${pages++ % circle}` }
      return { body: { metadata: { resourceVersion: '20', ...next }, items: [configMap('a', 15)] } }
    }
    it.api.current()?.frame('ERROR', failure(410, 'Expired'))
    await waitFor(() => lists > 1, { what: 'the list to begin again' })
    isMended = true
    await it.watching('20')
    expect(await it.enqueued()).toEqual(['ADDED a@15 synthesized'])
  },
)
