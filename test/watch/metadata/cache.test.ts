import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { Source } from '../../../src/model/change.ts'
import type { ObjectRef, Resource } from '../../../src/model/event.ts'
import { scanObject } from '../../../src/watch/decode/scan.ts'
import { type EvictedTexts, MetadataCache } from '../../../src/watch/metadata/cache.ts'
import { createCacheStore } from '../../../src/watch/metadata/cache-store.ts'
import { surroundingsOf } from '../../../src/watch/metadata/related-metadata.ts'
import { rememberLast } from '../../../src/watch/metadata/table.ts'

const signal = new AbortController().signal
const kindOf = (group: string, kind: string, namespaced = true): Resource => ({
  group,
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
})
const POD = kindOf('', 'Pod')
const NODE = kindOf('', 'Node', false)
const SET = kindOf('apps', 'ReplicaSet')
const NAMESPACE = kindOf('', 'Namespace', false)

function sourceOf(resource: Resource, key = resource.plural, namespace = ''): Source {
  return {
    ...{ key, title: `metadata of ${key}`, resource, namespace, labelSelector: '', fieldSelector: '' },
    ...{ initial: 'now', clusterUid: 'c', spelling: resource.kind, custom: false },
  }
}

interface Parts {
  uid?: string
  namespace?: string
  labels?: object
  owners?: object[]
}

function change(
  name: string,
  { uid = `uid-${name}`, namespace = 'shop', labels, owners }: Parts = {},
  type = 'ADDED',
) {
  const metadata = {
    ...{ name, uid, resourceVersion: '1' },
    ...(namespace && { namespace }),
    ...(labels && { labels }),
    ...(owners && { ownerReferences: owners }),
  }
  return { type, object: scanObject(Buffer.from(JSON.stringify({ metadata })))!, observedAtMs: 0 } as never
}

function ref(
  kind: string,
  name: string,
  uid = `uid-${name}`,
  apiVersion = kind === 'Pod' ? 'v1' : 'apps/v1',
) {
  return { apiVersion, kind, name, uid, namespace: 'shop' }
}

const owner = (kind: string, name: string, apiVersion = 'apps/v1') => ({
  ...{ apiVersion, kind, name, uid: `uid-${name}`, controller: true, blockOwnerDeletion: true },
})

function start(maxObjects = 1_000) {
  const clock = { ms: 1_000_000, now: () => clock.ms }
  const evicted: string[] = []
  const excluded: string[] = []
  const tooMuch: EvictedTexts[] = []
  const cache = new MetadataCache({
    maxObjects,
    clock,
    onEvict({ kind }, count, texts) {
      evicted.push(`${kind} ${count}`)
      if (texts) tooMuch.push(texts)
    },
    onExclude: ({ kind }, key) => void excluded.push(`${kind} ${key}`),
  })
  const store = createCacheStore(cache, clock)
  async function seeded(source: Source, ...page: never[]) {
    const session = await store.open(source, signal)
    await session.beginSeed(signal)
    await session.seed(page, signal)
    await session.endList('5', signal)
    return session
  }
  const isWatched = ({ kind = '' }: ObjectRef) => [POD, SET].some((it) => it.kind === kind)
  return { clock, cache, store, evicted, excluded, tooMuch, seeded, ...surroundingsOf(cache, isWatched) }
}

test('an object is known by its uid, with its labels and its owners up to the top', async () => {
  const it = start()
  await it.seeded(
    sourceOf(POD),
    change('web', { labels: { app: 'a' }, owners: [owner('ReplicaSet', 'web-1')] }),
  )
  await it.seeded(sourceOf(SET), change('web-1', { owners: [owner('Deployment', 'web')] }))
  const known = it.object(ref('Pod', 'web'))
  expect({ ...known?.labels }).toEqual({ app: 'a' })
  const { controller: _c, blockOwnerDeletion: _b, ...set } = owner('ReplicaSet', 'web-1')
  const { controller: _d, blockOwnerDeletion: _e, ...top } = owner('Deployment', 'web')
  expect(known?.owners).toEqual([set, top])
  expect(it.ownersOf([set], 'shop')).toEqual([set, top])
  // The same name in another namespace is another one.
  expect(it.ownersOf([set], 'pay')).toEqual([set, top].slice(0, 1))
  expect(it.object({ ...ref('Pod', 'web'), namespace: 'pay' })).toBeUndefined()
})

