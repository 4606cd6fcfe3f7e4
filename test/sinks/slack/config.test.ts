import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { channelName, isAllowed } from '../../../sinks/slack/channels.ts'
import type { SlackRoute } from '../../../sinks/slack/config.ts'
import slack from '../../../sinks/slack/index.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { builtInSinks } from '../../../src/sink-types.ts'
import { startSlack } from '../../servers/slack.ts'
import { optionsOf } from '../bed.ts'
import { deliverAll, openSlack, routeOf, tellOf } from './bed.ts'

const TOKEN = 'xoxb-1111111111-fake-token-abcdef'

const APP_TOKEN = 'xapp-1-A0000000001-fake-abcdef'

const withActions = (parts: object) => ({
  ...{ token: TOKEN, channel: '#a' },
  actions: { appToken: APP_TOKEN, users: ['U0123456789'], ...parts },
})

async function issuesOf(options: object, schema: any = slack.config): Promise<string[]> {
  const checked = await schema['~standard'].validate(options)
  return (checked.issues ?? []).map((it: any) => `${(it.path ?? []).join('.')}: ${it.message}`)
}

test('Slack is not loaded before a sink is opened', async () => {
  const loaded = () =>
    Object.keys(createRequire(import.meta.url).cache).some((it) => it.includes('@slack/web-api'))
  await optionsOf(slack as never, { token: TOKEN, channel: '#shop' })
  expect(loaded()).toBe(false)
})

test('a token and a channel are enough', async () => {
  expect(await optionsOf(slack, { token: TOKEN, channel: '#shop' })).toMatchObject({
    mode: 'thread',
    digest: { after: 30_000, waiting: 20 },
    rate: { perSecond: 1, burst: 5 },
    timeout: 15_000,
    threadTtl: 86_400_000,
    allowChannels: [],
  })
  expect(await optionsOf(slack, { url: 'https://hooks.slack.com/services/T0/B0/xyz' })).toMatchObject({
    mode: 'message',
  })
})

test.each([
  [{}, 'needs a token'],
  [{ token: TOKEN }, 'needs a channel to write to'],
  [{ token: 'xapp-1-abc', channel: '#a' }, 'token: is an app-level token; must be the app'],
  [{ token: 'xoxp-1-abcdefgh', channel: '#a' }, 'token: is the token of a user'],
  [{ token: 'secret', channel: '#a' }, 'which begins with xoxb-'],
  [{ token: TOKEN, channel: '#a', apiUrl: 'http://me:pw@slack.test/api/' }, 'apiUrl: must have no user'],
  [{ url: 'https://me:pw@slack.test/services/T0/B0/x' }, 'url: must have no user and password'],
  [{ token: TOKEN, channel: 'a b' }, 'channel: must be a channel such as "#shop"'],
  [{ token: TOKEN, channel: '#team-{{ name }}' }, 'needs allowChannels: the channels'],
  [{ token: TOKEN, channel: '#a', allowChannels: ['a b*'] }, 'or a glob such as "#team-*"'],
  [
    { token: TOKEN, channel: '#a', url: 'https://hooks.slack.com/services/T0/B0/x' },
    'url: cannot be combined with token',
  ],
  [
    { url: 'https://hooks.slack.com/services/T0/B0/x', channel: '#a' },
    'channel: a webhook writes into its own channel',
  ],
  [
    { url: 'https://hooks.slack.com/services/T0/B0/x', mode: 'thread' },
    'mode: a webhook can neither thread nor update',
  ],
  [{ url: 'http://hooks.slack.com/services/T0/B0/x' }, 'url: must be the whole address'],
  [{ url: 'http://169.254.169.254/x' }, 'url: is a link-local'],
  [{ token: TOKEN, channel: '#a', timeout: '15' }, 'timeout: needs a unit: 15s'],
  [{ token: TOKEN, channel: '#a', timeout: '5m' }, 'timeout: must be at most 20s'],
  [{ token: TOKEN, channel: '#a', rate: 0 }, 'rate'],
  [{ token: TOKEN, channel: '#a', ca: '/etc/ssl/ca.pem' }, 'ca: must be certificates in PEM'],
  [{ token: TOKEN, channel: '#a', digest: { waiting: 1 } }, 'digest'],
  [{ token: TOKEN, channel: '#a', chanel: '#b' }, 'chanel'],
  [
    withActions({ appToken: TOKEN }),
    "actions.appToken: is the app's Bot User OAuth Token; must be an app-level",
  ],
  [withActions({ appToken: 'xoxp-1-abcdefgh' }), 'actions.appToken: is the token of a user'],
  [withActions({ users: undefined }), 'actions: needs users'],
  [withActions({ anyone: true }), 'actions.anyone: cannot be combined with users'],
  [withActions({ users: undefined, anyone: false }), 'actions.anyone: can only be true'],
  [withActions({ users: [] }), 'actions.users: is empty'],
  [withActions({ users: ['@alice'] }), 'actions.users.0: must be the id of a user'],
  [withActions({ channels: ['a b'] }), 'actions.channels.0: must be a channel'],
  [withActions({ silence: ['1h', '60m'] }), 'actions.silence: has a duration twice'],
  [withActions({ silence: ['1'] }), 'actions.silence.0: needs a unit'],
  [withActions({ silence: ['1h', '2h', '3h', '4h'] }), 'actions.silence'],
  [withActions({ historyUrl: 'herald.example.com' }), 'actions.historyUrl: must be an http'],
  [withActions({ historyUrl: 'https://a:b@herald.example.com' }), 'actions.historyUrl: must be an http'],
  [
    { url: 'https://hooks.slack.com/services/T0/B0/x', actions: withActions({}).actions },
    'actions: a webhook has no buttons',
  ],
])('%j: %s', async (options, expected) => {
  const issues = await issuesOf(options)
  expect(issues.join('\n')).toContain(expected)
  expect(issues.join('\n')).not.toContain('abcdef')
})

