import { expect, test } from 'vitest'
import type { Change, Source } from '../../../src/model/change.ts'
import type { Resource } from '../../../src/model/event.ts'
import { regardingIn } from '../../../src/watch/decode/kube-event.ts'
import { scanObject } from '../../../src/watch/decode/scan.ts'
import { MetadataCache } from '../../../src/watch/metadata/cache.ts'
import { createCacheStore } from '../../../src/watch/metadata/cache-store.ts'
import { MetadataBarrier, type Progress } from '../../../src/watch/metadata/metadata-barrier.ts'
import { NO_REQUIREMENTS } from '../../../src/watch/metadata/metadata-requirements.ts'

const NEVER = new AbortController().signal
/** For what is waited for in vain, time passes so much faster. */
const HASTE = 50
const UID = '0b1c2d3e-0000-4000-8000-000000000001'
const REGARDING = { ...NO_REQUIREMENTS, regardingMetadata: true, regardingOwners: true }

const kindOf = (group: string, kind: string): Resource => ({
  ...{ group, version: 'v1', kind, plural: `${kind.toLowerCase()}s`, namespaced: true },
})

function sourceOf(resource: Resource): Source {
  return {
    ...{
      key: resource.plural,
      title: resource.plural,
      resource,
      namespace: '',
      labelSelector: '',
      fieldSelector: '',
    },
    ...{ initial: 'now', clusterUid: 'c', spelling: resource.kind, custom: false },
  }
}
const EVENTS = sourceOf(kindOf('', 'Event'))
const PODS = sourceOf(kindOf('', 'Pod'))
const SETS = sourceOf(kindOf('apps', 'ReplicaSet'))

function change(object: object): Change {
  return { type: 'ADDED', object: scanObject(Buffer.from(JSON.stringify(object)))!, observedAtMs: 0 }
}

const meta = (name: string, uid = UID, more: object = {}) => ({
  metadata: { name, namespace: 'shop', uid, resourceVersion: '1', ...more },
})

const ABOUT = { apiVersion: 'v1', kind: 'Pod', uid: UID }

function eventAbout(name: string, uid: string | undefined = UID, kind = 'Pod'): Change {
  const involvedObject = { apiVersion: 'v1', kind, namespace: 'shop', name, uid }
  return change({ ...meta('event', 'uid-of-event'), involvedObject })
}

async function start(...sources: Source[]) {
  const clock = {
    haste: 1,
    at: undefined as number | undefined,
    now: () => clock.at ?? performance.now() * clock.haste,
  }
  const hurry = () => {
    clock.haste = HASTE
  }
  const cache = new MetadataCache({ maxObjects: 1_000, clock, onEvict() {}, onExclude() {} })
  const store = createCacheStore(cache, clock)
  store.expect(sources)
  const progress = new Map<string, Progress>()
  const unsettled = new Set<string>()
  const misses: string[] = []
  const waits: number[] = []
  const it = new MetadataBarrier({
    ...{ cache, store, clock, regardingIn },
    isEvent: (source) => source.key === 'events',
    progressOf: (source) => progress.get(source?.key ?? '') ?? 'follows',
    isSettled: (source) => !unsettled.has(source?.key ?? ''),
    onMiss: (source, why) => void misses.push(`${source?.key} ${why}`),
    onWaited: (ms) => void waits.push(ms),
  })
  async function tell(source: Source, ...changes: Change[]) {
    const session = await store.open(source, NEVER)
    await session.commit(changes, '5', NEVER)
  }
  const known = (...changes: Change[]) => it.awaitMetadata(EVENTS, changes, REGARDING, NEVER)
  return { it, clock, cache, progress, unsettled, misses, waits, tell, known, hurry }
}

test('what is known is not waited for, nor what nobody ever tells of', async () => {
  const { known, tell, waits, misses, it } = await start(PODS)
  await tell(PODS, change(meta('web')))
  await known(eventAbout('web'), eventAbout('x', UID, 'Node'), change(meta('an-event-about-nothing')))
  await it.awaitMetadata(
    PODS,
    [change(meta('p', UID, { ownerReferences: [{ kind: 'Node', name: 'n', uid: 'n', controller: true }] }))],
    REGARDING,
    NEVER,
  )
  await it.awaitMetadata(EVENTS, [eventAbout('unknown')], NO_REQUIREMENTS, NEVER)
  expect([waits, misses]).toEqual([[], []])
})

test('what comes in time is waited for: the object, and each step of the chain above it', async () => {
  const { known, tell, misses } = await start(PODS, SETS)
  const owned = {
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'set', controller: true },
    ],
  }
  const steps: string[] = []
  const waiting = known(eventAbout('web')).then(() => steps.push('decided'))
  await new Promise(setImmediate)
  steps.push('pod')
  await tell(PODS, change(meta('web', UID, owned)))
  await new Promise(setImmediate)
  steps.push('set')
  await tell(SETS, change(meta('web-1', 'set')))
  await waiting
  expect([steps, misses]).toEqual([['pod', 'set', 'decided'], []])
})

test('what never comes is waited for once, and counted', async () => {
  const { known, tell, waits, misses, hurry } = await start(PODS)
  await tell(PODS)
  hurry()
  await known(eventAbout('ghost'), eventAbout('ghost'))
  expect(misses).toEqual(['pods follows'])
  expect(waits[0]).toBeGreaterThanOrEqual(2_000)
  await known(eventAbout('ghost'))
  expect(waits.length).toBe(1)
})

