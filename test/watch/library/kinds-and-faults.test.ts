import { expect, test } from 'vitest'
import { ApiFault } from '../../../src/watch/client/api-fault.ts'
import { Faults, GIVEN_UP_MS } from '../../../src/watch/library/faults.ts'
import { watch } from '../../../src/watch/library/index.ts'
import type { Kind, WatchOptions } from '../../../src/watch/library/types.ts'
import { type ApiRequest, configMap, failure } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { collect, type LibraryBed, startLibraryBed } from './bed.ts'

/** Answers all requests for ConfigMaps, or for what `path` names, with a Status. */
function refuse(it: LibraryBed, code: number, reason: string, path = '/configmaps'): void {
  it.api.intercept = (request, response) => {
    if (!request.path.endsWith(path)) return false
    const message = `User "plain" cannot list resource "configmaps" in API group ""`
    response.writeHead(code, { 'content-type': 'application/json' })
    response.end(JSON.stringify(failure(code, reason, {}, message)))
    return true
  }
}

test.each([
  [403, 'Forbidden', 'forbidden', /403.*cannot list.*verbs list and watch on configmaps.*ClusterRole/],
  [401, 'Unauthorized', 'unauthorized', /401.*sign in again/],
  [400, 'BadRequest', 'rejected', /400/],
])(
  '%i at the start ends the iteration with an error that says what to do',
  async (code, reason, error, message) => {
    await using it = await startLibraryBed()
    refuse(it, code, reason)
    const changes = it.open()
    const { done } = collect(changes)
    await expect(done).rejects.toMatchObject({
      name: 'WatchError',
      code: error,
      watch: 'configmaps',
      message: expect.stringMatching(message),
    })
    await expect(changes.synced).rejects.toMatchObject({ code: error })
  },
)

test('credentials that are refused for discovery end the iteration', async () => {
  await using it = await startLibraryBed()
  refuse(it, 401, 'Unauthorized', '/api')
  await expect(collect(it.open()).done).rejects.toMatchObject({ code: 'unauthorized', watch: undefined })
})

test('a permission that is taken away and given back is waited for, with a warning, and nothing is lost', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const { labels, arrived } = collect(it.open())
  await it.watching('10')
  refuse(it, 403, 'Forbidden')
  it.api.current()?.end()
  await waitFor(() => it.warnings.length > 0, { what: 'a warning' })
  const warning = {
    watch: 'configmaps',
    error: expect.stringContaining('403'),
    retryInMs: expect.any(Number),
  }
  expect(it.warnings).toMatchObject([warning])
  it.api.resourceVersion = '11'
  it.api.script((connection) => connection.frame('ADDED', configMap('b', 11)))
  it.api.intercept = undefined
  await arrived(2)
  expect(labels()).toEqual(['ADDED a@5 synthesized', 'ADDED b@11'])
})

test('a watch that worked is given up when a permission is missing for a minute; a fault of the network ends that time', () => {
  const faults = new Faults()
  const forbidden = new ApiFault({ code: 403, reason: 'Forbidden', message: '', causes: [] })
  const source = { title: 'pods', namespace: '', resource: { group: '', plural: 'pods' } } as never
  const judge = (error: unknown, nowMs: number) =>
    faults.judge({ error, source, step: undefined, hasWorked: true, nowMs })
  expect(judge(forbidden, 0)).toBeUndefined()
  expect(judge(forbidden, GIVEN_UP_MS - 1)).toBeUndefined()
  expect(judge(forbidden, GIVEN_UP_MS)).toMatchObject({ final: { code: 'forbidden', watch: 'pods' } })
  expect(judge(new Error('reset'), GIVEN_UP_MS)).toBeUndefined()
  expect(judge(forbidden, GIVEN_UP_MS)).toBeUndefined()
  faults.works('pods')
  expect(judge(forbidden, 3 * GIVEN_UP_MS)).toBeUndefined()
})

test('an unknown kind ends the iteration, and names the nearest one', async () => {
  await using it = await startLibraryBed()
  const message = expect.stringContaining('"ConfigMap"')
  await expect(collect(it.open({ kinds: ['ConfigMapp'] })).done).rejects.toMatchObject({
    code: 'unknown-kind',
    message,
  })
})

test('two watches of a kind that overlap are refused, and name both', async () => {
  await using it = await startLibraryBed()
  const kinds = ['ConfigMap', { kind: 'cm', labels: 'app' }]
  await expect(collect(it.open({ kinds })).done).rejects.toMatchObject({ code: 'invalid-kind' })
})

test('all namespaces cannot be added to some of them, which would lose what they know; the others go on', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5), configMap('b', 6)] })
  const shop = { kind: 'ConfigMap', namespaces: ['shop'] }
  const changes = it.open({ kinds: [shop] })
  const { labels, arrived } = collect(changes)
  await changes.synced
  await it.watching('10')
  await expect(changes.add('ConfigMap')).rejects.toMatchObject({ code: 'invalid-kind' })
  it.api.current()?.frame('DELETED', configMap('a', 11))
  await arrived(3)
  expect(labels()).toEqual(['ADDED a@5 synthesized', 'ADDED b@6 synthesized', 'DELETED a@11'])
  expect(it.api.watches().map(({ path }) => path)).toEqual(['/api/v1/namespaces/shop/configmaps'])
  expect(await changes.remove(shop)).toBe(true)
  await changes.add('ConfigMap')
  await expect(changes.add(shop)).rejects.toMatchObject({ code: 'invalid-kind' })
  expect(await changes.remove('ConfigMap')).toBe(true)
})

