import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { PRESET_NAMES } from '../../sinks/webhook/presets/names.ts'
import { CHART, find, ROOT, refusal, renderChart } from './render.ts'

const LIST = parse(readFileSync(join(CHART, 'files/secrets.yaml'), 'utf8')) as {
  fields: Record<string, string[]>
  services: string[]
}
const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/kubeherald.schema.json'), 'utf8')) as Node

interface Node {
  type?: string
  pattern?: string
  enum?: unknown
  const?: unknown
  $ref?: string
  anyOf?: Node[]
  oneOf?: Node[]
  allOf?: Node[]
  items?: Node
  additionalProperties?: Node | boolean
  properties?: Record<string, Node>
  if?: Node
  then?: Node
  definitions?: Record<string, Node>
}

/** Text fields that are no secret. A field that is neither here nor in the chart's list needs a decision. */
const PUBLIC: Readonly<Record<string, string>> = {
  redis:
    'url username tls.ca tls.cert tls.servername sentinel.name sentinel.nodes sentinel.username sentinel.tls.ca sentinel.tls.cert sentinel.tls.servername cluster.nodes',
  server:
    'host port tokens.name tokens.namespaces proxy.userHeader proxy.groupsHeader proxy.actGroups proxy.trust hosts',
  slack:
    'channel allowChannels fallbackChannel groupBy proxy ca apiUrl actions.users actions.channels actions.historyUrl',
  kafka:
    'brokers clientId topic key tls.ca tls.cert tls.servername sasl.username sasl.tokenUrl sasl.clientId sasl.scope sasl.tokenCa',
  // Of headers, names decide.
  webhook:
    'url headers.* auth.basic.username auth.oauth2.tokenUrl auth.oauth2.clientId auth.oauth2.scopes auth.oauth2.audience tls.ca tls.cert tls.servername proxy raw contentType batch.separator batch.before batch.after labels.* username iconUrl channel index site chatId topic room',
  email:
    'host tls.ca tls.cert tls.servername auth.user from to cc replyTo allowTo fallbackTo subject groupBy',
  file: 'path interval maxSize',
  stdout: '',
}
/** Sections without a secret, whatever fields they have. */
const PUBLIC_SECTIONS =
  'include vars defaults cluster kubernetes leases plugins watch enrich rules tests journal history deadLetters notify'

/** Paths of the fields that take free text. */
function textFields(node: Node | boolean | undefined, path: readonly string[] = []): string[] {
  if (typeof node !== 'object') return []
  if (node.$ref !== undefined && node.$ref !== '#/definitions/reference')
    return textFields(SCHEMA.definitions?.[node.$ref.replace('#/definitions/', '')], path)
  const isDuration = node.pattern?.includes('(ms|s|m|h|d)') ?? false
  const isText = node.type === 'string' && node.enum === undefined && node.const === undefined && !isDuration
  const here = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? []), node.items]
  return [
    ...(isText ? [path.join('.')] : []),
    ...here.flatMap((it) => textFields(it, path)),
    ...textFields(node.additionalProperties, [...path, '*']),
    ...Object.entries(node.properties ?? {}).flatMap(([key, it]) => textFields(it, [...path, key])),
  ]
}

function fieldsBySection(): Map<string, string[]> {
  const fields = new Map(
    ['redis', 'server'].map((section) => [section, textFields(SCHEMA.properties?.[section])]),
  )
  const sink = (SCHEMA.properties?.['sinks']?.anyOf?.[0]?.additionalProperties as Node | undefined)
    ?.anyOf?.[0]
  for (const { if: condition, then } of sink?.allOf ?? []) {
    const { type: _t, messages: _m, queue: _q, ...options } = then?.properties ?? {}
    const type = String(condition?.properties?.['type']?.const)
    // Presets have the fields of the webhook sink.
    if (!LIST.services.includes(type)) fields.set(type, [...new Set(textFields({ properties: options }))])
  }
  return fields
}

