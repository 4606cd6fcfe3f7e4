import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Changes } from '../../../src/watch/library/types.ts'
import { configMap, failure } from '../../servers/scripted-api.ts'
import { startTcpProxy } from '../../servers/tcp-proxy.ts'
import { waitFor } from '../../wait-for.ts'
import { collect, label, startLibraryBed } from './bed.ts'

const MB = 1024 * 1024

test('what exists comes as ADDED, then each change, and synced says when the first is complete', async () => {
  await using it = await startLibraryBed({ objects: [configMap('old', 5)] })
  const changes = it.open()
  let isSynced = false
  void changes.synced.then(() => {
    isSynced = true
  })
  const { seen, labels, arrived } = collect(changes, () => expect(isSynced).toBe(seen.length > 1))
  await changes.synced
  expect(labels()).toEqual(['ADDED old@5 synthesized'])
  await it.watching('10')
  const large = { ...configMap('new', 11, { labels: { app: 'web' } }), data: { a: 'b' } }
  it.api.current()?.frame('ADDED', large)
  it.api.current()?.frame('MODIFIED', configMap('old', 12))
  it.api.current()?.frame('DELETED', configMap('old', 13))
  await arrived(4)
  expect(labels().slice(1)).toEqual(['ADDED new@11', 'MODIFIED old@12', 'DELETED old@13'])
  expect(seen[1]).toEqual({
    type: 'ADDED',
    kind: 'ConfigMap',
    apiVersion: 'v1',
    namespace: 'default',
    name: 'new',
    uid: 'uid-of-new',
    resourceVersion: '11',
    object: large,
    synthesized: false,
  })
})

test('with initial: skip what exists is known and not emitted', async () => {
  await using it = await startLibraryBed({ objects: [configMap('old', 5)] })
  const changes = it.open({ initial: 'skip' })
  const { labels, arrived } = collect(changes)
  await changes.synced
  await it.watching('10')
  it.api.current()?.frame('DELETED', configMap('old', 11))
  await arrived(1)
  expect(labels()).toEqual(['DELETED old@11'])
})

test('after a 410 exactly the net difference comes, a re-created object as DELETED and ADDED', async () => {
  await using it = await startLibraryBed({
    objects: [configMap('changed', 5), configMap('gone', 6), configMap('again', 7), configMap('same', 8)],
  })
  const { seen, labels, arrived } = collect(it.open({ initial: 'skip' }))
  await it.watching('10')
  it.api.objects = [
    configMap('changed', 15),
    configMap('again', 18, { uid: 'another-uid' }),
    configMap('same', 8),
    configMap('new', 19),
  ]
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  it.api.current()?.end()
  await it.watching('20')
  await arrived(5)
  expect(labels()).toEqual([
    'MODIFIED changed@15 synthesized',
    'DELETED again@7 synthesized',
    'ADDED again@18 synthesized',
    'ADDED new@19 synthesized',
    'DELETED gone@6 synthesized',
  ])
  const metadata = { name: 'gone', namespace: 'default', uid: 'uid-of-gone', resourceVersion: '6' }
  expect(seen.at(-1)?.object).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
})

test('with keepOld a MODIFIED has the object before it, and a synthesized DELETED the last known one', async () => {
  const before = { ...configMap('a', 5), data: { step: '1' } }
  await using it = await startLibraryBed({ objects: [before, configMap('gone', 6)] })
  const { seen, labels, arrived } = collect(it.open({ keepOld: true, initial: 'skip' }))
  await it.watching('10')
  const after = { ...configMap('a', 11), data: { step: '2' } }
  it.api.current()?.frame('MODIFIED', after)
  await arrived(1)
  expect(seen[0]).toMatchObject({ old: before, object: after })
  it.api.objects = [after]
  it.api.resourceVersion = '20'
  it.api.current()?.frame('ERROR', failure(410, 'Expired'))
  await arrived(2)
  expect(labels()[1]).toBe('DELETED gone@6 synthesized')
  expect(seen[1]?.object).toEqual(configMap('gone', 6))
  expect(seen[1]).not.toHaveProperty('old')
})