test.each([
  [{ mention: '@oncall' }, 'names do not ping anybody'],
  [{ mention: ['here', '<!channel>'] }, 'must be here, channel, the id of a user'],
  [{ mention: 'everyone' }, 'must be here, channel'],
  [{ channel: 'no channel' }, 'must be a channel'],
  [{ mode: 'threads' }, 'mode'],
])('a rule that says %j: %s', async (options, expected) => {
  expect((await issuesOf(options, slack.route)).join('\n')).toContain(expected)
})

test('a rule may say nothing', async () => {
  expect(await routeOf({})).toEqual({ mention: [] })
})

test.each([
  ['#Shop', 'shop'],
  ['shop', 'shop'],
  [' #team-a ', 'team-a'],
  ['#größe', 'größe'],
  ['C0123456789', 'C0123456789'],
  ['#C0123456789', 'c0123456789'],
  ['', undefined],
  ['#', undefined],
  ['a b', undefined],
  ['<!channel>', undefined],
  ['x'.repeat(81), undefined],
])('the channel %j is %j', (text, expected) => {
  expect(channelName(text)).toBe(expected)
})

test.each([
  ['team-a', ['team-*'], true],
  ['team-', ['team-*'], false],
  ['team-a-alerts', ['team-*-alerts'], true],
  ['team--alerts', ['team-*-alerts'], false],
  ['xteam-a', ['team-*'], false],
  ['shop', ['pay', 'shop'], true],
  ['shop2', ['shop'], false],
  ['a-b-c-d', ['a*c*'], true],
  ['anything', ['*'], true],
])('the channel %s is allowed by %j: %s', (channel, list, expected) => {
  expect(isAllowed(channel, list)).toBe(expected)
})

const labelled = (team?: string) =>
  tellOf({ name: `of-${team}`, object: { metadata: { labels: team === undefined ? {} : { team } } } })

