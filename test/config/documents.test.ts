import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EmailConfig, EmailRoute } from '../../sinks/email/config.ts'
import { FileConfig } from '../../sinks/file/index.ts'
import { KafkaConfig, KafkaRoute } from '../../sinks/kafka/config.ts'
import { Options, SlackRoute } from '../../sinks/slack/config.ts'
import { StdoutConfig } from '../../sinks/stdout/index.ts'
import { WebhookConfig } from '../../sinks/webhook/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { Notify } from '../../src/config/schema/notify.ts'
import { DeadLetters, QueueSettings } from '../../src/config/schema/queue.ts'
import { Redis } from '../../src/config/schema/redis.ts'
import { Server } from '../../src/config/schema/server.ts'
import { ConfigFile, RuleWithMessage } from '../../src/config/schema.ts'
import { MessageParts } from '../../src/render/message-schema.ts'
import { LimitKeysShape } from '../../src/rules/limits/schema.ts'
import { Regarding, When } from '../../src/rules/when.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { Journal } from '../../src/store/commit/journal-schema.ts'
import { EnrichSettings, LeaseSettings, WatchEntry } from '../../src/watch/schema.ts'

const ROOT = new URL('../../', import.meta.url)
const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`

const SLACK_TOKEN = 'xoxb-1111111111-fake-token-abcdef'

function examplesIn(file: string): string[] {
  return [...readFileSync(new URL(file, ROOT), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, yaml = '']) => yaml,
  )
}

function load(text: string) {
  const env = {
    AUDIT_SECRET: SECRET,
    PAGERDUTY_KEY: 'key',
    SLACK_TOKEN,
    PING_KEY: 'key',
    AUDIT_SECRET_OLD: SECRET,
    REDIS_PASSWORD: 'x',
    PORT: '9464',
    DASHBOARD_TOKEN: 'x'.repeat(32),
    ONCALL_TOKEN: 'y'.repeat(32),
  }
  return loadConfig({
    file: 'kubeherald.yaml',
    text,
    env,
    readFile: (path) => (path.includes('slack') ? SLACK_TOKEN : 'token'),
    sinkTypes: builtInSinks,
  })
}

test.each(examplesIn('README.md'))(
  'the README shows a good configuration, without a warning: %j',
  async (example) => {
    expect(await load(example)).toMatchObject({ ok: true, warnings: [] })
  },
)

test.each(['sinks/webhook/README.md', 'sinks/stdout/README.md'])(
  'the example of %s is good',
  async (file) => {
    const [sinks = ''] = examplesIn(file)
    const name = /^ {2}(\w+):/m.exec(sinks)?.[1]
    expect(await load(`watch: [Pod]\n${sinks}rules: [{ name: all, to: [${name}] }]\n`)).toMatchObject({
      ok: true,
      warnings: [],
    })
  },
)

/** What a part of a configuration needs beside it. */
const REST = {
  watch: '[Event, Deployment, databases.stable.example.com]',
  sinks: '{ screen: { type: stdout }, audit: { type: webhook, url: "https://audit.example.com" } }',
  rules: '[{ name: rest, to: [screen, audit] }]',
}

function completed(yaml: string): string {
  const missing = Object.entries(REST).filter(([key]) => !new RegExp(`^${key}:`, 'm').test(yaml))
  return yaml + missing.map(([key, value]) => `${key}: ${value}\n`).join('')
}

const REFERENCE = 'docs/configuration.md'
const reference = readFileSync(new URL(REFERENCE, ROOT), 'utf8')

test.each(examplesIn(REFERENCE).map((yaml) => [yaml.split('\n')[0], yaml] as const))(
  'the example of the reference that begins with %j is good, without a warning',
  async (_, yaml) => {
    const loaded = await load(completed(yaml))
    expect(loaded.ok ? loaded.warnings : loaded.problems).toEqual([])
  },
)

const { shape } = ConfigFile

test.each([
  ['# Configuration', 'key', ConfigFile],
  ['## `kubernetes`', 'key', shape.kubernetes.unwrap()],
  ['## `redis`', 'key', Redis],
  ['## `leases`', 'key', LeaseSettings],
  ['## `deadLetters`', 'key', DeadLetters],
  ['## `notify`', 'key', Notify],
  ['## `journal`', 'key', Journal],
  ['## `server`', 'key', Server],
  ['## `watch`', 'key', WatchEntry],
  ['## `enrich`', 'key', EnrichSettings],
  ['### Queues', 'key of `queue`', QueueSettings],
  ['## `rules`', 'key', RuleWithMessage],
  ['## `rules`', 'condition', When],
  ['## Limits', 'key', { shape: LimitKeysShape }],
  ['## Messages', 'part', MessageParts],
])('%s: the reference has a row for every %s', (heading, header, { shape }) => {
  const names = namesIn(rowsOf(heading, header).map(([first = '']) => first))
  expect(Object.keys(shape).filter((key) => !names.has(key))).toEqual([])
})

test('the reference names every key of regarding in its row', () => {
  const row = rowsOf('## `rules`', 'condition').find(([first]) => first === '`regarding`')
  const names = namesIn(row?.slice(1) ?? [])
  expect(Object.keys(Regarding.shape).filter((key) => !names.has(key))).toEqual([])
})

test.each([
  ['email', EmailConfig.in],
  ['file', FileConfig],
  ['kafka', KafkaConfig],
  ['slack', Options],
  ['stdout', StdoutConfig],
  ['webhook', WebhookConfig],
])('the reference has a row for every option of %s', (type, { shape }) => {
  let current = ''
  const options = rowsOf('## `sinks`', 'type').flatMap(([first = '', option = '']) => {
    current = first || current
    return current === `\`${type}\`` ? [option] : []
  })
  const names = namesIn(options)
  expect(Object.keys(shape).filter((key) => !names.has(key))).toEqual([])
})

