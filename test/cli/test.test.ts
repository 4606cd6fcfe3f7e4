import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programMain } from '../program.ts'
import type { Desk } from './cli.ts'
import { runHere } from './here.ts'
import { openProofDesk, RULES } from './proof-fixture.ts'

const EVENT =
  '{ kind: Event, type: Warning, reason: BackOff, regarding: { kind: Pod, namespace: shop, name: web-1 } }'

/** Runs tests that stand in a file beside the configuration. */
function tested(desk: Desk, tests: string, ...args: string[]) {
  desk.write('kubeherald_test.yaml', `x-back-off: &back-off ${EVENT}\ntests:\n${tests}`)
  return runHere(desk, 'test', ...args)
}

const GOOD = `
  - name: a third back-off reaches on-call
    given: backoff.yaml
    expect: { rule: crash-loops, to: [pager, oncall, bus], text: "*3rd back-off*", severity: error }
  - name: noise is dropped
    given: { kind: Event, reason: Pulled, metadata: { namespace: kube-system } }
    expect: { rule: noise, dropped: true, none: true }
  - name: of three back-offs within ten minutes the first and the one after are told
    given: [*back-off, { <<: *back-off, at: 5m }, { <<: *back-off, at: 11m }]
    expect:
      - { rule: crash-loops, messages: 3 }
      - { rule: crash-loops, suppressed: throttle, to: [] }
      - { rule: crash-loops, text: "*Suppressed: 1 *" }
  - name: failures come as one digest
    given: { object: { kind: Event, reason: Failed, regarding: { kind: Pod, name: a } }, times: 5, every: 2s }
    expect:
      - { rule: failed, suppressed: group }
      - { at: 40s, rule: failed, notices: digest, to: oncall, messages: 1, text: "*5*" }
  - name: a node that stays broken is told after two minutes, and its end too
    given:
      - &node { kind: Node, metadata: { name: w-1, labels: { broken: "yes" } } }
      - { <<: *node, at: 1m }
      - { at: 10m, kind: Node, metadata: { name: w-1 } }
    expect:
      - { rule: broken-nodes, suppressed: for, none: true }
      - { none: true }
      - { rule: broken-nodes, notices: resolved, messages: 2 }
  - name: a node that was broken for a moment is not told
    given: [*node, { at: 1m, kind: Node, metadata: { name: w-1 } }]
    expect: [{ none: true }, { none: true }, { at: 1h, none: true }]
  - name: a changed image is told with the old one
    given:
      object: &web
        kind: Deployment
        metadata: { name: web, namespace: pay-eu, labels: { team: a } }
        spec: { template: { spec: { containers: [{ name: app, image: "nginx:2" }] } } }
      old: { spec: { template: { spec: { containers: [{ name: app, image: "nginx:1" }] } } } }
    expect: { rule: rollouts, to: [oncall, audit], text: "*nginx:1 → nginx:2*" }
  - name: what comes again is a change of what was there
    given: [*web, { object: *web, type: DELETED }]
    expect: [{ none: true }, { rule: rollouts, severity: info }]
`.replace('to: [] }', 'none: true }')

test('test runs the tests of the configuration and of the files beside it', async () => {
  using desk = openProofDesk()
  const own = `${RULES}tests: [{ name: its own, given: backoff.yaml, expect: { to: [oncall, pager, bus] } }]\n`
  desk.write('kubeherald.yaml', own)
  const { code, stdout, stderr } = await tested(desk, GOOD, '--coverage')
  expect(stderr).toBe('')
  await expect(withoutTimes(stdout)).toMatchFileSnapshot('../golden/test/good.txt')
  expect(code).toBe(0)
})

test('expressions, changes and conditions that last are tested over time', async () => {
  using desk = openProofDesk()
  desk.write('language.yaml', LANGUAGE)
  const { code, stdout, stderr } = await runHere(desk, 'test', '-c', 'language.yaml')
  expect(stderr).toBe('')
  expect(stdout).toMatch(/\n4 passed/)
  expect(code).toBe(0)
})

