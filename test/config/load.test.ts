// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readJoined } from '../../src/config/include/joined-document.ts'
import { formatProblems } from '../../src/config/problem.ts'
import { demoStarter, STARTER } from '../../src/config/starter.ts'
import { redactor, secretsOf } from '../../src/config/values/secrets.ts'
import { defineSink } from '../../src/sink/index.ts'
import { leastCpuMs } from '../cpu-time.ts'
import { loadText, messagesOf, withRules } from './load-text.ts'

const FIXTURES = new URL('../fixtures/config/', import.meta.url)
const SECRET = 'hunter2-secret-value'

test.each(readdirSync(FIXTURES).filter((name) => name.endsWith('.yaml')))(
  'acceptance 9: %s is refused with an answer that a stranger can act on',
  async (name) => {
    const text = readFileSync(new URL(name, FIXTURES), 'utf8')
    const loaded = await loadText(text, { file: name, env: { SECRET } })
    if (loaded.ok) throw new Error('it was accepted')
    const answer = formatProblems(loaded.problems, text)
    expect(answer).not.toContain(SECRET)
    await expect(answer).toMatchFileSnapshot(`../golden/config/${name.replace('.yaml', '.txt')}`)
  },
)

const GOOD = `
cluster: prod-eu
kubernetes: { kubeconfig: kube/config, context: prod, maxObjectSize: 128MiB }
redis: { url: "rediss://user:password@redis:6380/1" }
server: { port: "\${env:PORT}" }
watch:
  - Event
  - { kind: Deployment, namespaces: [shop, "pay-*"], initial: emit }
  - { kind: databases.stable.example.com, labels: tier=gold, namespaces: shop }
sinks:
  screen: { type: stdout }
  hook: { type: webhook, url: "https://example.com/\${env:PATH_PART}/\${file:part.txt}" }
rules:
  - name: noise
    when: { namespace: kube-system, type: Normal }
    drop: true
  - name: crash-loops
    when: { kind: Event, type: Warning, reason: [BackOff, OOMKilling], regarding: { kind: Pod } }
    to: [screen, hook]
  - name: rest
    to: hook
`

test('a good configuration is read, with defaults, shorthands and references', async () => {
  const readFile = (path: string) => `${path}\n`
  const loaded = await loadText(GOOD, { env: { PATH_PART: 'abc', PORT: '8080' }, readFile })
  expect(loaded).toMatchObject({
    ok: true,
    warnings: [],
    config: {
      cluster: 'prod-eu',
      kubernetes: { kubeconfig: '/etc/kubeherald/kube/config', context: 'prod', maxObjectSize: 2 ** 27 },
      redis: { url: 'rediss://user:password@redis:6380/1' },
      server: { host: '127.0.0.1', port: 8080 },
      watch: [
        { kind: 'Event' },
        { kind: 'Deployment', namespaces: ['shop', 'pay-*'], initial: 'emit' },
        { labels: 'tier=gold', namespaces: ['shop'] },
      ],
      rules: [{ drop: true }, { to: ['screen', 'hook'] }, { to: ['hook'] }],
    },
  })
  if (!loaded.ok) return
  expect(loaded.config.sinks.map(({ name, type }) => [name, type])).toEqual([
    ['screen', 'stdout'],
    ['hook', 'webhook'],
  ])
  const { url } = loaded.config.sinks[1]!.options as { url: { base: URL } }
  expect(String(url.base)).toBe('https://example.com/abc//etc/kubeherald/part.txt')
})

test('what is left out has defaults', async () => {
  const loaded = await loadText(withRules('  - { name: all, to: screen }'))
  expect(loaded).toMatchObject({
    ok: true,
    config: { kubernetes: {}, redis: {}, server: { host: '127.0.0.1', port: 9464 } },
  })
})

test('the server can be switched off', async () => {
  expect(await loadText(`server: false\n${withRules('  - { name: all, to: screen }')}`)).toMatchObject({
    ok: true,
    config: { server: false },
  })
})

test.each([
  ['redis://localhost', true],
  ['rediss://user:pass@redis.example.com:6380/2', true],
  ['unix:///run/redis.sock', true],
  ['localhost:6379', false],
  ['redis://', false],
  ['unix://redis.sock', false],
  ['http://localhost', false],
])('the Redis URL %s is good: %s', async (url, good) => {
  expect((await loadText(`redis: { url: "${url}" }\n${withRules('  - { name: all, to: screen }')}`)).ok).toBe(
    good,
  )
})

