import { request } from 'undici'
import { expect, test, vi } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { keysOf } from '../../src/store/keys.ts'
import { startKubeherald } from '../cluster/kubeherald.ts'
import { freePort } from '../servers/ports.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { configuration, openDesk } from './cli.ts'

// Some wait for a whole process and its Redis on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const cluster = () => startDemoCluster({ random: Math.random, clock: Date })

const config = (url: string) => `
cluster: test
redis: { url: "${url}" }
watch: [Pod]
sinks: { screen: { type: stdout } }
rules: [{ name: all, to: [screen] }]
`

async function get(url: string): Promise<{ status: number; body: string } | undefined> {
  const answer = await request(url).catch(() => undefined)
  return answer && { status: answer.statusCode, body: await answer.body.text() }
}

const count = (text: string, part: string) => text.split(part).length - 1

test('a start without Redis waits, is live and not ready, and goes on when Redis comes', async () => {
  await using kubernetes = await cluster()
  await using redis = await startRedis()
  await redis.stop()
  const { kubeconfig } = kubernetes
  await using kubeherald = await startKubeherald({ config: config(redis.url), kubeconfig, unready: true })
  const { url } = kubeherald
  await waitFor(() => kubeherald.log().includes('waiting for Redis'), {
    timeoutMs: 30_000,
    what: () => `a log line that Redis is awaited; ${kubeherald.log()}`,
  })
  expect(await get(`${url}/livez`)).toMatchObject({ status: 200 })
  expect(await get(`${url}/readyz`)).toMatchObject({
    status: 503,
    body: expect.stringMatching(new RegExp(`redis failed: .*nobody listens at 127.0.0.1:${redis.port}`)),
  })
  expect(await get(`${url}/metrics`)).toMatchObject({
    status: 200,
    body: expect.stringContaining('kubeherald_'),
  })
  const { code, stderr } = await kubeherald.command('status')
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('nobody listens') })
  await redis.restart()
  await waitFor(() => kubeherald.ready(), {
    timeoutMs: 30_000,
    what: () => `the start to complete; ${kubeherald.log()}`,
  })
  expect(count(kubeherald.log(), 'waiting for Redis')).toBe(1)
  expect(count(kubeherald.log(), 'Redis answers')).toBe(1)
  expect(await kubeherald.stop()).toBe(0)
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends a start that waits for Redis', async (signal) => {
  using desk = openDesk()
  await using kubernetes = await cluster()
  const port = await freePort()
  const more = `redis: { url: "redis://127.0.0.1:${port}" }\nkubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`
  desk.write('kubeherald.yaml', configuration(more))
  const program = desk.start()
  await waitFor(() => program.output().includes('waiting for Redis'), {
    timeoutMs: 30_000,
    what: () => `the start to wait; ${program.output()}`,
  })
  await program.end(signal)
  expect({ code: program.exitCode(), output: program.output() }).toMatchObject({
    code: 0,
    output: expect.stringContaining('stopped before its start was complete'),
  })
})

test.each([
  { what: 'a wrong password', password: 'right', code: 1, message: 'refuses' },
  { what: 'a policy that evicts', policy: 'allkeys-lru', code: 2, message: 'allkeys-lru' },
  { what: 'the layout of a newer version', layout: '99', code: 2, message: 'layout 99' },
  {
    what: 'less memory than the dead letters may use',
    maxmemory: '32mb',
    bound: 'deadLetters: { maxBytes: 64MB }\n',
    code: 2,
    message: 'maxmemory',
  },
])('$what ends a start: waiting would not help', async (row) => {
  const { password, policy, layout, maxmemory, bound = '', code, message } = row
  using desk = openDesk()
  await using kubernetes = await cluster()
  const args = [
    ...(password ? ['--requirepass', password] : []),
    ...(policy ? ['--maxmemory-policy', policy] : []),
    ...(maxmemory ? ['--maxmemory', maxmemory] : []),
  ]
  await using redis = await startRedis({ args, ...(password && { password }) })
  if (layout) await redis.command('SET', keysOf('demo').schema, layout)
  const more = `${bound}cluster: demo\nredis: { url: "${redis.url}", password: PASSWORD }\nkubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }`
  desk.write('kubeherald.yaml', configuration(more))
  const { stderr, ...result } = await desk.run()
  expect({ ...result, stderr }).toMatchObject({ code, stderr: expect.stringContaining(message) })
  expect(stderr).not.toContain('PASSWORD')
  expect(stderr).not.toContain('waiting for Redis')
})

test('a start without API server waits as well: live, not ready, and with the reason', async () => {
  await using redis = await startRedis()
  using desk = openDesk()
  const port = await freePort()
  const kubeconfig = desk.write(
    'kubeconfig',
    JSON.stringify({
      clusters: [{ name: 'away', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'anyone', user: {} }],
      contexts: [{ name: 'away', context: { cluster: 'away', user: 'anyone' } }],
      'current-context': 'away',
    }),
  )
  await using kubeherald = await startKubeherald({ config: config(redis.url), kubeconfig, unready: true })
  await waitFor(() => kubeherald.log().includes('kubeherald 0'), {
    timeoutMs: 30_000,
    what: () => `the start to go on; ${kubeherald.log()}`,
  })
  const { url } = kubeherald
  await waitFor(
    async () => (await get(`${url}/readyz`))?.body.includes(`nobody listens at 127.0.0.1:${port}`),
    {
      what: 'the reason',
    },
  )
  expect(await get(`${url}/readyz`)).toMatchObject({ status: 503 })
  expect(await get(`${url}/livez`)).toMatchObject({ status: 200 })
  expect(await kubeherald.stop()).toBe(0)
})
