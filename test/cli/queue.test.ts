import { expect, test } from 'vitest'
import type { WatchStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { noteHistoryLoss } from '../../src/store/history/read-history.ts'
import { keysOf } from '../../src/store/keys.ts'
import { publishReport } from '../../src/store/process-reports.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { headerFor } from '../store/objects.ts'
import { configuration, type Desk, openDesk } from './cli.ts'
import { runHere } from './here.ts'

/** What a kubeherald left behind that delivered 2, gave up 2 and has 1 waiting. */
async function stopped(cluster: string) {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const keys = keysOf(cluster)
  await checkRedis({ redis, keys })
  const event = headerFor('web', '7', 'MODIFIED', 'uid-of-web')
  const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson: Buffer.from('{}') }])
  const payload = entry?.payload ?? Buffer.alloc(0)
  await redis.xadd(keys.lane('hook/0'), '*', 'n', 1, 't', Date.now(), 'z', payload)
  await redis.hset(keys.pending, 'hook/0', 1)
  await redis.hset(keys.sinkLedger('hook'), { enqueued: 5, delivered: 2, dead: 2 })
  await redis.hset(keys.sources, 'pods#1', JSON.stringify({ title: 'pods in shop' }))
  await redis.hset(keys.watchLedger('pods#1'), { observed: 9, unmatched: 4, matched: 4, limited: 1 })
  await redis.zadd(keys.rules, Date.now() - 150_000, 'all')
  const held = { 'suppressed:throttle': 2, 'suppressed:drop': 1 }
  await redis.hset(keys.ruleLedger('all'), { matched: 9, sent: 5, digested: 1, ...held })
  const ids: string[] = []
  for (const sink of ['hook', 'hook']) {
    const about = ['sink', sink, 'lane', `${sink}/0`, 'rule', 'all', 'reason', 'rejected', 'detail', '400']
    ids.push(String(await redis.xadd(keys.deadLetters, '*', ...about, 'at', Date.now(), 'z', payload)))
  }
  return { url: server.url, ids, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const redisAt = (url: string) => `redis: { url: "${url}" }`

test('status after a stop says so, and shows what waits and what was counted', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: here\n${redisAt(left.url)}`))
  const { code, stdout } = await runHere(desk, 'status')
  expect(code).toBe(0)
  expect(stdout).toContain('no process runs for cluster here')
  expect(stdout).toMatch(/^pods in shop +stopped +9 +4 +0 +4 +1$/m)
  expect(stdout).toMatch(/^hook +stopped +5 +2 +2 +1 /m)
  expect(stdout).toMatch(/^all +9 +5 +1 +0 +2 throttle, 1 drop +0 +3 min ago$/m)
  expect(stdout).toContain('ledger: balanced')
})

test('status shows when and why the history begins later than it could', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: here\n${redisAt(left.url)}`))
  const redis = openRedis(left.url, 'work', silentLog)
  const keys = keysOf('here')
  const shown = async () => /^history: .*$/m.exec((await runHere(desk, 'status')).stdout)?.[0]
  expect(await shown()).toBeUndefined()
  await noteHistoryLoss(redis, keys, { atMs: Date.now() - 150_000, why: 'lost' })
  expect(await shown()).toMatch(/Redis 3 min ago/)
  await noteHistoryLoss(redis, keys, { atMs: Date.now() - 150_000, why: 'full' })
  expect(await shown()).toMatch(/full, 3 min ago/)
  await redis.set(keys.historyLost, 'of another program')
  expect(await shown()).toBeUndefined()
  redis.disconnect()
})

