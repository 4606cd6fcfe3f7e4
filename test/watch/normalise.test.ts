import { expect, test } from 'vitest'
import type { Source, Transition } from '../../src/model/change.ts'
import { headerOf, type RelatedMetadata } from '../../src/model/event.ts'
import { readKubeEvent } from '../../src/watch/decode/kube-event.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'

const CONTEXT = { cluster: 'prod', salt: Buffer.from('salt') }

function sourceOf(resource: Partial<Source['resource']> = {}): Source {
  return {
    key: 'k',
    title: 't',
    resource: {
      group: '',
      version: 'v1',
      kind: 'ConfigMap',
      plural: 'configmaps',
      namespaced: true,
      ...resource,
    },
    namespace: '',
    labelSelector: '',
    fieldSelector: '',
    initial: 'now',
    clusterUid: 'cluster-uid',
    spelling: 'ConfigMap',
    custom: false,
  }
}

function eventOf(
  object: Record<string, any>,
  resource: Partial<Source['resource']> = {},
  type: Transition['type'] = 'ADDED',
) {
  const scanned = scanObject(Buffer.from(JSON.stringify(object)))!
  const source = sourceOf(resource)
  const { uid, resourceVersion, namespace, name, labelsJson } = scanned
  const transition = {
    type,
    uid,
    resourceVersion,
    namespace,
    name,
    labelsJson,
    observedAtMs: 0,
    synthesized: false,
    object: scanned,
  }
  return normalise(source, transition, CONTEXT)
}

const METADATA = { name: 'web', namespace: 'shop', uid: 'u-1', resourceVersion: '7' }

test('leaves managedFields and the last applied configuration out, and keeps everything else as it came', () => {
  const last = 'kubectl.kubernetes.io/last-applied-configuration'
  const annotations = { keep: 'me', [last]: '{"secret":"no"}' }
  const event = eventOf({
    kind: 'ConfigMap',
    metadata: { ...METADATA, managedFields: [{ a: 1 }], annotations },
    data: { a: 'ü\u2028' },
  })
  expect(event.object).toEqual({
    kind: 'ConfigMap',
    metadata: { ...METADATA, annotations: { keep: 'me' } },
    data: { a: 'ü\u2028' },
  })
})

test.each([
  ['a Secret', { data: { password: 'aHVudGVyMg==' }, stringData: { token: 'hunter2' } }],
  [
    'a Secret with the last applied one',
    {
      data: { password: 'aHVudGVyMg==' },
      metadata: {
        ...METADATA,
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"password":"aHVudGVyMg=="}}',
        },
      },
    },
  ],
])('of %s only keys and salted hashes leave', (_name, object) => {
  const event = eventOf(
    { kind: 'Secret', metadata: METADATA, ...object },
    { kind: 'Secret', plural: 'secrets' },
  )
  const text = event.objectJson.toString()
  expect(text).not.toContain('aHVudGVyMg')
  expect(text).not.toContain('hunter2')
  expect((event.object as any).data.password).toMatch(/^sha256:[0-9a-f]{16}$/)
})

test('no copy of a Secret that a tool keeps in its annotations leaves, and what is no copy stays', () => {
  const value = 'aHVudGVyMg=='
  const copies = {
    'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"password":"${value}"}}`,
    'kapp.k14s.io/original': `{"data":{"password":"${value}"}}`,
    'objectset.rio.cattle.io/applied': value,
    'example.com/backup': value.repeat(30),
  }
  const others = { team: 'shop', 'cert-manager.io/issuer-name': 'letsencrypt' }
  const event = () =>
    eventOf(
      {
        kind: 'Secret',
        metadata: { ...METADATA, annotations: { ...copies, ...others } },
        data: { password: value },
      },
      { kind: 'Secret', plural: 'secrets' },
    )
  expect(event().objectJson.toString()).not.toContain(value)
  expect(event().object['metadata']).toMatchObject({ ...METADATA, annotations: others })
  expect(JSON.stringify(event().annotations)).not.toContain(value)
  for (const key of Object.keys(copies)) expect(event().annotation?.(key) ?? '').not.toContain(value)
  expect(event().annotation?.('team')).toBe('shop')
})

