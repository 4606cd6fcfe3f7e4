import { expect, test } from 'vitest'
import type { Rule } from '../../src/rules/schema.ts'
import { unpackObject } from '../../src/store/commit/previous-objects.ts'
import { SOURCE } from './objects.ts'
import { came, FORGETS, image, noise, startOldBed } from './old-bed.ts'
import { never } from './store-bed.ts'

const IMAGE = 'spec.containers[name=web].image'

test('a change says what was before: after a silent seed, from commit to commit, and within one commit', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  await session.commit([came('MODIFIED', 'a', 2, image('v2'))], '2', never)
  await session.commit(
    [
      came('MODIFIED', 'a', 3, image('v3')),
      came('ADDED', 'b', 4, image('v1')),
      came('MODIFIED', 'b', 5, image('v2')),
      came('MODIFIED', 'a', 6, image('v4')),
      came('MODIFIED', 'a', 7, image('v4')),
    ],
    '7',
    never,
  )
  expect(await it.told()).toEqual([
    `MODIFIED a@2: ${IMAGE} v1 → v2`,
    `MODIFIED a@3: ${IMAGE} v2 → v3`,
    'ADDED b@4',
    `MODIFIED b@5: ${IMAGE} v1 → v2`,
    `MODIFIED a@6: ${IMAGE} v3 → v4`,
    'MODIFIED a@7: nothing',
  ])
})

test('a change that a list found says what was before, too', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')), came('ADDED', 'b', 2, image('v1')))
  await session.beginList('different', never)
  await session.list([came('ADDED', 'a', 9, image('v2')), came('ADDED', 'b', 2, image('v1'))], never)
  await session.endList('9', never)
  expect(await it.told()).toEqual([`MODIFIED a@9: ${IMAGE} v1 → v2`])
})

test('what a restored etcd brings back has an id of its own, the same for a repeat', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 10, image('v1')))
  await session.commit([came('ADDED', 'b', 11, image('v1'))], '11', never)
  await session.commit([came('MODIFIED', 'a', 20, image('v2')), came('DELETED', 'b', 21)], '21', never)
  const restored = [came('ADDED', 'a', 10, image('v1')), came('ADDED', 'b', 11, image('v1'))]
  await session.beginList('different', never)
  await session.list(restored, never)
  // The list is repeated by another process before it has ended.
  const next = await it.open()
  await next.beginList('different', never)
  await next.list(restored, never)
  await next.endList('12', never)
  await next.commit([came('MODIFIED', 'a', 13, image('v3'))], '13', never)
  const ids = (await it.deliveries()).map(({ event }) => event.id.split('/').slice(1).join('/'))
  expect(ids).toEqual([
    'uid-of-b/11/ADDED',
    'uid-of-a/20/MODIFIED',
    'uid-of-b/21/DELETED',
    'uid-of-a/10~20/MODIFIED',
    'uid-of-b/11~21/ADDED',
    'uid-of-a/13/MODIFIED',
  ])
})

test('a deletion that nobody saw brings the object as it was', async () => {
  await using it = await startOldBed()
  const session = await it.begun(
    came('ADDED', 'gone', 1, image('v1')),
    came('ADDED', 'again', 2, image('v1'), 'first'),
  )
  await session.beginList('different', never)
  await session.list([came('ADDED', 'again', 9, image('v2'), 'second')], never)
  await session.endList('9', never)
  expect(await it.told()).toEqual(['DELETED again@2', 'ADDED again@9', 'DELETED gone@1'])
  const deliveries = await it.deliveries()
  expect(deliveries.map(({ event }) => event.synthesized)).toEqual([true, true, true])
  expect(deliveries.map(({ objectJson }) => JSON.parse(objectJson.toString()))).toMatchObject([
    { metadata: { uid: 'first', resourceVersion: '2' }, ...image('v1') },
    { metadata: { uid: 'second' }, ...image('v2') },
    { metadata: { name: 'gone' }, ...image('v1') },
  ])
  expect(await it.kept()).toEqual(['second'])
})

