import { describe, expect, test } from 'vitest'
import { resourceOf } from '../../src/demo/api/request.ts'
import { serveApi } from '../../src/demo/api/server.ts'
import { createStore, type Store } from '../../src/demo/api/store.ts'
import { configMap, database } from '../../src/demo/manifests/cluster.ts'
import { pod, withContainer } from '../../src/demo/manifests/workload.ts'
import { chanceOf } from '../../src/demo/objects.ts'
import { waitFor } from '../wait-for.ts'
import { get, START_MS, seeded, watch } from './parts.ts'

const CONFIG_MAPS = resourceOf({ apiVersion: 'v1', kind: 'ConfigMap' })
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

async function startApi({ history = 100 } = {}) {
  const store = createStore({ chance: chanceOf(seeded(1)), clock: { now: () => START_MS }, history })
  const server = await serveApi(store)
  const path = `${server.url}/api/v1/configmaps`
  const settings = (name: string, value = '1', labels?: Record<string, string>, namespace = 'shop') => {
    const object = configMap(name, namespace, { value })
    return store.put(labels ? { ...object, metadata: { ...object.metadata, labels } } : object)
  }
  return {
    store,
    path,
    settings,
    url: server.url,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const remove = (store: Store, name: string) =>
  store.remove({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' } })
const names = (list: { items: { metadata: { name: string } }[] }) =>
  list.items.map(({ metadata }) => metadata.name)
const said = (frames: { type: string; object: any }[]) =>
  frames.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim())

describe('a list', () => {
  test('stays consistent over its pages while objects change', async () => {
    await using api = await startApi()
    for (const name of ['a', 'b', 'c', 'd', 'e']) api.settings(name)
    const first = await get(`${api.path}?limit=2`)
    remove(api.store, 'c')
    api.settings('d', '2')
    api.settings('cc')
    const second = await get(`${api.path}?limit=2&continue=${first.body.metadata.continue}`)
    const third = await get(`${api.path}?limit=2&continue=${second.body.metadata.continue}`)
    expect([first, second, third].flatMap(({ body }) => names(body))).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(second.body.items[1].data).toEqual({ value: '1' })
    expect(first.body.metadata.remainingItemCount).toBe(3)
    expect(third.body.metadata.continue).toBeUndefined()
    expect(third.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion)
  })

  test('refuses a continue token whose position is forgotten with 410', async () => {
    await using api = await startApi({ history: 3 })
    for (const name of ['a', 'b', 'c']) api.settings(name)
    const { body } = await get(`${api.path}?limit=1`)
    for (const value of ['2', '3', '4', '5']) api.settings('a', value)
    const answer = await get(`${api.path}?limit=1&continue=${body.metadata.continue}`)
    expect(answer).toMatchObject({ status: 410, body: { kind: 'Status', reason: 'Expired', code: 410 } })
  })

  test('at a position from the future is a 504 with its cause', async () => {
    await using api = await startApi()
    const answer = await get(`${api.path}?resourceVersion=${api.store.revision() + 1}`)
    expect(answer.status).toBe(504)
    expect(answer.body.details.causes[0].reason).toBe('ResourceVersionTooLarge')
  })

  test.each([
    ['labelSelector=team%3Dshop', ['a']],
    ['labelSelector=team+in+(shop,pay)', ['a', 'b']],
    ['labelSelector=team!%3Dshop', ['c', 'b']],
    ['labelSelector=team+notin+(shop),!team', ['c']],
    ['labelSelector=team', ['a', 'b']],
    ['fieldSelector=metadata.name%3Db', ['b']],
    ['fieldSelector=metadata.namespace!%3Dshop', ['c']],
  ])('selects by %s', async (query, expected) => {
    await using api = await startApi()
    api.settings('a', '1', { team: 'shop' })
    api.settings('b', '1', { team: 'pay' })
    api.settings('c', '1', undefined, 'pay')
    expect(names((await get(`${api.path}?${query}`)).body)).toEqual(expected)
  })

  test('of one namespace leaves the others out', async () => {
    await using api = await startApi()
    api.settings('a')
    api.settings('b', '1', undefined, 'pay')
    const { body } = await get(`${api.url}/api/v1/namespaces/pay/configmaps`)
    expect(names(body)).toEqual(['b'])
  })

  test('shows metadata alone to those who ask for it', async () => {
    await using api = await startApi()
    api.settings('a')
    const { body } = await get(api.path, METADATA_LIST)
    expect(body.kind).toBe('PartialObjectMetadataList')
    expect(Object.keys(body.items[0])).toEqual(['kind', 'apiVersion', 'metadata'])
  })

  test('has items with their kind only where a definition made it, and those with sorted keys', async () => {
    await using api = await startApi()
    api.settings('a')
    api.store.put(database({ name: 'orders', namespace: 'shop', team: 'shop', tier: 'gold', version: '17' }))
    const builtIn = await get(api.path)
    const custom = await get(`${api.url}/apis/stable.example.com/v1/databases`)
    expect(Object.keys(builtIn.body.items[0])).toEqual(['metadata', 'data'])
    expect(Object.keys(custom.body.items[0])).toEqual(['apiVersion', 'kind', 'metadata', 'spec', 'status'])
    const keys = Object.keys(custom.body.items[0].metadata)
    expect(keys).toEqual(keys.toSorted())
  })
})

describe('a watch', () => {
  test('goes on from a position with exactly what came after it', async () => {
    await using api = await startApi()
    api.settings('a')
    const { resourceVersion } = api.settings('b').metadata
    api.settings('a', '2')
    await using seen = await watch(`${api.path}?watch=true&resourceVersion=${resourceVersion}`)
    remove(api.store, 'b')
    api.settings('a', '2') // changes nothing
    api.settings('c')
    await waitFor(() => seen.frames.length >= 3, { what: 'three frames' })
    expect(said(seen.frames)).toEqual(['MODIFIED a', 'DELETED b', 'ADDED c'])
    const positions = seen.frames.map(({ object }) => Number(object.metadata.resourceVersion))
    expect(positions).toEqual([1, 2, 3].map((n) => Number(resourceVersion) + n))
  })

  test('from a position that is forgotten says 410 in the stream, and ends', async () => {
    await using api = await startApi({ history: 2 })
    const { resourceVersion } = api.settings('a').metadata
    for (const value of ['2', '3', '4']) api.settings('a', value)
    await using seen = await watch(`${api.path}?watch=true&resourceVersion=${resourceVersion}`)
    await waitFor(() => seen.ended(), { what: 'the end of the watch' })
    expect(seen.frames).toMatchObject([
      { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } },
    ])
  })

  test('from the oldest remembered position gets everything', async () => {
    await using api = await startApi({ history: 2 })
    for (const value of ['1', '2', '3', '4']) api.settings('a', value)
    await using seen = await watch(`${api.path}?watch=true&resourceVersion=${api.store.oldestRevision()}`)
    await waitFor(() => seen.frames.length >= 2, { what: 'two frames' })
    expect(seen.frames.map(({ object }) => object.data.value)).toEqual(['3', '4'])
  })

  test('with selectors: what leaves is DELETED with its last selected state, what comes back is ADDED', async () => {
    await using api = await startApi()
    const { resourceVersion } = api.settings('a', '1', { team: 'shop' }).metadata
    const query = `watch=true&labelSelector=team%3Dshop&resourceVersion=${resourceVersion}`
    await using seen = await watch(`${api.path}?${query}`)
    api.settings('a', '2', { team: 'pay' })
    api.settings('a', '3', { team: 'pay' })
    api.settings('a', '4', { team: 'shop' })
    await waitFor(() => seen.frames.length >= 2, { what: 'two frames' })
    expect(said(seen.frames)).toEqual(['DELETED a', 'ADDED a'])
    expect(seen.frames[0]?.object.metadata.labels).toEqual({ team: 'shop' })
    expect(seen.frames[0]?.object.metadata.resourceVersion).toBe(String(Number(resourceVersion) + 1))
  })

  test('with initial events sends all there is, and then the bookmark that says so', async () => {
    await using api = await startApi()
    api.settings('a')
    api.settings('b')
    const query =
      'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    await using seen = await watch(`${api.path}?${query}`, METADATA)
    await waitFor(() => seen.frames.length >= 3, { what: 'the bookmark' })
    expect(said(seen.frames)).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK'])
    expect(seen.frames[0]?.object.kind).toBe('PartialObjectMetadata')
    expect(seen.frames[2]?.object.metadata).toEqual({
      resourceVersion: String(api.store.revision()),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    })
  })

  test('ends when its time is over, after a last bookmark', async () => {
    await using api = await startApi()
    const position = api.settings('a').metadata.resourceVersion
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=${position}`
    await using seen = await watch(`${api.path}?${query}`)
    await waitFor(() => seen.ended(), { what: 'the end of the watch' })
    expect(seen.frames).toEqual([
      {
        type: 'BOOKMARK',
        object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: position } },
      },
    ])
  })

  test('follows only its own resource', async () => {
    await using api = await startApi()
    await using seen = await watch(`${api.path}?watch=true&resourceVersion=${api.store.revision()}`)
    api.store.put(database({ name: 'orders', namespace: 'shop', team: 'shop', tier: 'gold', version: '17' }))
    api.settings('a')
    await waitFor(() => seen.frames.length > 0, { what: 'a frame' })
    expect(said(seen.frames)).toEqual(['ADDED a'])
    expect(api.store.list(CONFIG_MAPS)).toHaveLength(1)
  })
})

test('forgets a watch whose client has gone', async () => {
  const store = createStore({ chance: chanceOf(seeded(1)), clock: { now: () => START_MS }, history: 10 })
  let followers = 0
  const follow: Store['follow'] = (listener) => {
    followers++
    const end = store.follow(listener)
    return () => {
      followers--
      end()
    }
  }
  await using server = await serveApi({ ...store, follow })
  const seen = await watch(`${server.url}/api/v1/configmaps?watch=true`)
  await waitFor(() => followers === 1, { what: 'a follower' })
  await seen[Symbol.asyncDispose]()
  await waitFor(() => followers === 0, { what: 'no follower' })
})

test('answers a read of one object, and says so when it is not there', async () => {
  await using api = await startApi()
  api.settings('a')
  const path = `${api.url}/api/v1/namespaces/shop/configmaps`
  expect(await get(`${path}/a`)).toMatchObject({
    status: 200,
    body: { kind: 'ConfigMap', data: { value: '1' } },
  })
  expect(await get(`${path}/nope`)).toMatchObject({
    status: 404,
    body: { kind: 'Status', message: 'configmaps "nope" not found', reason: 'NotFound' },
  })
})

test('has a log of a container, of its run before as well', async () => {
  await using api = await startApi()
  const spec = { containers: [{ name: 'web', image: 'registry.example.com/shop/web:1.4' }] }
  const template = { metadata: { labels: {} }, spec }
  const web = pod({ name: 'web-1', namespace: 'shop', template, ownerReferences: [] })
  const at = '2026-11-21T08:00:00Z'
  const state = { running: { startedAt: at } }
  const path = `${api.url}/api/v1/namespaces/shop/pods/web-1/log`
  expect(await get(path)).toMatchObject({ status: 404, body: { reason: 'NotFound' } })
  api.store.put(withContainer(web, { state, lastState: {} }))
  expect(await get(`${path}?container=web&previous=true`)).toMatchObject({
    ...{ status: 400, body: { message: expect.stringContaining('previous terminated container') } },
  })
  const terminated = { exitCode: 1, reason: 'Error', startedAt: at, finishedAt: at }
  api.store.put(withContainer(web, { state, lastState: { terminated } }))
  expect((await get(`${path}?container=web&previous=true`)).body).toMatch(/^starting web:1.4\n(.*\n)*fatal/)
  expect((await get(`${path}?tailLines=1`)).body).toBe('ready')
  expect((await get(`${path}?container=nope`)).status).toBe(400)
})

test('survives a request line that is no path', async () => {
  await using api = await startApi()
  expect((await get(`${api.url}//`)).status).toBe(404)
  expect((await get(`${api.url}/api/v1/namespaces/%zz/configmaps`)).status).toBe(200)
})
