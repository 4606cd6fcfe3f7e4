import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import type { ClusterResponse } from '../../src/watch/client/cluster-client.ts'
import { createClusterIdentity, decideIdentity } from '../../src/watch/reflector/cluster-identity.ts'
import { configMap, failure, type ScriptedApi, type WatchConnection } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

test('only another uid is another cluster: a permission that comes or goes changes nothing', () => {
  const byUid = decideIdentity(undefined, 'uid-1', 'address')
  expect(byUid).toEqual({ id: 'uid-1', uid: 'uid-1' })
  expect(decideIdentity(byUid, undefined, 'address')).toEqual(byUid)
  expect(decideIdentity(byUid, 'uid-2', 'address')).toEqual({ id: 'uid-2', uid: 'uid-2' })
  const byAddress = decideIdentity(undefined, undefined, 'address')
  expect(byAddress).toEqual({ id: 'address' })
  const both = decideIdentity(byAddress, 'uid-1', 'address')
  expect(both).toEqual({ id: 'address', uid: 'uid-1' })
  expect(decideIdentity(both, 'uid-2', 'address')).toEqual({ id: 'uid-2', uid: 'uid-2' })
})

function forbidIdentity(api: ScriptedApi): { lift(): void } {
  let forbidden = true
  api.intercept = ({ path }, response) => {
    if (!forbidden || !path.endsWith('/kube-system')) return false
    response.writeHead(403).end(JSON.stringify(failure(403, 'Forbidden')))
    return true
  }
  return {
    lift() {
      forbidden = false
    },
  }
}

test('a 403 on kube-system in mid-life goes on from the position, and so does its end', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  const right = forbidIdentity(it.api)
  it.api.script((watch) => watch.frame('MODIFIED', configMap('a', 11)))
  it.api.resourceVersion = '11'
  it.api.current()?.reset()
  await it.arrived(1)
  right.lift()
  it.api.script((watch) => watch.frame('MODIFIED', configMap('a', 12)))
  it.api.resourceVersion = '12'
  it.api.current()?.reset()
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['MODIFIED a@11', 'MODIFIED a@12'])
})

test('a right to read kube-system that is granted later does not begin anew', async () => {
  let right: { lift(): void } | undefined
  await using it = await startWatchBed({
    objects: [configMap('a', 5)],
    prepare(api) {
      right = forbidIdentity(api)
    },
  })
  await it.watching('10')
  await it.stop()
  right?.lift()
  it.api.script((watch) => watch.frame('MODIFIED', configMap('a', 11)))
  it.start()
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['MODIFIED a@11'])
})

test('a 404 that a proxy answers in place of the API server identifies no cluster', async () => {
  let asked = 0
  await using it = await startWatchBed({
    prepare(api) {
      api.intercept = ({ path }, response) => {
        if (!path.endsWith('/kube-system')) return false
        asked++
        response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n')
        return true
      }
    },
  })
  await waitFor(() => asked > 2, { what: 'some requests' })
  expect(await it.reader.keys(it.keys.checkpoint('*'))).toEqual([])
  expect(it.statuses()).toMatchObject([{ phase: 'resolving', ready: false }])
  it.api.intercept = undefined
  await it.watching('10')
})

test('a 401 while the cluster is identified reads the credentials anew', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  let refused = 0
  it.api.intercept = ({ path }, response) => {
    if (!path.endsWith('/kube-system') || refused++ > 0) return false
    response.writeHead(401).end(JSON.stringify(failure(401, 'Unauthorized')))
    return true
  }
  it.api.current()?.reset()
  const told = async () =>
    (await it.metric('watch_reconnects_total')).some(({ labels }) => labels['cause'] === '401')
  await waitFor(told, { what: 'the 401 to be taken for one' })
  await it.watching('10')
})

test('why the kinds cannot be resolved is shown without the credentials of a proxy', async () => {
  await using it = await startWatchBed({
    client: (client) => ({
      url: client.url,
      get: () => Promise.reject(new Error('cannot connect to http://me:hunter2@proxy:3128')),
      stream: (...call) => client.stream(...call),
      send: (...call) => client.send(...call),
      refresh: () => client.refresh(),
      close: () => client.close(),
    }),
  })
  const lastError = await waitFor(() => it.statuses()[0]?.lastError, { what: 'the error' })
  expect(lastError).toContain('cannot connect to')
  expect(lastError).not.toContain('hunter2')
})

test('one request identifies the cluster for all watches that reconnect together', async () => {
  const identityFreshMs = 1_000
  const namespaces = Array.from({ length: 10 }, (_, i) => `n${i}`)
  const open: WatchConnection[] = []
  await using it = await startWatchBed({
    entries: [{ kind: 'ConfigMap', namespaces }],
    timing: { identityFreshMs },
    prepare: (api) => api.script(...namespaces.map(() => (watch: WatchConnection) => void open.push(watch))),
  })
  await waitFor(() => open.length === namespaces.length, { what: 'ten watches' })
  const openMs = performance.now()
  await waitFor(() => performance.now() - openMs > identityFreshMs, { what: 'the last answer to be old' })
  let asked = 0
  it.api.intercept = ({ path }, response) => {
    if (!path.endsWith('/kube-system')) return false
    asked++
    setTimeout(() => response.end(JSON.stringify({ metadata: { uid: it.api.clusterUid } })), 500)
    return true
  }
  const resetMs = performance.now()
  for (const watch of open) watch.reset()
  await waitFor(() => it.api.watches().length === 2 * namespaces.length, { what: 'the watches to be back' })
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThanOrEqual(1 + (performance.now() - resetMs) / identityFreshMs)
})

/** A cluster whose requests the test answers, identified once for all that ask within an hour. */
function clusterThatIsAsked() {
  const requests: PromiseWithResolvers<ClusterResponse>[] = []
  const get = () => {
    const request = Promise.withResolvers<ClusterResponse>()
    requests.push(request)
    return request.promise
  }
  const identities = { get: async () => undefined, ofUid: async () => undefined, set: async () => {} }
  const identify = createClusterIdentity(
    {
      client: { url: 'http://api', get },
      store: { identities },
      log: silentLog,
      timing: { identityFreshMs: 3_600_000 },
    },
    new AbortController().signal,
  )
  const body = Buffer.from(JSON.stringify({ metadata: { uid: 'uid-1' } }))
  return { requests, identify, answer: { status: 200, headers: {}, body } }
}

test('a watch that ends does not wait for the identity of the cluster, and takes it from no other', async () => {
  const { requests, identify, answer } = clusterThatIsAsked()
  const ended = new AbortController()
  const first = identify(ended.signal)
  const second = identify(new AbortController().signal)
  ended.abort(new Error('ended'))
  await expect(first).rejects.toThrow('ended')
  requests[0]?.resolve(answer)
  expect(await second).toBe('uid-1')
  expect(requests).toHaveLength(1)
})

test('a request for the identity that failed is not shared with who asks next', async () => {
  const { requests, identify, answer } = clusterThatIsAsked()
  const { signal } = new AbortController()
  const failed = [identify(signal), identify(signal)]
  requests[0]?.reject(new Error('reset'))
  for (const it of failed) await expect(it).rejects.toThrow('reset')
  const next = identify(signal)
  requests[1]?.resolve(answer)
  expect(await next).toBe('uid-1')
  expect(requests).toHaveLength(2)
})