const LANGUAGE = `
watch: [Event, Deployment, Node]
sinks: { people: { type: stdout, format: message }, bus: { type: stdout, format: json } }
rules:
  - { name: often, when: { kind: Event }, if: "event.count >= 3 && object.metadata.namespace == 'shop'", to: people }
  - { name: images, when: { kind: Deployment }, changed: [spec.template.spec.containers.*.image], to: bus }
  - { name: ready, when: { kind: Node }, condition: { type: Ready, becomes: "False", for: 2m }, resolve: true, to: people }
x-node: &node { kind: Node, metadata: { name: n-1 }, status: { conditions: [{ type: Ready, status: "True" }] } }
x-web: &web { kind: Deployment, spec: { template: { spec: { containers: [{ name: a, image: "x:1" }] } } } }
tests:
  - { name: three times, given: { kind: Event, count: 3, regarding: { kind: Pod, namespace: shop } }, expect: { rule: often } }
  - { name: twice, given: { kind: Event, count: 2, regarding: { kind: Pod, namespace: shop } }, expect: { none: true } }
  - name: another image, also where nobody is told the old one
    given: [*web, { kind: Deployment, spec: { template: { spec: { containers: [{ name: a, image: "x:2" }] } } } }, *web]
    expect: [{ none: true }, { rule: images, to: bus }, { rule: images }]
  - name: not ready for long enough, and ready again
    given:
      - *node
      - { <<: *node, at: 1m, status: { conditions: [{ type: Ready, status: "False" }] } }
      - { <<: *node, at: 20m }
    expect:
      - none: true
      - { rule: ready, suppressed: for, none: true }
      - { notices: resolved, to: people, messages: 2, text: "*not ready*" }
`

test('what was told and is not over yet, and what waits for the end of quiet hours, is told by its limit', async () => {
  using desk = openProofDesk()
  desk.write('states.yaml', STATES)
  const { stdout, stderr } = await runHere(desk, 'test', '-c', 'states.yaml')
  expect(stderr).toBe('')
  expect(withoutTimes(stdout)).toContain('\n2 passed')
})

const STATES = `
watch: [Node, Pod]
sinks: { people: { type: stdout, format: message } }
rules:
  - { name: broken, when: { kind: Node, labels: broken }, resolve: true, to: people }
  - name: by-day
    when: { kind: Pod, labels: broken }
    mute: { from: "00:00", to: "23:59", timezone: UTC }
    group: { by: rule }
    resolve: true
    to: people
x-node: &node { kind: Node, metadata: { name: n-1, labels: { broken: "yes" } } }
tests:
  - name: still broken
    given: [*node, { <<: *node, at: 1m }, { <<: *node, at: 2m }]
    expect: [{ rule: broken }, { rule: broken, suppressed: resolve }, { rule: broken, suppressed: resolve, none: true }]
  - name: at night
    given: { kind: Pod, metadata: { name: p-1, labels: { broken: "yes" } } }
    expect: { rule: by-day, suppressed: mute, none: true }
`

test('options of deliveries are compared after their templates are filled in', async () => {
  using desk = openProofDesk()
  desk.write('options.yaml', OPTIONS)
  const { code, stdout, stderr } = await runHere(desk, 'test', '-c', 'options.yaml', '--json')
  expect(stderr).toBe('')
  const { tests } = JSON.parse(stdout)
  expect(tests.map((it: { passed: boolean }) => it.passed)).toEqual([true, true, false])
  expect(tests[2].mismatches).toMatchObject([
    { key: 'to.chat.channel', expected: '#team-shop', got: '#ops', place: 'options.yaml:21:49' },
    { key: 'to.bus.topic', got: 'k8s.event', place: 'options.yaml:21:79' },
    { key: 'to.bus.acks', got: expect.stringContaining('topic, key'), place: 'options.yaml:21:94' },
  ])
  expect(code).toBe(1)
})