test('status shows a watch once, by the newest report of a process that works on it', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: here\n${redisAt(left.url)}`))
  const redis = openRedis(left.url, 'work', silentLog)
  const report = async (host: string, atMs: number, watches: Record<string, WatchStatus['phase']>) =>
    publishReport(redis, keysOf('here'), {
      ...{ id: host, host, role: 'all', version: '1.0.0', pid: 1, startedMs: 1, atMs, sinks: [] },
      watches: Object.entries(watches).map(([key, phase]) => ({
        ...{ key, title: key, phase, holder: `${host}_1` },
        ...{ resourceVersion: '7', lastContactMs: atMs, aliveUntilMs: atMs, ready: true },
      })),
    })
  try {
    const now = Date.now()
    await report('former', now - 1_000, { moved: 'watching', stays: 'watching', free: 'standby' })
    await report('holder', now, { moved: 'watching', stays: 'standby', free: 'standby' })
    const { stdout } = await runHere(desk, 'status')
    const [, shown = ''] = /^WATCH.*\n((?:.+\n)+)/m.exec(stdout) ?? []
    expect(
      shown
        .trim()
        .split('\n')
        .map((row) => row.split(/ +/).slice(0, 3)),
    ).toEqual([
      ['moved', 'watching', 'holder_1'],
      ['stays', 'watching', 'former_1'],
      ['free', 'standby', 'former_1'],
    ])
  } finally {
    redis.disconnect()
  }
})

test('status shows for how long a watch has been behind once that is unusual, its relists, and what sinks warn of', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: here\n${redisAt(left.url)}`))
  const redis = openRedis(left.url, 'work', silentLog)
  const watch = (title: string, behind?: WatchStatus['behind']): WatchStatus => ({
    ...{ key: title, title, phase: 'watching', resourceVersion: '7', ready: true },
    ...{ lastContactMs: Date.now(), aliveUntilMs: Date.now(), ...(behind && { behind }) },
  })
  try {
    await publishReport(redis, keysOf('here'), {
      ...{
        id: 'a',
        host: 'a',
        role: 'all',
        version: '1.0.0',
        pid: 1,
        startedMs: 1,
        atMs: Date.now(),
        sinks: [
          {
            sink: 'chat',
            healthy: true,
            quarantined: 0,
            failingTargets: 0,
            warnings: ['buttons have not worked for 3 min'],
          },
        ],
      },
      watches: [
        { ...watch('lists'), relists: { count: 2, cause: 'expired', atMs: Date.now() - 300_000 } },
        watch('jams', { ms: 180_000, waitsFor: 'api-server' }),
        watch('waits', { ms: 180_000, waitsFor: 'redis' }),
        watch('probes', { ms: 20_000, waitsFor: 'api-server' }),
        watch('follows'),
      ],
    })
    const { stdout } = await runHere(desk, 'status')
    expect(stdout).toMatch(/^jams +watching, behind for 3 min +7 /m)
    expect(stdout).toMatch(/^waits +watching, behind for 3 min \(Redis\) +7 /m)
    expect(stdout).toMatch(/^probes +watching +7 /m)
    expect(stdout).toMatch(/^follows +watching +7 /m)
    expect(stdout).toMatch(/^lists .* 2, last 5 min ago: expired/m)
    expect(stdout).toMatch(/^sink chat: buttons have not worked for 3 min$/m)
  } finally {
    redis.disconnect()
  }
})

test('a cluster name under which nothing is stored is told, with those that there are', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: there\n${redisAt(left.url)}`))
  for (const [command, printed] of [
    ['status', ''],
    ['dead-letters list', 'no dead letters\n'],
  ] as const) {
    const { code, stdout, stderr } = await runHere(desk, ...command.split(' '))
    expect({ code, stdout }).toEqual({ code: 0, stdout: printed })
    expect(stderr).toContain('nothing is stored under the cluster name "there"')
    expect(stderr).toContain('there is here')
  }
})

test('--context names what is stored without a kubeconfig', async () => {
  using desk = openDesk()
  await using left = await stopped('blue')
  desk.write('kubeherald.yaml', configuration(redisAt(left.url)))
  const none = await runHere(desk, 'status')
  expect(none.stderr).toContain('there is blue: choose with cluster: in the configuration, or --context')
  const { code, stdout, stderr } = await runHere(desk, 'status', '--context', 'blue')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('no process runs for cluster blue')
})

test('where the configuration names the cluster, nothing else is advised', async () => {
  using desk = openDesk()
  await using left = await stopped('blue')
  desk.write('kubeherald.yaml', configuration(`cluster: bleu\n${redisAt(left.url)}`))
  const { stderr } = await runHere(desk, 'status', '--context', 'blue')
  expect(stderr).toContain('there is blue: choose with cluster: in the configuration\n')
})

test('--context finds what run --context stored', async () => {
  using desk = openDesk()
  await using left = await stopped('blue')
  const context = (name: string) => `  - { name: ${name}, context: { cluster: c, user: u } }`
  const kubeconfig = desk.write(
    'kubeconfig',
    `current-context: green
contexts:
${context('green')}
${context('blue')}
clusters:
  - { name: c, cluster: { server: "http://127.0.0.1:1" } }
users:
  - { name: u, user: {} }
`,
  )
  desk.write(
    'kubeherald.yaml',
    configuration(`kubernetes: { kubeconfig: "${kubeconfig}" }\n${redisAt(left.url)}`),
  )
  const green = await runHere(desk, 'status')
  expect(green.stderr).toContain('nothing is stored under the cluster name "green"')
  const blue = await runHere(desk, 'status', '--context', 'blue')
  expect(blue.stdout).toContain('for cluster blue')
  const letters = await runHere(desk, 'dead-letters', 'list', '--context', 'blue', '--json')
  expect(letters.stdout.trim().split('\n')).toHaveLength(2)
})

test('a missing secret and a broken rule keep nobody from status and dead-letters', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  const broken = `cluster: here
${redisAt(left.url)}
kubernetes: { kubeconfig: nowhere }
watch: [Pod]
sinks: { hook: { type: webhook, url: "\${env:NO_SUCH_URL}", secret: "\${file:nowhere}" } }
rules: [{ when: { knd: Pod } }]
`
  desk.write('kubeherald.yaml', broken)
  const status = await runHere(desk, 'status')
  expect(status.code).toBe(0)
  expect(status.stdout).toMatch(/^hook /m)
  expect(status.stderr).toBe(
    'warning: kubeherald.yaml has 2 problems that do not matter here; "kubeherald check" shows more\n',
  )
  expect((await runHere(desk, 'dead-letters', 'list', '--sink', 'hook')).code).toBe(0)
})

test.each([
  ['redis: { url: "${env:NO_SUCH_URL}" }', 'the environment variable NO_SUCH_URL is not set'],
  ['redis: { ulr: "redis://127.0.0.1" }', 'did you mean "url"?'],
  ['cluster: "-"', 'is not a cluster name'],
  ['redis: [', 'kubeherald.yaml has'],
])('but a fault in what status needs is told: %s', async (text, told) => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', configuration(text))
  const { code, stderr } = await runHere(desk, 'status')
  expect(code).toBe(2)
  expect(stderr).toContain(told)
})

async function deadLetters(desk: Desk) {
  const left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: here\n${redisAt(left.url)}`))
  return left
}