test('a half-open connection is given up, and nothing is lost', async () => {
  await using proxy = await startTcpProxy(0)
  await using it = await startLibraryBed({
    serverAt(api) {
      proxy.retarget(Number(new URL(api.url).port))
      return `http://127.0.0.1:${proxy.port}`
    },
  })
  // Requests on other connections that are frozen end soon, too.
  const timing = { watchSeconds: [1, 1], graceMs: 200, identityFreshMs: 60_000, probeTimeoutMs: 200 } as const
  const changes = it.open({}, timing)
  const { labels, arrived } = collect(changes)
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await arrived(1)
  proxy.freeze()
  it.api.current()?.frame('ADDED', configMap('b', 12))
  it.api.resourceVersion = '12'
  it.api.script((watch) => watch.frame('ADDED', configMap('b', 12)))
  await arrived(2)
  expect(labels()).toEqual(['ADDED a@11', 'ADDED b@12'])
  expect(it.warnings[0]).toMatchObject({ watch: 'configmaps', retryInMs: expect.any(Number) })
})

test('a slow program holds back the API server: of what it does not take few MiB are read, and all of it comes', async () => {
  const total = 80
  let sent = 0
  await using it = await startLibraryBed()
  const text = 'x'.repeat(MB)
  const send = async (response: ServerResponse) => {
    for (; sent < total; sent++) {
      const object = { ...configMap(`large-${sent}`, 11 + sent), data: { text } }
      if (!response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`)) await once(response, 'drain')
    }
  }
  it.api.intercept = ({ isWatch, query }, response) => {
    if (!isWatch || query.get('resourceVersion') !== '10') return false
    response.writeHead(200, { 'content-type': 'application/json' })
    void send(response)
    return true
  }
  const go = Promise.withResolvers<void>()
  const { labels, arrived } = collect(it.open(), () => go.promise)
  await arrived(1)
  // Sockets have buffers, too: it is over when nothing more is sent for a while.
  let before: number
  do {
    before = sent
    await new Promise((resolve) => setTimeout(resolve, 200))
  } while (sent > before)
  expect(sent).toBeLessThan(30)
  go.resolve()
  await arrived(total)
  expect(labels()).toEqual(Array.from({ length: total }, (_, i) => `ADDED large-${i}@${11 + i}`))
})

test('the signal ends the iteration after the change that is being processed; then add and remove are refused', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5), configMap('b', 6)] })
  const stop = new AbortController()
  const changes = it.open({ signal: stop.signal })
  const { labels, done } = collect(changes, () => stop.abort())
  await done
  expect(labels()).toEqual(['ADDED a@5 synthesized'])
  await expect(changes.add('Node')).rejects.toMatchObject({ code: 'closed' })
  await expect(changes.remove('ConfigMap')).rejects.toMatchObject({ code: 'closed' })
  await expect(changes.synced).rejects.toMatchObject({ code: 'closed' })
})

test('close ends an iteration that waits, also before it began', async () => {
  await using it = await startLibraryBed()
  const changes = it.open()
  const { done } = collect(changes)
  await it.watching('10')
  await changes.close()
  await done
  await it.open({ signal: AbortSignal.abort() }).close()
  for await (const change of it.open({ signal: AbortSignal.abort() })) throw new Error(label(change))
})

test.each([
  ['ended', (changes: Changes) => changes[Symbol.asyncIterator]().return?.()],
  ['ended with an error', (changes: Changes) => changes[Symbol.asyncIterator]().throw?.(new Error('x'))],
  ['destroyed as a stream', (changes: Changes) => Readable.from(changes).destroy()],
])('an iteration that is %s before it began closes its connections', async (_, end) => {
  await using it = await startLibraryBed()
  const changes = it.open()
  await it.watching('10')
  await Promise.resolve(end(changes)).catch(() => {})
  await waitFor(
    () =>
      changes.remove('Node').then(
        () => false,
        ({ code }) => code === 'closed',
      ),
    { timeoutMs: 5_000, what: 'the end' },
  )
})

test('an error of the program in the loop ends the iteration, and is the one that it gets', async () => {
  await using it = await startLibraryBed({ objects: [configMap('a', 5)] })
  const { done } = collect(it.open(), () => {
    throw new Error('the program')
  })
  await expect(done).rejects.toThrow('the program')
})

test('an object that cannot be parsed comes with its identity, and a warning', async () => {
  await using it = await startLibraryBed()
  const { seen, arrived } = collect(it.open())
  await it.watching('10')
  const metadata = '"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"11"}'
  it.api.current()?.raw(`{"type":"ADDED","object":{"kind":"ConfigMap",${metadata},"data":{bad}}}\n`)
  await arrived(1)
  expect(seen[0]).toMatchObject({ name: 'a', object: { kind: 'ConfigMap', metadata: { uid: 'u' } } })
  await waitFor(() => it.warnings.length > 0, { what: 'a warning' })
})
