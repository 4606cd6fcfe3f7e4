import { expect, test } from 'vitest'
import { told } from './load-text.ts'

const file = (watch: string, ...rules: string[]) =>
  `watch: ${watch}\nsinks: { s: { type: stdout } }\nrules:\n${rules.map((it, i) => `  - { name: r${i}, ${it}, to: s }\n`).join('')}`
const hints = async (watch: string, ...rules: string[]) =>
  (await told(file(watch, ...rules))).map((it) => it.replace(/^.* = /s, ''))

const POD = 'when: { kind: Pod }'
const EVENT = 'when: { kind: Event }'

test.each<[string, string[], string[]]>([
  ['[Event]', [POD], ['watched: Event; write watch: [Pod]']],
  ['[Event]', [EVENT, POD], ['watched: Event; write watch: [Event, Pod]']],
  [
    '[Event, Node]',
    [POD, 'when: { kind: Job }'],
    [
      'watched: Event, Node; write watch: [Event, Node, Pod, Job]',
      'watched: Event, Node; write watch: [Event, Node, Pod, Job]',
    ],
  ],
  [
    '[{ kind: Event, namespaces: shop }]',
    [EVENT, POD],
    ['watched: Event; write watch: [{ kind: Event, namespaces: shop }, Pod]'],
  ],
  ['\n  - Event', [EVENT, POD], ['watched: Event; add "- kind: Pod" under "watch"']],
  ['\n  - Event', [POD], ['watched: Event; write "- kind: Pod" under "watch", in place of Event']],
  ['[Deployment]', ['when: { type: Warning }'], ['write watch: [Event]']],
  ['[Deployment]', ['when: { kind: Deploymnt }'], ['did you mean "Deployment"?']],
])('with watch: %s rules %j are told what to watch: %j', async (watch, rules, expected) => {
  expect(await hints(watch, ...rules)).toEqual(expected)
})

const NOT_READY = 'condition: { type: Ready, becomes: "False" }'

test.each<[string, string[], string]>([
  [
    '[Event, Node]',
    [`when: { kind: Event }, ${NOT_READY}`, 'when: { kind: [Node, Event] }'],
    'write kind: Node',
  ],
  ['[Event]', [`${EVENT}, ${NOT_READY}`, EVENT], 'write kind: Node, and watch it: watch: [Event, Node]'],
  ['[Event]', [NOT_READY], 'write when: { kind: Node }, and watch it: watch: [Node]'],
  [
    '\n  - Event',
    [`${EVENT}, ${NOT_READY}`, EVENT],
    'write kind: Node, and watch it: add "- kind: Node" under "watch"',
  ],
  [
    '[Event]',
    [`${EVENT}, condition: { type: Available, becomes: "False" }`],
    'write kind: Deployment, and watch it: watch: [Deployment]',
  ],
  [
    '[Event]',
    [`${EVENT}, condition: { type: Synced, becomes: "False" }`],
    'name the kind that has Synced, and watch it',
  ],
  [
    '[Event]',
    [`when: { kind: Event, namespace: shop }, ${NOT_READY}`],
    'write kind: Pod, and watch it: watch: [Pod]',
  ],
  [
    '[Event]',
    [`when: { kind: Event, reason: NodeNotReady }, ${NOT_READY}`],
    'leave "condition" out: "reason" is of Events; a condition is for a rule of its own',
  ],
])('with watch: %s a condition of an Event is told its kind: %j', async (watch, rules, expected) => {
  expect(await hints(watch, ...rules)).toEqual([expected])
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
  ['NotReady', 'write becomes: ["False", "Unknown"]'],
  ['"off"', 'write becomes: "False"'],
  ['ready', 'write becomes: "True"'],
  ['KubeletNotReady', 'is it the reason? write becomes: "False", reason: KubeletNotReady'],
  ['KubeletNotReady, reason: x', 'such as becomes: "False"'],
])('a condition that becomes %s is told: %s', async (becomes, expected) => {
  expect(await hints('[Node]', `condition: { type: Ready, becomes: ${becomes} }`)).toEqual([expected])
})

test.each<[string, string, string | undefined]>([
  ['to-state: { spec.a: "==3" }', 'write 3', 'to-state: { spec.a: 3 }'],
  ['to-state: { spec.a: "!= 3" }', 'write "!3"', 'to-state: { spec.a: "!3" }'],
  [
    'to-state: { spec.a: ">0.5" }',
    'in place of "to-state" write if: double(object.spec.?a.orValue(0)) > 0.5, and changed: spec.a',
    'if: double(object.spec.?a.orValue(0)) > 0.5, changed: spec.a',
  ],
  [
    'from: { status.a.b: ">=2" }',
    'in place of "from" write if: oldObject.status.?a.?b.orValue(0) >= 2, and changed: status.a.b',
    'if: oldObject.status.?a.?b.orValue(0) >= 2, changed: status.a.b',
  ],
  [
    'to-state: { spec.a: "<1" }, for: 5m',
    'in place of "to-state" write if: object.spec.?a.orValue(0) < 1',
    'if: object.spec.?a.orValue(0) < 1, for: 5m',
  ],
  [
    'to-state: { spec.a: "<1" }, if: object.spec.paused',
    'in place of "to-state" add to "if": && object.spec.?a.orValue(0) < 1',
    'if: object.spec.paused && object.spec.?a.orValue(0) < 1',
  ],
  [
    'to-state: { spec.a: "<1" }, if: object.spec.a < 1, changed: spec.a',
    'leave "to-state" out: "if" asks that',
    'if: object.spec.a < 1, changed: spec.a',
  ],
  [
    'to-state: { spec.a: "<1" }, if: object.spec.a < 10',
    'in place of "to-state" add to "if": && object.spec.?a.orValue(0) < 1',
    undefined,
  ],
  [
    'to-state: { spec.a: "<1" }, if: object.spec.paused || object.spec.a < 1',
    'in place of "to-state" add to "if": && object.spec.?a.orValue(0) < 1',
    undefined,
  ],
  [
    'to-state: { spec.a: "<1", spec.b: x }',
    'in place of "spec.a" write if: object.spec.?a.orValue(0) < 1',
    'to-state: { spec.b: x }, if: object.spec.?a.orValue(0) < 1',
  ],
  ['to-state: { "spec.a[0].b": "<1" }', 'an "if" compares numbers: object.spec.replicas < 3', undefined],
])('%s is told: %s, which checks clean', async (keys, hint, mended) => {
  const when = 'when: { kind: Deployment }'
  expect(await hints('[Deployment]', `${when}, ${keys}`)).toEqual([hint])
  if (mended !== undefined)
    expect(await hints('[Deployment]', `${when}, '${mended}'`.replaceAll("'", ''))).toEqual([])
})

test('of two states before it is told which is the same', async () => {
  const keys = 'from: { status.phase: Failed, spec.a: 1 }, to-state: { status.phase: Failed }'
  expect(await told(file('[Pod]', keys))).toEqual([
    'warning 4:25 this rule matches nothing: "from" is the same as "to-state" = leave "status.phase" of "from" out, or name the state before',
  ])
})