test('a variable without its secret is named where it stops a command', async () => {
  using desk = openDesk()
  const file = (watch: string) => `vars: { url: "\${env:NO_SUCH_URL}", teams: "\${env:NO_SUCH_TEAM}" }
cluster: here
redis: { url: "\${var:url}" }
watch: ${watch}
sinks: { screen: { type: stdout } }
rules: [{ name: all, to: screen }]
`
  desk.write('kubeherald.yaml', file('[{ kind: Event, namespaces: "${var:teams}" }]'))
  const status = await runHere(desk, 'status')
  expect(status.code).toBe(2)
  expect(status.stderr).toContain('kubeherald.yaml:1:15: the environment variable NO_SUCH_URL is not set')
  const rbac = await runHere(desk, 'rbac')
  expect(rbac.code).toBe(2)
  expect(rbac.stderr).toMatch(/kubeherald\.yaml:1:\d+: the environment variable NO_SUCH_TEAM is not set/)
})

test('as data, dead-letters list notes what --limit leaves out', async () => {
  using desk = openDesk()
  await using left = await stopped('here')
  desk.write('kubeherald.yaml', configuration(`cluster: here\n${redisAt(left.url)}`))
  const one = await runHere(desk, 'dead-letters', 'list', '--limit', '1', '--json')
  expect(one.stdout.trim().split('\n')).toHaveLength(1)
  expect(one.stderr).toMatch(/^note: .*1 older.*--limit/)
  expect((await runHere(desk, 'dead-letters', 'list', '--json')).stderr).toBe('')
})

test('dead-letters refuses arguments that contradict each other', async () => {
  using desk = openDesk()
  await using left = await deadLetters(desk)
  const [id = ''] = left.ids
  const both = await runHere(desk, 'dead-letters', 'retry', '--all', id)
  expect(both).toMatchObject({ code: 2, stderr: 'kubeherald: retry takes IDs or --all, not both\n' })
  const sink = await runHere(desk, 'dead-letters', 'retry', id, '--sink', 'hook')
  expect(sink.code).toBe(2)
  expect(sink.stderr).toContain('--sink')
  const { stdout } = await runHere(desk, 'dead-letters', 'list', '--json')
  expect(stdout.trim().split('\n')).toHaveLength(2)
})

test('dead-letters knows the sinks that there are', async () => {
  using desk = openDesk()
  await using _ = await deadLetters(desk)
  for (const command of [['list'], ['retry', '--all']]) {
    const { code, stderr } = await runHere(desk, 'dead-letters', ...command, '--sink', 'nosuch')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'kubeherald: there is no sink "nosuch"; there are: screen, hook\n',
    })
  }
})

test('one dead letter goes on its way again', async () => {
  using desk = openDesk()
  await using left = await deadLetters(desk)
  const one = await runHere(desk, 'dead-letters', 'retry', left.ids[0] ?? '')
  expect(one.stdout).toBe('1 dead letter goes on its way again\n')
  const gone = await runHere(desk, 'dead-letters', 'show', left.ids[0] ?? '')
  expect(gone.code).toBe(2)
  expect(gone.stderr).toContain('"kubeherald dead-letters list" shows them')
})

test('a clone run through npm is told the command that works there', async () => {
  using desk = openDesk({ npm_lifecycle_event: 'start' })
  await using _ = await deadLetters(desk)
  const { stderr } = await runHere(desk, 'dead-letters', 'show', '1-1')
  expect(stderr).toContain('"npm start -- dead-letters list" shows them')
})