const OPTIONS = `
watch: [Event]
sinks:
  chat: { type: slack, token: "\${env:T}", channel: "#ops", allowChannels: ["#team-*"], fallbackChannel: "#ops" }
  bus: { type: kafka, brokers: ["k:9092"], topic: "k8s.{{ kind | downcase }}" }
  logs: { type: elasticsearch, url: "https://search.example.com", index: "k8s-{{ namespace }}" }
  mail: { type: email, host: smtp.example.com, from: k8s@example.com, to: [a@example.com, b@example.com] }
rules:
  - name: all
    to: [chat: { channel: '#team-{{ event.regarding.labels["team"] }}', groupBy: "{{ namespace }}" }, bus, logs, mail: { subject: "{{ event.reason }}", groupBy: all }]
tests:
  - name: a pod of a team
    given: &event { kind: Event, reason: BackOff, involvedObject: { kind: Pod, name: a } }
    surroundings: [{ kind: Pod, name: a, labels: { team: shop } }]
    expect: { to: [chat: { channel: "#team-shop", groupBy: default }, bus: { topic: [k8s.pod, k8s.event] }, logs: { index: k8s-default }, mail: { to: "a@*, b@*", subject: BackOff, groupBy: all }] }
  - name: a channel that the template may not choose
    given: *event
    expect: { rule: all, to: { chat: { channel: "#ops" }, bus: , logs: , mail: } }
  - name: others
    given: *event
    expect: { rule: all, to: { chat: { channel: "#team-shop" }, bus: { topic: k8s.pod, acks: all }, logs: , mail: } }
`

const BAD = `
  - name: another namespace
    given: { kind: Event, type: Warning, reason: BackOff, regarding: { kind: Pod, namespace: pay, name: web-1 } }
    expect: { rule: crash-loops, to: oncall }
  - name: a limit that nobody thought of
    given: [*back-off, { <<: *back-off, at: 1m }]
    expect: [{ rule: crash-loops }, { rule: crash-loops, to: [oncall, pager, bus] }]
  - name: words
    given: *back-off
    expect: { text: ["*OOM*", "!*back-off*"], severity: info }
  - name: not watched
    given: { kind: Deployment, metadata: { namespace: default, labels: { team: a } }, status: {} }
    expect: { to: oncall }
  - name: dropped above
    given: { kind: Event, reason: Failed, regarding: { kind: Pod, namespace: kube-system, name: a } }
    expect: { rule: failed, notices: digest, messages: 2, dropped: false }
  - name: more than nothing
    given: *back-off
    expect: { none: true, suppressed: mute }
  - name: what passes beside
    given: *back-off
    expect: { rule: crash-loops }
`

test('a test that fails shows what was expected, what came, where, and what decided it', async () => {
  using desk = openProofDesk()
  const { code, stdout, stderr } = await tested(desk, BAD)
  expect(stderr).toBe('')
  await expect(withoutTimes(stdout)).toMatchFileSnapshot('../golden/test/bad.txt')
  expect(code).toBe(1)
})

test('tests that cannot be read are told all at once, with their places', async () => {
  using desk = openProofDesk()
  const { code, stderr, stdout } = await tested(
    desk,
    `
  - name: a
    givne: backoff.yaml
    expect: { rule: crash-loops }
  - name: b
    given: backoff.yaml
    expect: { rule: crash-lops, to: [oncall, onkall], nones: true }
  - name: c
    given: { object: *back-off, at: 5, times: 0, type: CHANGED }
    expect: { none: true, to: bus }
  - name: d
    given: 5
    expect: []
  - given: backoff.yaml
    expect: {}
  - name: e
    given: backoff.yaml
    expect: { text: "/[/", suppressed: throtle }
  - name: f
    given: backoff.yaml
  - name: g
    given: backoff.yaml
    expect: [{ none: true }, { at: 5m, none: true }]
  - name: g
    given: backoff.yaml
    expect: { rule: [crash-loops, nois] }
rules: []
`,
  )
  await expect(stderr).toMatchFileSnapshot('../golden/test/wrong.txt')
  expect(stdout).toBe('')
  expect(code).toBe(2)
})

