import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { patternsOf } from '../../../src/cli/import/conditions.ts'
import { liquidOf, severityOf } from '../../../src/cli/import/go-template.ts'
import { convert, importText, TOOLS, type ToolName } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'
import { UsageError } from '../../../src/cli/usage-error.ts'
import { compilePatterns } from '../../../src/rules/pattern.ts'
import { compileTemplate } from '../../../src/sink/index.ts'

const imported = (text: string, tool?: ToolName) => toYaml(importText(text, 'it.yaml', tool))

test('the example of the documentation', async () => {
  const page = readFileSync(new URL('../../../docs/import.md', import.meta.url), 'utf8')
  const [, source = '', result = ''] = [...page.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, block]) => block)
  expect((await convert(source, 'it.yaml')).text).toBe(result)
})

const PLAIN = {
  'kubernetes-event-exporter': {
    route: { match: [{ receiver: 'a' }] },
    receivers: [{ name: 'a', stdout: {} }],
  },
  kubewatch: { handler: { webhook: { url: 'https://a/b' } }, resource: { pod: true } },
  botkube: {
    sources: {
      s: {
        'botkube/kubernetes': {
          enabled: true,
          config: { event: { types: ['delete'] }, resources: [{ type: 'v1/pods' }] },
        },
      },
    },
    communications: { g: { webhook: { enabled: true, url: 'https://a/b', bindings: { sources: ['s'] } } } },
  },
}
const metadata = { name: 'it', annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } }
const configMap = (config: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata,
  data: { 'a.yaml': stringify(config) },
})
const base64 = (config: object) => Buffer.from(stringify(config)).toString('base64')

/** The forms in which configurations come, for any tool. */
const FORMS: Readonly<Record<string, (config: object) => object[]>> = {
  plain: (config) => [config],
  'nested in Helm values': (config) => [{ image: { tag: 1 }, events: { config } }],
  'a text in Helm values': (config) => [{ image: { tag: 1 }, config: stringify(config) }],
  'in a ConfigMap': (config) => [configMap(config)],
  'in a Secret': (config) => [{ apiVersion: 'v1', kind: 'Secret', data: { 'a.yaml': base64(config) } }],
  'in a Secret as text': (config) => [
    { apiVersion: 'v1', kind: 'Secret', stringData: { a: stringify(config) } },
  ],
  'in a List': (config) => [
    { apiVersion: 'v1', kind: 'List', items: [configMap({ a: 1 }), configMap(config)] },
  ],
  'in a HelmRelease': (config) => [{ apiVersion: 'a/v2', kind: 'HelmRelease', spec: { values: { config } } }],
  'in an Application': (config) => [
    {
      apiVersion: 'a/v1',
      kind: 'Application',
      spec: { source: { helm: { values: stringify({ config }) } } },
    },
  ],
  'between other manifests': (config) => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } },
    configMap(config),
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'b' } },
  ],
  'in two ConfigMaps': (config) => Object.entries(config).map(([key, it]) => configMap({ [key]: it })),
}

test.each(TOOLS.flatMap((tool) => Object.keys(FORMS).map((form) => [tool, form] as const)))(
  'a configuration of %s is found %s',
  (tool, form) => {
    const documents = FORMS[form]?.(PLAIN[tool]) ?? []
    const text = imported(documents.map((it) => stringify(it)).join('---\n'))
    expect(parse(text)).toEqual(parse(imported(stringify(PLAIN[tool]), tool)))
  },
)

