import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { programMain } from '../program.ts'
import { type Desk, openDesk } from './cli.ts'
import { runHere } from './here.ts'
import { BACK_OFF, openProofDesk } from './proof-fixture.ts'

/** Explains a text that lies in a file. */
function explained(desk: Desk, input: string, ...args: string[]) {
  desk.write('input', input)
  return runHere(desk, 'explain', 'input', ...args)
}

const deployment = (image: string, namespace = 'shop') =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace, labels: { team: 'a' } },
    spec: { template: { spec: { containers: [{ name: 'app', image }] } } },
  })

test('explain shows each rule, each condition with what was seen, and what sinks are sent', async () => {
  using desk = openProofDesk()
  const { code, stdout, stderr } = await runHere(desk, 'explain', 'backoff.yaml')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  await expect(stdout).toMatchFileSnapshot('../golden/explain/crash.txt')
})

test.each([
  [[], 'prod-context'],
  [['--context', 'other'], 'other'],
])('without cluster, explain %j names it as run does: %s', async (args, cluster) => {
  using desk = openProofDesk({
    'kubeherald.yaml':
      'watch: [Event]\nsinks: { s: { type: stdout, format: json } }\nrules: [{ name: all, to: s }]',
    config: JSON.stringify({
      'current-context': 'prod-context',
      clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
      users: [{ name: 'u', user: { token: 'x' } }],
      contexts: ['prod-context', 'other'].map((name) => ({ name, context: { cluster: 'c', user: 'u' } })),
    }),
  })
  desk.env['KUBECONFIG'] = 'config'
  const { code, stdout } = await runHere(desk, 'explain', 'backoff.yaml', '--sink', 's', ...args)
  expect(stdout).toContain(`/clusters/${cluster}"`)
  expect(code).toBe(0)
})

test('explain shows what decided that nobody is told', async () => {
  using desk = openProofDesk({ 'other.yaml': BACK_OFF.replace('namespace: shop', 'namespace: payments') })
  const { code, stdout } = await runHere(desk, 'explain', 'other.yaml', '--rule', 'crash-loops')
  expect(code).toBe(0)
  await expect(stdout).toMatchFileSnapshot('../golden/explain/other-namespace.txt')
})

test.each(['drop: true', 'to: s, continue: false'])(
  'explain asks no rule below a match with %s',
  async (end) => {
    using desk = openProofDesk({
      'kubeherald.yaml': `watch: [Event]
sinks: { s: { type: stdout } }
rules: [{ name: other, when: { reason: Other }, to: s }, { name: end, when: { reason: BackOff }, ${end} }, { name: below, when: { type: Warning }, to: s }]`,
    })
    const { stdout } = await runHere(desk, 'explain', 'backoff.yaml')
    expect(stdout).toMatch(/^ *- below {2}not asked: /m)
    const json = await runHere(desk, 'explain', 'backoff.yaml', '--json')
    const { rules } = JSON.parse(json.stdout)
    expect(rules.map(({ verdict }: { verdict: string }) => verdict)).toEqual(['no', 'matches', 'not-asked'])
  },
)

test.each(Object.entries(builtInSinks))(
  'the example of %s checks clean without its secrets',
  async (_, load) => {
    const { example } = await load()
    using desk = openProofDesk({
      'kubeherald.yaml': `watch: [Event]\nsinks: { s: ${example} }\nrules: [{ name: all, to: s }]`,
    })
    const { code, stderr } = await runHere(desk, 'explain', 'backoff.yaml')
    expect(stderr).toBe('')
    expect(code).toBe(0)
  },
)

test('an object that nests too deep is told, and is no failure of the program', async () => {
  using desk = openProofDesk()
  const deep = deployment('a:1').replace(
    '"spec":{',
    `"spec":{"deep":${'['.repeat(9_000)}${']'.repeat(9_000)},`,
  )
  const { code, stderr } = await explained(desk, deep)
  expect(stderr).toBe('kubeherald: input: it nests too deep\n')
  expect(code).toBe(2)
})