test.each([
  [
    'a file that is not there',
    '{ name: a, given: nowhere.yaml, expect: { none: true } }',
    /:3:23: nowhere\.yaml cannot be read: there is no such file/,
  ],
  [
    'a file without an object',
    '{ name: a, given: kubeherald.yaml, expect: { none: true } }',
    /:3:23: kubeherald\.yaml holds no Kubernetes object/,
  ],
  [
    'an object without a kind',
    '{ name: a, given: { object: { metadata: {} } }, expect: { none: true } }',
    /:3:25: an object needs a kind/,
  ],
  [
    'a label that is not text',
    '{ name: a, given: { kind: Pod, metadata: { labels: { on: true } } }, expect: { none: true } }',
    /:3:62: "on" must be text, and true is none[\s\S]*put it into quotes: "true"/,
  ],
  [
    'a kind that does not exist',
    '{ name: a, given: { kind: Deploymnet }, expect: { none: true } }',
    /:3:31: "Deploymnet" is not a built-in kind[\s\S]*did you mean "Deployment"/,
  ],
  [
    'surroundings without a kind',
    '{ name: a, given: *back-off, surroundings: [{ a: 1 }], expect: { none: true } }',
    /:3:49: an object needs a kind/,
  ],
  [
    'times that go back',
    '{ name: a, given: [{ <<: *back-off, at: 5m }, { <<: *back-off, at: 1m }], expect: { none: true } }',
    /:3:\d+: is before the time of the step above/,
  ],
  [
    'a sink that is not there, with options',
    '{ name: a, given: *back-off, expect: { to: { chat: { channel: "#a" } } } }',
    /:3:50: there is no sink "chat"/,
  ],
  [
    'an option that is not a pattern',
    '{ name: a, given: *back-off, expect: { to: [bus, { oncall: { channel: "/[/" } }] } }',
    /:3:77: "channel" has an expression that RE2 cannot read/,
  ],
  [
    'expectations that go back',
    '{ name: a, given: *back-off, expect: [{ at: 5m, none: true }, { at: 1m, none: true }] }',
    /:3:73: is before the one above/,
  ],
])('test says where it found %s', async (_, entry, words) => {
  using desk = openProofDesk()
  const { code, stderr } = await tested(desk, `  - ${entry}\n`)
  expect(stderr).toMatch(words)
  expect(stderr).not.toContain('    at ')
  expect(code).toBe(2)
})

test('test gives results to machines, too', async () => {
  using desk = openProofDesk()
  const evil = '"\\e[2J<&]]>\\0"'
  const { code, stdout } = await tested(
    desk,
    `${BAD}  - { name: ${evil}, given: *back-off, expect: { none: true } }\n`,
    '--json',
    '--junit',
    'out.xml',
  )
  expect(code).toBe(1)
  const { passed, failed, tests } = JSON.parse(stdout)
  expect([passed, failed]).toEqual([1, 7])
  expect(tests[0]).toMatchObject({
    name: 'another namespace',
    place: 'kubeherald_test.yaml:4:5',
    passed: false,
    mismatches: [
      { key: 'rule', expected: 'crash-loops', place: 'kubeherald_test.yaml:6:21' },
      { key: 'to', got: 'nothing' },
    ],
  })
  const xml = readFileSync(join(desk.dir, 'work', 'out.xml'), 'utf8')
  expect(xml).toContain('<testsuites name="kubeherald" tests="8" failures="7" errors="0"')
  expect(xml).toMatch(
    /<testcase name="what passes beside" classname="kubeherald_test.yaml" .* line="22" time="[\d.]+"\/>/,
  )
  expect(xml).toContain(' [2J&lt;&amp;]]&gt; "')
  expect(xml).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
})

test('test runs only what is asked for', async () => {
  using desk = openProofDesk({
    'more.yaml': `tests: [{ name: other, given: backoff.yaml, expect: { rule: crash-loops } }]\n`,
  })
  expect((await tested(desk, GOOD, '--filter', 'NOISE')).stdout).toMatch(
    /✓ noise is dropped[\s\S]*\n1 passed/,
  )
  expect((await tested(desk, GOOD, 'more.yaml')).stdout).toMatch(/^more\.yaml\n {2}✓ other .*\n\n1 passed/)
  const none = await tested(desk, GOOD, '--filter', 'nothing of this')
  expect(none).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no test has "nothing of this" in its name'),
  })
})