describe('the chart’s list of secrets', () => {
  const sections = fieldsBySection()

  test.each([...sections])('decides on every text field of %s', (section, fields) => {
    const decided = [...(LIST.fields[section] ?? []), ...(PUBLIC[section] ?? '').split(' ')]
    expect(fields.filter((field) => !decided.includes(field))).toEqual([])
  })

  test.each(Object.entries(LIST.fields))('names no field of %s that there is not', (section, secrets) => {
    expect(secrets.filter((field) => !sections.get(section)?.includes(field))).toEqual([])
  })

  test('knows every section of the configuration', () => {
    const known = ['$schema', 'redis', 'server', 'sinks', ...PUBLIC_SECTIONS.split(' ')]
    expect(Object.keys(SCHEMA.properties ?? {}).filter((it) => !known.includes(it))).toEqual([])
  })
})

const RULES = { watch: ['Event'], rules: [{ name: 'all', to: 'a' }] }
const withSinks = (sinks: object, more: object = {}) => ({
  redis: { url: 'redis://redis:6379' },
  config: { ...RULES, sinks, ...more },
})
const withSink = (sink: object, more: object = {}) => withSinks({ a: sink }, more)
const withRedis = (redis: object, more: object = {}) => ({
  config: { ...RULES, sinks: { a: { type: 'stdout' } }, redis, ...more },
})

/** What a refusal names, in its order. */
const pathsIn = (said: string) => said.slice(0, said.indexOf(': ')).split(', ')

/** A value with something at a path such as `auth.basic.password`. */
function at(path: string, value: unknown): object {
  return path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object
}

function merge(a: any, b: object): object {
  const both = Object.entries(b).map(([key, value]) => [
    key,
    typeof a[key] === 'object' && typeof value === 'object' ? merge(a[key], value) : value,
  ])
  return { ...a, ...Object.fromEntries(both) }
}

/** With something at every secret field: of Redis, or of a sink each. Helm names all paths that it refuses together. */
const REDIS_FIELDS: readonly string[] = LIST.fields['redis'] ?? []
const SINK_FIELDS = Object.entries(LIST.fields).flatMap(([type, fields]) =>
  type === 'redis' || type === 'server'
    ? []
    : fields.map((field, i) => ({ type, field, name: `${type}-${i}` })),
)
const redisWith = (value: unknown) => {
  const fields = REDIS_FIELDS.map((field) => at(field, value))
  return withRedis(fields.reduce(merge, { cluster: { nodes: ['r:6379'] } }))
}
const sinksWith = (value: unknown) =>
  withSinks(
    Object.fromEntries(SINK_FIELDS.map(({ type, field, name }) => [name, { type, ...at(field, value) }])),
  )

test('a literal secret of Redis is refused with its path and the way to a Secret', async () => {
  const said = await refusal(redisWith('literally'))
  expect(pathsIn(said)).toEqual(REDIS_FIELDS.map((field) => `config.redis.${field}`).toSorted())
  expect(said).toContain('redis.existingSecret')
  expect(said).not.toContain('literally')
})

test.each([
  ['the password of Sentinels', { sentinel: { name: 'm', nodes: ['s:26379'], password: 'literally' } }],
  ['the key of a client certificate', { url: 'rediss://r', tls: { key: 'literally' } }],
])('%s, which no value of the chart is for, is to be a file of its own', async (_, redis) => {
  const said = await refusal(withRedis(redis))
  expect(said).toContain('${file:/run/secrets/kubeherald/')
  expect(said).not.toContain('redis.passwordKey')
})

test('secrets of Redis and of a sink are refused with both ways to a Secret', async () => {
  const sinks = { a: { type: 'slack', token: 'literally' } }
  const said = await refusal(withRedis({ url: 'redis://r', password: 'literally' }, { sinks }))
  expect(said).toContain('redis.passwordKey')
  expect(said).toContain('${file:/run/secrets/kubeherald/')
})

test('a literal secret of a sink is refused with its path and the way to a Secret', async () => {
  const said = await refusal(sinksWith('literally'))
  expect(pathsIn(said)).toEqual(
    SINK_FIELDS.map(({ name, field }) => `config.sinks.${name}.${field}`).toSorted(),
  )
  expect(said).toContain('${file:/run/secrets/kubeherald/')
  expect(said).not.toContain('literally')
})