test.each(['__proto__', 'constructor', 'toString'])('an Event may be about a %s', async (kind) => {
  using desk = openProofDesk()
  const event = JSON.stringify({ apiVersion: 'v1', kind: 'Event', metadata: { name: 'a' }, reason: 'R' })
  const about = `{"kind":"${kind}","namespace":"shop","name":"web"}`
  const { code, stderr } = await explained(
    desk,
    event.replace('"reason"', `"involvedObject":${about},"reason"`),
  )
  expect(stderr).toBe('')
  expect(code).toBe(0)
})

test('explain shows what a change is, and the whole of what one sink is sent', async () => {
  using desk = openProofDesk({ 'new.json': deployment('nginx:2'), 'old.json': deployment('nginx:1') })
  const at = ['--at', '2026-11-21T09:14:07Z']
  const { code, stdout } = await runHere(desk, 'explain', 'new.json', '--old', 'old.json', ...at)
  expect(code).toBe(0)
  await expect(stdout).toMatchFileSnapshot('../golden/explain/image.txt')
  const whole = await runHere(desk, 'explain', 'new.json', '--old', 'old.json', ...at, '--sink', 'audit')
  expect(whole.stdout).toContain('"image": "nginx:2"')
  expect(whole.stdout).not.toContain('→ oncall')
})

test('explain says that nobody watches an object, and of what type it takes it to be', async () => {
  using desk = openProofDesk({ 'new.json': deployment('nginx:2', 'default') })
  const { stdout } = await runHere(desk, 'explain', 'new.json', '--at', '2026-11-21T09:14:07Z')
  await expect(stdout).toMatchFileSnapshot('../golden/explain/unwatched.txt')
})

test('explain shows that a limit holds the second one back', async () => {
  using desk = openProofDesk()
  const { stdout, code } = await explained(desk, `${BACK_OFF}---\n${BACK_OFF}`)
  expect(code).toBe(0)
  const [first = '', second = ''] = stdout.split(/^(?=Event shop\/web-1)/m).filter(Boolean)
  expect(first).toContain('→ is sent to oncall, pager, bus by crash-loops')
  expect(second).toContain('suppressed by throttle')
  expect(second).toContain('⏸ crash-loops matches, and its throttle holds this one back')
})

test('explain for one sink announces nothing where the rule has nothing for it', async () => {
  using desk = openProofDesk()
  const { stdout } = await explained(desk, `${BACK_OFF}---\n${BACK_OFF}`, '--sink', 'audit')
  const second = stdout.split(/^(?=Event shop\/web-1)/m)[1] ?? ''
  expect(second).toMatch(/suppressed by throttle$/m)
  expect(second).toMatch(/nothing .*audit$/m)
  expect(second).not.toMatch(/:$/m)
})

test('explain for one sink shows the request to a service as it is sent', async () => {
  using desk = openProofDesk({
    'logs.yaml': `watch: [Event]
sinks:
  logs: { type: elasticsearch, url: "https://search.example.com", index: 'k8s-{{ namespace }}', body: { why: "{{ event.reason }}" } }
rules: [{ name: all, to: logs }]
`,
  })
  const { stdout } = await explained(desk, BACK_OFF, '-c', 'logs.yaml', '--sink', 'logs')
  expect(stdout).toContain('"_index": "k8s-shop"')
  expect(stdout).toContain('"why": "BackOff"')
  expect(stdout).not.toContain('is crash-looping')
})

test.each([
  ['a frame of a watch', `{"type":"DELETED","object":${deployment('nginx:1')}}`],
  ['a List', `{"kind":"List","items":[${deployment('nginx:1')}]}`],
  [
    'a list of one kind',
    `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[${deployment('nginx:1')}]}`,
  ],
  [
    'a CloudEvent',
    JSON.stringify({
      specversion: '1.0',
      type: 'dev.kubeherald.resource.deleted',
      time: '2026-11-21T09:14:07.000Z',
      data: { type: 'DELETED', rule: 'x', object: JSON.parse(deployment('nginx:1')) },
    }),
  ],
  [
    'a dead letter',
    JSON.stringify({
      id: '1-0',
      sink: 'oncall',
      event: { type: 'DELETED', kind: 'Deployment', time: '2026-11-21T09:14:07.000Z' },
      object: JSON.parse(deployment('nginx:1')),
    }),
  ],
])('explain reads %s', async (what, input) => {
  using desk = openProofDesk()
  const { stdout, stderr, code } = await explained(desk, input)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toContain(
    what.includes('ist') ? 'Deployment shop/web  ADDED' : 'Deployment shop/web  DELETED',
  )
})

