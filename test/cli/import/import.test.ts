import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { patternsOf } from '../../../src/cli/import/conditions.ts'
import { importFrom, readForeign, recognise, TOOLS } from '../../../src/cli/import/import.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { formatProblems } from '../../../src/config/problem.ts'
import { compilePatterns } from '../../../src/rules/pattern.ts'
import { builtInSinks } from '../../../src/sink-types.ts'

const fileOf = (tool: string) => readFileSync(new URL(`files/${tool}.yaml`, import.meta.url), 'utf8')

function rawOf(text: string) {
  const read = readForeign(text)
  if (!read.ok) throw new Error(read.fault)
  return read.raw
}

for (const tool of TOOLS) {
  test(`a configuration of ${tool} becomes a good one, with comments where something is lost`, async () => {
    const text = importFrom(tool, rawOf(fileOf(tool)))
    await expect(text).toMatchFileSnapshot(`files/${tool}.out.yaml`)
    const loaded = await loadConfig({
      file: 'kubeherald.yaml',
      text,
      env: {},
      readFile() {
        throw Object.assign(new Error(), { code: 'ENOENT' })
      },
      standIn: 'stand-in',
      sinkTypes: builtInSinks,
    })
    const problems = (loaded.ok ? loaded.warnings : loaded.problems).filter(({ absent }) => !absent)
    expect(formatProblems(problems, text)).toBe('')
  })

  test(`a secret of ${tool} is not written`, () => {
    const text = importFrom(tool, rawOf(fileOf(tool)))
    expect(text).not.toMatch(/hunter2|xoxb-1|abcdef|token=secret|xapp/)
  })

  test(`a configuration of ${tool} is recognised`, () => {
    expect(recognise(rawOf(fileOf(tool)))).toBe(tool)
  })
}

test.each([
  ['https://user:hunter2@hooks.example.com/x', true],
  ['https://hooks.example.com/x?key=hunter2', true],
  ['https://hooks.example.com/services/T0001/hunter2hunter2', true],
  ['https://${HOST}/hooks/events', false],
  ['https://hooks.example.com:8443/hooks/events', false],
  ['https://a-long-name-of-a-host-1.example.com', false],
])('a webhook at %s: does an environment variable stand for it? %s', (endpoint, isSecret) => {
  const receivers = [{ name: 'a', webhook: { endpoint } }]
  const text = importFrom('kubernetes-event-exporter', {
    route: { routes: [{ match: [{ receiver: 'a' }] }] },
    receivers,
  })
  expect(text).not.toContain('hunter2')
  expect(text.includes('${env:A_URL}')).toBe(isSecret)
})

const CARRIED = {
  'kubernetes-event-exporter': (options: string) =>
    `route: { match: [{ receiver: a }] }\nreceivers: [{ name: a, ${options} }]`,
  kubewatch: (options: string) => `resource: { pod: true }\nhandler: { ${options} }`,
  botkube: (options: string) => `sources: {}\ncommunications: { g: { ${options} } }`,
}

