import { expect, test } from 'vitest'
import { fillPlaceholders } from '../../src/cli/load-config/placeholder-secrets.ts'
import { readDocument } from '../../src/config/document.ts'
import { openDesk } from './cli.ts'
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