test('a chain lacks owners where a watch should tell of its last one, and does not', async () => {
  const it = start()
  await it.seeded(sourceOf(POD), change('web', { owners: [owner('ReplicaSet', 'web-1')] }))
  const pod = () => it.object(ref('Pod', 'web'))
  const [set] = pod()?.owners ?? []
  expect(pod()).toMatchObject({ owners: [{ name: 'web-1' }], lacksOwners: true })
  expect(it.lacksOwners?.([set!], 'shop')).toBe(true)
  // A Deployment is told of by nobody here: it is the top.
  await it.seeded(sourceOf(SET), change('web-1', { owners: [owner('Deployment', 'web')] }))
  expect(pod()).toMatchObject({ owners: [{ name: 'web-1' }, { name: 'web' }], lacksOwners: false })
  expect(it.lacksOwners?.([], 'shop')).toBe(false)
})

test('without a uid, or with one that nobody knows, the name counts; for a step of a chain it does not', async () => {
  const it = start()
  await it.seeded(sourceOf(NODE), change('n1', { namespace: '', labels: { pool: 'gpu' } }))
  // A kubelet takes the name for the uid, and its Events are in "default".
  expect({ ...it.object({ kind: 'Node', name: 'n1', uid: 'n1', namespace: 'default' })?.labels }).toEqual({
    pool: 'gpu',
  })
  expect({ ...it.object({ kind: 'Node', name: 'n1' })?.labels }).toEqual({ pool: 'gpu' })
  await it.seeded(sourceOf(SET), change('web-1', { owners: [owner('Deployment', 'web')] }))
  const other = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'another' }
  expect(it.ownersOf([other], 'shop')).toEqual([other])
})

test('what was deleted is known for ten minutes, also beside its successor', async () => {
  const it = start()
  const pods = await it.seeded(sourceOf(POD), change('db-0', { uid: 'one', labels: { v: '1' } }))
  await pods.commit([change('db-0', { uid: 'one', labels: { v: '1' } }, 'DELETED')], '6', signal)
  expect({ ...it.object(ref('Pod', 'db-0', 'none'))?.labels }).toEqual({ v: '1' })
  await pods.commit([change('db-0', { uid: 'two', labels: { v: '2' } })], '7', signal)
  const labels = (uid: string) => it.object(ref('Pod', 'db-0', uid))?.labels['v']
  expect([labels('one'), labels('two'), labels('none')]).toEqual(['1', '2', '2'])
  it.clock.ms += 600_001
  expect([labels('one'), labels('two')]).toEqual(['2', '2'])
  await pods.commit([change('other')], '8', signal)
  await pods.commit([change('db-0', { uid: 'two' }, 'DELETED')], '9', signal)
  it.clock.ms += 600_001
  expect(it.object(ref('Pod', 'db-0', 'two'))).toBeUndefined()
})

test('what was deleted is not known in another namespace, or by another name', async () => {
  const it = start()
  const pods = await it.seeded(sourceOf(POD), change('db-0', { uid: 'one', labels: { v: '1' } }))
  await pods.commit([change('db-0', { uid: 'one' }, 'DELETED')], '6', signal)
  expect(it.object({ ...ref('Pod', 'db-0', 'one'), namespace: 'pay' })).toBeUndefined()
  expect(it.object(ref('Pod', 'web', 'one'))).toBeUndefined()
  expect({ ...it.object(ref('Pod', 'db-0', 'one'))?.labels }).toEqual({ v: '1' })
})

test('a list takes away what is not in it, of its own part alone', async () => {
  const it = start()
  const shop = await it.seeded(sourceOf(POD, 'a', 'shop'), change('web'), change('db'))
  await it.seeded(sourceOf(POD, 'b', 'pay'), change('pay', { namespace: 'pay' }))
  await shop.beginList('different', signal)
  await shop.list([change('web')], signal)
  await shop.endList('9', signal)
  expect(it.cache.sizes()).toMatchObject([{ objects: 2 }])
  expect(it.object(ref('Pod', 'db'))).toBeDefined()
  it.clock.ms += 600_001
  expect(it.object(ref('Pod', 'db'))).toBeUndefined()
  // One of which items could not be read takes nothing away.
  await shop.beginList('different', signal)
  await shop.endList('10', signal, false)
  expect(it.object(ref('Pod', 'web'))).toBeDefined()
  expect(shop.checkpoint).toMatchObject({ phase: 'watching', resourceVersion: '10' })
})

test('when there is no room the deleted and the oldest of the largest kind go, and it is told', async () => {
  const it = start(100)
  await it.seeded(sourceOf(NAMESPACE), change('shop', { namespace: '', labels: { team: 'a' } }))
  const pods = await it.seeded(sourceOf(POD), ...Array.from({ length: 99 }, (_, i) => change(`p${i}`)))
  await pods.commit([change('p50', {}, 'DELETED'), change('q0')], '6', signal)
  expect(it.evicted).toEqual([])
  expect(it.object(ref('Pod', 'p50'))).toBeUndefined()
  await pods.commit([change('q1'), change('q2')], '7', signal)
  expect(it.evicted).toEqual(['Pod 2'])
  expect(['p0', 'p1', 'p2', 'q2'].map((name) => it.object(ref('Pod', name)) !== undefined)).toEqual([
    ...[false, false, true, true],
  ])
  expect({ ...it.namespaceLabels('shop') }).toEqual({ team: 'a' })
  it.cache.maxObjects = 10
  expect(it.cache.sizes().map(({ objects }) => objects)).toEqual([1, 9])
})

