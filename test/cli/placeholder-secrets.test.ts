import { expect, test } from 'vitest'
import { fillPlaceholders } from '../../src/cli/load-config/placeholder-secrets.ts'
import { readDocument } from '../../src/config/document.ts'
import { type Desk, openDesk, type Result } from './cli.ts'
import { runHere } from './here.ts'

const NOTHING = {
  env: {},
  readFile(): never {
    throw Object.assign(new Error('not there'), { code: 'ENOENT' })
  },
}

async function placeholdersOf(sink: string): Promise<NodeJS.ProcessEnv> {
  const { root } = readDocument('kubeherald.yaml', `sinks: { a: ${sink} }\n`, NOTHING)
  return (await fillPlaceholders(root, NOTHING)).env as NodeJS.ProcessEnv
}

test('a missing secret of a plug-in gets a placeholder of the form that its option usually has', async () => {
  const env = await placeholdersOf(
    '{ type: pager, path: "${env:P}", brokers: ["${env:B}"], site: "${env:S}" }',
  )
  expect(env['P']).toMatch(/^\//)
  expect(env['B']).toMatch(/^[\w.-]+:\d+$/)
  expect(env['S']).toBe('kubeherald-placeholder')
})

test.each([
  '{ type: slack, token: "${env:A}", channel: "${env:B}", ca: "${file:/run/ca.crt}", proxy: "${env:PROXY}" }',
  '{ type: webhook, url: "${env:A}", proxy: "${env:PROXY}" }',
  '{ type: alertmanager, url: "${env:A}", secret: "${env:B}" }',
  '{ type: webhook, preset: alertmanager, url: "${env:A}" }',
  '{ type: telegram, token: "${env:A}", chatId: "${env:B}" }',
  '{ type: matrix, url: "${env:A}", token: "${env:B}", room: "${env:C}" }',
  '{ type: datadog, apiKey: "${env:A}", site: "${env:B}" }',
  '{ type: email, host: "${env:A}", from: "${env:B}", to: "${env:C}", cc: ["${env:D}"], replyTo: "${env:E}" }',
  '{ type: email, host: "${env:A}", from: "${env:B}", to: "${env:C}", auth: { password: "${env:D}", user: "${env:B}" } }',
  '{ type: kafka, brokers: ["${env:A}"], topic: "${env:B}", sasl: { mechanism: "${env:C}", username: "${env:D}", password: "${env:E}" } }',
  '{ type: kafka, brokers: ["${env:A}"], topic: t, sasl: { mechanism: oauthbearer, tokenUrl: "${env:B}", clientId: c, clientSecret: "${env:C}", tokenCa: "${file:/run/ca.crt}" } }',
])('a dry run needs no variable and no file of %s', async (sink) => {
  using desk = openDesk()
  expect(await explained(desk, sink)).toMatchObject({ code: 0, stderr: '' })
})

test('a problem of an option whose placeholder has another form names the missing variable', async () => {
  using desk = openDesk()
  const { code, stderr } = await explained(
    desk,
    '{ type: webhook, url: "${env:A}", timeout: "${env:PATIENCE}" }',
  )
  expect(code).toBe(2)
  expect(stderr).toContain('PATIENCE is not set')
  expect(stderr).not.toContain('A is not set')
})

/** Explains an event with this sink, without its variables and files. */
function explained(desk: Desk, sink: string): Promise<Result> {
  desk.write('kubeherald.yaml', `watch: [Event]\nsinks: { it: ${sink} }\nrules: [{ name: all, to: it }]\n`)
  const object = desk.write(
    'event.yaml',
    'kind: Event\nmetadata: { name: a }\ninvolvedObject: { kind: Pod, name: b }\n',
  )
  return runHere(desk, 'explain', object)
}

test.each(['headers', 'body', 'labels'])('a key named as a certificate in %s is any text', async (map) => {
  const env = await placeholdersOf(`{ type: webhook, ${map}: { ca: "\${env:A}", tokenCa: "\${env:B}" } }`)
  expect([env['A'], env['B']]).toEqual(['kubeherald-placeholder', 'kubeherald-placeholder'])
})

test('a certificate of a connection gets one', async () => {
  const env = await placeholdersOf(
    '{ type: pager, ca: "${env:A}", tls: { ca: "${env:B}" }, sasl: { tokenCa: "${env:C}" } }',
  )
  for (const name of ['A', 'B', 'C']) expect(env[name]).toContain('BEGIN CERTIFICATE')
})

test('a key with the name of an inherited property has none of its own', async () => {
  const env = await placeholdersOf('{ type: webhook, headers: { constructor: "${env:C}" } }')
  expect(env['C']).toBe('kubeherald-placeholder')
})

test.each([
  ['url', '/run/secrets/hook-url'],
  ['/secrets/url', '/run/secrets/url'],
  ['./token', '../secrets/token'],
])('of the missing files %s and %s each gets the placeholder of its own option', async (first, second) => {
  using desk = openDesk()
  desk.write(
    'kubeherald.yaml',
    `watch: [Event]
sinks:
  a: { type: webhook, url: "https://a.example", headers: { x: "\${file:${first}}" } }
  b: { type: webhook, url: "\${file:${second}}" }
rules: [{ name: all, to: [a, b] }]
`,
  )
  const object = desk.write(
    'event.yaml',
    'kind: Event\nmetadata: { name: a }\ninvolvedObject: { kind: Pod, name: b }\n',
  )
  expect(await runHere(desk, 'explain', object)).toMatchObject({ code: 0, stderr: '' })
})