test('the hash of a Secret value depends on the salt, and is the same for the same value', () => {
  const secret = { kind: 'Secret', metadata: METADATA, data: { a: 'x', b: 'x', c: 'y' } }
  const { a, b, c } = (eventOf(secret, { kind: 'Secret', plural: 'secrets' }).object as any).data
  expect(a).toBe(b)
  expect(a).not.toBe(c)
})

test.each([
  [{ group: '', version: 'v1', plural: 'pods' }, 'shop', '/api/v1/namespaces/shop/pods/web'],
  [
    { group: 'apps', version: 'v1', plural: 'deployments' },
    'shop',
    '/apis/apps/v1/namespaces/shop/deployments/web',
  ],
  [{ group: '', version: 'v1', plural: 'nodes', namespaced: false }, undefined, '/api/v1/nodes/web'],
])('the path of %o is the API path', (resource, namespace, path) => {
  const metadata = { name: 'web', uid: 'u-1', resourceVersion: '7', ...(namespace && { namespace }) }
  const event = eventOf({ metadata }, resource)
  expect(event).toMatchObject({
    path,
    namespace,
    id: 'cluster-uid/u-1/7/ADDED',
    time: '1970-01-01T00:00:00.000Z',
  })
})

test('labels called constructor and __proto__ are labels like others', () => {
  const bytes = `{"metadata":{"name":"web","uid":"u","resourceVersion":"1","labels":{"constructor":"a","__proto__":"b"}}}`
  const scanned = scanObject(Buffer.from(bytes))!
  const source = {
    resource: { group: '', version: 'v1', kind: 'X', plural: 'xs', namespaced: false },
  } as Source
  const transition = {
    ...scanned,
    type: 'ADDED' as const,
    observedAtMs: 0,
    synthesized: false,
    object: scanned,
  }
  const { labels } = normalise(source, transition, CONTEXT)
  expect(Object.entries(labels)).toEqual([
    ['constructor', 'a'],
    ['__proto__', 'b'],
  ])
})

test('a deletion that nobody saw carries what the index knows', () => {
  const source = {
    clusterUid: 'c',
    resource: { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  } as Source
  const transition = {
    type: 'DELETED' as const,
    uid: 'u',
    resourceVersion: '7',
    namespace: 'shop',
    name: 'web',
    labelsJson: '{"a":"b"}',
    observedAtMs: 0,
    synthesized: true,
  }
  const event = normalise(source, transition, CONTEXT)
  expect(event.object).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '7', labels: { a: 'b' } },
  })
})

test('an old Event tells count, times and component', () => {
  const event = readKubeEvent({
    type: 'Warning',
    reason: 'BackOff',
    message: 'm',
    count: 5,
    firstTimestamp: 't1',
    lastTimestamp: 't2',
    involvedObject: { kind: 'Pod', name: 'web' },
    source: { component: 'kubelet' },
  })
  expect(event).toEqual({
    type: 'Warning',
    reason: 'BackOff',
    message: 'm',
    count: 5,
    firstSeen: 't1',
    lastSeen: 't2',
    regarding: { kind: 'Pod', name: 'web' },
    reportingComponent: 'kubelet',
  })
})

test('a new-style Event with null timestamps has the times of eventTime and series', () => {
  const event = readKubeEvent({
    type: 'Normal',
    reason: 'Scheduled',
    note: 'n',
    eventTime: 't1',
    firstTimestamp: null,
    lastTimestamp: null,
    series: { count: 9, lastObservedTime: 't3' },
    regarding: { kind: 'Pod' },
    reportingController: 'scheduler',
  })
  expect(event).toMatchObject({
    message: 'n',
    count: 9,
    firstSeen: 't1',
    lastSeen: 't3',
    reportingComponent: 'scheduler',
  })
})

const asJson = (object: object) => () => Buffer.from(JSON.stringify(object))
const DEPLOYMENT = { group: 'apps', kind: 'Deployment', plural: 'deployments' }

/** An event of a transition that knows the object as it was. */
function eventWithOld(transition: Partial<Transition>, old: Transition['old']) {
  const base = {
    type: 'MODIFIED' as const,
    uid: 'u-1',
    resourceVersion: '7',
    namespace: 'shop',
    name: 'web',
    labelsJson: '{}',
    observedAtMs: 0,
    synthesized: true,
    ...(old && { old }),
    ...transition,
  }
  return normalise(sourceOf(DEPLOYMENT), base, CONTEXT)
}