test('labels and owners beyond all measure are not kept, and it is reported which object has them', async () => {
  const it = start()
  const pods = await it.seeded(
    sourceOf(POD),
    change('web', { labels: { long: 'x'.repeat(16_000) } }),
    change('huge', { labels: { long: 'x'.repeat(17_000) } }),
    change('owned', { owners: [{ ...owner('ReplicaSet', 'a'), kind: 'x'.repeat(17_000) }] }),
  )
  const known = (name: string) => it.object(ref('Pod', name)) !== undefined
  expect(['web', 'huge', 'owned'].map(known)).toEqual([true, false, false])
  expect(it.excluded).toEqual(['Pod shop/huge', 'Pod shop/owned'])
  await pods.commit([change('huge', { labels: { long: 'x' } }, 'MODIFIED')], '6', signal)
  expect(known('huge')).toBe(true)
})

const long = (i: number, length = 15_000) => ({ i: String(i), long: String(i).padEnd(length, 'x') })

test('where texts are too long altogether, those with the longest go, whatever their kind and age', async () => {
  const it = start(100)
  await it.seeded(sourceOf(NODE), change('n1', { namespace: '', labels: long(0, 16_000) }))
  const page = Array.from({ length: 60 }, (_, i) => change(`p${i}`, { labels: { app: `a${i}` } }))
  const pods = await it.seeded(sourceOf(POD), ...page)
  await pods.commit([change('p0', { labels: { app: 'a0' } }, 'DELETED')], '6', signal)
  const sets = await it.seeded(sourceOf(SET))
  for (let i = 0; i < 30; i++) await sets.commit([change(`s${i}`, { labels: long(i) })], '6', signal)
  const known = (kind: string, name: string) => it.object(ref(kind, name)) !== undefined
  expect(page.map((_, i) => known('Pod', `p${i}`))).toEqual(page.map(() => true))
  expect(it.object({ apiVersion: 'v1', kind: 'Node', name: 'n1' })).toBeDefined()
  const objects = it.cache.sizes().find(({ resource }) => resource.kind === 'ReplicaSet')?.objects ?? 0
  expect(objects).toBeGreaterThan(5)
  expect(objects).toBeLessThan(14)
  expect(new Set(it.evicted.map((line) => line.split(' ')[0]))).toEqual(new Set(['ReplicaSet']))
})

test('an eviction shows whether there are many texts or long ones', async () => {
  const it = start(100)
  const page = Array.from({ length: 60 }, (_, i) => change(`p${i}`, { labels: { app: `a${i}` } }))
  await it.seeded(sourceOf(POD), ...page)
  await it.seeded(
    sourceOf(SET),
    ...Array.from({ length: 20 }, (_, i) => change(`s${i}`, { labels: long(i) })),
  )
  expect(it.tooMuch).toMatchObject([{ objects: 80, longest: expect.stringMatching(/^shop\/s/) }])
  expect(it.tooMuch[0]?.characters).toBeGreaterThan(20 * 15_000)
})

test('deleted objects with the longest texts go, too, and a name never finds a former object then', async () => {
  const it = start(100)
  const pods = await it.seeded(sourceOf(POD), change('web', { uid: 'one', labels: { v: '1' } }))
  await pods.commit([change('web', { uid: 'two', labels: long(0) })], '6', signal)
  for (let i = 1; i < 50; i++) {
    await pods.commit([change(`p${i}`, { labels: long(i) })], '7', signal)
    await pods.commit([change(`p${i}`, {}, 'DELETED')], '8', signal)
  }
  // What is alive goes after what was deleted: many of them are needed for it.
  for (let i = 50; i < 100; i++) await pods.commit([change(`p${i}`, { labels: long(i) })], '9', signal)
  expect(it.object(ref('Pod', 'p1'))).toBeUndefined()
  expect(it.object({ ...ref('Pod', 'web', 'two') })).toBeUndefined()
  expect({ ...it.object(ref('Pod', 'web', 'one'))?.labels }).toEqual({ v: '1' })
})

test('texts that many objects share count once', async () => {
  const it = start(100)
  const page = Array.from({ length: 90 }, (_, i) => change(`p${i}`, { labels: long(0) }))
  await it.seeded(sourceOf(POD), ...page)
  expect(it.cache.sizes()).toMatchObject([{ objects: 90 }])
})