test('a channel that an object chooses must be on the list', async () => {
  await using fake = await startSlack()
  fake.channel('team-shop')
  fake.channel('general')
  const options = {
    channel: '#team-{{ object.metadata.labels.team }}',
    allowChannels: ['#team-*'],
    mode: 'message',
  }
  await using sink = await openSlack(fake, options)
  const outcomes = await deliverAll(sink, [labelled('shop'), labelled(undefined), labelled('a b')])
  expect(outcomes).toEqual([
    { kind: 'delivered' },
    {
      kind: 'rejected',
      reason: 'config',
      detail: expect.stringMatching(/"#team-", which is not in allowChannels \(#team-\*\)/),
    },
    { kind: 'rejected', reason: 'config', detail: expect.stringContaining('can be no channel') },
  ])
})

test('what is not on the list goes to the fallback channel, if there is one', async () => {
  await using fake = await startSlack()
  fake.channel('lost-and-found')
  await using sink = await openSlack(fake, {
    channel: '#{{ object.metadata.labels.team }}',
    allowChannels: ['team-*'],
    fallbackChannel: '#lost-and-found',
  })
  expect(await deliverAll(sink, [labelled('general'), labelled('constructor')])).toEqual([
    { kind: 'delivered' },
    { kind: 'delivered' },
  ])
  expect(fake.messages.every((it) => it.channel === 'lost-and-found')).toBe(true)
})

test("a rule's own channel needs no list, unless an object chooses it", async () => {
  await using fake = await startSlack()
  fake.channel('pay')
  await using sink = await openSlack(fake)
  const [constant, chosen] = [await routeOf({ channel: '#pay' }), await routeOf({ channel: '#{{ name }}' })]
  expect(
    await deliverAll(sink, [tellOf({ route: constant }), tellOf({ name: 'pay', route: chosen })]),
  ).toEqual([
    { kind: 'delivered' },
    { kind: 'rejected', reason: 'config', detail: expect.stringContaining('no allowChannels') },
  ])
})

test('the lane is the channel', async () => {
  const config = await optionsOf(slack, { token: TOKEN, channel: '#{{ name }}', allowChannels: ['shop'] })
  const lane = (name: string, route: any = {}) => slack.lane?.(tellOf({ name, route }), config)
  expect(lane('shop')).toBe('shop')
  expect(lane('Shop')).toBe('shop')
  expect(lane('other')).toBe('nowhere')
  expect(lane('x', await routeOf({ channel: '#Pay' }))).toBe('pay')
  const hook = await optionsOf(slack, { url: 'https://hooks.slack.com/services/T0/B0/x' })
  expect(slack.lane?.(tellOf(), hook)).toBe('webhook')
})

test('the example of the README is a configuration', async () => {
  const readme = readFileSync(new URL('../../../sinks/slack/README.md', import.meta.url), 'utf8')
  const examples = [...readme.matchAll(/```yaml\n([\s\S]*?)```/g)].map((it) => it[1] as string)
  expect(examples.length).toBeGreaterThan(1)
  for (const text of examples.filter((it) => it.includes('watch:'))) {
    const loaded = await loadConfig({
      file: 'kubeherald.yaml',
      text,
      env: {
        SLACK_TOKEN: TOKEN,
        SLACK_APP_TOKEN: APP_TOKEN,
        SLACK_WEBHOOK: 'https://hooks.slack.com/services/T00000000/B00000000/abcdefgh',
      },
      readFile: () => TOKEN,
      sinkTypes: builtInSinks,
    })
    expect(loaded.ok ? [] : loaded.problems).toEqual([])
  }
})

test('every option stands in the README', () => {
  const readme = readFileSync(new URL('../../../sinks/slack/README.md', import.meta.url), 'utf8')
  const options = [
    'token',
    'url',
    'channel',
    'allowChannels',
    'fallbackChannel',
    'mode',
    'groupBy',
    'threadTtl',
    'digest',
    'rate',
    'timeout',
    'proxy',
    'ca',
    'apiUrl',
    'mention',
    'actions',
    'appToken',
    'users',
    'anyone',
    'channels',
    'silence',
    'historyUrl',
  ]
  for (const option of options) expect(readme).toContain(`| \`${option}\` |`)
})

const WEBHOOK = 'https://hooks.slack.com/services/T00000001/B00000001/abcdefghijklmnopqrstuvwx'

test.each([
  [{ url: WEBHOOK }, { channel: '#shop' }, ['channel']],
  [{ url: WEBHOOK }, { mode: 'thread' }, ['mode']],
  [{ token: TOKEN, channel: '#all' }, { channel: '#{{ namespace }}' }, ['channel']],
  [{ token: TOKEN, channel: '#all', allowChannels: ['#team-*'] }, { channel: '#{{ namespace }}' }, []],
  [{ token: TOKEN, channel: '#all' }, { channel: '#shop', mode: 'update' }, []],
])('with the section %j a rule that says %j is told of %j', async (section, route, expected) => {
  const issues = slack.checkRoute?.((await routeOf(route)) as SlackRoute, await optionsOf(slack, section))
  expect(issues?.map(({ path }) => path?.[0])).toEqual(expected)
})

test('a wrong option of the buttons is shown at its place, and tokens never', async () => {
  const text = `watch: [Pod]
sinks:
  oncall:
    type: slack
    token: "\${env:SLACK_TOKEN}"
    channel: "#a"
    actions:
      appToken: "\${env:SLACK_TOKEN}"
      users: [alice]
rules: [{ name: all, to: [oncall] }]
`
  const loaded = await loadConfig({
    ...{ file: 'kubeherald.yaml', text, env: { SLACK_TOKEN: TOKEN }, readFile: () => '' },
    sinkTypes: builtInSinks,
  })
  expect(
    (loaded.ok ? [] : loaded.problems).map(({ file, line, column, severity }) => ({
      file,
      line,
      column,
      severity,
    })),
  ).toEqual([
    { file: 'kubeherald.yaml', line: 8, column: 17, severity: 'error' },
    { file: 'kubeherald.yaml', line: 9, column: 15, severity: 'error' },
  ])
  expect(JSON.stringify(loaded)).not.toContain('abcdef')
})