test('explain reads its standard input, and needs no cluster, Redis or secret for it', () => {
  using desk = openProofDesk()
  const cwd = join(desk.dir, 'work')
  const args = [programMain(), 'explain', '-']
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    env: desk.env,
    cwd,
    input: BACK_OFF,
  })
  expect(stderr.toString()).toBe('')
  expect(stdout.toString()).toContain('→ is sent to oncall, pager, bus by crash-loops')
  expect(status).toBe(0)
})

test('many objects get a line each', async () => {
  using desk = openProofDesk()
  const events = Array.from({ length: 8 }, (_, i) => BACK_OFF.replace('web-1 }', `web-${i} }`))
  const { stdout } = await explained(desk, events.join('---\n'))
  const lines = stdout.trimEnd().split('\n')
  expect(lines.filter((line) => line.includes('→ oncall'))).toHaveLength(8)
  expect(lines[0]).toMatch(
    /^09:14:07 {2}→ oncall {2}Pod shop\/web-0 is crash-looping, 3rd back-off {2}\[crash-loops\]$/,
  )
  expect(lines.at(-1)).toBe('(8 objects; --all explains each)')
})

test('explain --json is plain data', async () => {
  using desk = openProofDesk()
  const { stdout } = await runHere(desk, 'explain', 'backoff.yaml', '--json')
  const { event, watched, counted, rules, sent } = JSON.parse(stdout)
  expect(event).toMatchObject({ type: 'ADDED', kind: 'Event', time: '2026-11-21T09:14:07.000Z' })
  expect(watched).toEqual({ entry: 0, place: 'kubeherald.yaml:4:5' })
  expect(counted).toBe('matched')
  const crash = rules.find(({ rule }: any) => rule === 'crash-loops')
  expect(crash).toMatchObject({
    verdict: 'matches',
    result: { outcome: 'sent' },
    place: 'kubeherald.yaml:17:11',
  })
  expect(crash.conditions).toContainEqual({
    name: 'regarding.namespace',
    expected: 'shop',
    seen: 'shop',
    holds: true,
  })
  expect(crash.limits).toEqual([{ name: 'throttle', text: 'per regarding, every 10m' }])
  expect(crash.messages[1].body).toContain('"dedup_key"')
  expect(sent).toContainEqual({ sink: 'pager', rule: 'crash-loops' })
})

test('what objects say reaches a terminal without moving its cursor', async () => {
  using desk = openProofDesk()
  const evil = '\u001b[2J\u001b]0;owned\u0007\u202egnp.exe\r\nA'
  const object = {
    kind: 'Event',
    type: 'Warning',
    reason: `BackOff${evil}`,
    message: evil,
    regarding: { kind: 'Pod', namespace: 'shop', name: evil },
    metadata: { name: evil, namespace: 'shop', labels: { constructor: evil, [evil]: 'x' } },
  }
  for (const more of [[], ['--all'], ['--json'], ['--sink', 'bus']]) {
    const { stdout, stderr, code } = await explained(desk, JSON.stringify(object), ...more)
    expect(code, stderr).toBe(0)
    expect(`${stdout}${stderr}`).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  }
})