test('anchors, aliases and merge keys work, and problems lie where the text is', async () => {
  const watch = '[Pod]'
  const rules = `  - &base { name: first, when: { kind: Pod, nam: web }, to: screen }
  - <<: *base
    name: second
    when: { kind: Pod }`
  expect(await messagesOf(withRules(rules, watch))).toEqual(['4:45 unknown key "nam"'])
  expect(await loadText(withRules(rules.replace('nam: web', 'name: web')))).toMatchObject({
    ok: true,
    config: { rules: [{}, { name: 'second', when: { kind: 'Pod' }, to: ['screen'] }] },
  })
})

test('keys that begin with x- hold what anchors share', async () => {
  const text = `x-shared:
  team: &team { kind: Pod, labels: team=shop }
${withRules('  - { name: all, when: { <<: *team, name: web }, to: screen }', '[Pod]')}`
  expect(await loadText(text)).toMatchObject({
    ok: true,
    warnings: [],
    config: { rules: [{ when: { kind: 'Pod', labels: 'team=shop', name: 'web' } }] },
  })
  expect(await messagesOf(text.replace('x-shared', 'y-shared'))).toEqual(['1:1 unknown key "y-shared"'])
  expect(await messagesOf(text.replace('all,', 'all, x-note: n,'))).toEqual(['6:18 unknown key "x-note"'])
})

test.each([STARTER, demoStarter('http://127.0.0.1:9')])(
  'the built-in starter configurations are good',
  async (text) => {
    expect(await loadText(text)).toMatchObject({ ok: true, warnings: [] })
  },
)

const talkative = defineSink({
  apiVersion: 1,
  type: 'talkative',
  config: z.strictObject({
    token: z.string().refine((it) => it === 'right', { error: ({ input }) => `is not ${input}` }),
  }),
  open: () => {
    throw new Error('not opened here')
  },
})

test('a sink package that shows values in its messages cannot show what came from outside', async () => {
  const text = `watch: [Pod]\nsinks: { a: { type: talkative, token: "\${env:TOKEN}" } }\nrules: [{ name: r, to: a }]`
  const sinkTypes = { talkative: async () => talkative }
  expect(await messagesOf(text, { env: { TOKEN: SECRET }, sinkTypes })).toEqual(['2:39 "token" is not ***'])
})

test('a part of a value from outside is not quoted where a template with it is faulty', async () => {
  const message = '{ title: "{{ ${env:S} }}", text: "{% if ${env:S} %}", links: { a: "${env:S}/{{ x" } }'
  const found = await messagesOf(withRules(`  - { name: a, message: ${message}, to: screen }`), {
    env: { S: 'hunter2 secret3' },
  })
  expect(found.length).toBeGreaterThan(2)
  expect(found.join()).not.toMatch(/hunter2|secret3/)
})

test('secrets with many backslashes are found in linear time, also where they are escaped', async () => {
  const run = '\\'.repeat(20)
  const hide = redactor([`a${run}b`, `${run}c*d`, 'e\\f'])
  const other = `a${'\\'.repeat(50_000)}x`
  const text = `${other} a${run}${run}b ${run}c\\*d e\\\\f`
  expect(await leastCpuMs(1_000, () => hide(text))).toBeLessThan(1_000)
  expect(hide(text)).toBe(`${other} *** *** ***`)
})

test.each<[string, string, boolean]>([
  ['namespaces of a watch', 'watch: [{ kind: Pod, namespaces: "${env:V}" }]', false],
  ['a condition', 'rules: [{ name: r, when: { namespace: ["${env:V}-a"] }, to: out }]', false],
  ['an expression', 'rules: [{ name: r, if: \'event.name == "${env:V}"\', to: out }]', false],
  ['a sink of a rule', 'rules: [{ name: r, to: ["${env:V}"] }]', false],
  ['a channel', 'rules: [{ name: r, to: { out: { channel: "#${env:V}" } } }]', false],
  ['a channel with a template', 'rules: [{ name: r, to: { out: { channel: "{{ name }}${env:V}" } } }]', true],
  ['another option of a rule for its sink', 'rules: [{ name: r, to: { out: { key: "${env:V}" } } }]', true],
  ['a message', 'rules: [{ name: r, to: out, message: "${env:V}" }]', true],
  ['labels of a rule', 'rules: [{ name: r, to: out, labels: { team: "${env:V}" } }]', true],
  ['a variable', 'vars: { v: "${env:V}" }\nrules: [{ name: r, when: { name: "${var:v}" }, to: out }]', true],
  ['a file', 'watch: [{ kind: Pod, namespaces: "${file:v}" }]', true],
  ['a watch and Redis', 'watch: [{ kind: "${env:V}" }]\nredis: { url: "redis://:${env:V}@h" }', true],
  ['a test', 'watch: [{ kind: "${env:V}" }]\ntests: [{ name: "${env:V}" }]', true],
])('a value of the environment in %s: is it a secret?', (_, text, isSecret) => {
  const source = { env: { V: 'value' }, readFile: () => 'value' }
  const document = readJoined({ file: 'kubeherald.yaml', text, ...source, files: {} as never })
  expect(secretsOf(document)).toEqual(isSecret ? ['value'] : [])
})

