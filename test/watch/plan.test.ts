import { expect, test } from 'vitest'
import { compilePattern } from '../../src/rules/pattern.ts'
import { type Catalogue, type DiscoveredResource, resolveKind } from '../../src/watch/client/discovery.ts'
import { planSources } from '../../src/watch/plan/plan.ts'

const resource = (
  group: string,
  kind: string,
  plural: string,
  more: Partial<DiscoveredResource> = {},
): DiscoveredResource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: true,
  singular: kind.toLowerCase(),
  shortNames: [],
  preferred: true,
  ...more,
})

const CATALOGUE: Catalogue = {
  silentGroups: [],
  resources: [
    resource('', 'Pod', 'pods', { shortNames: ['po'] }),
    resource('', 'Node', 'nodes', { namespaced: false }),
    resource('', 'Event', 'events'),
    resource('events.k8s.io', 'Event', 'events'),
    resource('apps', 'Deployment', 'deployments', { shortNames: ['deploy'] }),
    resource('stable.example.com', 'Database', 'databases'),
    resource('stable.example.com', 'Database', 'databases', { version: 'v1beta1', preferred: false }),
    resource('one.example.com', 'Widget', 'widgets'),
    resource('two.example.com', 'Widget', 'widgets'),
  ],
}

test.each([
  'Deployment',
  'deployment',
  'deployments',
  'deploy',
  'deployments.apps',
  'Deployment.apps',
  'deployments.v1.apps',
  'apps/v1/Deployment',
  'apps/Deployment',
])('%s means deployments.apps', (spelling) => {
  expect(resolveKind(spelling, CATALOGUE)).toMatchObject({
    kind: 'found',
    resource: { group: 'apps', plural: 'deployments' },
  })
})

test.each([
  ['v1/Pod', { kind: 'found', resource: { group: '', plural: 'pods' } }],
  ['core/v1/Pod', { kind: 'found', resource: { group: '', plural: 'pods' } }],
  ['core/Event', { kind: 'found', resource: { group: '', plural: 'events' } }],
  ['pods.core', { kind: 'found', resource: { group: '', plural: 'pods' } }],
  ['pods.v1.core', { kind: 'found', resource: { group: '', plural: 'pods' } }],
  ['core/v2/Pod', { kind: 'absent' }],
  ['core/v1/Deployment', { kind: 'absent' }],
  ['Event', { kind: 'found', resource: { group: '' } }],
  ['events.k8s.io/v1/Event', { kind: 'found', resource: { group: 'events.k8s.io' } }],
  ['databases.stable.example.com', { kind: 'found', resource: { version: 'v1' } }],
  ['stable.example.com/v1beta1/Database', { kind: 'found', resource: { version: 'v1beta1' } }],
  ['Widget', { kind: 'ambiguous', candidates: ['widgets.one.example.com', 'widgets.two.example.com'] }],
  ['Gadget', { kind: 'absent' }],
])('%s resolves as it should', (spelling, expected) => {
  expect(resolveKind(spelling, CATALOGUE)).toMatchObject(expected)
})

const plan = (...entries: Parameters<typeof planSources>[0]) =>
  planSources(entries, CATALOGUE, 'uid', compilePattern)

test('literal namespaces become one source each, so that a Role per namespace is enough', () => {
  expect(plan({ kind: 'Pod', namespaces: ['a', 'b'] }).sources.map(({ title }) => title)).toEqual([
    'pods in a',
    'pods in b',
  ])
})

test('a glob reads all namespaces and passes over the others', () => {
  const [source, ...more] = plan({ kind: 'Pod', namespaces: ['shop', 'pay-*'] }).sources
  expect(more).toEqual([])
  expect(source).toMatchObject({ namespace: '' })
  expect(['shop', 'pay-eu', 'other'].map((it) => source?.namespaceFilter?.(it))).toEqual([true, true, false])
})