const now = (object: object) => scanObject(Buffer.from(JSON.stringify({ metadata: METADATA, ...object })))!

test('a change says what was before; what is new, gone or unknown says nothing', () => {
  const [old, object] = [asJson({ spec: { replicas: 1 } }), now({ spec: { replicas: 2 } })]
  const changes = [{ path: 'spec.replicas', old: 1, new: 2 }]
  const paths = (it: ReturnType<typeof eventWithOld>) => headerOf(it).changes?.map(({ path }) => path)
  expect(headerOf(eventWithOld({ object }, old)).changes?.[0]).toEqual(changes[0])
  expect(paths(eventWithOld({ object }, asJson({ metadata: METADATA, spec: { replicas: 2 } })))).toEqual([])
  expect(headerOf(eventWithOld({ object }, undefined))).not.toHaveProperty('changes')
  expect(headerOf(eventWithOld({ object }, () => undefined))).not.toHaveProperty('changes')
  expect(headerOf(eventWithOld({ object, type: 'ADDED' }, old))).not.toHaveProperty('changes')
  expect(headerOf(eventWithOld({ object, type: 'DELETED' }, old))).not.toHaveProperty('changes')
})

test('what changed is looked for once, whoever asks', () => {
  const object = now({ spec: { replicas: 2 } })
  const event = eventWithOld({ object }, asJson({ metadata: METADATA, spec: { replicas: 1 } }))
  expect(event.changes).toHaveLength(1)
  expect(headerOf(event).changes).toBe(event.changes)
})

test('an old object that is not JSON costs an event its changes only', () => {
  const event = eventWithOld({ object: now({ spec: {} }) }, () => Buffer.from('{"spec":'))
  expect(headerOf(event)).toMatchObject({ name: 'web', type: 'MODIFIED' })
  expect(headerOf(event)).not.toHaveProperty('changes')
})

test('a deletion that nobody saw has the object as it was, with its annotations', () => {
  const last = { metadata: { ...METADATA, annotations: { team: 'shop' } }, spec: { replicas: 3 } }
  const event = eventWithOld({ type: 'DELETED' }, asJson(last))
  expect(event.object).toEqual(last)
  expect(event.annotations).toEqual({ team: 'shop' })
  expect(eventWithOld({ type: 'DELETED' }, () => undefined).object).toMatchObject({
    kind: 'Deployment',
    metadata: { name: 'web' },
  })
})

const OWNER = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'set' }
const TOP = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'top' }
const OWNED = {
  ...METADATA,
  ownerReferences: [
    { kind: 'Other', name: 'o', uid: 'o' },
    { ...OWNER, controller: true },
  ],
}
const AROUND: RelatedMetadata = {
  namespaceLabels: (namespace) => ({ of: namespace }),
  object: ({ kind, name, namespace, uid }) =>
    name === 'unknown'
      ? undefined
      : { labels: { of: `${kind} ${namespace} ${name} ${uid}` }, owners: [OWNER, TOP] },
  ownersOf: ([first]) => (first?.uid === 'set' ? [OWNER, TOP] : []),
}

function around(object: object, resource: object, more: object = {}, context: object = {}) {
  const scanned = scanObject(Buffer.from(JSON.stringify(object)))!
  const { uid, resourceVersion, namespace, name, labelsJson } = scanned
  const base = { uid, resourceVersion, namespace, name, labelsJson, observedAtMs: 0, synthesized: false }
  const transition = { ...base, type: 'DELETED', object: scanned, ...more } as Transition
  return normalise(sourceOf(resource), transition, { ...CONTEXT, surroundings: AROUND, ...context })
}
const POD = { kind: 'Pod', plural: 'pods' }
const EVENT = { kind: 'Event', plural: 'events' }

