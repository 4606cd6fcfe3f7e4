import { expect, test } from 'vitest'
import { messagesOf, withRules } from '../load-text.ts'

const found = (watch: string, when: string) =>
  messagesOf(withRules(`  - { name: r, when: ${when}, to: screen }`, watch))

test.each([
  ['[Deployment]', '{ kind: deployments.apps }'],
  ['[apps/v1/Deployment]', '{ kind: deploy }'],
  ['[deploy]', '{ kind: "deployments.v1.apps" }'],
  ['[events.events.k8s.io]', '{ kind: Event, reason: x }'],
  ['[Event]', '{ type: Warning }'],
  ['[databases.stable.example.com]', '{ kind: Database }'],
  ['[databases.stable.example.com]', '{ kind: stable.example.com/v1/Database }'],
  ['[ClusterPolicy]', '{ kind: clusterpolicies.kyverno.io }'],
  ['[services.serving.knative.dev]', '{ kind: Service }'],
  ['[wgt]', '{ kind: Widget }'],
  ['[Pod]', '{ kind: "P*" }'],
  ['[databases.stable.example.com]', '{ kind: "*base*" }'],
  ['[Pod]', '{ kind: "!Event" }'],
  ['[{ kind: Pod, namespaces: shop }]', '{ namespace: "s*" }'],
  ['[{ kind: Pod, namespaces: "pay-*" }]', '{ namespace: [web, pay-eu] }'],
  ['[{ kind: Pod, namespaces: "!kube-*" }]', '{ namespace: shop }'],
  ['[{ kind: Pod, namespaces: "pay-*" }]', '{ namespace: "*-eu" }'],
  ['[Node]', '{ namespace: "!shop" }'],
])('watching %s, a rule for %s can match', async (watch, when) => {
  expect(await found(watch, when)).toEqual([])
})

test.each([
  ['[Pod]', '{ kind: Deployment }', '4:30 no entry of "watch" watches Deployment'],
  ['[Pod]', '{ kind: [Pod, Node] }', '4:36 no entry of "watch" watches Node'],
  [
    '[deployments.apps]',
    '{ kind: deployments.example.com }',
    '4:30 no entry of "watch" watches deployments.example.com',
  ],
  ['[databases.stable.example.com]', '{ kind: Databse }', '4:30 no entry of "watch" watches Databse'],
  ['[Deployment]', '{ kind: v1/Deployment }', '4:30 no entry of "watch" watches v1/Deployment'],
  ['[wgt]', '{ kind: Pod }', '4:30 no entry of "watch" watches Pod'],
  ['[Pod]', '{ kind: "Stateful*" }', '4:30 no watched kind matches this'],
  ['[Event]', '{ kind: "!Event" }', '4:30 no watched kind matches this'],
  [
    '[Event, Pod]',
    '{ kind: Pod, reason: BackOff }',
    '4:35 only Events have "reason", and this rule is for Pod',
  ],
  [
    '[Event, Pod]',
    '{ kind: Pod, type: [ADDED, Warning] }',
    '4:35 only Events have the types Normal and Warning, and this rule is for Pod',
  ],
  [
    '[Pod]',
    '{ regarding: { kind: Pod } }',
    '4:24 only Events have "regarding", and no entry of "watch" watches Event',
  ],
  [
    '[{ kind: Pod, namespaces: [shop, web] }]',
    '{ namespace: pay }',
    '4:35 Pod objects of this namespace are not watched',
  ],
  [
    '[{ kind: Pod, namespaces: "pay-*" }]',
    '{ namespace: [shop, web] }',
    '4:35 Pod objects of this namespace are not watched',
  ],
  [
    '[{ kind: Pod, namespaces: "!kube-*" }]',
    '{ namespace: kube-system }',
    '4:35 Pod objects of this namespace are not watched',
  ],
  ['[Node]', '{ namespace: shop }', '4:35 Node objects are in no namespace'],
])('watching %s, a rule for %s is refused: it can never match', async (watch, when, message) => {
  expect(await found(watch, when)).toEqual([message])
})

test('an entry of watch that is not understood silences only what depends on it', async () => {
  const text = withRules(
    '  - { name: r, when: { kind: Deployment, name: "/(/" }, to: nowhere }',
    '[{ kid: Pod }]',
  )
  expect(await messagesOf(text)).toEqual([
    '1:11 unknown key "kid"',
    '4:50 "name" has an expression that RE2 cannot read: missing closing )',
    '4:61 there is no sink "nowhere"',
  ])
})

test.each([
  [
    '{ kind: Deploymnet, type: bad }',
    ['4:30 no entry of "watch" watches Deploymnet', '4:48 "bad" is not a type'],
  ],
  [
    '{ kind: Pod, type: Warning, reason: 5 }',
    [
      '4:35 only Events have the types Normal and Warning, and this rule is for Pod',
      '4:58 "reason" must be text or a list, not a number',
    ],
  ],
  [
    '{ kind: ["/(/", two words], namespace: Shop }',
    [
      '4:33 "kind", entry 1 has an expression that RE2 cannot read: missing closing )',
      '4:38 "two words" is not a kind',
      '4:61 "Shop" cannot be a namespace: those have lower-case letters, digits and "-"',
    ],
  ],
  [
    '{ knd: Pod, namespace: shop, name: "/(/", reason: 5 }',
    [
      '4:24 unknown key "knd"',
      '4:59 "name" has an expression that RE2 cannot read: missing closing )',
      '4:72 "reason" must be text or a list, not a number',
    ],
  ],
  [
    '{ kind: [Pod, Node], type: Warning }',
    [
      '4:36 no entry of "watch" watches Node',
      '4:43 only Events have the types Normal and Warning, and this rule is for Pod',
    ],
  ],
])('one mistake in %s hides no other', async (when, messages) => {
  expect((await found('[Pod, Event]', when)).sort()).toEqual(messages)
})

test('an entry of watch with a mistake still tells which kind is watched', async () => {
  expect(await found('[{ kind: Pod, namespace: shop }]', '{ kind: Node }')).toEqual([
    '1:22 unknown key "namespace"',
    '4:30 no entry of "watch" watches Node',
  ])
})

test('what is no rule at all is told once', async () => {
  expect(await messagesOf(withRules('  - foo', '[Pod]'))).toEqual([
    '4:5 "rules", entry 1 must be a map of keys and values, not text',
  ])
})

test('rules below one that drops everything are never reached', async () => {
  const rules = '  - { name: wall, drop: true }\n  - { name: below, to: screen }'
  expect(await messagesOf(withRules(rules))).toEqual([
    '5:5 no event comes here: the rule in line 4 drops everything',
  ])
})
