import { expect, test } from 'vitest'
import { ObjectHistory } from '../../../src/cli/dry-run/scenario.ts'

const AT = Date.parse('2026-11-21T09:00:00Z')
const event = (more: object = {}) => ({
  kind: 'Event',
  reason: 'BackOff',
  regarding: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
  ...more,
})

function told(
  history: ObjectHistory,
  object: unknown,
  more: Partial<Parameters<ObjectHistory['apply']>[0]> = {},
) {
  const result = history.apply({ object, atMs: AT, ...more })
  if (!result.ok) throw new Error(JSON.stringify(result.faults))
  return result.change
}

test('an Event with next to nothing becomes one as a core/v1 watch has it', () => {
  const { resource, object, type } = told(new ObjectHistory(), event())
  expect(resource).toMatchObject({ group: '', version: 'v1', plural: 'events', namespaced: true })
  expect(type).toBe('ADDED')
  expect(object).toMatchObject({
    apiVersion: 'v1',
    type: 'Normal',
    count: 1,
    firstTimestamp: '2026-11-21T09:00:00Z',
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web-1' },
    metadata: { namespace: 'shop', creationTimestamp: '2026-11-21T09:00:00Z' },
  })
  expect(object).not.toHaveProperty('regarding')
})

test('what says the same of the same object is one Event that counts, as in Kubernetes', () => {
  const history = new ObjectHistory()
  const first = told(history, event())
  const second = told(history, event(), { atMs: AT + 60_000 })
  const other = told(history, event({ message: 'something else' }))
  expect(second.type).toBe('MODIFIED')
  expect(second.object).toMatchObject({ count: 2, firstTimestamp: '2026-11-21T09:00:00Z' })
  const metadata = (it: typeof first) => it.object['metadata'] as { uid: string; resourceVersion: string }
  expect(metadata(second).uid).toBe(metadata(first).uid)
  expect(metadata(other).uid).not.toBe(metadata(first).uid)
  expect(metadata(second).resourceVersion).not.toBe(metadata(first).resourceVersion)
})

test('an object that comes again is a change of what was there, until it is deleted', () => {
  const history = new ObjectHistory()
  const web = (replicas: number) => ({ kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas } })
  expect(told(history, web(1))).toMatchObject({ type: 'ADDED', old: undefined })
  expect(told(history, web(2))).toMatchObject({ type: 'MODIFIED', old: { spec: { replicas: 1 } } })
  expect(told(history, web(2), { type: 'DELETED' })).toMatchObject({ old: { spec: { replicas: 2 } } })
  expect(told(history, web(3))).toMatchObject({ type: 'ADDED', old: undefined })
})

test('the old state may leave out who it is of', () => {
  const metadata = { name: 'a', namespace: 'b' }
  const object = { apiVersion: 'stable.example.com/v1', kind: 'Database', metadata }
  const { type, old, resource } = told(new ObjectHistory(), object, { old: { status: { phase: 'Pending' } } })
  expect(type).toBe('MODIFIED')
  expect(old).toMatchObject({ kind: 'Database', metadata, status: { phase: 'Pending' } })
  expect(resource).toMatchObject({ group: 'stable.example.com', plural: 'databases', namespaced: true })
})

test('what is given stays as it is', () => {
  const metadata = {
    name: 'a',
    namespace: 'b',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: '2020-01-01T00:00:00Z',
  }
  const whole = { apiVersion: 'v1', kind: 'Pod', metadata }
  expect(told(new ObjectHistory(), whole).object).toEqual(whole)
})

test('without metadata, what stands there may stand at the top', () => {
  const history = new ObjectHistory()
  const owner = { kind: 'ReplicaSet', name: 'web-7d', controller: true }
  const short = { kind: 'Pod', name: 'web', namespace: 'shop', labels: { a: 'b' }, ownerReferences: [owner] }
  const { object } = told(history, short)
  expect(object).toMatchObject({
    metadata: {
      name: 'web',
      namespace: 'shop',
      labels: { a: 'b' },
      ownerReferences: [{ apiVersion: 'apps/v1', uid: expect.any(String), ...owner }],
    },
  })
  expect(object).not.toHaveProperty('name')
  expect(object).not.toHaveProperty('metadata.ownerReferences.0.namespace')
  expect(told(history, { ...short, labels: {} })).toMatchObject({ type: 'MODIFIED', old: object })
})

test('a whole object keeps what it has at the top', () => {
  const custom = {
    apiVersion: 'a.example.com/v1',
    kind: 'A',
    metadata: { name: 'm', namespace: 'n' },
    name: 'top',
  }
  expect(told(new ObjectHistory(), custom).object).toMatchObject({ name: 'top', metadata: { name: 'm' } })
})

test('what is wrong with a short object is told where it stands', () => {
  const result = new ObjectHistory().apply({ object: { kind: 'Pod', labels: { a: 1 } }, atMs: AT })
  expect(result).toMatchObject({ ok: false, faults: [{ path: ['labels', 'a'] }] })
})
