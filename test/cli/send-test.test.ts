import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { testObject } from '../../src/cli/send-test/test-object.ts'
import { startReceiver } from '../servers/receiver.ts'
import { type Desk, openDesk } from './cli.ts'
import { runHere } from './here.ts'

const configuration = (url: string, { cwd }: Desk) => `cluster: prod-eu
watch: [Event, Deployment]
sinks:
  hook: { type: webhook, url: "${url}/hook", auth: { bearer: "\${env:TOKEN}" }, body: { title: "{{ message.title }}", name: "{{ name }}" } }
  chat: { type: webhook, preset: mattermost, url: "${url}/hooks/a" }
  log: { type: file, path: "${cwd}/out.ndjson" }
rules:
  - { name: noise, when: { kind: Event, type: Normal }, drop: true }
  - { name: crashes, when: { kind: Event, reason: BackOff }, throttle: { per: rule, every: 1h }, to: log }
  - { name: rollouts, when: { kind: Deployment }, to: [hook, chat], message: "rolled out {{ name }}" }
`

test('send-test sends one marked message as the rule renders it, and shows that it was accepted', async () => {
  await using receiver = await startReceiver()
  using desk = openDesk({ TOKEN: 'b3arer-token' })
  desk.write('kubeherald.yaml', configuration(receiver.url, desk))
  const { code, stdout, stderr } = await runHere(desk, 'send-test', 'hook', '--rule', 'rollouts')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/hook.*accepted.*rollouts/)
  const [request, ...more] = receiver.requests
  expect(more).toEqual([])
  expect(JSON.parse(request?.body ?? '')).toEqual({
    title: 'TEST: Deployment default/kubeherald-test was created',
    name: 'kubeherald-test',
  })
  await runHere(desk, 'send-test', 'chat')
  expect(receiver.requests[1]?.body).toContain('TEST: rolled out kubeherald-test')
})

test('without --rule it is as the first rule that sends there; limits hold nothing back; no two have one id', async () => {
  using desk = openDesk({ TOKEN: 'x' })
  desk.write('kubeherald.yaml', configuration('http://127.0.0.1:9', desk))
  for (let i = 0; i < 2; i++) {
    const { code, stdout } = await runHere(desk, 'send-test', 'log', '-o', 'json')
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, rule: 'crashes', outcome: 'delivered' })
  }
  const lines = readFileSync(`${desk.cwd}/out.ndjson`, 'utf8').trim().split('\n')
  const events = lines.map((line) => JSON.parse(line))
  expect(events).toMatchObject([{ name: 'kubeherald-test' }, { data: { object: { reason: 'BackOff' } } }])
  expect(events[0].id).not.toBe(events[1].id)
})

test('what the sink refuses is shown with its reason, without secrets, and ends with 1', async () => {
  await using receiver = await startReceiver()
  receiver.answer(({ headers }) => ({ status: 403, body: `no entry for ${headers.authorization}` }))
  using desk = openDesk({ TOKEN: 'b3arer-token' })
  desk.write('kubeherald.yaml', configuration(receiver.url, desk))
  const { code, stdout } = await runHere(desk, 'send-test', 'hook', '-o', 'json')
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 1, reason: 'auth', sink: 'hook' })
  expect(stdout).toContain('403')
  const text = await runHere(desk, 'send-test', 'hook')
  expect(text.stdout).toContain('403')
  expect(stdout + text.stdout).not.toContain('b3arer')
})

test('a value of a reference that is a whole URL is hidden in what the sink answers', async () => {
  await using receiver = await startReceiver()
  receiver.answer(({ body }) => ({ status: 403, body: `no entry for ${body}` }))
  using desk = openDesk({ NOTE: 'https://example.com/s3cret/hook?key=s3cret' })
  desk.write(
    'kubeherald.yaml',
    `watch: [Pod]\nsinks: { hook: { type: webhook, url: "${receiver.url}", body: { note: "\${env:NOTE}" } } }\nrules: [{ name: r, to: hook }]\n`,
  )
  const { stdout } = await runHere(desk, 'send-test', 'hook')
  expect(stdout).toContain('no entry for')
  expect(stdout).not.toContain('s3cret')
})

test.each([
  [['nowhere'], 'there is no sink "nowhere"'],
  [['hook', '--rule', 'noise'], 'rule "noise" does not send to hook: it drops'],
  [['hook', '--rule', 'crashes'], 'rule "crashes" does not send to hook: it sends to log'],
])('send-test %j is a mistake', async (args, message) => {
  using desk = openDesk({ TOKEN: 'x' })
  desk.write('kubeherald.yaml', configuration('http://127.0.0.1:9', desk))
  const { code, stderr } = await runHere(desk, 'send-test', ...args)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('a secret that is missing is a problem of the configuration', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration('http://127.0.0.1:9', desk))
  const { code, stderr } = await runHere(desk, 'send-test', 'hook')
  expect(code).toBe(2)
  expect(stderr).toMatch(/kubeherald\.yaml:4:\d+: .*TOKEN/)
})

test.each([
  [{}, { kind: 'Event', reason: 'Test' }],
  [
    { kind: 'ev', reason: ['!Pulled', 'BackOff'] },
    { kind: 'Event', reason: 'BackOff' },
  ],
  [{ kind: '*' }, { kind: 'Event' }],
  [{ kind: ['Node', 'deploy'] }, { kind: 'Deployment' }],
  [{ kind: 'databases.stable.example.com' }, { kind: 'databases', apiVersion: 'stable.example.com/v1' }],
  [
    { kind: 'stable.example.com/v1beta1/Database' },
    { kind: 'database', apiVersion: 'stable.example.com/v1beta1' },
  ],
])('a message of a rule for %j is about %j', (when, object) => {
  expect(testObject(when)).toMatchObject({ ...object, metadata: { name: 'kubeherald-test' } })
})
