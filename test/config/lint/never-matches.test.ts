import { expect, test } from 'vitest'
import { codesOf, problemsOf } from '../load-text.ts'

const file = (watch: string, ...rules: string[]) =>
  `watch: ${watch}\nsinks: { s: { type: stdout } }\nrules:\n${rules.map((it, i) => `  - { name: r${i}, ${it}, to: s }\n`).join('')}`
const hints = async (watch: string, ...rules: string[]) =>
  (await problemsOf(file(watch, ...rules))).map((it) => it.replace(/^.* = /s, ''))

const POD = 'when: { kind: Pod }'
const EVENT = 'when: { kind: Event }'

test.each<[string, string[], string[]]>([
  ['[Event]', [EVENT, POD], ['watched: Event; add Pod to "watch"']],
  ['[Event]', [EVENT, 'when: { kind: Pood }'], ['did you mean "Pod"? watched: Event; add Pod to "watch"']],
  ['[Deployment]', ['when: { type: Warning }'], ['add Event to "watch"']],
  ['[Deployment]', ['when: { kind: Deploymnt }'], ['did you mean "Deployment"?']],
])('with watch: %s rules %j are told what to watch: %j', async (watch, rules, expected) => {
  expect(await hints(watch, ...rules)).toEqual(expected)
})

const NOT_READY = 'condition: { type: Ready, becomes: "False" }'

test.each([
  ['[Event, Node]', [`${EVENT}, ${NOT_READY}`, 'when: { kind: [Node, Event] }']],
  ['[Event]', [NOT_READY]],
])('with watch: %s a condition of an Event matches nothing', async (watch, rules) => {
  expect((await problemsOf(file(watch, ...rules))).join()).toMatch(
    /^warning 4:\d+ .*an Event has no conditions/,
  )
})

test.each([
  ['[Event]', `${EVENT}, changed: count`, true],
  ['[Event]', 'when: { reason: BackOff }, unchanged: reason', true],
  ['[Event, Pod]', 'when: { regarding: { kind: Pod } }, from: { reason: Pulled }', true],
  ['[events.events.k8s.io]', 'changed: count', true],
  ['[Event]', `${EVENT}, to-state: { reason: BackOff }`, false],
  ['[Event]', `${EVENT}, if: event.count > 3`, false],
  ['[Event, Pod]', 'changed: spec', false],
  ['[ev2]', 'changed: spec', false],
])(
  'with watch: %s, "%s" compares previous objects, which Events do not have: %s',
  async (watch, rule, isFound) => {
    const found = await problemsOf(file(watch, rule))
    expect(found.filter((it) => it.includes('this rule matches nothing'))).toHaveLength(isFound ? 1 : 0)
  },
)

test.each([
  ['when: { kind: Pod, labels: "app=web,app=api" }', true],
  ['when: { kind: Pod, labels: "app in (a, b), team=x, app in (c)" }', true],
  ['when: { kind: Pod, labels: "app in (a, b), app in (b, c)" }', false],
  ['when: { kind: Pod, labels: "app=web,app!=api" }', false],
  [`${POD}, from: { status.phase: [A, B] }, to-state: { status.phase: [A, B] }`, true],
  [`${POD}, from: { status.phase: A, spec.b: B }, to-state: { status.phase: A }`, true],
  [`${POD}, from: { status.phase: A }, to-state: { status.phase: A, spec.b: B }`, false],
  [`${POD}, from: { "status.*.a": A }, to-state: { "status.*.a": A }`, false],
  [`${POD}, condition: { type: Ready, from: "True", becomes: "True" }`, true],
  [`${POD}, condition: { type: Ready, from: "True", becomes: "True", reason: A }`, false],
])('%s matches nothing: %s', async (rule, isFound) => {
  const found = await problemsOf(file('[Pod]', rule))
  expect(found.map((it) => it.includes('this rule matches nothing'))).toEqual(isFound ? [true] : [])
})

test.each<[string, string, string[]]>([
  ['[Pod]', 'ready', ['did you mean "Ready"?']],
  ['[Deployment]', 'available', ['did you mean "Available"?']],
  ['[Node, Pod]', 'diskpressure', ['did you mean "DiskPressure"?']],
  ['[Node]', 'Synced', []],
  ['[Pod]', 'example.com/ready', []],
  ['[databases.example.com]', 'ready', []],
  ['[Node, databases.example.com]', 'ready', []],
  ['[Service]', 'ready', []],
])('with watch: %s the condition %s: %j', async (watch, type, expected) => {
  expect(await hints(watch, `condition: { type: ${type}, becomes: "False" }`)).toEqual(expected)
})

test.each([
  ['NotReady', 'False'],
  ['"off"', 'True'],
  ['ready', 'True'],
  ['KubeletNotReady', 'True'],
])('no condition becomes %s', async (becomes, status) => {
  const [hint, ...others] = await hints('[Node]', `condition: { type: Ready, becomes: ${becomes} }`)
  expect(others).toEqual([])
  expect(hint).toContain(`becomes: "${status}"`)
})

test.each([
  ['to-state: { spec.a: "==3" }', '"3"'],
  ['from: { status.a.b: ">=2" }', 'oldObject.status.?a.?b.orValue(0)'],
  ['to-state: { spec.a: "<1", spec.b: x }', 'changed: spec.a'],
])('%s compares texts', async (keys, hint) => {
  const when = 'when: { kind: Deployment }'
  expect(await hints('[Deployment]', `${when}, ${keys}`)).toEqual([expect.stringContaining(hint)])
})

test.each([
  ['becomes: ["True", "False", Unknown]', true],
  ['becomes: "*"', true],
  ['from: "True", becomes: "!x"', true],
  ['becomes: ["True", "False", Unknown], reason: Kubelet*', false],
  ['becomes: ["False", Unknown]', false],
  ['becomes: "!True"', false],
])('a condition with %s has every status: %s', async (keys, isFound) => {
  const found = await codesOf(file('[Node]', `condition: { type: Ready, ${keys} }`))
  expect(found.map((it) => it.split(' ')[0])).toEqual(isFound ? ['every-status'] : [])
})
