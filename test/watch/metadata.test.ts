import { expect, test } from 'vitest'
import { compilePattern } from '../../src/rules/pattern.ts'
import type { Catalogue, DiscoveredResource } from '../../src/watch/client/discovery.ts'
import { regardingIn } from '../../src/watch/decode/kube-event.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { planMetadata } from '../../src/watch/plan/plan.ts'
import type { WatchEntry } from '../../src/watch/schema.ts'

function resource(group: string, kind: string, namespaced = true): DiscoveredResource {
  const singular = kind.toLowerCase()
  return {
    group,
    version: 'v1',
    kind,
    plural: `${singular}s`,
    namespaced,
    singular,
    shortNames: [],
    preferred: true,
  }
}

const CATALOGUE: Catalogue = {
  resources: [
    resource('', 'Pod'),
    resource('', 'Node', false),
    resource('', 'Namespace', false),
    resource('apps', 'ReplicaSet'),
    resource('a.example', 'Thing'),
    resource('b.example', 'Thing'),
  ],
  silentGroups: ['silent.example'],
}

const plan = (...entries: WatchEntry[]) => planMetadata(entries, CATALOGUE, 'cluster', compilePattern)
const titles = (...entries: WatchEntry[]) => plan(...entries).sources.map(({ title }) => title)

test('a source of metadata is not the source of the events of that kind', () => {
  const [source] = plan({ kind: 'Pod' }).sources
  expect(source).toMatchObject({ title: 'metadata of pods', namespace: '', metadataOnly: true })
  expect(source?.key).toMatch(/^metadata:pods#/)
})

test('namespaces are those of the entries: a source each, or one that passes over the others', () => {
  expect(titles({ kind: 'Pod', namespaces: ['a', 'b'] })).toEqual([
    'metadata of pods in a',
    'metadata of pods in b',
  ])
  const [source] = plan({ kind: 'replicasets.apps', namespaces: ['a', 'pay-*'] }).sources
  expect(source?.namespace).toBe('')
  expect(['a', 'b', 'pay-x'].map((it) => source?.namespaceFilter?.(it))).toEqual([true, false, true])
  expect(titles({ kind: 'Node', namespaces: ['a'] })).toEqual(['metadata of nodes'])
})

test('several spellings of one kind are one source, and named objects one each', () => {
  expect(titles({ kind: 'Pod', namespaces: ['a'] }, { kind: 'pods', namespaces: ['b', 'a'] })).toEqual([
    ...['metadata of pods in a', 'metadata of pods in b'],
  ])
  expect(titles({ kind: 'Pod', namespaces: ['a'] }, { kind: 'v1/Pod' })).toEqual(['metadata of pods'])
  const named = ['shop', 'pay'].map((it) => ({ kind: 'Namespace', fields: `metadata.name=${it}` }))
  expect(titles(...named)).toEqual(['metadata of namespaces shop', 'metadata of namespaces pay'])
  expect(plan(...named).sources[0]?.fieldSelector).toBe('metadata.name=shop')
})

test('kinds that are not there, may be there, or may be two', () => {
  const { waiting, unsure, problems, sources } = plan(
    ...['Ghost.gone.example', 'Spirit.silent.example', 'Thing'].map((kind) => ({ kind })),
  )
  expect(sources).toEqual([])
  expect(waiting.map(({ kind }) => kind)).toEqual(['Ghost.gone.example'])
  expect(unsure.map(({ kind }) => kind)).toEqual(['Spirit.silent.example'])
  expect(problems[0]?.message).toContain('write things.a.example or things.b.example')
})

test.each([
  [
    {
      involvedObject: { kind: 'Pod', name: 'a', uid: 'u', namespace: 'n', apiVersion: 'v1', fieldPath: 'x' },
    },
    'Pod n a u v1',
  ],
  [{ regarding: { kind: 'Node', name: 'a' } }, 'Node undefined a undefined undefined'],
  [
    { note: '"involvedObject":{"kind":"Pod","name":"fake"}', regarding: { kind: 'Job', name: 'b', uid: 5 } },
    'Job undefined b undefined undefined',
  ],
  [{ involvedObject: null }, undefined],
  [{ involvedObject: { kind: 'Pod' } }, undefined],
  [{ involvedObject: 'Pod' }, undefined],
  [{}, undefined],
])('what an Event is about is read from its bytes: %j', (object, expected) => {
  const metadata = { name: 'e', uid: 'e', resourceVersion: '1' }
  const ref = regardingIn(scanObject(Buffer.from(JSON.stringify({ kind: 'Event', metadata, ...object })))!)
  expect(ref && [ref.kind, ref.namespace, ref.name, ref.uid, ref.apiVersion].join(' ')).toBe(
    expected?.replaceAll('undefined', ''),
  )
})