test('explain shows the path of a URL that is written out, and nothing that may be a secret', async () => {
  const targets = {
    plain: '{ type: webhook, url: "https://h.example/kube/hook" }',
    variable: '{ type: webhook, url: "${var:url}" }',
    tokens: '{ type: webhook, url: "https://u:pw@h.example/x/s3cret-0123456789?key=s3cret" }',
    reference: '{ type: webhook, url: "${env:HOOK}" }',
    part: '{ type: webhook, url: "https://h.example/s3cret/${env:PART}" }',
    chat: '{ type: webhook, preset: mattermost, url: "https://h.example/hooks/s3cret" }',
  }
  using desk = openDesk({ HOOK: 'https://h.example/s3cret', PART: 'a b' })
  desk.write(
    'event.json',
    JSON.stringify({ kind: 'Event', reason: 'R', regarding: { kind: 'Pod', name: 'a' } }),
  )
  desk.write(
    'kubeherald.yaml',
    `vars: { url: "https://h.example/of/var" }
watch: [Event]
sinks: { ${Object.entries(targets)
      .map(([name, section]) => `${name}: ${section}`)
      .join(', ')} }
rules: [{ name: all, to: [${Object.keys(targets).join(', ')}] }]
`,
  )
  const json = await runHere(desk, 'explain', 'event.json', '--json')
  const { messages } = JSON.parse(json.stdout).rules[0]
  const shown = Object.fromEntries(
    messages.map(({ sink, target }: { sink: string; target: string }) => [sink, target]),
  )
  expect(shown).toEqual({
    plain: 'POST https://h.example/kube/hook',
    variable: 'POST https://h.example/of/var',
    tokens: 'POST https://h.example/x/[redacted]?key=[redacted]',
    reference: 'POST https://h.example',
    part: 'POST https://h.example',
    chat: 'POST https://h.example',
  })
  const text = await runHere(desk, 'explain', 'event.json')
  expect(text.stdout).toContain('POST https://h.example/kube/hook')
  expect(text.stdout + json.stdout).not.toContain('s3cret')
})

test('no secret of the configuration is shown', async () => {
  using desk = openProofDesk()
  desk.env['PAGERDUTY_KEY_OF_A_POD'] = 'r0utingkeythatissecret0123456789'
  desk.env['AUDIT_URL_OF_A_POD'] = 'https://audit.example.com/hook/t0kenInThePath'
  desk.env['AUDIT_SECRET_OF_A_POD'] = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  desk.write('new.json', deployment('nginx:2'))
  for (const args of [
    ['backoff.yaml', '--sink', 'pager'],
    ['backoff.yaml', '--json'],
    ['new.json', '--type', 'MODIFIED', '--json'],
  ]) {
    const { stdout, code } = await runHere(desk, 'explain', ...args)
    expect(code).toBe(0)
    expect(stdout).not.toMatch(/r0utingkey|t0kenInThePath|whsec_/)
  }
})

test.each([
  ['there is no file', ['nowhere.yaml'], /cannot read nowhere\.yaml: there is no such file/],
  ['there is no cluster', ['pod/shop/web-1'], /there is no file pod\/shop\/web-1, and no kubeconfig/],
  [
    'it is not an object',
    ['kubeherald.yaml'],
    /kubeherald\.yaml is not a Kubernetes object: it needs apiVersion and kind/,
  ],
  ['it is not YAML', ['broken.yaml'], /broken\.yaml:3:1: a "\]" is missing before this/],
  ['a label is not text', ['label.yaml'], /"on" must be text, and true is none.*put it into quotes: "true"/],
  ['a kind is misspelt', ['kind.yaml'], /"Deploymnet" is not a built-in kind.*did you mean "Deployment"/],
  [
    'a rule is misspelt',
    ['backoff.yaml', '--rule', 'crash-lops'],
    /there is no rule "crash-lops"; did you mean "crash-loops"/,
  ],
  [
    'a sink is misspelt',
    ['backoff.yaml', '--sink', 'onkall'],
    /there is no sink "onkall"; did you mean "oncall"/,
  ],
  [
    'a type is misspelt',
    ['backoff.yaml', '--type', 'MODIFED'],
    /--type takes ADDED, MODIFIED or DELETED.*did you mean MODIFIED/,
  ],
  ['a time is none', ['backoff.yaml', '--at', 'noon'], /--at takes a time such as 2026-11-21T22:30:00Z/],
])('explain says in one go that %s', async (_, args, words) => {
  using desk = openProofDesk({
    'broken.yaml': 'kind: Pod\na: [b\nc: d\n',
    'label.yaml': 'kind: Pod\nmetadata: { labels: { on: true } }\n',
    'kind.yaml': 'kind: Deploymnet\n',
  })
  const { code, stderr } = await runHere(desk, 'explain', ...args)
  expect(code).toBe(2)
  expect(stderr).toMatch(words)
  expect(stderr).not.toContain('    at ')
})