test.each<[string, Omit<Rule, 'name' | 'to'>]>([
  ['its age', { when: { type: 'DELETED', age: '>1h' } }],
  ['its annotations', { when: { type: 'DELETED', annotations: { team: 'pay' } } }],
  ['its owner', { when: { type: 'DELETED', owner: 'Deployment/web' } }],
  ['its owner in an expression', { when: { type: 'DELETED' }, if: 'event.owner.name == "web"' }],
  ['a field', { when: { type: 'DELETED' }, if: 'object.data.team == "pay"' }],
])('a rule of deletions matches one that only a list shows, by %s', async (_, rule) => {
  await using it = await startOldBed(SOURCE, [{ name: 'gone', ...rule, to: ['hook'] }])
  const metadata = {
    creationTimestamp: '2020-01-01T00:00:00Z',
    annotations: { team: 'pay' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'w', controller: true }],
  }
  const session = await it.begun(came('ADDED', 'a', 1, { metadata, data: { team: 'pay' } }))
  await session.beginList('different', never)
  await session.endList('9', never)
  const sent = await it.deliveries()
  expect(sent.map(({ event }) => `${event.type} ${event.name}`)).toEqual(['DELETED a'])
})

test('what is gone for certain brings all objects as they were, some at a time, and nothing stays', async () => {
  await using it = await startOldBed()
  const session = await it.begun(
    ...Array.from({ length: 100 }, (_, i) => came('ADDED', `o${i}`, i + 2, image('v1'))),
  )
  await session.markAbsent(never)
  const deliveries = await it.deliveries()
  expect(new Set(deliveries.map(({ event }) => event.name)).size).toBe(100)
  expect(deliveries.every(({ objectJson }) => objectJson.includes('"image":"v1"'))).toBe(true)
  expect(await it.reader.exists(it.hash)).toBe(0)
})

test('an object that was recreated has no past, and a deletion that was seen needs none', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1'), 'first'))
  await session.commit(
    [came('DELETED', 'a', 2, image('v1'), 'first'), came('ADDED', 'a', 3, image('v2'), 'second')],
    '3',
    never,
  )
  await session.commit([came('MODIFIED', 'a', 4, image('v3'), 'second')], '4', never)
  expect(await it.told()).toEqual(['DELETED a@2', 'ADDED a@3', `MODIFIED a@4: ${IMAGE} v2 → v3`])
  expect(await it.kept()).toEqual(['second'])
})

test('old objects that are not kept any more are deleted when the source is opened, and begin anew', async () => {
  await using it = await startOldBed()
  await it.begun(came('ADDED', 'a', 1, image('v1')))
  const without = await it.open(FORGETS)
  expect(await it.reader.exists(it.hash)).toBe(0)
  await without.commit([came('MODIFIED', 'a', 2, image('v2'))], '2', never)
  const session = await it.open()
  await session.commit([came('MODIFIED', 'a', 3, image('v3'))], '3', never)
  await session.commit([came('MODIFIED', 'a', 4, image('v4'))], '4', never)
  expect(await it.told()).toEqual(['MODIFIED a@2', 'MODIFIED a@3', `MODIFIED a@4: ${IMAGE} v3 → v4`])
})

test('a list keeps also what did not change, so that a source that begins to keep is complete again', async () => {
  await using it = await startOldBed()
  await it.begun(came('ADDED', 'a', 1, image('v1')))
  await it.open(FORGETS)
  const session = await it.open()
  await session.beginList('different', never)
  await session.list([came('ADDED', 'a', 1, image('v1'))], never)
  await session.endList('2', never)
  await session.commit([came('MODIFIED', 'a', 3, image('v2'))], '3', never)
  expect(await it.told()).toEqual([`MODIFIED a@3: ${IMAGE} v1 → v2`])
})

test('old objects of a watch that is removed go after a week; a watch that moves its position keeps them', async () => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')))
  expect(await it.reader.pttl(it.hash)).toBeGreaterThan(6 * 86_400_000)
  await it.reader.pexpire(it.hash, 60_000)
  await session.commit([], '2', never)
  expect(await it.reader.pttl(it.hash)).toBeGreaterThan(6 * 86_400_000)
})