test('a kind that is added and unknown, or forbidden, is refused; the others go on', async () => {
  await using it = await startLibraryBed()
  const changes = it.open({ kinds: [{ kind: 'ConfigMap', namespaces: ['shop'] }] })
  const { labels, arrived } = collect(changes)
  await it.watching('10')
  await expect(changes.add('Widget')).rejects.toMatchObject({ code: 'unknown-kind' })
  const secret = ({ path }: ApiRequest) => /\/namespaces\/secrets?\//.test(path)
  it.api.intercept = (request, response) => {
    if (!secret(request)) return false
    response.writeHead(403).end(JSON.stringify(failure(403, 'Forbidden')))
    return true
  }
  await expect(changes.add({ kind: 'ConfigMap', namespaces: ['secret'] })).rejects.toMatchObject({
    code: 'forbidden',
    watch: 'configmaps in secret',
  })
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await arrived(1)
  expect(labels()).toEqual(['ADDED a@11'])
  await expect(changes.add({ kind: 'ConfigMap', namespaces: ['secret', 'secrets'] })).rejects.toMatchObject({
    code: 'forbidden',
  })
  it.api.current()?.frame('ADDED', configMap('b', 12))
  await arrived(2)
  const asked = it.api.requests.filter(secret).length
  await expect(changes.add('Widget')).rejects.toMatchObject({ code: 'unknown-kind' })
  expect(it.api.requests.filter(secret).length).toBe(asked)
})

test('a kind can be added in the loop; after remove no change of it comes, and add begins anew', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const changes = it.open({ kinds: [] })
  await changes.synced
  const { labels, arrived } = collect(changes)
  await changes.add('ConfigMap')
  await arrived(1)
  await it.watching('10')
  const connection = it.api.current()
  expect(await changes.remove('ConfigMap')).toBe(true)
  expect(await changes.remove('ConfigMap')).toBe(false)
  connection?.frame('ADDED', configMap('missed', 11))
  await changes.add('ConfigMap')
  await arrived(2)
  expect(labels()).toEqual(['ADDED a@5 synthesized', 'ADDED a@5 synthesized'])
})

test('one namespace of a kind can be removed by its options; the others go on', async () => {
  await using it = await startLibraryBed()
  const inNamespace = (namespace: string) => ({ kind: 'ConfigMap', namespaces: [namespace] })
  const changes = it.open({ kinds: [inNamespace('shop'), inNamespace('pay')] })
  const { labels, arrived } = collect(changes)
  await changes.synced
  const open = () => new Set(it.api.watches().map(({ path }) => path.split('/')[4]))
  expect(open()).toEqual(new Set(['shop', 'pay']))
  expect(await changes.remove(inNamespace('other'))).toBe(false)
  expect(await changes.remove(inNamespace('pay'))).toBe(true)
  const before = it.api.watches().length
  it.api.script((connection) => connection.frame('ADDED', configMap('a', 11)))
  await changes.add(inNamespace('pay'))
  await arrived(1)
  expect(it.api.watches().slice(before)).toMatchObject([{ path: '/api/v1/namespaces/pay/configmaps' }])
  expect(labels()).toEqual(['ADDED a@11'])
})

test('options that differ only in the order of namespaces, in spaces around a selector, or by one that is undefined, name the same watch', async () => {
  await using it = await startLibraryBed()
  const changes = it.open({ kinds: [{ kind: 'ConfigMap', namespaces: ['shop', 'pay'] }] })
  collect(changes)
  await changes.synced
  expect(await changes.remove({ kind: 'ConfigMap', namespaces: ['pay', 'shop'] })).toBe(true)
  await changes.add({ kind: 'ConfigMap', labels: 'app=web' })
  expect(await changes.remove({ kind: 'ConfigMap', labels: ' app=web ' })).toBe(true)
  await changes.add('ConfigMap')
  expect(await changes.remove({ kind: 'ConfigMap', labels: undefined } as unknown as Kind)).toBe(true)
})

test('an error that onWarning throws ends the iteration', async () => {
  await using it = await startLibraryBed()
  const changes = it.open({
    onWarning() {
      throw new Error('the program')
    },
  })
  const { done } = collect(changes)
  await it.watching('10')
  it.api.current()?.reset()
  await expect(done).rejects.toThrow('the program')
})

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /kinds/],
  ['an unknown option', { kinds: [], kind: 'Pod' }, /"kind"/],
  ['kinds that are no array', { kinds: 'Pod' }, /array/],
  ['a kind without a name', { kinds: [{ labels: 'app' }] }, /kind/],
  ['an unknown option of a kind', { kinds: [{ kind: 'Pod', label: 'app' }] }, /"label"/],
  ['a pattern of namespaces', { kinds: [{ kind: 'Pod', namespaces: ['shop-*'] }] }, /shop-\*.*patterns/],
  ['no namespaces', { kinds: [{ kind: 'Pod', namespaces: [] }] }, /all namespaces/],
  ['an empty selector', { kinds: [{ kind: 'Pod', labels: ' ' }] }, /labels/],
  ['a wrong initial', { kinds: [], initial: 'now' }, /initial/],
  ['a checkpoint that is a path', { kinds: [], checkpoint: 'x.json' }, /fileCheckpoint/],
  ['a controller as signal', { kinds: [], signal: new AbortController() }, /signal/],
  ['keepOld as a text', { kinds: [], keepOld: 'false' }, /keepOld/],
])('%s is refused immediately', (_, options, message) => {
  expect(() => watch(options as WatchOptions)).toThrow(expect.objectContaining({ code: 'invalid-options' }))
  expect(() => watch(options as WatchOptions)).toThrow(message)
})

test('a kubeconfig that is not there is refused immediately', () => {
  const missing = { kinds: ['Pod'], kubeconfig: '/nowhere/kubeconfig' }
  expect(() => watch(missing)).toThrow(expect.objectContaining({ code: 'no-cluster' }))
})