test('what is made up in a namespace costs it one wait, however much there is; other namespaces are waited for as before', async () => {
  const { known, tell, misses, hurry, clock } = await start(PODS)
  await tell(PODS)
  hurry()
  await known(...Array.from({ length: 50 }, (_, i) => eventAbout(`ghost-${i}`)))
  // From now on time passes by these steps alone: much less than one wait.
  clock.at = clock.now()
  for (let i = 50; i < 60; i++) {
    const waiting = known(eventAbout(`ghost-${i}`))
    clock.at += 60
    await waiting
  }
  expect(misses.length).toBe(60)
  const pay = { metadata: { name: 'event', namespace: 'pay', uid: 'pay-event', resourceVersion: '1' } }
  const waiting = known(change({ ...pay, involvedObject: { ...ABOUT, namespace: 'pay', name: 'web' } }))
  const object = meta('web')
  clock.at += 1_000
  await tell(PODS, change({ metadata: { ...object.metadata, namespace: 'pay' } }))
  await waiting
  expect(misses.length).toBe(60)
})

test('what comes while it is waited for costs nothing', async () => {
  const { known, tell, misses } = await start(PODS)
  for (let i = 0; i < 5; i++) {
    const uid = UID.replace(/1$/, String(i))
    const waiting = known(eventAbout(`web-${i}`, uid))
    await new Promise(setImmediate)
    await tell(PODS, change(meta(`web-${i}`, uid)))
    await waiting
  }
  expect(misses).toEqual([])
})

test('the successor of an object is no answer for it, but where a kubelet made the uid up', async () => {
  const { known, tell, misses, waits, hurry } = await start(PODS)
  const mirror = {
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'n', controller: true }],
  }
  await tell(PODS, change(meta('db-0')), change(meta('etcd-n1', UID.replace('1', '2'), mirror)))
  await known(
    eventAbout('db-0', 'abcdef0123456789abcdef0123456789'),
    eventAbout('etcd-n1', UID.replace('1', '3')),
  )
  expect([waits, misses]).toEqual([[], []])
  hurry()
  await known(eventAbout('db-0', UID.replace('1', '4')))
  expect(misses).toEqual(['pods follows'])
})

test('a source that is behind is waited for as long as it gets on, and then for no event until it follows again', async () => {
  const { known, tell, progress, misses, waits, hurry } = await start(PODS)
  progress.set('pods', 'behind')
  const waiting = known(eventAbout('web'))
  await tell(PODS, change(meta('web')))
  await waiting
  expect(misses).toEqual([])
  hurry()
  await known(eventAbout('later'))
  expect(misses).toEqual(['pods behind'])
  expect(waits[1]).toBeGreaterThanOrEqual(30_000)
  await known(eventAbout('later-still'))
  expect(waits.length).toBe(2)
  progress.set('pods', 'follows')
  await known(eventAbout('later'))
  expect(misses).toEqual(['pods behind', 'pods behind', 'pods follows'])
})

test('a source that fails is not waited for', async () => {
  const { known, progress, misses, waits } = await start(PODS)
  progress.set('pods', 'fails')
  await known(eventAbout('web'))
  expect(misses).toEqual(['pods fails'])
  expect(waits).toEqual([])
})

test('as long as nobody knows which kinds there are, all is waited for', async () => {
  const bed = await start()
  bed.progress.set('', 'behind')
  const waiting = bed.known(eventAbout('web'))
  bed.progress.set('', 'follows')
  bed.cache.touch()
  await waiting
  expect(bed.misses).toEqual([])
})

test('who is asked to stop does not wait', async () => {
  const { it, progress } = await start(PODS)
  progress.set('pods', 'behind')
  const stop = new AbortController()
  const waiting = it.awaitMetadata(EVENTS, [eventAbout('web')], REGARDING, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
})

test('all sources are waited for, except those that make no progress: these only once', async () => {
  const { it, clock, cache, progress, unsettled, misses } = await start(PODS, SETS)
  for (const key of ['', 'pods', 'replicasets']) {
    progress.set(key, 'behind')
    unsettled.add(key)
  }
  const steps: string[] = []
  const waiting = it.awaitSources(EVENTS, NEVER).then(() => steps.push('decided'))
  for (const key of ['', 'pods', 'replicasets']) {
    await new Promise(setImmediate)
    steps.push(`settles ${key}`)
    unsettled.delete(key)
    cache.touch()
    await new Promise(setImmediate)
  }
  await waiting
  expect(steps).toEqual(['settles ', 'settles pods', 'settles replicasets', 'decided'])
  unsettled.add('pods')
  clock.haste = 1_000
  await it.awaitSources(EVENTS, NEVER)
  expect(misses).toEqual(['pods behind'])
  clock.at = clock.now()
  await it.awaitSources(EVENTS, NEVER)
})

test('a stop ends the wait for all sources', async () => {
  const { it, unsettled, progress } = await start(PODS)
  progress.set('pods', 'behind')
  unsettled.add('pods')
  const stop = new AbortController()
  const waiting = it.awaitSources(EVENTS, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
})
