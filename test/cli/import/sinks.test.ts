import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { importText } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'

const imported = (config: object) => toYaml(importText(stringify(config), 'it.yaml'))
const route = { match: [{ receiver: 'a' }] }

const exporter = (receiver: object, ...others: readonly object[]) =>
  imported({ route, receivers: [{ name: 'a', ...receiver }, ...others] })

test.each([
  ['https://u:hunter2@b', 'https://b:'],
  ['https://u:hunter2@b.example.com:9200/hunter2', 'https://b.example.com:9200:'],
  ['https://b/?api_key=hunter2', 'https://b:'],
  ['https://b/?mail=a@hunter2#hunter2', 'https://b:'],
  ['https://${HOST}:9200/hunter2', 'https://${env:HOST}:9200:'],
  ['https://u:hunter2@${HOST}:9200', 'an address'],
  ['https://u:hunter2/x@b', 'an address'],
  ['u:hunter2@b:9200', 'an address'],
  ['b:9200/hunter2', 'b:9200:'],
  ['${HOST}', '${env:HOST}:'],
])('a comment on the second host %s has no secret of it', (second, named) => {
  for (const type of ['elasticsearch', 'opensearch']) {
    const text = exporter({ [type]: { hosts: ['https://u:hunter2@a', second] } })
    expect(text).not.toMatch(/hunter2/)
    expect(text).toContain(`# not carried over: hosts ${named}`)
  }
})

const CHANNELS: Readonly<Record<string, (channel: string) => string>> = {
  'kubernetes-event-exporter': (channel) => exporter({ slack: { token: 'x', channel } }),
  kubewatch: (channel) => imported({ handler: { slack: { token: 'x', channel } }, resource: { pod: true } }),
  Botkube: (name) => {
    const config = { event: { types: ['delete'] }, resources: [{ type: 'v1/pods' }] }
    const channels = { a: { name, bindings: { sources: ['s'] } } }
    return imported({
      sources: { s: { 'botkube/kubernetes': { enabled: true, config } } },
      communications: { g: { socketSlack: { enabled: true, channels } } },
    })
  },
}

describe.each(Object.entries(CHANNELS))('the channel of %s', (_, textOf) => {
  const channelIn = (text: string) => (Object.values(parse(text).sinks)[0] as { channel?: string }).channel

  test.each([
    ['ops', '#ops'],
    ['#ops', '#ops'],
    ['u012abcdef', '#u012abcdef'],
    ['C012ABCDEF', 'C012ABCDEF'],
    ['G012ABCDEF', 'G012ABCDEF'],
    ['D012ABCDEF', 'D012ABCDEF'],
  ])('%s is %s', (channel, here) => {
    expect(channelIn(textOf(channel))).toBe(here)
  })

  test.each(['U012ABCDEF', 'W012ABCDEF'])('%s is a user, whom no sink can have: it is disabled', (user) => {
    const text = textOf(user)
    expect(parse(text)).toMatchObject({ sinks: { screen: {} }, rules: [{ drop: true }] })
    expect(text).toContain(`channel: ${user}\n`)
    expect(text).not.toContain(`#${user}`)
  })
})

test('of two receivers with one name the last one counts, and the other is named', () => {
  const webhook = (name: string) => ({ webhook: { endpoint: `https://${name}.example.com/events` } })
  const text = exporter(webhook('first'), { name: 'b', stdout: {} }, { name: 'a', ...webhook('last') })
  expect(parse(text)).toMatchObject({
    sinks: { a: { url: 'https://last.example.com/events' } },
    rules: [{ to: ['a'] }],
  })
  expect(text).toContain('# not carried over: receivers[0].webhook')
})

test.each([
  ['webhook', '"text"'],
  ['cloudevent', 'KUBERNETES_TOPOLOGY_CHANGE'],
])('a comment names what the receiver of %s of kubewatch gets otherwise', (handler, named) => {
  const text = imported({ handler: { [handler]: { url: 'https://a/b' } }, resource: { pod: true } })
  expect(text).toMatch(new RegExp(`^ +# .*${named}`, 'm'))
})

describe('a file of kubernetes-event-exporter', () => {
  const fileOf = (text: string) => parse(text).sinks.a

  test.each([{}, { maxbackups: 0, maxage: 0 }])(
    'without a limit, as with %j, keeps as many as it can',
    (limits) => {
      const text = exporter({ file: { path: '/var/audit/events.json', maxsize: 100, ...limits } })
      expect(fileOf(text)).toMatchObject({ maxSize: '100MB', maxFiles: 10_000 })
      expect(text).toMatch(/^ +# .*maxFiles/m)
    },
  )

  test.each([{ maxbackups: 3 }, { maxage: 7 }])(
    'with %j keeps no more than its limit or the default',
    (limits) => {
      const text = exporter({ file: { path: '/var/audit/events.json', ...limits } })
      expect(fileOf(text).maxFiles).toBe(limits.maxbackups)
    },
  )

  test('below /tmp is named as lost with its pod', () => {
    expect(exporter({ file: { path: '/tmp/dump', maxbackups: 1 } })).toMatch(/^ +# .*\/tmp/m)
    expect(exporter({ file: { path: '/var/tmp/dump', maxbackups: 1 } })).not.toMatch(/^ +# .*\/tmp/m)
  })
})

test.each([
  ['{{ toJson . }}', true],
  ['{{ toJson .Count }}', false],
])('of a layout with %s it is named that the Event lacks clusterName: %s', (it, isNamed) => {
  const text = exporter({ webhook: { endpoint: 'https://a/b', layout: { it } } })
  expect(/^ +# .*layout\.it.*clusterName/m.test(text)).toBe(isNamed)
})