test('nor what the file itself says: it may be a password', async () => {
  const text = `watch: [Pod]\nsinks: { a: { type: talkative, token: ${SECRET} } }\nrules: [{ name: r, to: a }]`
  expect(await messagesOf(text, { pluginTypes: { talkative } })).toEqual(['2:39 "token" is not ***'])
})

test('a rule whose name is a map is a problem like any other', async () => {
  const text = withRules('  - { name: { a: b }, to: screen }')
  expect(await messagesOf(text)).toEqual(['4:13 "name" must be text, not a map'])
})

test('what came from outside is shown in no problem, wherever it was used', async () => {
  const text = `cluster: "\${env:S}"
redis: { url: "\${env:S}" }
watch: ["\${env:S}!", { kind: "\${env:S}", namespaces: "\${env:S}!", labels: "\${env:S}!" }]
sinks: { a: { type: "\${env:S}!" } }
rules:
  - { name: "\${env:S}", when: { kind: "\${env:S}x", namespace: "\${env:S}!", name: "/\${env:S}(/", type: "\${env:S}" }, to: "\${env:S}" }
  - { name: "\${env:S}", drop: true }`
  const loaded = await loadText(text, { env: { S: SECRET } })
  if (loaded.ok) throw new Error('it was accepted')
  expect(loaded.problems.length).toBeGreaterThan(8)
  expect(formatProblems(loaded.problems, text)).not.toContain(SECRET)
})

test('lines with passwords are not printed', async () => {
  const sinks = 'sinks: { screen: { type: stdout, token: hunter2 } }'
  const text = `redis: { url: "http://u:hunter2@redis" }\nwatch: [Event]\n${sinks}\nrules: [{ name: all, to: screen }]`
  const loaded = await loadText(text)
  if (loaded.ok) throw new Error('it was accepted')
  expect(loaded.problems.map(({ line }) => line)).toEqual([1, 3])
  expect(formatProblems(loaded.problems, text)).not.toContain('hunter2')
})

test('what a message says to write is accepted', async () => {
  const made = `whsec_${randomBytes(32).toString('base64')}`
  const sink = (timeout: string, secret: string) =>
    `watch: [Pod]\nsinks: { a: { type: webhook, url: "https://foo.com/x", timeout: ${timeout}, secret: "${secret}" } }\nrules: [{ name: r, to: a }]`
  const found = (await messagesOf(sink('10', 'wrong'))).join('\n')
  expect(found).toContain('needs a unit: 10s or 10ms')
  expect(found).toContain('echo "whsec_$(openssl rand -base64 32)"')
  for (const timeout of ['10s', '10ms']) expect(await messagesOf(sink(timeout, made))).toEqual([])
})

test('a sink that no rule names and a watch that no rule uses are warnings', async () => {
  const text = `watch: [Pod, Node]\nsinks: { a: { type: stdout }, b: { type: stdout } }\nrules: [{ name: r, when: { kind: Pod }, to: a }]`
  expect(await messagesOf(text)).toEqual([
    '1:14 no rule sends anything about Node',
    '2:31 no rule sends anything to "b"',
  ])
  expect(await loadText(text)).toMatchObject({
    ok: true,
    warnings: [{ severity: 'warning' }, { severity: 'warning' }],
  })
})

test('warnings are told beside errors, unless they may only follow from one', async () => {
  const text = (rules: string) =>
    `watch: [Pod, Node, Deploymnet]\nsinks: { a: { type: stdout }, b: { type: stdout } }\nrules:\n${rules}`
  expect(await messagesOf(text('  - { name: r, when: { kind: Pod, reason: 5 }, to: a }'))).toEqual([
    '4:43 "reason" must be text or a list, not a number',
    '1:20 no cluster has a built-in kind Deploymnet',
    '1:14 no rule sends anything about Node',
    '1:20 no rule sends anything about Deploymnet',
    '2:31 no rule sends anything to "b"',
  ])
  expect(await messagesOf(text('  - { name: r, when: { kind: 5 }, to: [a, bb] }'))).toEqual([
    '4:30 "kind" must be text or a list, not a number',
    '1:20 no cluster has a built-in kind Deploymnet',
    '4:43 there is no sink "bb"',
  ])
})

test('a watch of what is nearly a built-in kind is a warning: it may be a custom resource', async () => {
  expect(await messagesOf(withRules('  - { name: all, to: screen }', '[Deploymnet]'))).toEqual([
    '1:9 no cluster has a built-in kind Deploymnet',
  ])
})
