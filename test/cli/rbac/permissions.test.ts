import { expect, test } from 'vitest'
import { rulesOf } from '../../../src/cli/rbac/manifest.ts'
import { neededLogs } from '../../../src/cli/rbac/needed-resources.ts'
import {
  describeMissing,
  objectNameOf,
  permissionsNeeded,
  type ResolvedWatch,
  reviewOf,
} from '../../../src/cli/rbac/permissions.ts'

const PODS: ResolvedWatch = {
  index: 0,
  kind: 'Pod',
  place: 'kubeherald.yaml:2:5',
  group: '',
  resource: 'pods',
  custom: false,
  namespaces: undefined,
}

/** `resource verbs` of the cluster, `resource verbs in namespace` of the others; without what every cluster needs. */
function rulesFor(...watches: Partial<ResolvedWatch>[]): string[] {
  const wants = { watches: watches.map((it, index) => ({ ...PODS, index, ...it })) }
  const { cluster, namespaces } = rulesOf(permissionsNeeded(wants))
  const text = (rules: typeof cluster, where: string) =>
    rules.map(
      ({ resource, resourceNames, verbs, reasons }) =>
        `${[resource, ...resourceNames].join('/')} ${verbs.join(',')}${where}: ${reasons.map((it) => it.split(':')[0]).join(' ')}`,
    )
  const inside = [...namespaces].filter(([namespace]) => namespace !== 'kube-system')
  return [...text(cluster, ''), ...inside.flatMap(([it, rules]) => text(rules, ` in ${it}`))]
}

test('a watch of named namespaces needs permissions in those alone', () => {
  expect(rulesFor({ namespaces: ['shop', 'pay'] })).toEqual([
    'pods list,watch in pay: watch[0]',
    'pods list,watch in shop: watch[0]',
  ])
  expect(rulesFor({})).toEqual(['pods list,watch: watch[0]'])
})

test('several watches of one resource need a permission once, and are all named', () => {
  expect(rulesFor({ namespaces: ['shop'] }, { namespaces: ['shop', 'pay'] })).toEqual([
    'pods list,watch in pay: watch[1]',
    'pods list,watch in shop: watch[0] watch[1]',
  ])
})

test('a permission in all namespaces leaves none to be given in one', () => {
  expect(rulesFor({ namespaces: ['shop'] }, {}, { namespaces: ['pay'], name: 'web' })).toEqual([
    'pods list,watch: watch[0] watch[1] watch[2]',
  ])
})

test('who watches one object by its name gets that one', () => {
  expect(rulesFor({ name: 'web', namespaces: ['shop'] })).toEqual(['pods/web list,watch in shop: watch[0]'])
})

test.each([
  ['metadata.name=web', 'web'],
  ['status.phase!=Running, metadata.name == web', 'web'],
  ['metadata.name!=web', undefined],
  ['metadata.namespace=shop', undefined],
  ['metadata.name=', undefined],
  ['metadata.name=a/b', undefined],
  ['', undefined],
])('the field selector "%s" names the object %s', (selector, name) => {
  expect(objectNameOf(selector)).toBe(name)
})

test('a custom resource needs its definition by name; definitions share a rule', () => {
  const widgets = { group: 'example.com', resource: 'widgets', custom: true, namespaces: ['shop'] }
  const gadgets = { ...widgets, resource: 'gadgets' }
  expect(rulesFor(widgets, gadgets)).toEqual([
    'customresourcedefinitions/gadgets.example.com/widgets.example.com get: watch[1] watch[0]',
    'gadgets list,watch in shop: watch[1]',
    'widgets list,watch in shop: watch[0]',
  ])
})

test('Leases need their verbs in their namespace', () => {
  const { namespaces } = rulesOf(permissionsNeeded({ watches: [], leaseNamespace: 'ops' }))
  expect([...namespaces.keys()]).toEqual(['ops'])
  expect(namespaces.get('ops')).toMatchObject([
    {
      apiGroup: 'coordination.k8s.io',
      resource: 'leases',
      verbs: ['get', 'list', 'create', 'update', 'delete'],
    },
  ])
})

