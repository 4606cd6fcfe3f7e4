// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { codesOf, loadText, problemsOf, withRules } from './load-text.ts'

const rule = (keys: string) => withRules(`  - { name: r, to: screen, ${keys} }`, '[Event]')

test.each([
  ['match: { kind: Event }', '4:28', 'when'],
  ['when: { involvedObject: { kind: Pod } }', '4:36', 'regarding'],
  ['when: { kinds: Event }', '4:36', 'kind'],
  ['when: { manager: kubectl }', '4:36', 'if: event.manager'],
  ['when: { status: { phase: Failed } }', '4:36', 'if: object'],
  ['when: { status.phase: Failed }', '4:36', 'if: object'],
  ['when: { changed: spec }', '4:36', 'changed, next to "when"'],
  ['when: { throttle: { every: 1h } }', '4:36', 'throttle, next to "when"'],
  ['when: { logs: true }', '4:36', 'logs, next to "when"'],
  ['when: { regarding: { type: Warning } }', '4:49', 'type, next to "regarding"'],
  ['kind: Event', '4:28', 'when: { kind }'],
  ['group_by: [namespace]', '4:28', 'group: { by }'],
  ['repeat_interval: 4h', '4:28', 'throttle: { every }'],
  ['settle: 30s', '4:28', 'debounce'],
  ['stop: true', '4:28', 'continue'],
  ['channel: "#ops"', '4:28', 'to: [{ SINK'],
  ['throttle: { interval: 1m }', '4:40', 'every'],
  ['condition: { type: Ready, status: "False" }', '4:54', 'becomes'],
  ['mute: { tz: UTC, days: [sat] }', '4:36', 'timezone'],
  ['severty: error', '4:28', 'severity'],
])('%s is found, with our key', async (keys, place, ours) => {
  const found = (await problemsOf(rule(keys))).filter((it) => it.includes('unknown key'))
  expect(found).toEqual([expect.stringContaining(`error ${place} unknown key`)])
  expect(found[0]?.split(' = ')[1]).toContain(ours)
})

test.each([
  ['receivers: {}', 'sinks'],
  ['route: {}', 'rules'],
  ['resources: []', 'watch'],
  ['redsi: {}', 'redis'],
  ['heartbeat: 1h', 'notify: { heartbeat }'],
])('%s at the root is found, with our key', async (line, ours) => {
  const [found] = await problemsOf(
    `${line}\nwatch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: a, to: a }]`,
  )
  expect(found).toMatch(new RegExp(`^error 1:1 unknown key .* = .*${ours}`))
})

test.each([
  ['route: {}\nreceivers: []', 'kubeherald import'],
  ['handler: {}\nresource: {}', 'kubeherald import'],
  ['sources: {}\ncommunications: {}', 'kubeherald import'],
  ['config: { watch: [Pod] }\nreplicas: 2', 'values of the chart'],
])('a file that is another: %j', async (text, hint) => {
  expect(await problemsOf(text)).toContainEqual(
    expect.stringMatching(new RegExp(`unknown key .* = .*${hint}`)),
  )
})

test('a missing key that another key replaces by mistake is one problem', async () => {
  expect(await codesOf(withRules('  - { name: r, match: { kind: Pod }, sink: screen }', '[Pod]'))).toEqual([
    'unknown-key 4:16',
    'unknown-key 4:38',
  ])
})

test.each([
  ['when: { regarding: Pod }', 'wrong-type 4:47', 'such as regarding: { kind: Pod }'],
  ['changed: { spec.a: 3 }', 'wrong-type 4:37', 'such as changed: [spec.template.spec.containers.*.image]'],
  [
    'to-state: { status: { phase: Failed } }',
    'wrong-type 4:48',
    'such as to-state: { status.phase: Failed }',
  ],
  ['labels: team=shop', 'wrong-type 4:36', 'such as labels: { team: shop }'],
  ['condition: Ready', 'wrong-type 4:39', 'such as condition: { type: Ready, becomes: "False", for: 2m }'],
  ['throttle: {}', 'missing-key 4:28', 'such as every: 10m'],
  ['labels: { a: 5 }', 'wrong-type 4:41', 'as text it needs quotes'],
  ['severity: eror', 'invalid-value 4:38', 'did you mean "error"?'],
  ['severity: [error]', 'invalid-value 4:38', 'undefined'],
  [
    'labels: { app: "{{ name }}" }',
    'template-in-label 4:43',
    'write templates into message: { fields: { … } }',
  ],
])('%s gets a correct example', async (keys, code, hint) => {
  const text = rule(keys)
  expect(await codesOf(text)).toEqual([code])
  expect((await problemsOf(text))[0]?.split(' = ')[1]).toBe(hint)
})

test('options as deep as the name of their sink: the hint says to indent them', async () => {
  const rules = 'rules: [{ name: all, to: screen }]\n'
  const found = await problemsOf(`watch: [Event]\nsinks:\n  screen:\n  type: stdout\n${rules}`)
  expect(found[0]).toContain('indent the lines below it by two more spaces')
  expect(found.map((it) => it.split(' ')[1])).toEqual(['3:3', '4:9', '4:3'])
})

test('a rule for a word that is nearly a built-in kind asks for that kind, and advises to watch it', async () => {
  const [found] = await problemsOf(withRules('  - { name: r, when: { kind: Pood }, to: screen }', '[Event]'))
  expect(found).toContain('no entry of "watch" watches Pood = did you mean "Pod"?')
  expect(found).not.toMatch(/watch: \[.*Pood/)
})

test('a Kubernetes manifest is one problem', async () => {
  const map = 'apiVersion: v1\nkind: ConfigMap\ndata:\n  kubeherald.yaml: |\n    watch: [Pod]\n'
  expect(await codesOf(map)).toEqual(['not-a-configuration 1:1'])
  expect(await codesOf('apiVersion: apps/v1\nkind: Deployment\nspec: {}\n')).toEqual([
    'not-a-configuration 1:1',
  ])
  expect((await codesOf(`kind: x\napiVersion: y\nrules: []\nsinks: {}\nwatch: []\n`)).length).toBeGreaterThan(
    3,
  )
})

test('neither a message nor a hint quotes what is written in a sink or in redis', async () => {
  const text = `watch: [Pod]
redis: { url: "hunter2", password: 2222222, tls: { ca: hunter2 } }
sinks:
  a: { type: slack, token: hunter2, channel: [hunter2] }
  b: { type: webhook, url: hunter2, secret: hunter2, headers: { "x-a": 2222222 }, timeout: hunter2 }
  c: { type: kafka, brokers: hunter2, sasl: { mechanism: hunter2, password: hunter2 } }
  d: hunter2
rules: [{ name: r, to: [a, b, c, d] }]
`
  const loaded = await loadText(text)
  if (loaded.ok) throw new Error('it was accepted')
  expect(loaded.problems.length).toBeGreaterThan(6)
  expect(JSON.stringify(loaded.problems)).not.toMatch(/hunter2|2222222/)
})

test('no hint quotes the value of a reference', async () => {
  const text = withRules('  - { name: "${env:N}", to: screen, severity: "${env:N}" }', '[Event]')
  expect((await problemsOf(text, { env: { N: 'eror-Hunter_2' } })).join().toLowerCase()).not.toContain(
    'hunter',
  )
})
