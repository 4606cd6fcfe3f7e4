import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { importText } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'

const imported = (config: object) => toYaml(importText(stringify(config), 'it.yaml'))

function exporter(receiver: object): string {
  return imported({ route: { match: [{ receiver: 'a' }] }, receivers: [{ name: 'a', ...receiver }] })
}

function kubewatch(handler: object): string {
  return imported({ handler, resource: { pod: true } })
}

function botkube(platform: object): string {
  const events = { enabled: true, config: { event: { types: ['delete'] }, resources: [{ type: 'v1/pods' }] } }
  return imported({
    sources: { s: { 'botkube/kubernetes': events } },
    communications: { g: platform },
  })
}

const bindings = { sources: ['s'] }

/** Every option of another tool that is an address, by the configuration with it. */
const ADDRESSES: Readonly<Record<string, (url: string) => string>> = {
  'webhook.endpoint': (endpoint) => exporter({ webhook: { endpoint } }),
  'elasticsearch.hosts': (host) => exporter({ elasticsearch: { hosts: [host] } }),
  'opensearch.hosts': (host) => exporter({ opensearch: { hosts: [host] } }),
  'loki.url': (url) => exporter({ loki: { url } }),
  'opsgenie.URL': (URL) => exporter({ opsgenie: { apiKey: 'x', URL } }),
  'teams.endpoint': (endpoint) => exporter({ teams: { endpoint } }),
  'handler.webhook.url': (url) => kubewatch({ webhook: { url } }),
  'handler.cloudevent.url': (url) => kubewatch({ cloudevent: { url } }),
  'handler.mattermost.url': (url) => kubewatch({ mattermost: { url } }),
  'handler.msteams.webhookurl': (webhookurl) => kubewatch({ msteams: { webhookurl } }),
  'handler.slackwebhook.slackwebhookurl': (slackwebhookurl) =>
    kubewatch({ slackwebhook: { slackwebhookurl } }),
  'handler.lark.webhookurl': (webhookurl) => kubewatch({ lark: { webhookurl } }),
  'handler.discord.webhookurl': (webhookurl) => kubewatch({ discord: { webhookurl } }),
  'handler.flock.url': (url) => kubewatch({ flock: { url } }),
  'Botkube webhook.url': (url) => botkube({ webhook: { enabled: true, url, bindings } }),
  'Botkube elasticsearch.server': (server) =>
    botkube({ elasticsearch: { enabled: true, server, indices: { a: { name: 'events', bindings } } } }),
}

test.each(Object.keys(ADDRESSES))('a secret in the address %s is not copied', (option) => {
  for (const address of [
    'https://u:hunter2@b.example.com',
    'https://u:hunter2/x@b.example.com',
    'u:hunter2@b.example.com:9200',
    'https://b.example.com/?apiKey=hunter2',
    'https://b.example.com/#hunter2',
    'https://b.example.com/v1/hunter2-hunter2-hunter2',
  ])
    expect(ADDRESSES[option]?.(address), address).not.toMatch(/hunter2/)
})

test.each([
  ['api.eu.opsgenie.com', 'https://api.eu.opsgenie.com'],
  ['https://api.eu.opsgenie.com', 'https://api.eu.opsgenie.com'],
  ['http://proxy:8080', 'http://proxy:8080'],
  ['${OPSGENIE_HOST}', 'https://${env:OPSGENIE_HOST}'],
])('the address %s of Opsgenie is %s', (URL, url) => {
  expect(parse(exporter({ opsgenie: { apiKey: 'x', URL } })).sinks.a.url).toBe(url)
})

test('a secret in the layout of a receiver is not copied', () => {
  const layout = {
    routing_key: 'hunter2',
    nested: { apiToken: 'hunter2', password: '${PASSWORD}' },
    text: '{{ .Message }}',
  }
  const text = exporter({ webhook: { endpoint: 'https://b.example.com', layout } })
  expect(text).not.toMatch(/hunter2/)
  expect(parse(text).sinks.a.body).toMatchObject({
    routing_key: '${env:A_ROUTING_KEY}',
    nested: { apiToken: '${env:A_APITOKEN}', password: '${env:PASSWORD}' },
  })
})