test('a configuration without tests is told how to write one', async () => {
  using desk = openProofDesk()
  const { code, stderr } = await runHere(desk, 'test')
  expect(code).toBe(2)
  expect(stderr).toContain(
    'kubeherald.yaml has no tests: write them under "tests", or into a file such as rules_test.yaml',
  )
})

test('tests of another configuration in the same folder are left alone', async () => {
  using desk = openProofDesk({
    'staging.yaml': RULES,
    'staging_test.yaml':
      'tests: [{ name: of staging, given: backoff.yaml, expect: { rule: crash-loops } }]\n',
    'all_test.yaml': 'tests: [{ name: of all, given: backoff.yaml, expect: { rule: crash-loops } }]\n',
  })
  const own = await runHere(desk, 'test')
  expect(own.stdout).toContain('of all')
  expect(own.stdout).not.toContain('of staging')
  expect((await runHere(desk, 'test', '-c', 'staging.yaml')).stdout).toMatch(/of all[\s\S]*of staging/)
})

test('test runs all files of tests in a folder', async () => {
  using desk = openProofDesk()
  mkdirSync(join(desk.dir, 'work', 'more'))
  const tests = (name: string) =>
    `tests: [{ name: ${name}, given: { kind: Event, type: Normal, namespace: kube-system }, expect: { dropped: true } }]\n`
  desk.write('more/a_test.yaml', tests('first'))
  desk.write('more/b_test.yaml', tests('second'))
  desk.write('more/c.yaml', 'no: tests\n')
  const { stdout, code } = await runHere(desk, 'test', 'more')
  expect({ code, stdout: withoutTimes(stdout) }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/✓ first[^✓]*✓ second[^✓]*\n2 passed/),
  })
  mkdirSync(join(desk.dir, 'work', 'empty'))
  expect(await runHere(desk, 'test', 'empty')).toMatchObject({
    code: 2,
    stderr: 'kubeherald: there is no file *_test.yaml or *_test.yml in empty\n',
  })
})

test('test --help shows a test', async () => {
  using desk = openProofDesk()
  const { stdout, code } = await desk.run('test', '--help')
  expect(code).toBe(0)
  expect(stdout).toContain('expect:\n        - { rule: crash-loops, to: oncall, text: "*crash-looping*" }')
})

function withoutTimes(text: string): string {
  return text.replace(/\d+ ms/g, 'N ms')
}

test('a configuration on standard input has its tests in the working directory', () => {
  using desk = openProofDesk()
  const config = 'watch: [Event]\nsinks: { a: { type: stdout } }\nrules: [{ name: all, to: a }]\n'
  desk.write('own_test.yaml', 'tests: [{ name: own, given: { kind: Event }, expect: { rule: all } }]\n')
  const { env, cwd } = desk
  const args = [programMain(), 'test', '-c', '-']
  const stdout = execFileSync(process.execPath, args, { input: config, env, cwd, encoding: 'utf8' })
  expect(stdout).toContain('1 passed')
})

test('tests are looked for next to the files of the configuration, not where it is run from', async () => {
  using desk = openProofDesk()
  mkdirSync(join(desk.cwd, 'prod'))
  desk.write(
    'prod/kubeherald.yaml',
    'include: [{ from: kubeherald:crash-loops, to: oncall }]\nwatch: [Event, Pod]\nsinks: { oncall: { type: stdout } }\nrules: []\n',
  )
  desk.write('prod/own_test.yaml', 'tests: [{ name: own, given: { kind: Event }, expect: { none: true } }]\n')
  desk.write('other_test.yaml', 'evaluation_interval: 1m\n')
  const { code, stdout, stderr } = await runHere(desk, 'test', '-c', join(desk.cwd, 'prod/kubeherald.yaml'))
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('1 passed') })
})
