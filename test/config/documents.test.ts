import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KafkaConfig, KafkaRoute } from '../../sinks/kafka/config.ts'
import { Options, SlackRoute } from '../../sinks/slack/config.ts'
import { StdoutConfig } from '../../sinks/stdout/index.ts'
import { WebhookConfig } from '../../sinks/webhook/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigFile } from '../../src/config/schema.ts'
import { MessageParts } from '../../src/render/message-schema.ts'
import { LimitKeysShape } from '../../src/rules/limits/schema.ts'
import { Rule } from '../../src/rules/schema.ts'
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

test.each(examplesIn(REFERENCE).map((yaml) => [yaml.split('\n')[0], yaml] as const))(
  'the example of the reference that begins with %j is good, without a warning',
  async (_, yaml) => {
    const loaded = await load(completed(yaml))
    expect(loaded.ok ? loaded.warnings : loaded.problems).toEqual([])
  },
)

test.each([
  ['the file', ConfigFile],
  ['the journal', Journal],
  ['leases', LeaseSettings],
  ['enrich', EnrichSettings],
  ['watch', WatchEntry],
  ['a rule', Rule],
  ['limits', { shape: LimitKeysShape }],
  ['when', When],
  ['regarding', Regarding],
  ['a message', MessageParts],
  ['stdout', StdoutConfig],
  ['webhook', WebhookConfig],
  ['slack', Options],
  ['slack in a rule', SlackRoute],
  ['kafka', KafkaConfig],
  ['kafka in a rule', KafkaRoute],
])('the reference names every key of %s', (_, { shape }) => {
  const text = readFileSync(new URL(REFERENCE, ROOT), 'utf8')
  for (const key of Object.keys(shape)) expect(text).toContain(`\`${key}\``)
})

test.each(['README.md', 'docs/configuration.md', 'sinks/README.md'])(
  '%s links every built-in sink',
  (page) => {
    const text = readFileSync(new URL(page, ROOT), 'utf8')
    expect(Object.keys(builtInSinks).filter((type) => !text.includes(`${type}/README.md)`))).toEqual([])
  },
)

test('each chapter of the reference stands there once', () => {
  const text = readFileSync(new URL('docs/configuration.md', ROOT), 'utf8')
  const headings = [...text.matchAll(/^## .*$/gm)].map(([line]) => line)
  expect(headings.length).toBeGreaterThan(10)
  expect(headings.filter((it, i) => headings.indexOf(it) !== i)).toEqual([])
})