test('keys and manifests around a configuration are named', () => {
  const named = (form: string) =>
    imported((FORMS[form]?.(PLAIN.kubewatch) ?? []).map((it) => stringify(it)).join('---\n'))
  expect(named('nested in Helm values')).toMatch(/# {2,}image\.tag\n|# {2,}image\n/)
  expect(named('nested in Helm values')).toContain('# Read from events.config.')
  expect(named('between other manifests')).toMatch(/# +Namespace a, Deployment b\n/)
  expect(named('in a ConfigMap')).toContain('# Read from ConfigMap it, data["a.yaml"].')
  expect(named('in a ConfigMap')).not.toContain('Left out')
})

test('values of the chart of kubewatch are a configuration of it; only handlers that are enabled count', () => {
  const text = imported(
    stringify({
      slack: { enabled: false, token: 'x' },
      webhook: { enabled: true, url: 'https://a/b' },
      resourcesToWatch: { pod: true },
    }),
  )
  expect(parse(text)).toMatchObject({ watch: ['Pod'], rules: [{ to: ['webhook'] }] })
})

test('values of the chart of kubewatch that do not say whether Slack is enabled enable it, as the chart does', () => {
  const text = imported(stringify({ slack: { token: 'x', channel: 'a' }, resourcesToWatch: { pod: true } }))
  expect(parse(text)).toMatchObject({ sinks: { slack: { type: 'slack' } }, rules: [{ to: ['slack'] }] })
})

const MISTAKES: readonly (readonly [text: string, tool: ToolName | undefined, message: string])[] = [
  ['', undefined, 'it.yaml is not a map of keys and values'],
  ['- a', undefined, 'it.yaml is not a configuration of '],
  ['a: 1', 'kubewatch', 'it.yaml is not a configuration of kubewatch: '],
  ['['.repeat(100_000), undefined, 'it.yaml: it nests too deep'],
  ['route:\n  - [', undefined, 'it.yaml:2:6: '],
  ['a: 1\na: 2', undefined, 'it.yaml:2:1: '],
  ['data:\n  {{- if .Values.a }}\n  a: b\n', undefined, '"helm template"'],
  [
    stringify({ ...configMap({}), data: { 'config.yaml': 'a: [\nb' } }),
    undefined,
    'it.yaml:8, in data["config.yaml"]:2:1: ',
  ],
  [stringify({ config: { route: {}, receivers: 5 } }), undefined, 'it.yaml:3:14: "receivers" must be a list'],
  [stringify({ a: PLAIN.kubewatch, b: PLAIN.botkube }), undefined, 'configurations of kubewatch and botkube'],
  [stringify(PLAIN.kubewatch), 'botkube', 'it looks like one of kubewatch'],
  [
    'route: { receiver: a }\nreceivers: [{ name: a, slack_configs: [] }]',
    undefined,
    'is not a configuration of',
  ],
  ['communications: { slack: { enabled: true } }\nresources: []', 'botkube', 'Botkube 0.12'],
]

test.each(MISTAKES.map(([text, tool, message]) => ({ text, tool, message })))(
  'a mistake of the user: $message',
  ({ text, tool, message }) => {
    const read = () => importText(text, 'it.yaml', tool)
    expect(read).toThrow(UsageError)
    expect(read).toThrow(message)
  },
)

test.each([
  ['https://user:hunter2@hooks.example.com/x', true],
  ['https://hooks.example.com/x?key=hunter2', true],
  ['https://hooks.example.com/services/T0001/hunter2hunter2', true],
  ['https://${HOST}/hooks/events', false],
  ['https://hooks.example.com:8443/hooks/events', false],
  ['https://a-long-name-of-a-host-1.example.com', false],
])('a webhook at %s: does an environment variable replace it? %s', (endpoint, isSecret) => {
  const receivers = [{ name: 'a', webhook: { endpoint } }]
  const text = imported(stringify({ route: { routes: [{ match: [{ receiver: 'a' }] }] }, receivers }))
  expect(text).not.toContain('hunter2')
  expect(text.includes('${env:A_URL}')).toBe(isSecret)
})

const OPTIONS = {
  'kubernetes-event-exporter': (options: string) =>
    `route: { match: [{ receiver: a }] }\nreceivers: [{ name: a, ${options} }]`,
  kubewatch: (options: string) => `resource: { pod: true }\nhandler: { ${options} }`,
  botkube: (options: string) => `sources: {}\ncommunications: { g: { ${options} } }`,
}

test.each([
  ['kubewatch', 'webhook: { url: "https://a/b", tlsskip: true }', /# +not carried over: tlsskip: cert/],
  ['kubewatch', 'webhook: { url: "https://a/b", cert: /ca.crt }', /ca: "\$\{file:\/ca\.crt\}/],
  ['kubewatch', 'webhook: { url: "http://a/b", cert: /ca.crt }', /# +not carried over: cert: /],
  [
    'kubewatch',
    'mattermost: { url: "https://a/b", channel: ops, username: kube }',
    /channel: ops\n +username: kube/,
  ],
  [
    'kubewatch',
    'slack: { token: xoxb-1, channel: a, title: Hello }',
    /title: "Hello: \{\{ message\.title \}\}"/,
  ],
  ['kubewatch', 'hipchat: { room: r, token: x }', /# +off: .+"hipchat", which had room, token/],
  ['kubewatch', 'lark: { webhookurl: "https://a/b" }', /type: lark/],
  [
    'kubewatch',
    'smtp: { to: "a@b.example, c@d.example", from: k@b.example, smarthost: "mail:465", auth: { username: u, password: p }, subject: Hi }',
    /type: email\n +host: mail\n +port: 465\n +tls: implicit\n +auth: \{ user: u, password: "?\$\{env:SMTP_PASSWORD\}/,
  ],
  ['kubewatch', 'discord: { webhookurl: "https://a/b" }', /preset: discord/],
  ['kubewatch', 'webex: { room: r }, webhook: { url: "https://a/b" }', /# +off: .+"webex", which had room/],
  [
    'kubernetes-event-exporter',
    'elasticsearch: { hosts: ["https://a"], apiKey: x, indexFormat: "e-{2006.01}" }',
    /Authorization: "?ApiKey \$\{env:A_KEY\}(.|\n)+index: .e-\{\{ time \| date: "%Y\.%m" \}\}/,
  ],
  [
    'kubernetes-event-exporter',
    'opensearch: { hosts: ["https://a", "https://b"] }',
    /# +not carried over: hosts https:\/\/b/,
  ],
  [
    'kubernetes-event-exporter',
    'loki: { url: "http://a/loki/api/v1/push", streamLabels: { app: events, kind: "{{ .Type }}" } }',
    /# +not carried over: streamLabels\.kind(.|\n)+labels: \{ app: events \}/,
  ],
  [
    'kubernetes-event-exporter',
    'elasticsearch: { hosts: ["https://a"], indexFormat: "e-{06-01-02}-{20060102.15-04-05}-{2006.002}" }',
    /index: .e-\{\{ time \| date: "%y-%m-%d" \}\}-\{\{ time \| date: "%Y%m%d\.%H-%M-%S" \}\}-\{\{ time \| date: "%Y\.%j" \}\}/,
  ],
  // Of a format with other elements the index would have their letters.
  [
    'kubernetes-event-exporter',
    'elasticsearch: { hosts: ["https://a"], indexFormat: "e-{2006-Jan-2}" }',
    /# +not carried over: indexFormat e-\{2006-Jan-2\}((?!index:)(.|\n))+$/,
  ],
  [
    'kubernetes-event-exporter',
    'opsgenie: { apiKey: x, priority: P1, message: "{{ .Reason }}" }',
    /# +not carried over: priority(.|\n)+title: "\{\{ event\.reason \}\}"/,
  ],
  [
    'kubernetes-event-exporter',
    'webhook: { endpoint: "https://a/b", tls: { caFile: x } }',
    /ca: "\$\{file:x\}/,
  ],
  ['kubernetes-event-exporter', 'webhook: { endpoint: "https://a/b" }', /body: "\{\{ object \| as_is \}\}"/],
  [
    'kubernetes-event-exporter',
    'webhook: { endpoint: "https://a/b", tls: { insecureSkipVerify: true } }',
    /# +not carried over: tls\.insecureSkipVerify: cert/,
  ],
  [
    'kubernetes-event-exporter',
    'kafka: { sasl: { enable: true, keytab: x } }',
    /# +not carried over: sasl\.keytab/,
  ],
  [
    'kubernetes-event-exporter',
    'kafka: { clientId: me, compressionCodec: lz4 }',
    /clientId: me\n(.+\n)+ +format: object\n +compression: lz4/,
  ],
  [
    'kubernetes-event-exporter',
    'kafka: { compressionCodec: snappy }',
    /# +not carried over: compressionCodec snappy/,
  ],
  [
    'kubernetes-event-exporter',
    'kafka: { tls: { enable: true, insecureSkipVerify: true } }',
    /tls: \{ insecureSkipVerify: true \}/,
  ],
  [
    'kubernetes-event-exporter',
    'stdout: { deDot: true }, file: { path: /a }',
    /# +not carried over: the receiver's second type, stdout/,
  ],
  [
    'kubernetes-event-exporter',
    'file: { path: /a.log, maxsize: 20, maxbackups: 3, maxage: 7 }',
    /# +not carried over: maxage: (.+\n)+.+\n +maxSize: 20MB\n +maxFiles: 3/,
  ],
  ['kubernetes-event-exporter', 'file: { path: /dev/stdout }', /type: stdout/],
  ['kubernetes-event-exporter', 'slack: { token: x, channel: a, color: "#ff9900" }', /severity: warning/],
  [
    'kubernetes-event-exporter',
    'slack: { token: x, channel: "{{ .Namespace }}" }',
    /# +off: the channel is a template/,
  ],
  [
    'kubernetes-event-exporter',
    'syslog: { network: tcp, address: x }',
    /# +off: .+"syslog", which had network, address/,
  ],
  [
    'botkube',
    'mattermost: { enabled: true, team: T, channels: { c: { name: x } } }',
    /# +not carried over: team/,
  ],
] as const)('of %s, { %s } is carried over or named', (tool, options, expected) => {
  expect(imported(OPTIONS[tool](options), tool)).toMatch(expected)
})

test('a sink that kubeherald rejects is disabled with its rules, whatever is wrong with it', async () => {
  const kafka = { name: 'a', kafka: { brokers: ['no port'], topic: 't' } }
  const file = { name: 'b', file: { path: '/b' } }
  const route = { match: [{ receiver: 'a' }, { receiver: 'b' }] }
  const { text, losses, problems } = await convert(stringify({ route, receivers: [kafka, file] }), 'it.yaml')
  expect([losses, problems]).toEqual([{ settings: 0, rules: 0, sinks: 1 }, []])
  expect(parse(text)).toMatchObject({ sinks: { b: {} }, rules: [{ to: ['b'] }] })
  expect(text).toMatch(/# +off: kubeherald rejects it: /)
})

test('the text `${…}` of a source means an environment variable, never a file', () => {
  const match = [{ reason: '${REASON}', namespace: '${file:/etc/passwd}', receiver: 'a' }]
  const text = imported(stringify({ ...PLAIN['kubernetes-event-exporter'], route: { match } }))
  expect(text).toContain('reason: /${env:REASON}/')
  expect(text).toContain('$${file:')
})

test('whatever a file holds, what comes out of it is valid, and no comment ends before its line', async () => {
  const hostile = {
    route: { match: [{ receiver: 'a\nrules: []' }], routes: 'no list', drop: { type: 3 } },
    receivers: [{ name: 'a\nrules: []', 'x\ny: {}': {} }, 7, null],
    clusterName: '/prod eu/',
    namespace: '{{ x }}',
    settings: { clusterName: '-' },
    customresources: [{ resource: 'a b', group: '\n' }, 3],
    handler: { constructor: { url: 'x' }, slack: { token: ['x'], channel: '{{ .x }}\nsinks: {}' } },
    resource: { pod: true, 'a\nb': true, __proto__: { pod: true } },
    sources: {
      a: { 'botkube/kubernetes': { enabled: true, config: { resources: [{ type: '\n' }, 3] } } },
      b: [],
    },
    communications: {
      g: { 'evil\nkey': { enabled: true, channels: { c: { name: '\n- x', bindings: { sources: ['a'] } } } } },
    },
  }
  for (const tool of TOOLS) {
    const { text, problems } = await convert(stringify(hostile), 'it.yaml', tool)
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
    const cluster = tool === 'kubernetes-event-exporter' ? ['cluster'] : []
    expect(Object.keys(parse(text)).sort()).toEqual([...cluster, 'rules', 'sinks', 'watch'])
  }
})

test.each([
  ['{{ .Reason }}: {{.Message}}', '{{ event.reason }}: {{ event.message }}'],
  ['{{- .InvolvedObject.Name -}}', '{{- about.name -}}'],
  ['{{ .Message | trunc 80 | upper }}', '{{ event.message | truncate: 80, "" | upcase }}'],
  ['{{ toJson .Source.Host }}', '{{ object.source.host | json }}'],
  ['{{ default "none" .Namespace }}', '{{ namespace | default: "none" }}'],
  ['{{ .LastTimestamp.Format "2006-01-02T15:04:05Z07:00" }}', '{{ event.lastSeen }}'],
  ['{{ .GetTimestampMs }}', '{{ event.firstSeen | date: "%s" | append: "000" }}'],
  [
    '{{ if eq .Type "Warning" }}a{{ else if ne .Reason "x" }}b{{ else }}c{{ end }}',
    '{% if event.eventType == "Warning" %}a{% elsif event.reason != "x" %}b{% else %}c{% endif %}',
  ],
  ['{{ if not .Namespace }}a{{ end }}', '{% if namespace == nil or namespace == "" %}a{% endif %}'],
  ['{{ range .Labels }}x{{ end }}', undefined],
  ['{{ .InvolvedObject.Labels.owner }}', '{{ event.regarding.labels.owner }}'],
  ['{{ index .InvolvedObject.Annotations "a/b" }}', '{{ event.regarding.annotations["a/b"] }}'],
  ['{{ toJson .InvolvedObject.Labels }}', undefined],
  ['{{ .Reason | trunc }}', undefined],
  ['{{ end }}', undefined],
  ['{{ if .Reason }}', undefined],
  ['{% raw %}', undefined],
  ['{{ .constructor }}', undefined],
])('the Go template %j becomes the valid Liquid template %j', (template, liquid) => {
  expect(liquidOf(template)).toBe(liquid)
  if (liquid !== undefined) expect(compileTemplate(liquid).ok).toBe(true)
})

test.each([
  ['danger', 'error'],
  ['good', 'info'],
  ['#FF0000', 'error'],
  ['#ffa500', 'warning'],
  ['#36a64f', 'info'],
  [
    '{{ if eq .Type "Normal" }}good{{ else }}#ff0000{{ end }}',
    '{% if event.eventType == "Normal" %}info{% else %}error{% endif %}',
  ],
  ['{{ .Reason }}', undefined],
  ['mauve', undefined],
])('the colour %s is the severity %s', (colour, severity) => {
  expect(severityOf(colour)).toBe(severity)
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

test.each(['COMPUTED VALUES', 'USER-SUPPLIED VALUES'])(
  'the title %s that Helm prints above values is no setting',
  (title) => {
    const values = stringify({
      resourcesToWatch: { pod: true, deployment: false },
      webhook: { enabled: true, url: 'https://a/b' },
    })
    expect(imported(`${title}:\n${values}`, 'kubewatch')).toBe(imported(values, 'kubewatch'))
  },
)

test('values that have the defaults of the chart of kubewatch are not said to lack them', () => {
  const values = (resourcesToWatch: object) => imported(stringify({ resourcesToWatch }), 'kubewatch')
  expect(values({ pod: true, deployment: true, event: true, job: false })).not.toContain('get values')
  expect(values({ job: true })).toContain('get values')
})