test.each([
  ['kubewatch', 'webhook: { url: "https://a/b", tlsskip: true }', /# tlsskip was not carried over: cert/],
  ['kubewatch', 'webhook: { url: "https://a/b", cert: /ca.crt }', /ca: "\$\{file:\/ca\.crt\}/],
  ['kubewatch', 'mattermost: { url: "https://a/b", room: ops }', /channel: ops/],
  ['kubewatch', 'mattermost: { url: "https://a/b", username: kube }', /username: kube/],
  ['kubewatch', 'slack: { token: xoxb-1, channel: a, title: Hello }', /# title was not carried over/],
  ['kubernetes-event-exporter', 'webhook: { endpoint: "https://a/b", tls: { caFile: x } }', /# tls was not/],
  ['kubernetes-event-exporter', 'kafka: { sasl: { enable: true, keytab: x } }', /# sasl.keytab was not/],
  ['kubernetes-event-exporter', 'stdout: {}, file: { path: /a }', /# file was not carried over/],
  ['botkube', 'mattermost: { team: T, channels: { c: { name: x } } }', /# team was not carried over/],
] as const)('of %s, { %s } is carried over or named', (tool, options, expected) => {
  expect(importFrom(tool, rawOf(CARRIED[tool](options)))).toMatch(expected)
})

test('a reason why a rule is off is given once', () => {
  const resources = [{ type: 'v1/pods', selector: 'a=b' }]
  const config = { event: { types: ['create'] }, selector: 'a=b', resources }
  const text = importFrom('botkube', {
    sources: { s: { 'botkube/kubernetes': { config } } },
    communications: { g: { webhook: { url: 'https://a/b', bindings: { sources: ['s'] } } } },
  })
  expect(text.match(/# off: "selector"/g)).toHaveLength(1)
})

test('a file that nests too deep is told in one line', () => {
  expect(readForeign('['.repeat(100_000))).toEqual({
    ok: false,
    fault: 'it nests too deep: is a bracket missing?',
  })
})

test('whatever a file holds, what comes out of it is YAML, and no comment ends before its line', () => {
  const hostile = {
    route: { match: [{ receiver: 'a\nrules: []' }], routes: 'no list', drop: { type: 3 } },
    receivers: [{ name: 'a\nrules: []', 'x\ny: {}': {} }, 7, null],
    handler: {
      __proto__: null,
      constructor: { url: 'x' },
      slack: { token: ['x'], channel: '{{ .x }}\nsinks: {}' },
    },
    resource: 'none',
    sources: { a: { 'botkube/kubernetes': { config: { resources: [{ type: '\n' }, 3] } } }, b: [] },
    communications: {
      g: { 'evil\nkey': { channels: { c: { name: '\n- x', bindings: { sources: ['a'] } } } } },
    },
  }
  for (const tool of TOOLS) {
    const read = readForeign(importFrom(tool, hostile))
    expect(read, tool).toMatchObject({ ok: true })
    if (read.ok) expect(Object.keys(read.raw).sort()).toEqual(['rules', 'sinks', 'watch'])
  }
})

test('a ConfigMap around the file is taken off', () => {
  const inner = fileOf('kubewatch')
  const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', data: { '.kubewatch.yaml': inner } })
  expect(rawOf(manifest)).toEqual(rawOf(inner))
})

test('a file that is no YAML is told with its place', () => {
  expect(readForeign('route:\n  - [')).toMatchObject({ ok: false, line: 2 })
  expect(readForeign('')).toEqual({ ok: false, fault: 'the file is empty' })
  expect(readForeign('- a')).toEqual({ ok: false, fault: 'it is no map of keys and values' })
})

test.each([
  ['Failed', ['/Failed/']],
  ['^Failed$', ['Failed']],
  ['Pulled|Created', ['/Pulled|Created/']],
  ['^(Pulled|Created)$', ['Pulled', 'Created']],
  ['^(?:a|b)$', ['a', 'b']],
  ['^a|b$', ['/^a|b$/']],
  ['^(a|)$', ['/^(a|)$/']],
  ['^prod-', ['prod-*']],
  ['^prod-.*$', ['prod-*']],
  ['prod-.*', ['/prod-.*/']],
  ['a.b', ['/a.b/']],
  ['a/b\\/c', ['/a\\/b\\/c/']],
])('%s means here what it meant there: %j', (expression, patterns) => {
  expect(patternsOf(expression)).toEqual(patterns)
  const values = [
    'Failed',
    'FailedMount',
    'Pulled',
    'NotCreated',
    'a',
    'ab',
    'b',
    '',
    'prod-1',
    'x-prod-1',
    'axb',
    'a/b/c',
  ]
  const matches = compilePatterns(patterns)
  if (!matches.ok) throw new Error(JSON.stringify(matches.faults))
  for (const value of values)
    expect([value, matches.value(value)]).toEqual([value, new RegExp(expression).test(value)])
})

test('limits of a file and the compression of Kafka are carried over, or named in a comment', () => {
  const imported = (receiver: string) =>
    importFrom(
      'kubernetes-event-exporter',
      rawOf(`route: { routes: [{ match: [{ receiver: a }] }] }\nreceivers: [{ name: a, ${receiver} }]\n`),
    )
  const file = imported('file: { path: /a.log, maxsize: 20, maxbackups: 3, maxage: 7 }')
  expect(file).toContain('maxSize: 20MB')
  expect(file).toContain('maxFiles: 3')
  expect(file).toContain('# maxage was not carried over')
  const kafka = (codec: string) =>
    imported(`kafka: { brokers: ["k:9092"], topic: t, compressionCodec: ${codec} }`)
  expect(kafka('zstd')).toContain('compression: zstd')
  expect(kafka('snappy')).toContain('# compressionCodec snappy was not carried over')
})