test('a seed forgets what was kept before it', async () => {
  await using it = await startOldBed()
  await it.begun(came('ADDED', 'a', 1), came('ADDED', 'b', 2))
  const session = await it.open()
  await session.beginSeed(never)
  await session.seed([came('ADDED', 'b', 2), came('ADDED', 'c', 3), came('DELETED', 'b', 4)], never)
  await session.endList('4', never)
  expect(await it.kept()).toEqual(['uid-of-c'])
})

test('an old object of another version than the index knows is not taken for the one before', async () => {
  await using it = await startOldBed()
  await it.begun(came('ADDED', 'a', 1, image('v1')))
  const left = await it.reader.hgetallBuffer(it.hash)
  // A process that knows nothing of old objects writes the index alone.
  const other = await it.open(FORGETS)
  await other.commit([came('MODIFIED', 'a', 2, image('v2'))], '2', never)
  await it.reader.hset(it.hash, left)
  const session = await it.open()
  await session.commit([came('MODIFIED', 'a', 3, image('v3'))], '3', never)
  expect(await it.told()).toEqual(['MODIFIED a@2', 'MODIFIED a@3'])
})

test.each([
  ['of another format', Buffer.of(9, 1, 49, 0)],
  ['cut off', Buffer.of(1, 1, 49, 40, 181)],
  ['cut off before its version', Buffer.of(2, 0x81)],
  ['empty', Buffer.alloc(0)],
])('an old object that is %s stops nothing', async (_what, value) => {
  await using it = await startOldBed()
  const session = await it.begun(came('ADDED', 'a', 1, image('v1')), came('ADDED', 'gone', 1))
  await it.reader.hset(it.hash, { 'uid-of-a': value, 'uid-of-gone': value })
  await session.commit([came('MODIFIED', 'a', 2, image('v2'))], '2', never)
  await session.beginList('different', never)
  await session.list([came('ADDED', 'a', 3, image('v3'))], never)
  await session.endList('3', never)
  expect(await it.told()).toEqual(['MODIFIED a@2', `MODIFIED a@3: ${IMAGE} v2 → v3`, 'DELETED gone@1'])
})

test('an object that stays large when it is packed is not kept; its changes are told without what was before', async () => {
  await using it = await startOldBed()
  const large = { data: { blob: noise(700_000) } }
  const session = await it.begun(came('ADDED', 'a', 1, { data: { blob: 'x' } }))
  await session.commit([came('MODIFIED', 'a', 2, large)], '2', never)
  expect(await it.kept()).toEqual([])
  await session.commit([came('MODIFIED', 'a', 3, { data: { blob: 'y' } })], '3', never)
  await session.commit([came('MODIFIED', 'a', 4, { data: { blob: 'z' } })], '4', never)
  const told = await it.told()
  expect(told[0]?.length).toBeLessThan(300)
  expect(told.slice(1)).toEqual(['MODIFIED a@3', 'MODIFIED a@4: data.blob y → z'])
})

test('while Redis has no room to spare, large objects are not stored, and those that change are removed', async () => {
  await using it = await startOldBed()
  const large = (mark: number) => ({ data: { mark, blob: noise(40_000) } })
  const session = await it.open()
  await session.beginSeed(never)
  await session.seed([came('ADDED', 'large', 1, large(1)), came('ADDED', 'small', 2, image('v1'))], never)
  await session.endList('2', never)
  expect((await it.kept()).toSorted()).toEqual(['uid-of-large', 'uid-of-small'])
  it.room.isThere = false
  const changes = [came('MODIFIED', 'large', 3, large(2)), came('MODIFIED', 'small', 4, image('v2'))]
  await session.commit(changes, '4', never)
  expect(await it.kept()).toEqual(['uid-of-small'])
  await session.commit([came('MODIFIED', 'small', 5, image('v3'))], '5', never)
  expect((await it.told()).slice(1)).toEqual([
    `MODIFIED small@4: ${IMAGE} v1 → v2`,
    `MODIFIED small@5: ${IMAGE} v2 → v3`,
  ])
})