test('a literal token of the API is refused with its path', async () => {
  const server = (token: string) => ({
    config: { ...RULES, sinks: { a: { type: 'stdout' } }, server: { tokens: [{ name: 'ci', token }] } },
    redis: { url: 'redis://redis:6379' },
  })
  const said = await refusal(server('literally-this'))
  expect(pathsIn(said)).toEqual(['config.server.tokens[0].token'])
  await renderChart(server('${env:API_TOKEN}'))
})

test.each(['${file:/run/secrets/kubeherald/x}', 'a${env:X}'])(
  'a reference such as %s is taken',
  async (value) => {
    await renderChart(redisWith(value))
    await renderChart(sinksWith(value))
  },
)

const WEBHOOK = { type: 'webhook', url: 'https://audit.example.com/hook' }
const HEX = '0123456789abcdef0123456789abcdef'

/** Options of sinks, by what they are: each is one of a sink of its own. */
const OPTIONS: readonly [what: string, sink: object, path: string][] = [
  ['a variable that is a map', { ...WEBHOOK, auth: '${var:auth}' }, 'auth.bearer'],
  ['one of several', { ...WEBHOOK, secret: ['${env:NEW}', 'old'] }, 'secret[1]'],
  [
    'a header',
    { ...WEBHOOK, headers: { Authorization: 'Bearer x', 'x-team': 'shop' } },
    'headers.Authorization',
  ],
  ['a key in a header', { ...WEBHOOK, headers: { 'X-Api-Key': 'x' } }, 'headers.X-Api-Key'],
  [
    'a header of a list',
    { type: 'acme', headers: [{ name: 'authorization', value: 'x' }] },
    'headers[0].value',
  ],
  ['an option of a plug-in', { type: 'acme', auth: { apiKey: 'x' } }, 'auth.apiKey'],
  ['a part of a body', { ...WEBHOOK, body: { token: 'x' } }, 'body.token'],
  ...['teams', 'discord', 'google-chat', 'mattermost'].map((preset): [string, object, string] => [
    `the URL of a chat, ${preset}`,
    { ...WEBHOOK, preset },
    'url',
  ]),
  [
    'the URL of a chat without a preset',
    { type: 'webhook', url: `https://hooks.slack.com/services/T0/B0/${HEX}` },
    'url',
  ],
  ['a user in a URL', { type: 'webhook', url: `https://${HEX}@in.example.com/` }, 'url'],
  ['a key in a query', { type: 'webhook', url: `https://a.example.com/?sig=${HEX}` }, 'url'],
  ['a proxy’s password', { ...WEBHOOK, proxy: 'http://u:p@proxy:3128' }, 'proxy'],
]

describe('an option of a sink is refused with its path when it is', () => {
  let paths: string[]
  beforeAll(async () => {
    const sinks = Object.fromEntries(OPTIONS.map(([, sink], i) => [`s${i}`, sink]))
    const said = await refusal(withSinks(sinks, { vars: { auth: { bearer: 'literally' } } }))
    paths = pathsIn(said)
  })

  test.each(OPTIONS.map(([what, , path], i) => [what, `config.sinks.s${i}.${path}`]))('%s', (_, path) => {
    expect(paths).toContain(path)
  })

  test('and no other is', () => {
    expect(paths).toHaveLength(OPTIONS.length)
  })
})

