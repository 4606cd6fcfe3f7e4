import { expect, test } from 'vitest'
import { needsOfConfig } from '../../../src/app/metadata-needs.ts'
import {
  type MetadataRequirements,
  type NeedyRule,
  NO_REQUIREMENTS,
  type WatchedEntry,
} from '../../../src/watch/metadata/metadata-requirements.ts'

const USUAL = [
  ...['Pod', 'Node', 'PersistentVolumeClaim', 'HorizontalPodAutoscaler', 'Deployment'],
  ...['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'],
]

/** `Pod`, `Pod in a,b`, `Namespace shop` for each, sorted. */
function needed(
  rules: readonly object[],
  watch: readonly WatchedEntry[] = [{ kind: 'Event' }, { kind: 'Pod' }],
  enrich?: { owners?: string[]; regarding?: string[] },
): string[] {
  return titles(needsFor(rules, watch, enrich))
}

function needsFor(
  rules: readonly object[],
  watch: readonly WatchedEntry[] = [{ kind: 'Event' }, { kind: 'Pod' }],
  enrich: { owners?: string[]; regarding?: string[] } = {},
): MetadataRequirements {
  const named = rules.map((rule, i) => ({ name: `r${i}`, ...rule }) as NeedyRule)
  return needsOfConfig({ rules: named, watch, enrich: { owners: [], ...enrich } })
}

function titles({ metadata }: MetadataRequirements): string[] {
  return metadata
    .map(
      ({ kind, namespaces, name }) =>
        `${kind}${namespaces ? ` in ${namespaces}` : ''}${name ? ` ${name}` : ''}`,
    )
    .toSorted()
}

test('rules that ask for nothing around an event need nothing', () => {
  const rule = { when: { kind: 'Pod', labels: { app: 'x' }, regarding: { kind: 'Pod', name: 'a' } } }
  const limits = { throttle: { per: ['object', 'labels.team'], every: '1m' }, if: 'object.spec.owner == "a"' }
  expect(needsFor([rule, limits])).toEqual({
    ...NO_REQUIREMENTS,
  })
})

test.each([
  ['a condition', { when: { namespaceLabels: { team: 'a' } } }],
  ['what a limit counts by', { group: { by: ['namespaceLabels.team'] } }],
  ['an expression', { if: 'event.namespaceLabels["team"] == "a"' }],
])('labels of namespaces are needed by %s', (_what, rule) => {
  expect(needed([rule])).toEqual(['Namespace'])
  expect(needed([rule], [{ kind: 'Pod', namespaces: ['shop', 'pay'] }])).toEqual([
    'Namespace pay',
    'Namespace shop',
  ])
  expect(needed([rule], [{ kind: 'Pod', namespaces: ['shop', 'pay-*'] }])).toEqual(['Namespace'])
})

test.each([
  ['a condition', { when: { owner: 'Deployment/web' } }],
  ['what a limit counts by', { throttle: { per: 'owner', every: '1m' } }],
  ['an expression', { if: 'event.?owner.orValue({}).name == "a"' }],
  ['a message', { message: { title: '{{ event.owner.name }} fails' } }],
])('what stands between a pod and its top controller is needed by %s', (_what, rule) => {
  const pods = { ...rule, when: { ...(rule as NeedyRule).when, kind: 'Pod' } }
  expect(needed([pods])).toEqual(['Job', 'ReplicaSet'])
  expect(needsFor([pods])).toMatchObject({ owners: true, regardingOwners: false })
})

test.each([
  [{ to: [{ chat: { channel: '#{{ event.owner.name }}' } }] }],
  [{ to: { queue: { body: { top: ['{% if event["owner"].kind == "Job" %}job{% endif %}'] } } } }],
  [{ to: ['queue', 'told'] }],
])('a template that stands beside the rule asks for owners, too: %j', (rule) => {
  const config = {
    rules: [{ name: 'other' }, { name: 'a', when: { kind: 'Pod' }, ...rule }],
    watch: [{ kind: 'Pod' }],
    written: {
      rules: [{}, rule],
      sinks: {
        told: { messages: { fields: { Owner: '{{ event.owner.name }}' } } },
        chat: { token: 'event.owner' },
        queue: { topic: '{{ event.name }}' },
        unused: { topic: '{{ event.owner.name }}' },
      },
    },
  }
  const { owners, metadata } = needsOfConfig(config)
  expect(owners).toBe(true)
  expect(metadata.flatMap((it) => it.rules)).toEqual(['a', 'a'])
  const without = {
    ...config,
    written: { ...config.written, rules: [{}, { to: ['chat', 'queue', 'gone'] }] },
  }
  expect(needsOfConfig(without).owners).toBe(false)
})