test.each([
  ['email', EmailRoute],
  ['kafka', KafkaRoute],
  ['slack', SlackRoute],
])('the reference names every option that %s takes in a rule', (type, { shape }) => {
  const [, sentence = ''] = /^(A sink's type may take options in a rule[\s\S]*?)\.$/m.exec(reference) ?? []
  const options = sentence.split(/(?=`\w+`\s+takes)/).filter((part) => part.startsWith(`\`${type}\``))
  const names = namesIn(options)
  expect(Object.keys(shape).filter((key) => !names.has(key))).toEqual([])
})

/** Returns the cells of the rows of the table below a heading whose first column has this title. */
function rowsOf(heading: string, title: string): string[][] {
  const lines = reference.split('\n')
  const begin = lines.indexOf(heading)
  if (begin < 0) throw new Error(`${REFERENCE} has no heading ${heading}`)
  const length = lines.slice(begin + 1).findIndex((line) => /^#+ [^#]/.test(line))
  const section = lines.slice(begin, length < 0 ? undefined : begin + 1 + length)
  const head = section.findIndex((line) => line.startsWith(`| ${title} |`))
  if (head < 0) throw new Error(`${heading} has no table of ${title}`)
  const rows = section.slice(head + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end < 0 ? undefined : end).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** Returns the names that texts have as code: of `sentinel.nodes` the first part. */
function namesIn(texts: readonly string[]): Set<string> {
  return new Set([...texts.join(' ').matchAll(/`([\w-]+)(?:\.\w+)?`/g)].map(([, name = '']) => name))
}

test.each(['README.md', 'docs/configuration.md', 'sinks/README.md'])(
  '%s links every built-in sink',
  (page) => {
    const text = readFileSync(new URL(page, ROOT), 'utf8')
    expect(Object.keys(builtInSinks).filter((type) => !text.includes(`${type}/README.md)`))).toEqual([])
  },
)

test('each chapter of the reference stands there once', () => {
  const headings = [...reference.matchAll(/^## .*$/gm)].map(([line]) => line)
  expect(headings.length).toBeGreaterThan(10)
  expect(headings.filter((it, i) => headings.indexOf(it) !== i)).toEqual([])
})