test('explain asks the cluster for an object, and for what is around it', async () => {
  using desk = openProofDesk()
  await using kubernetes = await startDemoCluster({ random: Math.random, clock: Date })
  desk.env['KUBECONFIG'] = kubernetes.kubeconfig
  const { code, stdout, stderr } = await runHere(desk, 'explain', 'node/worker-1')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toContain('Node worker-1  ADDED')
  const none = await runHere(desk, 'explain', 'deployment/shop/nowhere')
  expect(none).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/deployment\/shop\/nowhere cannot be read.*not found/),
  })
  const elsewhere = await runHere(desk, 'explain', 'secret/shop-database')
  expect(elsewhere.stderr).toBe(
    'kubeherald: there is no Secret "shop-database" in the namespace default: write secret/shop/shop-database\n',
  )
  const nowhere = await runHere(desk, 'explain', 'deploy/nowhere')
  expect(nowhere.stderr).toContain('no Deployment "nowhere" in the namespace default, and in no other')
  const word = await runHere(desk, 'explain', 'Deployment')
  expect(word.stderr).toContain(
    'no file "Deployment"; an object of the cluster is written kind/namespace/name',
  )
  const unknown = await runHere(desk, 'explain', 'gadget/shop/x')
  expect(unknown).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the cluster has no kind "gadget"'),
  })
})

test('explain tells of a state whether it is there, what was before, and of what is not a change that it is none', async () => {
  using desk = openProofDesk({
    'states.yaml': `cluster: test
watch: [Node]
sinks: { screen: { type: stdout } }
rules:
  - { name: down, condition: { type: Ready, becomes: "False" }, to: screen }
  - { name: held, to-state: { spec.held: "true" }, to: screen }
  - { name: moved, changed: spec.zone, to: screen }
`,
  })
  const node = (ready: string, spec: object) =>
    JSON.stringify({
      kind: 'Node',
      name: 'w',
      spec,
      status: { conditions: [{ type: 'Ready', status: ready }] },
    })
  const asked = async (...args: string[]) => {
    const { stdout } = await runHere(desk, 'explain', 'new.json', '-c', 'states.yaml', ...args)
    return stdout.match(/^ {2}[✓✗] .*$/gm)?.map((line) => line.trim().replace(/ {2,}/g, ' '))
  }
  desk.write('old.json', node('False', { held: true }))
  desk.write('new.json', node('False', { held: true }))
  expect(await asked('--old', 'old.json')).toEqual([
    '✗ condition type: Ready, becomes: False seen: {"before":{"status":"False"}}',
    '✗ to-state spec.held: true seen: {"before":{"spec.held":true}}',
    '✗ changed spec.zone seen: the same as before',
  ])
  desk.write('new.json', node('True', {}))
  expect(await asked()).toEqual([
    '✗ condition type: Ready, becomes: False seen: {"status":"True"}',
    '✗ to-state spec.held: true seen: {"spec.held":null}',
    '✗ changed spec.zone seen: ADDED, and no change',
  ])
})

test('a message begins its changes with those that a rule asks for', async () => {
  using desk = openProofDesk({
    'release.yaml': `cluster: test
watch: [Deployment]
sinks: { oncall: { type: slack, token: "\${env:NO_TOKEN}", channel: "#oncall" } }
rules: [{ name: release, changed: 'metadata.annotations["example.com/release"]', to: oncall }]
`,
  })
  const release = (value: string) =>
    JSON.stringify({
      kind: 'Deployment',
      metadata: { name: 'web', annotations: { 'example.com/release': value, z: value } },
      spec: Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`field${i}`, value])),
    })
  desk.write('old.json', release('41'))
  desk.write('new.json', release('42'))
  const { stdout } = await runHere(desk, 'explain', 'new.json', '--old', 'old.json', '-c', 'release.yaml')
  const changes = stdout.match(/^ {6}\S+ {2}41 → 42$/gm)
  expect(changes?.[0]?.trim()).toBe('metadata.annotations["example.com/release"]  41 → 42')
})
