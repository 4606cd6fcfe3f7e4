import { expect, test } from 'vitest'
import { codesOf, messagesOf, problemsOf } from './load-text.ts'

const TOKEN = 'xoxb-1111111111-fake-token-abcdef'

/** A configuration with a sink `s`, whose section begins in line 3, and what follows it. */
function withSink(section: string, rest = 'rules: [{ name: all, to: s }]'): string {
  return `watch: [Event]\nsinks:\n  s: ${section}\n${rest}`
}

const slack = (more: string) => `{ type: slack, token: "${TOKEN}", ${more} }`
const kafka = (more = '') => `{ type: kafka, brokers: ["kafka:9092"]${more} }`
const toWith = (options: string) => `rules: [{ name: all, to: [{ s: { ${options} } }] }]`

test.each([
  [
    'a template in a rule, and no list of channels',
    withSink(slack('channel: "#ops"'), toWith('channel: "#team-{{ namespace }}"')),
    [
      '4:43 "channel" is a template: the sink needs allowChannels, the channels (or globs, "#team-*") that it may choose',
    ],
  ],
  [
    'a channel for a webhook that has its own',
    withSink('{ type: slack, url: "https://hooks.slack.com/services/T0/B0/xyz" }', toWith('channel: "#ops"')),
    ['4:43 "channel": a webhook writes into its own channel only; a token can choose one'],
  ],
  [
    'a name that pings nobody',
    withSink(slack('channel: "#ops"'), toWith('mention: "@bob"')),
    [
      '4:43 "mention" must be here, channel, the id of a user (U0123456789) or of a user group (S0123456789); names do not ping anybody',
    ],
  ],
  [
    'no topic, neither in the sink nor in the rule',
    withSink(kafka()),
    ['4:26 "s" needs a topic, here or in the sink: { topic: k8s.events }'],
  ],
  [
    'an unknown way to sign in',
    withSink(kafka(', topic: a, sasl: { mechanism: SCRAM-SHA-512, username: u, password: p }')),
    ['3:75 "mechanism" must be plain, scram-sha-256, scram-sha-512 or oauthbearer'],
  ],
])('%s', async (_, text, expected) => {
  expect(await messagesOf(text)).toEqual(expected)
})

test.each([
  ['heartbeat: { every: 5m, to: dedman }', ['unknown-sink 5:46']],
  ['heartbeat: { to: s }', ['missing-key 5:18']],
  ['heartbeat: { every: 5m, sink: s }', ['unknown-key 5:42']],
  ['heartbeat: { every: 5s }', ['invalid-value 5:38']],
  ['heartbeat: 5', ['wrong-type 5:29']],
  ['heartbeat: { every: 5m, to: s }', []],
  ['heartbeat: 5m', []],
])('notify with %s', async (key, codes) => {
  expect(
    await codesOf(withSink('{ type: stdout }', `rules: [{ name: all, to: s }]\nnotify: { to: s, ${key} }`)),
  ).toEqual(codes)
})

test('a sink that only the heartbeat goes to is used', async () => {
  const sinks = '{ type: stdout }\n  beat: { type: stdout }'
  const rest = 'rules: [{ name: all, to: s }]\nnotify: { to: s, heartbeat: { every: 5m, to: beat } }'
  expect(await codesOf(withSink(sinks, rest))).toEqual([])
})

test.each([
  withSink(slack('channel: "#ops", allowChannels: ["#team-*"]'), toWith('channel: "#team-{{ namespace }}"')),
  withSink(kafka(), toWith('topic: k8s.events')),
  withSink(kafka(', topic: k8s.events')),
])('what the other of the two says is enough: %s', async (text) => {
  expect(await messagesOf(text)).toEqual([])
})

test.each([
  ['rules: [{ name: all, to: s, channel: "#b" }]', 'unknown-key 4:29'],
  ['rules: [{ name: all, to: { s: , channel: "#b" } }]', 'unknown-sink 4:33'],
  ['rules: [{ name: all, to: [{ sink: s }] }]', 'unknown-sink 4:29'],
])('options of a sink that are not under its name: %s', async (rules, expected) => {
  expect(await codesOf(withSink(slack('channel: "#a"'), rules))).toEqual([expected])
})

test.each(['to: s, message: {{ name }} is down', 'to: s, message: { title: {{ name }} is down }'])(
  'a template without quotes: %s',
  async (rule) => {
    expect(
      await problemsOf(withSink(slack('channel: "#a"'), `rules: [{ name: all, ${rule} }]`)),
    ).toContainEqual(expect.stringContaining('= text that begins with "{{" needs quotes'))
  },
)

test('a template without quotes in a line of its own', async () => {
  const rules = 'rules:\n  - name: all\n    to: s\n    message: {{ name }} is down\n'
  expect(await problemsOf(withSink(slack('channel: "#a"'), rules))).toEqual([
    'error 7:14 YAML takes "{{" for two maps = text that begins with "{{" needs quotes',
  ])
})

const bus = `{ type: kafka, brokers: ["kafka:9092"], topic: a }`
const toS = 'rules: [{ name: all, to: s, message: hello }]'

test.each([
  ['kafka', bus],
  ['file', '{ type: file, path: /var/log/a.ndjson }'],
  ['stdout', '{ type: stdout }'],
  ['webhook', '{ type: webhook, url: "https://example.com" }'],
])('a message that no sink shows, for a sink of type %s, is a warning', async (type, section) => {
  expect(await problemsOf(withSink(section, toS))).toEqual([
    `warning 4:29 no sink shows this message: "s" (${type}) sends the event = messages are shown by slack, the types of chats and pagers, webhook with a preset, and stdout with format: message`,
  ])
})

test("so are a sink's messages", async () => {
  expect(await messagesOf(withSink('{ type: stdout, messages: hello }'))).toEqual([
    '3:22 no sink shows this message: "s" (stdout) sends the event',
  ])
})

test.each([
  slack('channel: "#a"'),
  '{ type: stdout, format: message }',
  '{ type: webhook, preset: teams, url: "https://example.com" }',
])('a message for people is read: %s', async (section) => {
  expect(await messagesOf(withSink(section, toS))).toEqual([])
})

test('one sink that shows it is enough', async () => {
  const section = `${bus}\n  t: { type: stdout, format: message }`
  expect(await messagesOf(withSink(section, toS.replace('to: s', 'to: [s, t]')))).toEqual([])
})

test.each([
  ['to-state: { status.phase: [Failed, null] }', ['4:80 "status.phase", entry 2 has no value']],
  [
    'from: { status.phase: [[a]] }',
    ['4:68 "status.phase", entry 1 must be text, a number or true or false, not a list'],
  ],
  [
    'from: { status.phase: { a: b } }',
    ['4:67 "status.phase" must be text, a number, true or false or a list, not a map'],
  ],
])('a state with %s is wrong at the entry', async (key, messages) => {
  const rules = `rules: [{ name: all, when: { kind: Event }, ${key}, to: s }]`
  expect(await messagesOf(withSink('{ type: stdout }', rules))).toEqual(messages)
})
