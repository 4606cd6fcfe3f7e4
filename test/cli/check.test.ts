// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { startRedis } from '../servers/redis.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

test('check says why the cluster was not asked', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  const offline = await runHere(desk, 'check', '--offline')
  expect(offline.stdout).toBe(
    'kubeherald.yaml is good: 2 watch entries, 1 sink, 1 rule\n' +
      '(the cluster was not asked whether the kinds exist: --offline)\n',
  )
  const none = await runHere(desk, 'check')
  expect(none.stdout).toContain('kinds exist: there is no kubeconfig')
})

test.skipIf(existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token'))(
  'check in a pod without a token warns that it could not ask the cluster',
  async () => {
    using desk = openDesk({ KUBERNETES_SERVICE_HOST: '10.0.0.1' })
    desk.write('kubeherald.yaml', configuration())
    const lenient = await runHere(desk, 'check')
    expect(lenient).toMatchObject({ code: 0, stdout: expect.stringContaining('warning: ') })
    expect((await runHere(desk, 'check', '--strict')).code).toBe(1)
    expect((await runHere(desk, 'check', '--strict', '--offline')).code).toBe(0)
  },
)

test.each([
  ['the token', '"${file:/run/secrets/kubeherald/token}"', 'xoxb'],
  ['the address of Redis', '"${env:NOT_SET_HERE}"', 'url'],
])(
  'check --offline does without %s that only the pod has, and tells every other mistake',
  async (_, secret, of) => {
    using desk = openDesk()
    const sink = of === 'url' ? 'type: stdout' : `type: slack, token: ${secret}, channel: "#a"`
    const redis = of === 'url' ? `redis: { url: ${secret} }\n` : ''
    const text = `${redis}watch: [Event]\nsinks: { chat: { ${sink} } }\nrules: [{ name: all, to: chat }]\n`
    desk.write('kubeherald.yaml', text)
    const absent = of === 'url' ? 'the environment variable NOT_SET_HERE is not set' : 'there is no such file'
    expect(await runHere(desk, 'check', '--offline', '--strict')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        `^kubeherald.yaml is good[^]*\\(not looked at: kubeherald.yaml:[^]*${absent}`,
      ),
    })
    expect(await runHere(desk, 'check')).toMatchObject({ code: 2, stderr: expect.stringContaining(absent) })
    desk.write('kubeherald.yaml', text.replace('to: chat', 'to: chatt'))
    const mistaken = await runHere(desk, 'check', '--offline')
    expect(mistaken).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no sink "chatt"') })
  },
)

test('check says what a start with leases needs besides', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration('leases: true'))
  const { stdout, code } = await runHere(desk, 'check', '--offline', '--strict')
  expect(stdout).toContain('a start needs more, for "leases" shares its work')
  expect(stdout).toContain('redis: { url: "redis://HOST:6379" }')
  expect(code).toBe(0)
  desk.write('kubeherald.yaml', configuration('leases: true\ncluster: a\nredis: { url: "redis://r" }'))
  expect((await runHere(desk, 'check', '--offline')).stdout).not.toContain('needs more')
})

test('a kind that the cluster does not know is a warning, and with --strict a failure', async () => {
  using desk = openDesk()
  await using kubernetes = await startDemoCluster({ random: Math.random, clock: Date })
  const text = configuration(`kubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`)
  desk.write('kubeherald.yaml', text.replace('[Event, Pod]', '[Event, widgets.example.com]'))
  const lenient = await runHere(desk, 'check')
  expect(lenient.code).toBe(0)
  expect(lenient.stdout).toContain('warning: waits for widgets.example.com')
  expect(lenient.stdout).toContain('kubeherald.yaml is good, with 1 warning: 2 watch entries')
  expect((await runHere(desk, 'check', '--strict')).code).toBe(1)
  desk.write('kubeherald.yaml', text)
  expect(await runHere(desk, 'check', '--strict')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('is good: '),
  })
})