test.each([
  [{ if: 'event.owner.name == "web"' }],
  [{ message: '{{ event.owner.name }}' }],
  [{ message: { fields: { Owner: '{{ event.regarding.owner.name }}' } } }],
])('who asks for the owner of an Event is told that of what it is about: %j', (rule) => {
  const events = { ...rule, when: { kind: 'Event' } }
  expect(needed([events])).toEqual(['Job', 'Pod', 'ReplicaSet'])
  expect(needsFor([events])).toMatchObject({ owners: false, regardingOwners: true })
})

test.each([
  [{ when: { kind: 'Event', regarding: { owner: 'Deployment/web' } } }],
  [{ when: { kind: 'Event' }, group: { by: ['owner', 'reason'] } }],
])('an owner is asked of the object that an Event is about: %j', (rule) => {
  expect(needed([rule])).toEqual(['Job', 'Pod', 'ReplicaSet'])
  expect(needsFor([rule])).toMatchObject({ owners: false, regardingOwners: true })
})

test.each([
  [{ when: { regarding: { labels: { team: 'a' } } } }],
  [{ after: { count: 3, within: '5m', per: 'regarding.labels.team' } }],
  [{ if: "event.regarding.labels['team'] == 'a'" }],
  [{ if: 'event["regarding"].?labels.team.orValue("") == "a"' }],
])('labels of regarded objects are needed by %j, of the usual kinds', (rule) => {
  expect(needed([rule])).toEqual(USUAL.toSorted())
  expect(needed([rule], undefined, { regarding: ['Widget', 'Pod'] })).toEqual(['Pod', 'Widget'])
  // No Event is watched: there is nothing that is about something.
  expect(needed([rule], [{ kind: 'Pod' }])).toEqual([])
})

test('kinds that a rule or a selector names are read alone', () => {
  const labels = { team: 'a' }
  expect(needed([{ when: { regarding: { kind: ['Pod', 'Node'], labels } } }])).toEqual(['Node', 'Pod'])
  expect(needed([{ when: { regarding: { kind: 'Po*', labels } } }])).toEqual(USUAL.toSorted())
  const selected = [{ kind: 'events', fields: 'type=Warning,involvedObject.kind=Pod' }]
  expect(needed([{ when: { regarding: { labels } } }], selected)).toEqual(['Pod'])
  expect(needed([{ when: { regarding: { owner: 'StatefulSet/db' } } }])).toEqual(['Job', 'Pod', 'ReplicaSet'])
})

test('controllers that operators own are read where something may own them', () => {
  const upper = ['CronJob', 'DaemonSet', 'Deployment', 'StatefulSet']
  const rule = { when: { kind: 'Pod', owner: 'Prometheus/main' } }
  expect(needed([rule])).toEqual([...upper, 'Job', 'ReplicaSet'].toSorted())
  const top = { when: { kind: 'Pod', owner: ['Deployment/web', '!*/canary'] } }
  expect(needed([top])).toEqual(['Job', 'ReplicaSet'])
  expect(needed([top], undefined, { owners: ['statefulsets.apps'] })).toEqual([
    'Job',
    'ReplicaSet',
    'statefulsets.apps',
  ])
  expect(needed([top], undefined, { owners: ['rollouts.argoproj.io'] })).toEqual(
    [...upper, 'Job', 'ReplicaSet', 'rollouts.argoproj.io'].toSorted(),
  )
})

test('metadata is read where the watches are, and the rules', () => {
  const rule = { when: { kind: 'Pod', owner: 'Deployment/web' } }
  const inShop = { when: { ...rule.when, namespace: 'shop' } }
  const of = (namespaces?: string[]) => [{ kind: 'Pod', ...(namespaces && { namespaces }) }]
  expect(needed([rule], of(['shop', 'pay']))).toEqual(['Job in shop,pay', 'ReplicaSet in shop,pay'])
  expect(needed([inShop], of(['shop', 'pay']))).toEqual(['Job in shop', 'ReplicaSet in shop'])
  expect(needed([inShop], of())).toEqual(['Job in shop', 'ReplicaSet in shop'])
  expect(needed([inShop, rule], of())).toEqual(['Job', 'ReplicaSet'])
  expect(needed([inShop], of(['pay']))).toEqual([])
  expect(needed([rule], [...of(['a']), ...of(['!kube-*'])])).toEqual(['Job', 'ReplicaSet'])
  expect(needed([rule], [...of(['a']), ...of(['pay-*'])])).toEqual([
    'Job in a,pay-*',
    'ReplicaSet in a,pay-*',
  ])
})

test.each(['Node', 'nodes', 'v1/Node'])('%s are read only where Events about nodes are', (kind) => {
  const rule = { when: { regarding: { kind, labels: { pool: 'gpu' } } } }
  expect(needed([rule], [{ kind: 'Event', namespaces: ['shop'] }])).toEqual([])
  expect(needed([rule], [{ kind: 'Event', namespaces: ['default'] }])).toEqual(['Node'])
})