test('entries of one kind with the same selectors are one', () => {
  expect(
    plan({ kind: 'Pod', namespaces: ['a'] }, { kind: 'pods', namespaces: ['a', 'b'] }).sources,
  ).toHaveLength(2)
  expect(plan({ kind: 'Pod', namespaces: ['a'] }, { kind: 'po' }).sources.map(({ title }) => title)).toEqual([
    'pods',
  ])
  expect(plan({ kind: 'Event' }, { kind: 'events.k8s.io/v1/Event' }).sources).toHaveLength(1)
})

test.each([
  [[undefined, { resourceVersion: '5' }], { resourceVersion: '5' }],
  [[{ resourceVersion: '12' }, { resourceVersion: '5' }, 'now'], { resourceVersion: '5' }],
  [[{ resourceVersion: '5' }, 'emit'], 'emit'],
] as const)('joined entries begin so that none misses anything: %j', (initials, expected) => {
  const entries = initials.map((initial, i) => ({
    kind: 'Pod',
    namespaces: [`n${i}`],
    ...(initial && { initial }),
  }))
  expect(plan(...entries).sources.map(({ initial }) => initial)).toEqual(initials.map(() => expected))
})

test('overlapping entries with different selectors are refused: an object would be seen twice', () => {
  expect(plan({ kind: 'Pod', labels: 'a=b' }, { kind: 'Pod' }).problems[0]?.message).toContain('seen twice')
  expect(
    plan({ kind: 'Pod', labels: 'a=b', namespaces: ['x'] }, { kind: 'Pod', namespaces: ['y'] }).problems,
  ).toEqual([])
})

test('a namespace that can only be in one of two entries is no overlap', () => {
  const ours = { kind: 'Pod', labels: 'a=b', namespaces: ['shop', 'pay'] }
  expect(plan(ours, { kind: 'Pod', namespaces: ['kube-*'] }).problems).toEqual([])
  expect(plan({ kind: 'Pod', namespaces: ['!shop', '!pay'] }, ours).problems).toEqual([])
  expect(plan(ours, { kind: 'Pod', namespaces: ['p*'] }).problems).toHaveLength(1)
  expect(plan({ ...ours, namespaces: ['p*'] }, { kind: 'Pod', namespaces: ['s*'] }).problems).toHaveLength(1)
})

test('a "!" of one entry takes nothing from another one', () => {
  const apart = { kind: 'Pod', namespaces: ['!kube-*'] }
  const [source, ...more] = plan(apart, { kind: 'po', namespaces: ['kube-system'] }).sources
  expect(more).toEqual([])
  expect(source?.title).toBe('pods in !kube-* or kube-system')
  const names = ['shop', 'kube-system', 'kube-public']
  expect(names.map((it) => source?.namespaceFilter?.(it))).toEqual([true, true, false])
  const third = plan(
    apart,
    { kind: 'Pod', namespaces: ['kube-system'] },
    { kind: 'Pod', namespaces: ['kube-p*'] },
  )
  expect(names.map((it) => third.sources[0]?.namespaceFilter?.(it))).toEqual([true, true, true])
  const all = plan(apart, { kind: 'Pod', namespaces: ['kube-system'] }, { kind: 'Pod' }).sources[0]
  expect([all?.title, all?.namespaceFilter]).toEqual(['pods', undefined])
})

test('a cluster-scoped kind cannot have namespaces', () => {
  expect(plan({ kind: 'Node', namespaces: ['a'] }).problems[0]?.message).toContain('not namespaced')
})

test('case 48: what is selected makes the key; a new version of the resource does not', () => {
  const key = (...entries: Parameters<typeof planSources>[0][number][]) => plan(...entries).sources[0]?.key
  expect(key({ kind: 'Pod', labels: 'a=b' })).not.toBe(key({ kind: 'Pod', labels: 'a=c' }))
  expect(key({ kind: 'stable.example.com/v1/Database' })).toBe(
    key({ kind: 'stable.example.com/v1beta1/Database' }),
  )
})