test.each<[name: string, values: object, path: string]>([
  ['a number', withRedis({ url: 'redis://r', password: 123456 }), 'config.redis.password'],
  ['an escaped reference', withRedis({ url: 'redis://r', password: '$${env:X}' }), 'config.redis.password'],
  ['a password in the URL', withRedis({ url: 'redis://:pass@r:6379' }), 'config.redis.url'],
  ['one beside a reference', withRedis({ url: 'redis://${env:U}:pass@r:6379' }), 'config.redis.url'],
  ['one in the value redis.url', { redis: { url: 'rediss://herald:p@ss@redis:6379' } }, 'redis.url'],
  [
    'a variable of the file',
    withRedis({ url: 'redis://r', password: '${var:pw}' }, { vars: { pw: 'literally' } }),
    'config.redis.password',
  ],
  [
    'a variable within a text',
    withRedis({ url: 'redis://:${var:pw}@r' }, { vars: { pw: 'literally' } }),
    'config.redis.url',
  ],
  [
    'a token of Slack in a section of one’s own',
    withSink({ type: 'stdout' }, { 'x-shared': { slack: 'xoxb-1-2' } }),
    'config.x-shared.slack',
  ],
  [
    'a variable of containers',
    { redis: { url: 'redis://r' }, extraEnv: [{ name: 'SLACK_TOKEN', value: 'x' }] },
    'extraEnv.SLACK_TOKEN',
  ],
  [
    'a password in a variable of containers',
    { redis: { url: 'redis://r' }, extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://u:p@proxy' }] },
    'extraEnv.HTTPS_PROXY',
  ],
  [
    'a header of OpenTelemetry',
    {
      redis: { url: 'redis://r' },
      extraEnv: [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', value: `api-key=${HEX}` }],
    },
    'extraEnv.OTEL_EXPORTER_OTLP_HEADERS',
  ],
  ['an argument', { redis: { url: 'redis://r' }, extraArgs: ['--token', 'xoxb-1-2'] }, 'extraArgs[1]'],
])('%s that is a secret is refused with its path', async (_, values, path) => {
  expect(await refusal(values)).toContain(`${path}:`)
})

test('all that are written out are named together', async () => {
  const said = await refusal(
    withSink({ type: 'kafka', sasl: { username: 'u', password: 'one', token: 'two' } }),
  )
  expect(said).toContain('config.sinks.a.sasl.password, config.sinks.a.sasl.token:')
})

test('what is no secret is rendered as it is', async () => {
  const sinks = {
    kafka: {
      type: 'kafka',
      brokers: ['k:9092'],
      topic: 't',
      key: '{{ uid }}',
      sasl: { username: 'u', password: '${env:P}' },
    },
    hook: {
      ...WEBHOOK,
      url: 'https://audit.example.com/{{ namespace }}?name={{ name }}&key={{ uid }}',
      headers: {
        'x-team': 'shop',
        Authorization: 'Bearer ${file:/run/secrets/kubeherald/audit}',
        'x-api-key': '${env:K}',
      },
      body: { token: '{{ uid }}', text: '{{ title }}', dedup_key: 'abc' },
      messages: { fields: { Secret: '{{ name }}', Token: 'of a Node' } },
    },
    alerts: {
      type: 'webhook',
      preset: 'alertmanager',
      url: 'http://am:9093/api/v2/alerts',
      labels: { token: 'none' },
    },
    pager: { type: 'webhook', preset: 'pagerduty', routingKey: '${var:pager}' },
    chat: { type: 'webhook', preset: 'teams', url: '${env:TEAMS_URL}' },
    acme: {
      type: 'acme',
      maxTokens: 5,
      credentials: '/run/secrets/acme.json',
      secretName: 'x',
      password: true,
    },
  }
  const rules = [
    {
      name: 'a',
      when: { kind: 'Secret', message: ['basic authentication failed', 'token expired'] },
      to: 'kafka',
    },
  ]
  const config = {
    ...RULES,
    rules,
    sinks,
    redis: { url: 'redis://:${env:X}@redis:6379' },
    vars: { pager: '${env:PAGER}' },
  }
  const extraEnv = [
    { name: 'SLACK_TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    { name: 'COPY_TOKEN', value: '$(SLACK_TOKEN)' },
    { name: 'TOKEN_FILE', value: 'x' },
    { name: 'HTTPS_PROXY', value: 'http://proxy:3128' },
  ]
  const manifests = await renderChart({ config, extraEnv })
  const rendered = parse(find(manifests, 'ConfigMap', 'herald-kubeherald')['data']['kubeherald.yaml'])
  expect(rendered).toMatchObject(config)
})

test('the chart knows each preset, as a type with the secrets of the webhook sink', async () => {
  expect(LIST.services.toSorted()).toEqual(PRESET_NAMES.toSorted())
  expect(pathsIn(await refusal(withSink({ type: 'telegram', token: '123:abc', chatId: 1 })))).toEqual([
    'config.sinks.a.token',
  ])
  const url = 'https://chat.example.com/hooks/abc'
  expect(pathsIn(await refusal(withSink({ type: 'rocket-chat', url })))).toEqual(['config.sinks.a.url'])
})
