import { expect, test } from 'vitest'
import { told, withRules } from './load-text.ts'

const rule = (keys: string) => withRules(`  - { name: r, to: screen, ${keys} }`, '[Pod]')

test.each([
  [
    'changed: { spec.a: 3, spec.b: "x" }',
    '4:28 "changed" takes paths, without values = for when all becomes so write to-state: { spec.a: 3, spec.b: x }; for any change write changed: [spec.a, spec.b]',
  ],
  [
    'changed: { "spec.a[0].b": 3 }',
    '4:28 "changed" takes paths, without values = for when it becomes 3 write to-state: { "spec.a[0].b": 3 }; for any change write changed: ["spec.a[0].b"]',
  ],
  [
    'changed: { spec.a: 3 }, to-state: { spec.b: 1 }',
    '4:37 "changed" takes paths, without values = write changed: [spec.a]; a value that something gets stands in "to-state"',
  ],
  [
    'unchanged: { spec.a: 3 }',
    '4:39 "unchanged" takes paths, without values = write unchanged: [spec.a]; a value that something gets stands in "to-state"',
  ],
  ['changed: { path: spec.a }', '4:37 "changed" takes paths, without values = write changed: [spec.a]'],
  [
    'to-state: { status: { a: { b: 1, c/d: two } } }',
    `4:40 "status" must be text, a number or true or false, not a map = write the whole path: to-state: { status.a.b: 1, 'status.a["c/d"]': two }`,
  ],
  [
    'to-state: { status: { phase: Failed }, spec.a: 1 }',
    '4:40 "status" must be text, a number or true or false, not a map = write the whole path: status.phase: Failed',
  ],
  [
    'from: { status: { phase: [Pending, Running] } }',
    '4:36 "status" must be text, a number or true or false, not a map = write the whole path: from: { status.phase: [Pending, Running] }',
  ],
  [
    'labels: "team in (a, b)"',
    '4:28 "labels" must be a map of keys and values, not text = to select by labels leave "labels" out and write when: { labels: "team in (a, b)" }; to send a label along write labels: { team: shop }',
  ],
  [
    'labels: a=b, when: { kind: Pod, name: web }',
    '4:28 "labels" must be a map of keys and values, not text = to select by labels leave "labels" out and write when: { …, labels: a=b }; to send a label along write labels: { a: b }',
  ],
  ['labels: shop', '4:36 "labels" must be a map of keys and values, not text = write labels: { team: shop }'],
  [
    'severity: [critical], when: { kind: Pod }',
    '4:38 "severity" must be error, warning or info, and not a list = write severity: error (a rule gives one)',
  ],
  ['stop: false', '4:28 unknown key "stop" = leave it out: rules below see it anyway'],
])('%s is told what it may mean, with its own words', async (keys, expected) => {
  expect(await told(rule(keys))).toEqual([`error ${expected}`])
})

test.each([
  [
    'group_by: [alertname], group_interval: 1h, group_wait: x',
    'error 4:28 unknown keys "group_by", "group_interval", "group_wait" = write group: { by: [namespace, reason], interval: 1h, wait: 30s }',
  ],
  [
    'group: { by: namespace }, group_wait: 30s',
    'error 4:54 unknown key "group_wait" = write into "group": wait: 30s',
  ],
  ['repeat_interval: 4h', 'error 4:28 unknown key "repeat_interval" = write throttle: { every: 4h }'],
  [
    'when: { manager: "*kube*" }',
    'error 4:36 unknown key "manager" = write beside "when": if: event.manager.contains("kube")',
  ],
  [
    'when: { manager: helm }',
    'error 4:36 unknown key "manager" = write beside "when": if: event.manager == "helm"',
  ],
  [
    'condition: [{ type: Ready, becomes: "False" }]',
    'error 4:39 "condition" must be a map of keys and values, not a list = write condition: { type: Ready, becomes: "False" }',
  ],
  [
    'labels: { team: shop, app: "{{ name }}" }',
    'error 4:50 "labels" are fixed texts: the template in "app" would be sent as it stands = in place of "app" write message: { fields: { app: "{{ name }}" } }, and under "sinks" screen: { type: stdout, format: message }',
  ],
])('%s of another tool, or in the wrong place, is told with its own words', async (keys, expected) => {
  expect(await told(rule(keys))).toEqual([expected])
})

test.each([
  [
    'when: { kind: Event, regarding: { kind: Pod, type: Warning } }',
    'it belongs beside "regarding": write when: { kind: Event, regarding: { kind: Pod }, type: Warning }',
  ],
  [
    'when: { regarding: { reason: [a, b], kind: Pod } }',
    'it belongs beside "regarding": write when: { regarding: { kind: Pod }, reason: [a, b] }',
  ],
  [
    'when: { reason: a, regarding: { kind: Pod, reason: b } }',
    '"reason" belongs beside "regarding", not in it',
  ],
  ['when: { regarding: { reason: b } }', '"reason" belongs beside "regarding", not in it'],
])('%s is told where its key belongs', async (keys, hint) => {
  const found = await told(rule(keys).replace('[Pod]', '[Event]'))
  expect(found.map((it) => it.split(' = ')[1])).toEqual([hint])
})
