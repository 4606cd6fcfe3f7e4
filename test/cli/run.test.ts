import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { freePort } from '../servers/ports.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { configuration, openDesk } from './cli.ts'
import { runHere } from './here.ts'

const cluster = () => startDemoCluster({ random: Math.random, clock: Date })

test('a configuration in the working directory without a cluster is an error, not a demo', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration())
  const { code, stdout, stderr } = await desk.run()
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe(
    'kubeherald: no cluster: there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and this is not a pod\n',
  )
})

test('kubernetes.kubeconfig of a configuration in the working directory counts', async () => {
  using desk = openDesk()
  await using kubernetes = await cluster()
  desk.write('kubeherald.yaml', configuration(`kubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`))
  const program = desk.start()
  await waitFor(() => program.output().includes(' started"'), {
    what: () => `the start: ${program.output()}`,
  })
  expect(program.output()).toContain(`"server":"${kubernetes.url}"`)
  await program.end('SIGTERM')
})

test.each([
  [[], true],
  [['run'], false],
])(
  '%j with neither a configuration nor a cluster fails where nobody watches; usage: %j',
  async (args, usage) => {
    using desk = openDesk()
    const { code, stdout, stderr } = await desk.run(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^kubeherald: there is neither a configuration .* nor a cluster /)
    expect(stderr.includes('Usage: kubeherald')).toBe(usage)
  },
)

test('with neither a configuration nor a cluster npm start runs the demo, and shows that', async () => {
  using desk = openDesk({ npm_lifecycle_event: 'start' })
  const program = desk.start()
  await waitFor(() => program.output().includes('"source":"/clusters/demo"'), {
    what: () => program.output(),
  })
  expect(program.output()).toContain('cluster  none found, so a demo cluster inside this process')
  expect(program.output()).toContain('"npm start -- status --demo" shows more')
  await program.end('SIGTERM')
})