test('check asks the sinks of plug-ins too', async () => {
  using desk = openDesk()
  const schema = "{ '~standard': { version: 1, vendor: 'test', validate: () => ({ value: {} }) } }"
  const sink =
    "{ deliver: async () => [], health: async () => ({ ok: false, reason: 'auth', detail: 'no such pager' }), close: async () => {} }"
  desk.write(
    'pager.mjs',
    `export default { apiVersion: 1, type: 'pager', config: ${schema}, open: () => (${sink}) }`,
  )
  desk.write(
    'kubeherald.yaml',
    'plugins: [./pager.mjs]\nwatch: [Event]\nsinks: { oncall: { type: pager } }\nrules: [{ name: all, to: [oncall] }]\n',
  )
  expect((await runHere(desk, 'check')).stdout).toContain('warning: sink oncall (pager): no such pager\n')
})

test('check tells what a start would refuse of Redis, or warn of, and writes nothing into it', async () => {
  using desk = openDesk()
  await using server = await startRedis({ args: ['--maxmemory', '100mb'] })
  desk.write('kubeherald.yaml', configuration(`redis: { url: "${server.url}" }`))
  expect((await runHere(desk, 'check', '--strict')).code).toBe(0)
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  const evicts = await runHere(desk, 'check')
  expect(evicts.code).toBe(2)
  expect(evicts.stdout).not.toContain('is good')
  expect(evicts.stdout).toContain(
    `error: redis (127.0.0.1:${server.port}): Redis has maxmemory-policy allkeys-lru`,
  )
  expect(await server.command('DBSIZE')).toBe(0)
  await server.command('CONFIG', 'SET', 'requirepass', 'right')
  const locked = await runHere(desk, 'check')
  expect(locked.code).toBe(2)
  expect(locked.stdout).toMatch(/error: redis .* requires a password and was given none/)
  await server.stop()
  const gone = await runHere(desk, 'check')
  expect(gone.code).toBe(0)
  expect(gone.stdout).toMatch(/warning: redis .* does not answer: nobody listens at/)
})

test('check --json tells programs what is wrong, and where', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', `include: team.yaml\n${configuration()}`)
  desk.write('team.yaml', 'vars: { idle: 1 }\nrules: [{ name: team, when: { kin: Pod }, to: screen }]\n')
  const bad = await runHere(desk, 'check', '--offline', '--json')
  expect(bad.code).toBe(2)
  expect(JSON.parse(bad.stdout)).toMatchObject({
    file: 'kubeherald.yaml',
    good: false,
    exitCode: 2,
    problems: [
      {
        file: 'team.yaml',
        line: 1,
        column: 9,
        severity: 'warning',
        message: 'nothing uses the variable "idle"',
      },
      {
        file: 'team.yaml',
        line: 2,
        column: 31,
        length: 3,
        severity: 'error',
        message: 'unknown key "kin"',
        hint: 'did you mean "kind"?',
      },
    ],
  })
  desk.write('team.yaml', 'vars: { idle: 1 }\nrules: [{ name: team, when: { kind: Pod }, to: screen }]\n')
  const good = await runHere(desk, 'check', '--offline', '--json', '--strict')
  expect(good.code).toBe(1)
  expect(JSON.parse(good.stdout)).toMatchObject({
    good: true,
    exitCode: 1,
    problems: [{ severity: 'warning' }],
    counts: { rules: 2 },
    notAsked: '--offline',
  })
  expect(await runHere(desk, 'check', '--json', '-c', 'gone.yaml')).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('there is no such file'),
  })
})

test('check --json tells what would be watched', async () => {
  using desk = openDesk()
  await using kubernetes = await startDemoCluster({ random: Math.random, clock: Date })
  desk.write('kubeherald.yaml', configuration(`kubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`))
  const { stdout, code } = await runHere(desk, 'check', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    good: true,
    problems: [],
    cluster: {
      watches: [{ title: expect.stringContaining('events') }, { title: expect.stringContaining('pods') }],
    },
  })
})