test('all texts together fit a small heap, however many objects have long labels', async () => {
  const file = (name: string) => JSON.stringify(new URL(`../../../src/watch/${name}`, import.meta.url).href)
  const script = `
    const { MetadataCache } = await import(${file('metadata/cache.ts')})
    const { createCacheStore } = await import(${file('metadata/cache-store.ts')})
    const { scanObject } = await import(${file('decode/scan.ts')})
    const cache = new MetadataCache({ maxObjects: 200_000, clock: performance, onEvict() {}, onExclude() {} })
    const store = createCacheStore(cache, performance)
    const session = await store.open(${JSON.stringify(sourceOf(SET))})
    for (let i = 0; i < 10_000; i++) {
      const labels = { long: String(i).padEnd(16_000, 'x') }
      const metadata = { name: 's' + i, namespace: 'shop', uid: 'u' + i, resourceVersion: '1', labels }
      const object = scanObject(Buffer.from(JSON.stringify({ metadata })))
      await session.commit([{ type: 'ADDED', object, observedAtMs: 0 }], '6')
    }
    console.log(cache.sizes()[0].objects)`
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['--max-old-space-size=64', '--input-type=module', '--eval', script],
  ])
  expect(Number(stdout)).toBeGreaterThan(100)
}, 120_000)

test('an object whose labels became too long is unknown: neither former labels nor those of a former object count', async () => {
  const it = start(100)
  const huge = { long: 'x'.repeat(70_000) }
  const web = () => it.object({ apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop' })
  const pods = await it.seeded(sourceOf(POD), change('web', { labels: { team: 'a' } }))
  await pods.commit([change('web', { labels: huge }, 'MODIFIED')], '6', signal)
  expect(web()).toBeUndefined()
  await pods.commit([change('web', { labels: { team: 'b' } }, 'MODIFIED')], '7', signal)
  expect({ ...web()?.labels }).toEqual({ team: 'b' })
  await pods.commit([change('web', { uid: 'next', labels: huge })], '8', signal)
  expect(web()).toBeUndefined()
  expect({ ...it.object(ref('Pod', 'web'))?.labels }).toEqual({ team: 'b' })
  await pods.commit([change('web', { uid: 'next', labels: { team: 'c' } }, 'MODIFIED')], '9', signal)
  await pods.commit([change('web', { uid: 'next', labels: huge }, 'DELETED')], '10', signal)
  expect(it.cache.sizes()).toMatchObject([{ objects: 0 }])
  expect({ ...it.object(ref('Pod', 'web', 'next'))?.labels }).toEqual({ team: 'c' })
})

test('hostile metadata is no harm: rings of owners, labels called constructor, references that are none', async () => {
  const it = start()
  const ring = [
    change('a', { owners: [owner('ReplicaSet', 'b')] }),
    change('b', { owners: [owner('ReplicaSet', 'a')] }),
  ]
  await it.seeded(sourceOf(SET), ...ring)
  expect(it.object(ref('ReplicaSet', 'a'))?.owners.map(({ name }) => name)).toEqual(['b', 'a'])
  const labels = JSON.parse('{"__proto__":"p","constructor":"c","n":5}') as object
  const owners = [null, 5, 'x', {}, { kind: 'Pod' }] as object[]
  await it.seeded(sourceOf(POD), change('web', { labels, owners }))
  const known = it.object(ref('Pod', 'web'))
  expect(known?.owners).toEqual([])
  expect(Object.entries(known?.labels ?? {})).toEqual([
    ['__proto__', 'p'],
    ['constructor', 'c'],
  ])
  expect(known?.labels['toString']).toBeUndefined()
})

test('labels that change are forgotten when nobody has them any more', async () => {
  const it = start()
  const pods = await it.seeded(sourceOf(POD), change('web', { labels: { v: '0' } }))
  for (let i = 1; i < 5_000; i++)
    await pods.commit([change('web', { labels: { v: String(i) } })], '6', signal)
  expect({ ...it.object(ref('Pod', 'web'))?.labels }).toEqual({ v: '4999' })
  it.store.retain(() => false)
  expect(it.cache.sizes()).toMatchObject([{ objects: 0 }])
  await pods.commit([change('late')], '7', signal)
  expect(it.cache.sizes()).toMatchObject([{ objects: 0 }])
})

test('what was made of texts is remembered up to a length of all together', () => {
  const made: string[] = []
  const lengthOf = rememberLast((text) => {
    made.push(text)
    return text.length
  })
  const texts = Array.from({ length: 1_000 }, (_, i) => `${i}`.padEnd(1_000))
  for (const text of texts) lengthOf(text)
  made.length = 0
  for (const text of texts.slice(-300)) lengthOf(text)
  expect(made).toEqual([])
  lengthOf(texts[0] as string)
  expect(made).toEqual([texts[0]])
})