test('long labels of objects in a namespace are not indexed', async () => {
  await using it = await startOldBed()
  const labelled = (namespace: string, count: number) => ({
    metadata: {
      namespace,
      labels: Object.fromEntries(Array.from({ length: count }, (_, i) => [`label-${i}`, 'x'.repeat(60)])),
    },
  })
  const session = await it.open()
  await session.beginSeed(never)
  await session.endList('1', never)
  const objects = [
    came('ADDED', 'short', 2, labelled('default', 40)),
    came('ADDED', 'long', 3, labelled('default', 100)),
    came('ADDED', 'node', 4, labelled('', 100)),
    came('ADDED', 'longer', 5, labelled('', 300)),
  ]
  await session.commit(objects, '5', never)
  const entries = Object.values(await it.reader.hgetall(it.keys.index(SOURCE.key)))
  expect(Object.fromEntries(entries.map((entry) => [entry.split('/')[1], entry.includes('label-')]))).toEqual(
    { short: true, long: false, node: true, longer: false },
  )
})

test('of a Secret neither its values nor what was applied last get into Redis', async () => {
  const source = { ...SOURCE, resource: { ...SOURCE.resource, kind: 'Secret', plural: 'secrets' } }
  await using it = await startOldBed(source)
  const secret = (value: string) => ({
    data: { password: Buffer.from(value).toString('base64') },
    stringData: { plain: value },
    metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"x":"${value}"}` } },
  })
  const session = await it.begun(came('ADDED', 'a', 1, secret('hunter1')))
  const first = await it.reader.hgetallBuffer(it.hash)
  await session.commit([came('MODIFIED', 'a', 2, secret('hunter2'))], '2', never)
  expect(await it.told()).toEqual(['MODIFIED a@2: data.password *** → ***, stringData.plain *** → ***'])
  const stored = [...Object.entries(first), ...Object.entries(await it.reader.hgetallBuffer(it.hash))]
  const texts = stored.map(([uid, value]) => unpackObject(value, uid)?.json().toString())
  expect(texts).toHaveLength(2)
  const everything = JSON.stringify([texts, await it.deliveries()])
  for (const value of ['hunter', Buffer.from('hunter1').toString('base64').slice(0, 7)])
    expect(everything).not.toContain(value)
})

test('hostile objects are kept and compared like any other', async () => {
  await using it = await startOldBed()
  const hostile = (value: string) => ({
    data: JSON.parse(`{"__proto__":"${value}","constructor":"${value}","hasOwnProperty":"${value}"}`),
    wide: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, value])),
    text: value.repeat(1_000_000),
  })
  const uid = '__proto__'
  const session = await it.begun(came('ADDED', 'constructor', 1, hostile('a'), uid))
  await session.commit([came('MODIFIED', 'constructor', 2, hostile('b'), uid)], '2', never)
  const [{ event } = { event: undefined }] = await it.deliveries()
  expect(event?.changes).toHaveLength(40)
  expect(event?.changes?.slice(0, 3).map(({ path }) => path)).toEqual([
    'data.__proto__',
    'data.constructor',
    'data.hasOwnProperty',
  ])
  expect(JSON.stringify(event?.changes).length).toBeLessThan(20_000)
})

test('a source that keeps nothing sends the same commands as ever', async () => {
  await using it = await startOldBed()
  const calls = async () => {
    const info = await it.reader.info('commandstats')
    return new Map(
      [...info.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name = '', count]) => [name, Number(count)]),
    )
  }
  const session = await it.open(FORGETS)
  await session.beginSeed(never)
  await session.seed([came('ADDED', 'a', 1)], never)
  await session.endList('1', never)
  const before = await calls()
  await session.commit([came('MODIFIED', 'a', 2)], '2', never)
  const after = await calls()
  const sent = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
  const commands = sent.filter(([name, count]) => count > 0 && name !== 'info')
  expect(Object.fromEntries(commands)).toEqual({
    evalsha: 1,
    // Position and layout; the index.
    ...{ mget: 1, hmget: 1 },
    ...{ xadd: 1, hset: 1, set: 1 },
    // Two of the sink, one of the watch, one of the rule; when the rule matched comes once a second, and asks first.
    ...{ hincrby: 4, zscore: 1, zadd: 1 },
  })
  expect(await it.reader.exists(it.hash)).toBe(0)
})