test('each need names the rules that have it', () => {
  const { metadata } = needsFor([
    { name: 'a', when: { kind: 'Pod', owner: 'Deployment/web' } },
    { name: 'b', when: { namespaceLabels: { team: 'a' } } },
    { name: 'c', when: { kind: '!Event', owner: 'Job/x' } },
  ])
  expect(metadata).toEqual([
    { kind: 'Namespace', rules: ['b'] },
    { kind: 'ReplicaSet', rules: ['a', 'c'] },
    { kind: 'Job', rules: ['a', 'c'] },
  ])
})

test.each([
  ['a condition', { when: { namespaceAnnotations: { 'team/slack': '*' } } }],
  ['a selector', { when: { namespaceAnnotations: 'team/slack' } }],
  ['what a limit counts by', { throttle: { per: 'namespaceAnnotations.team/slack', every: '1m' } }],
  ['an expression', { if: 'event.namespaceAnnotations["team/slack"] == "a"' }],
  ['an expression that asks whether there is one', { if: '"team/slack" in event.namespaceAnnotations' }],
  ['an expression in brackets', { if: 'event["namespaceAnnotations"]["team/slack"] == "a"' }],
  ['an optional access', { if: 'event.?namespaceAnnotations[?"team/slack"].orValue("") == "a"' }],
  ['a template', { message: 'for {{ namespaceAnnotations["team/slack"] }}' }],
])('annotations of namespaces that %s names are kept, and no others', (_what, rule) => {
  const { namespaceMetadata, metadata } = needsFor([rule], [{ kind: 'Pod' }])
  expect(namespaceMetadata).toBe(true)
  expect(metadata).toEqual([{ kind: 'Namespace', annotations: ['team/slack'], rules: ['r0'] }])
})

test.each([
  ['a condition', { when: { regarding: { kind: 'Pod', annotations: { team: '*' } } } }],
  [
    'what a limit counts by',
    { when: { regarding: { kind: 'Pod' } }, group: { by: 'regarding.annotations.team' } },
  ],
  ['an expression', { when: { regarding: { kind: 'Pod' } }, if: 'event.regarding.annotations.team == "a"' }],
  ['a template', { when: { regarding: { kind: 'Pod' } }, message: '{{ event.regarding.annotations.team }}' }],
])('annotations of what Events are about that %s names are kept', (_what, rule) => {
  const { regardingMetadata, metadata } = needsFor([rule], [{ kind: 'Event' }])
  expect(regardingMetadata).toBe(true)
  expect(metadata).toEqual([{ kind: 'Pod', annotations: ['team'], rules: ['r0'] }])
})

test.each<[string, object, WatchedEntry[]]>([
  ['of all namespaces', { when: { kind: 'Pod', namespaceLabels: { env: 'prod' } } }, [{ kind: 'Pod' }]],
  [
    'of some namespaces',
    { when: { kind: 'Pod', namespaceLabels: { env: 'prod' } } },
    [{ kind: 'Pod', namespaces: ['shop', 'pay'] }],
  ],
  [
    'of some namespaces with other annotations',
    { when: { kind: 'Pod', namespaceAnnotations: { 'team/slack': '*' } } },
    [{ kind: 'Pod', namespaces: ['shop'] }],
  ],
])('metadata %s and of namespaces that Events are about is one list', (_what, rule, watch) => {
  const about = ['Namespace', 'namespaces', 'ns', 'v1/Namespace'].map((kind) => ({
    when: { kind: 'Event', regarding: { kind, annotations: { team: '*' } } },
  }))
  const annotations = JSON.stringify(rule).includes('team/slack') ? ['team', 'team/slack'] : ['team']
  for (const rules of about.flatMap((it) => [
    [it, rule],
    [rule, it],
  ])) {
    const { metadata } = needsFor(rules, [...watch, { kind: 'Event' }])
    expect(metadata).toEqual([
      { kind: 'Namespace', annotations, rules: expect.arrayContaining(['r0', 'r1']) },
    ])
  }
})

test('notifications carry what the templates of rules and of their sinks name', () => {
  const rules = [
    { name: 'a', to: 'chat', message: '{{ namespaceLabels.env }} {{ event.regarding.labels["a/b"] }}' },
  ]
  const sinks = {
    chat: { channel: '#{{ namespaceAnnotations["team/slack"] | default: "ops" }}' },
    other: { channel: '{{ namespaceLabels.other }}' },
  }
  const written = { rules, sinks } as never
  const needs = needsOfConfig({ rules, watch: [{ kind: 'Event' }], enrich: { owners: [] }, written })
  expect(needs.inTemplates).toEqual({
    namespaceLabels: ['env'],
    namespaceAnnotations: ['team/slack'],
    regardingLabels: ['a/b'],
    regardingAnnotations: [],
  })
})
