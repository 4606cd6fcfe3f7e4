import { expect, test } from 'vitest'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { installWidgets } from '../cluster/bed.ts'
import { CONFIG_MAPS, manifest, WIDGET_CRD, WIDGETS } from '../cluster/workload.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

/** Cases in which a real kube-apiserver has to answer as we believe it does. */

interface Asked {
  path: string
  status: number
}

/** Notes what is asked of ConfigMaps; `before` runs ahead of each question. */
function noting(asked: Asked[], before = async (_: string) => {}) {
  const note = async <T extends { status: number }>(path: string, ask: () => Promise<T>): Promise<T> => {
    if (!path.includes('/configmaps')) return ask()
    await before(path)
    const answer = await ask()
    asked.push({ path, status: answer.status })
    return answer
  }
  return (client: ClusterClient): ClusterClient => ({
    url: client.url,
    get: (path, options, signal) => note(path, () => client.get(path, options, signal)),
    stream: (path, options, signal) => note(path, () => client.stream(path, options, signal)),
    send: (...call) => client.send(...call),
    refresh: () => client.refresh(),
    close: () => client.close(),
  })
}

const create = (kubernetes: Kubernetes, name: string) =>
  kubernetes.request('POST', CONFIG_MAPS, manifest(CONFIG_MAPS, name, 0))
const remove = (kubernetes: Kubernetes, name: string) =>
  kubernetes.request('DELETE', `${CONFIG_MAPS}/${name}`)

test('case 24: a server of today streams what is there, and nothing is listed', async () => {
  await using kubernetes = await borrowKubernetes()
  for (const name of ['object-a', 'object-b']) await create(kubernetes, name)
  const asked: Asked[] = []
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfig,
    client: noting(asked),
    entries: [{ kind: 'ConfigMap', namespaces: ['default'], initial: 'emit' }],
  })
  const told = async () =>
    (await it.enqueued()).filter((it) => it.includes('object')).map((it) => it.replace(/@\d+/, ''))
  await waitFor(() => it.statuses()[0]?.ready, { what: 'the watch' })
  await create(kubernetes, 'object-c')
  await waitFor(async () => (await told()).length >= 3, { what: 'three changes' })
  expect((await told()).toSorted()).toEqual([
    'ADDED object-a synthesized',
    'ADDED object-b synthesized',
    'ADDED object-c',
  ])
  const streams = asked.filter(({ path }) => path.includes('sendInitialEvents'))
  expect(streams).toMatchObject([{ status: 200 }])
  expect(asked.filter(({ path }) => !path.includes('watch=') && !path.includes('limit=1'))).toEqual([])
})

test('a first start at a position reports exactly the changes since', async () => {
  await using kubernetes = await borrowKubernetes()
  await create(kubernetes, 'object-before')
  await create(kubernetes, 'object-gone')
  const { metadata } = (await kubernetes.request('GET', CONFIG_MAPS)) as {
    metadata: { resourceVersion: string }
  }
  await remove(kubernetes, 'object-gone')
  await create(kubernetes, 'object-after')
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfig,
    entries: [
      { kind: 'ConfigMap', namespaces: ['default'], initial: { resourceVersion: metadata.resourceVersion } },
    ],
  })
  const told = async () => (await it.enqueued()).map((it) => it.replace(/@\d+/, ''))
  await waitFor(async () => (await told()).length >= 2, { what: 'both changes' })
  expect(await told()).toEqual(['DELETED object-gone', 'ADDED object-after'])
})

test('a first start at a position that does not exist yet says so, and waits for it', async () => {
  await using kubernetes = await borrowKubernetes()
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfig,
    entries: [{ kind: 'ConfigMap', namespaces: ['default'], initial: { resourceVersion: '999999999' } }],
  })
  await waitFor(() => it.statuses()[0]?.lastError, { what: 'an error' })
  expect(it.statuses()[0]?.lastError).toMatch(/too large/i)
})

test('under writes the index does not differ from the cluster, and what is changed in it by hand is found exactly', async () => {
  await using kubernetes = await borrowKubernetes()
  const names = Array.from({ length: 60 }, (_, i) => `object-${i}`)
  for (const name of names) await create(kubernetes, name)
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfig,
    entries: [{ kind: 'ConfigMap', namespaces: ['default'], verify: 200 }],
  })
  await waitFor(() => it.statuses()[0]?.ready, { what: 'the watch' })
  const verified = () => it.statuses()[0]?.verified
  const next = async () => {
    const since = verified()?.atMs ?? 0
    await waitFor(() => (verified()?.atMs ?? 0) > since, { what: 'a comparison' })
    return verified()?.differences
  }
  let isWriting = true
  const writes = (async () => {
    for (let i = 0; isWriting; i++) {
      await create(kubernetes, `new-${i}`)
      await kubernetes.request('PATCH', `${CONFIG_MAPS}/object-${10 + (i % 50)}`, { data: { i: String(i) } })
      await remove(kubernetes, `new-${i}`)
    }
  })()
  for (let round = 0; round < 5; round++) expect(await next()).toBe(0)
  isWriting = false
  await writes
  const [index] = await it.reader.keys(it.keys.index('*'))
  const entries = Object.entries(await it.reader.hgetall(index as string))
  const uidOf = (name: string) => entries.find(([, entry]) => entry.includes(`/${name}/`))?.[0] as string
  await it.reader.hdel(index as string, uidOf('object-0'))
  await waitFor(async () => (await next()) === 1, { what: 'the missing entry' })
  await it.reader.hset(index as string, 'u-invented', 'default/invented/\n1')
  await it.reader.hset(index as string, uidOf('object-1'), 'default/object-1/\n1')
  await waitFor(async () => (await next()) === 3, {
    what: 'the entry that is too much, and the outdated one',
  })
  await it.reader.hdel(index as string, ...names.slice(10, 40).map(uidOf))
  await waitFor(async () => (await next()) === 33, { what: 'the count of more than the log names' })
  expect(
    (await it.metrics.registry.getSingleMetric('kubeherald_watch_index_differences')?.get())?.values,
  ).toMatchObject([{ value: 33 }])
})