test('the order of the configuration does not change the rules', () => {
  const some = [{ resource: 'nodes' }, { namespaces: ['b', 'a'] }, { resource: 'secrets', namespaces: ['a'] }]
  const bare = (rules: string[]) => rules.map((it) => it.split(':')[0])
  expect(bare(rulesFor(...some))).toEqual(bare(rulesFor(...some.toReversed())))
})

test('what is missing is one sentence for each thing, errors first', () => {
  const permissions = permissionsNeeded({ watches: [{ ...PODS, namespaces: ['shop'] }] })
  expect(describeMissing(permissions)).toEqual([
    {
      required: true,
      sentence:
        'cannot list and watch pods in namespace shop: needed by watch[0] at kubeherald.yaml:2:5; without it watch[0] cannot run',
    },
    {
      required: false,
      sentence: expect.stringMatching(/^cannot get namespace kube-system: without it a cluster/),
    },
  ])
  expect(permissions.map(reviewOf)[0]).toMatchObject({
    kind: 'SelfSubjectAccessReview',
    spec: {
      resourceAttributes: {
        namespace: 'kube-system',
        resource: 'namespaces',
        name: 'kube-system',
        verb: 'get',
      },
    },
  })
})

test('of many that need one thing, a few are named, first what cannot run at all', () => {
  const rule = (name: string, place: string) => {
    const what = `rule "${name}"`
    return { what, place, without: `${what} cannot match`, required: false }
  }
  const rules = ['a', 'b', 'c', 'd'].map((name, i) => rule(name, `k.yaml:${i + 2}:5`))
  const watch = { what: 'watch[0]: Pod', place: 'k.yaml:1:3', without: 'watch[0] cannot run', required: true }
  const permission = {
    namespace: undefined,
    group: '',
    resource: 'pods',
    verb: 'list',
    needs: [...rules, watch],
  } as const
  expect(describeMissing([permission]).map(({ sentence }) => sentence)).toEqual([
    'cannot list pods in the cluster: needed by watch[0] at k.yaml:1:3, rule "a" at k.yaml:2:5, rule "b" at k.yaml:3:5, 2 more; ' +
      'without it watch[0] cannot run; rule "a", rule "b", rule "c", rule "d" cannot match',
  ])
})

test('logs need get on pods/log where the rule may match, and only then', () => {
  const watches = [PODS, { ...PODS, index: 1, resource: 'events', kind: 'Event', namespaces: ['shop'] }]
  const logsOf = (rule: object) =>
    permissionsNeeded({ watches, logs: neededLogs([{ name: 'a', ...rule }], watches, () => 'x.yaml:9:5') })
      .filter(({ resource }) => resource === 'pods/log')
      .map(({ verb, namespace }) => `${verb} ${namespace}`)
  expect(logsOf({ when: { kind: 'Event' } })).toEqual([])
  expect(logsOf({ when: { kind: 'Event' }, logs: false })).toEqual([])
  expect(logsOf({ when: { kind: 'Event' }, logs: true })).toEqual(['get shop'])
  expect(logsOf({ when: { kind: 'Pod' }, logs: { lines: 5 } })).toEqual(['get undefined'])
  expect(logsOf({ logs: true, drop: true })).toEqual([])
  const podsIn = (namespace: unknown) => logsOf({ when: { kind: 'Pod', namespace }, logs: true })
  const eventsIn = (namespace: unknown) => logsOf({ when: { kind: 'Event', namespace }, logs: true })
  expect(podsIn(['shop', 'pay'])).toEqual(['get pay', 'get shop'])
  expect(podsIn('shop-*')).toEqual(['get undefined'])
  expect(podsIn('!shop')).toEqual(['get undefined'])
  expect(eventsIn(['shop', 'pay'])).toEqual(['get shop'])
  expect(eventsIn('sh*')).toEqual(['get shop'])
  expect(eventsIn('pay')).toEqual([])
  const [permission] = permissionsNeeded({ watches: [], logs: [{ rule: 'a', namespaces: ['shop'] }] })
  expect(reviewOf(permission!)).toMatchObject({
    spec: { resourceAttributes: { resource: 'pods', subresource: 'log', verb: 'get', namespace: 'shop' } },
  })
})