test('an object has the owners above its controller, and its header the top; its namespace has labels', () => {
  const pod = around({ metadata: OWNED }, POD)
  expect(pod.owners).toEqual([OWNER, TOP])
  expect(headerOf(pod).owner).toEqual(TOP)
  expect(pod.namespaceLabels).toEqual({ of: 'shop' })
  expect([pod.regardingLabels, pod.regardingOwners]).toEqual([undefined, undefined])
  const free = around({ metadata: METADATA }, POD)
  expect([free.owners, headerOf(free).owner]).toEqual([[], undefined])
  expect(around({ metadata: { ...METADATA, namespace: '' } }, POD).namespaceLabels).toBeUndefined()
})

test('a deletion that nobody saw has the owners of the object as it was kept, else as it is remembered', () => {
  const old = () => Buffer.from(JSON.stringify({ metadata: OWNED }))
  expect(around({ metadata: METADATA }, POD, { object: undefined, old }).owners).toEqual([OWNER, TOP])
  expect(around({ metadata: METADATA }, POD, { object: undefined }).owners).toEqual([OWNER, TOP])
  expect(around({ metadata: { ...METADATA, name: 'unknown' } }, POD, { object: undefined }).owners).toEqual(
    [],
  )
})

test('an Event has the labels and owners of what it is about, and its header the top of these', () => {
  const event = around({ metadata: METADATA, involvedObject: { kind: 'Pod', name: 'web', uid: 'p' } }, EVENT)
  expect(event.regardingLabels).toEqual({ of: 'Pod shop web p' })
  expect(event.regardingOwners).toEqual([OWNER, TOP])
  expect(event.owners).toEqual([])
  expect(headerOf(event).owner).toEqual(TOP)
  const about = around({ metadata: METADATA, involvedObject: { kind: 'Pod', name: 'unknown' } }, EVENT)
  expect([about.regardingLabels, about.owners]).toEqual([undefined, []])
})

test('where nobody asks for owners an event says nothing of them; where nothing is known, what the object says', () => {
  const quiet = around({ metadata: OWNED }, POD, {}, { owners: false })
  expect([quiet.owners, headerOf(quiet).owner]).toEqual([undefined, undefined])
  const alone = around({ metadata: OWNED }, POD, {}, { surroundings: undefined })
  expect([alone.owners, alone.namespaceLabels, alone.regardingLabels]).toEqual([
    [OWNER],
    undefined,
    undefined,
  ])
})

test('the old object is that before a MODIFIED, and the last state of a DELETED', () => {
  const before = { spec: { replicas: 1 } }
  const object = now({ spec: { replicas: 2 } })
  expect(eventWithOld({ object }, asJson(before)).oldObject).toEqual(before)
  expect(eventWithOld({ object }, undefined).oldObject).toBeUndefined()
  expect(eventWithOld({ object, type: 'ADDED' }, asJson(before)).oldObject).toBeUndefined()
  expect(eventWithOld({ object, type: 'DELETED' }, asJson(before)).oldObject).toMatchObject({
    spec: { replicas: 2 },
  })
})

test('the old object is unpacked and parsed once, whoever asks', () => {
  let asked = 0
  const event = eventWithOld({ object: now({ spec: { n: 2 } }) }, () => {
    asked++
    return Buffer.from('{"spec":{"n":1}}')
  })
  expect(event.oldObject).toBe(event.oldObject)
  expect(event.changes?.length).toBeGreaterThan(0)
  expect(asked).toBe(1)
})

test('who wrote an object last is told, but not who deleted it', () => {
  const managedFields = [{ manager: 'kubectl-edit', time: '2026-11-21T09:00:00Z' }]
  const object = { metadata: { ...METADATA, managedFields } }
  expect(headerOf(eventOf(object))).toMatchObject({ manager: 'kubectl-edit' })
  expect(eventOf(object, {}, 'MODIFIED').manager).toBe('kubectl-edit')
  expect(headerOf(eventOf(object, {}, 'DELETED'))).not.toHaveProperty('manager')
  expect(headerOf(eventOf(object, { kind: 'Event', plural: 'events' }))).not.toHaveProperty('manager')
  expect(headerOf(eventOf({ metadata: METADATA }))).not.toHaveProperty('manager')
  const pod = eventOf(object, { kind: 'Pod', plural: 'pods' })
  expect(pod.manager).toBe('kubectl-edit')
  expect(headerOf(pod)).not.toHaveProperty('manager')
})