test('cases 19, 24: an older server is listed in pages; when etcd forgets the state between two, the whole is listed and compared', async () => {
  await using kubernetes = await borrowKubernetes({
    flags: ['--feature-gates', 'WatchList=false,ListFromCacheSnapshot=false'],
  })
  const names = Array.from({ length: 510 }, (_, i) => `object-${String(i).padStart(4, '0')}`)
  for (let i = 0; i < names.length; i += 30)
    await Promise.all(names.slice(i, i + 30).map((name) => create(kubernetes, name)))
  const asked: Asked[] = []
  let betweenPages: (() => Promise<void>) | undefined
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfig,
    client: noting(asked, async (path) => {
      if (!path.includes('continue=')) return
      const act = betweenPages
      betweenPages = undefined
      await act?.()
    }),
    entries: [{ kind: 'ConfigMap', namespaces: ['default'] }],
  })
  await waitFor(() => it.statuses()[0]?.ready, { what: 'the watch' })
  expect(asked.find(({ path }) => path.includes('sendInitialEvents'))?.status).not.toBe(200)
  await it.stop()

  await remove(kubernetes, 'object-0001')
  await kubernetes.compact()
  betweenPages = async () => {
    // One that the first page told, one of the second, and one that comes behind all pages.
    await remove(kubernetes, 'object-0002')
    await remove(kubernetes, 'object-0509')
    await create(kubernetes, 'object-9999')
    await kubernetes.compactEtcd()
  }
  it.start()
  await it.arrived(4)
  expect(asked.filter(({ path }) => path.includes('continue=')).map(({ status }) => status)).toEqual([
    200, 410,
  ])
  expect((await it.enqueued()).map((it) => it.replace(/@\d+/, '')).toSorted()).toEqual([
    'ADDED object-9999 synthesized',
    'DELETED object-0001 synthesized',
    'DELETED object-0002 synthesized',
    'DELETED object-0509 synthesized',
  ])
})

test('a watch whose connection is frozen is listed, and the next one is up to date', async () => {
  await using kubernetes = await borrowKubernetes()
  await using proxy = await startTcpProxy(Number(new URL(kubernetes.url).port))
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfigAt(`https://127.0.0.1:${proxy.port}`),
    entries: [{ kind: 'ConfigMap', namespaces: ['default'] }],
    timing: { probeAfterMs: 500, probeTimeoutMs: 500, stalledMs: 1_000 },
  })
  const names = async () =>
    (await it.enqueued()).filter((it) => it.includes('object')).map((it) => it.replace(/@\d+/, ''))
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  await create(kubernetes, 'object-a')
  await waitFor(async () => (await names()).length === 1, { what: 'the first object' })
  proxy.freeze()
  await create(kubernetes, 'object-b')
  await waitFor(() => it.statuses()[0]?.behind, { what: 'the watch to be behind' })
  await waitFor(async () => (await names()).length === 2, { what: 'the second object', timeoutMs: 25_000 })
  expect(await names()).toEqual(['ADDED object-a', 'ADDED object-b synthesized'])
  expect(await it.metric('watch_relists_total')).toMatchObject([{ labels: { cause: 'stalled' } }])
})

test('a kind that is defined and not served yet is no new one: a first start is silent about its objects', async () => {
  await using kubernetes = await borrowKubernetes()
  await installWidgets(kubernetes)
  const add = (name: string) => kubernetes.request('POST', WIDGETS, manifest(WIDGETS, name, 0))
  await add('before')
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${WIDGET_CRD.metadata.name}`
  const serve = async (served: boolean) => {
    const definition = (await kubernetes.request('GET', path)) as typeof WIDGET_CRD
    for (const version of definition.spec.versions) version.served = served
    await kubernetes.request('PUT', path, definition)
    const answers = () =>
      kubernetes.request('GET', WIDGETS).then(
        () => true,
        () => false,
      )
    await waitFor(async () => (await answers()) === served, { what: `widgets served: ${served}` })
  }
  await serve(false)
  const inDiscovery = async () =>
    JSON.stringify(await kubernetes.request('GET', '/apis')).includes('stable.example.com')
  await waitFor(async () => !(await inDiscovery()), { what: 'discovery to forget the group' })
  await using it = await startWatchBed({
    kubeconfig: kubernetes.kubeconfig,
    entries: [{ kind: 'Widget', namespaces: ['default'] }],
  })
  await waitFor(() => it.statuses()[0]?.phase === 'waiting-for-kind', { what: 'the kind to be waited for' })
  await serve(true)
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch', timeoutMs: 25_000 })
  await add('after')
  await it.arrived(1)
  expect((await it.enqueued()).map((it) => it.replace(/@\d+/, ''))).toEqual(['ADDED after'])
})