test.concurrent('the page of a demo shows what changed and why a rule sent it, texts, and a dead letter that can be sent again', async () => {
  using desk = openDesk()
  const program = desk.start('demo')
  const page = await waitFor(() => /^ {2}page +(\S+)\/$/m.exec(program.output())?.[1], {
    what: () => `the address of the page: ${program.output()}`,
  })
  expect((await fetch(`${page}/`)).headers.get('content-type')).toContain('text/html')
  const api = async (path: string): Promise<any> => (await fetch(`${page}/api/v1${path}`)).json()
  const storyOf = ({ event }: any) => api(`/events/${encodeURIComponent(event.id)}`)
  /** Of the first change of an object the journal does not have the state before. */
  const changed = async () => {
    const { items } = await api('/history?rule=changes&kind=Deployment')
    return (await Promise.all(items.slice(0, 5).map(storyOf))).find((it) => it.changes?.length > 0)
  }
  const story = await waitFor(changed, {
    everyMs: 500,
    timeoutMs: 120_000,
    what: 'a change with the state before',
  })
  const sending = story.rules.find((it: { rule: string }) => it.rule === 'changes')
  expect(sending).toMatchObject({ verdict: 'matches', result: { outcome: 'sent', sinks: ['screen'] } })

  const letter = async () => (await api('/dead-letters')).items[0]
  const { id, sink } = await waitFor(letter, { everyMs: 500, timeoutMs: 120_000, what: 'a dead letter' })
  const delivered = async (to: string) => (await api(`/history?sink=${to}&outcome=delivered`)).items
  const titles = async () => (await delivered('chat')).map((it: any) => it.title).join()
  await waitFor(async () => (await titles()).includes('crash-looping'), { what: 'a text in the chat' })
  const retry = await fetch(`${page}/api/v1/dead-letters/retry`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"ids":["${id}"]}` },
  })
  expect(await retry.json()).toMatchObject({ done: 1 })
  await waitFor(async () => (await delivered(sink)).length > 0, { what: 'the dead letter to be delivered' })
  await program.end('SIGTERM')
})

test.concurrent('what still waits at the end of a demo is said to go with it', async () => {
  using desk = openDesk()
  const sink = `{ type: webhook, url: "http://127.0.0.1:${await freePort()}" }`
  const file = desk.write('mine.yaml', configuration().replace('{ type: stdout }', sink))
  const program = desk.start('demo', '-c', file)
  await waitFor(() => program.output().includes('the sink fails'), { what: () => program.output() })
  await program.end('SIGTERM')
  expect(program.output()).toMatch(
    /kubeherald stopped: (1 delivery is pending; it is|\d+ deliveries are pending; they are) deleted with the demo\n$/,
  )
})

test.concurrent('a Ctrl-C that comes twice at once, as through npm, is one', async () => {
  using desk = openDesk()
  const program = desk.start('demo')
  await waitFor(() => program.output().includes('http '), { what: () => `the banner: ${program.output()}` })
  process.kill(program.pid, 'SIGINT')
  await program.end('SIGINT')
  expect(program.output()).toContain('kubeherald stopped: ')
})

test.concurrent('among JSON logs the last line and warnings are JSON too', async () => {
  using desk = openDesk()
  await using kubernetes = await cluster()
  desk.write(
    'kubeherald.yaml',
    `kubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }
server: { port: 0 }
watch: [ConfigMap]
sinks: { screen: { type: webhook, url: "http://127.0.0.1:9/" }, spare: { type: stdout } }
rules: [{ name: all, to: [screen] }]
`,
  )
  const program = desk.start()
  await waitFor(() => program.output().includes(' started"'), {
    what: () => `the start: ${program.output()}`,
  })
  await program.end('SIGTERM')
  const lines = program.output().trim().split('\n')
  const told = lines.map((line) => JSON.parse(line))
  expect(told).toContainEqual(expect.objectContaining({ level: 'warn', line: 4, file: 'kubeherald.yaml' }))
  expect(told.at(-1)).toMatchObject({ msg: 'kubeherald stopped: nothing is pending', pending: 0 })
})

test.concurrent('a demo reads no configuration but the one of -c, and never its Redis or cluster name', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', 'this is not a configuration')
  const file = desk.write(
    'mine.yaml',
    configuration(`cluster: prod\nredis: { url: "redis://127.0.0.1:${await freePort()}" }`),
  )
  const program = desk.start('demo')
  await waitFor(() => program.output().includes('http '), { what: () => `the banner: ${program.output()}` })
  expect(program.output()).toContain('a demo cluster inside this process, as asked for')
  await program.end('SIGTERM')
  const own = desk.start('demo', '-c', file)
  await waitFor(() => own.output().includes('"source":"/clusters/demo"'), { what: () => own.output() })
  expect(own.output()).toContain(`${file} (a demo does not use its redis, cluster)`)
  await own.end('SIGTERM')
  expect(existsSync(join(desk.dir, 'state', 'kubeherald', 'demo'))).toBe(false)
})

test.concurrent('a second demo is refused and leaves the first one its data; --state-dir gives it a place of its own', async () => {
  using desk = openDesk()
  const first = desk.start('demo')
  await waitFor(() => first.output().includes('http '), { what: () => `the banner: ${first.output()}` })
  const { code, stderr } = await desk.run('demo')
  expect(code).toBe(1)
  expect(stderr).toContain('another kubeherald')
  expect(existsSync(join(desk.dir, 'state', 'kubeherald', 'demo', 'redis.sock'))).toBe(true)
  const second = desk.start('demo', '--state-dir', join(desk.dir, 'other'))
  await waitFor(() => second.output().includes('http '), { what: () => `the banner: ${second.output()}` })
  const { stdout } = await desk.run('status', '--demo', '--state-dir', join(desk.dir, 'other'))
  expect(stdout).toContain(String(second.pid))
  await second.end('SIGTERM')
  await first.end('SIGTERM')
})

test.concurrent('the command that a demo prints shows its state, also in a shared Redis', async () => {
  using desk = openDesk()
  await using redis = await startRedis()
  desk.write('mine.yaml', configuration(`cluster: prod\nredis: { url: "${redis.url}" }`))
  const demo = desk.start('demo', '-c', 'mine.yaml', '--shared-redis')
  await waitFor(() => demo.output().includes('http '), { what: () => `the banner: ${demo.output()}` })
  const [, command = ''] = /"kubeherald ([^"]*)" shows more/.exec(demo.output()) ?? []
  const { code, stdout } = await desk.run(...command.split(' '))
  await demo.end('SIGTERM')
  expect(stdout).toContain(String(demo.pid))
  expect(code).toBe(0)
  const after = await desk.run(...command.split(' '))
  expect(after.stderr).toContain('nothing is stored under the cluster name "kubeherald-demo"')
})

test.each(['watch', 'deliver'])('--role %s without cluster: says what to write', async (role) => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration('redis: { url: "redis://127.0.0.1:1" }'))
  const { code, stderr } = await runHere(desk, 'run', '--role', role)
  expect(code).toBe(2)
  expect(stderr).toContain(`--role ${role} shares its work`)
  expect(stderr).toContain('cluster: NAME')
  expect(stderr).not.toContain('redis: {')
})

test('leases without a shared Redis and cluster: says what to write', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration('leases: true'))
  const { code, stderr } = await runHere(desk, 'run')
  expect(code).toBe(2)
  expect(stderr).toContain('"leases" shares its work with other processes')
  expect(stderr).toContain('cluster: NAME')
  expect(stderr).toContain('redis: {')
})

test('the name under which a demo shares a Redis is not a name for a cluster: the next demo would delete what is there', async () => {
  using desk = openDesk()
  await using redis = await startRedis()
  await using kubernetes = await cluster()
  desk.write(
    'kubeherald.yaml',
    configuration(
      `cluster: kubeherald-demo\nkubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }\nredis: { url: "${redis.url}" }`,
    ),
  )
  const { code, stderr } = await desk.run('run')
  expect(code).toBe(2)
  expect(stderr).toContain('kubeherald-demo is the name of the demo, which deletes what is stored under it')
})

test('a command that Redis refuses is told in plain words', async () => {
  using desk = openDesk()
  await using redis = await startRedis()
  await redis.command('ACL', 'SETUSER', 'kh', 'on', '>PASSWORD', '~*', '+@all', '-scan')
  desk.write(
    'kubeherald.yaml',
    configuration(`redis: { url: "${redis.url}", username: kh, password: PASSWORD }`),
  )
  const { code, stderr } = await desk.run('demo', '-c', 'kubeherald.yaml', '--shared-redis')
  expect(code).toBe(1)
  expect(stderr).toMatch(/^kubeherald: .*may not run SCAN \(NOPERM\)\n$/)
})

test('a start that fails with connections open ends', async () => {
  using desk = openDesk()
  await using redis = await startRedis()
  await using kubernetes = await cluster()
  await redis.command('RPUSH', '{kubeherald:here}:salt', 'no string')
  desk.write(
    'kubeherald.yaml',
    configuration(
      `cluster: here\nredis: { url: "${redis.url}" }\nkubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`,
    ),
  )
  const { code, stderr } = await desk.run()
  expect(code).toBe(1)
  expect(stderr).toContain('{kubeherald:here}:salt')
})

test('SIGTERM ends a start that waits for a silent Redis', async () => {
  using desk = openDesk()
  await using kubernetes = await cluster()
  let asked = false
  const silent = createServer((socket) => {
    asked = true
    socket.on('error', () => {})
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  desk.write(
    'kubeherald.yaml',
    configuration(
      `redis: { url: "redis://127.0.0.1:${port}" }\nkubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`,
    ),
  )
  const program = desk.start()
  await waitFor(() => asked, { what: 'a connection' })
  await program.end('SIGTERM')
  // A stop that takes too long ends with 1.
  expect(program.exitCode()).toBe(0)
  expect(program.output()).toContain('stopped before its start was complete')
  silent.close()
})

test('bad kubeconfigs and contexts are told in words, with exit code 2', async () => {
  using desk = openDesk()
  await using kubernetes = await cluster()
  const file = desk.write('kubeherald.yaml', configuration('kubernetes: { kubeconfig: nowhere }'))
  const missing = await runHere(desk, 'run')
  expect(missing.code).toBe(2)
  expect(missing.stderr).toMatch(
    /^kubeherald: cannot read the kubeconfig \S+nowhere: there is no such file or directory\n$/,
  )
  desk.write('kubeherald.yaml', configuration(`kubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`))
  for (const command of ['run', 'check']) {
    const { code, stderr } = await runHere(desk, command, '--config', file, '--context', 'nope')
    expect(code).toBe(2)
    expect(stderr).toContain('has no context "nope" with a cluster; it has demo')
  }
  desk.write('empty', 'apiVersion: v1\nkind: Config\n')
  desk.write('kubeherald.yaml', configuration('kubernetes: { kubeconfig: empty }'))
  expect((await runHere(desk, 'run')).stderr).toMatch(
    /empty has no current context, and no context at all\n$/,
  )
})

test.each([
  ['/proc/kubeherald', 'no directory can be made in /proc'],
  ['/etc/hosts', '/etc/hosts is a file'],
])('--state-dir %s is refused at once', async (dir, reason) => {
  using desk = openDesk()
  const { code, stderr } = await runHere(desk, 'demo', '--state-dir', dir)
  expect(code).toBe(2)
  expect(stderr).toBe(
    `kubeherald: cannot use the state directory ${dir}/demo: ${reason}; choose another with --state-dir\n`,
  )
})

test('an address that is not of this machine is blamed on the host', async () => {
  using desk = openDesk()
  const file = desk.write(
    'mine.yaml',
    configuration().replace('{ port: 0 }', '{ host: 192.0.2.1, port: 9464 }'),
  )
  const { code, stderr } = await desk.run('demo', '-c', file)
  expect(code).toBe(1)
  expect(stderr).toContain(
    'cannot listen on 192.0.2.1:9464: this machine has no such address; set server.host',
  )
})
