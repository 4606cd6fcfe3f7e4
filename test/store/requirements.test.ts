import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis, reachRedis } from '../../src/store/redis/connection.ts'
import { readSalt } from '../../src/store/redis/layout.ts'
import { addressOf } from '../../src/store/redis/redis-target.ts'
import { checkRedis, redisCli } from '../../src/store/redis/requirements.ts'
import { freePort } from '../servers/ports.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { startSentinels } from '../servers/redis-sentinel.ts'

async function check(server: RedisServer) {
  const redis = openRedis(server.url, 'command', silentLog)
  try {
    return await checkRedis({ redis, keys: keysOf('test') })
  } finally {
    redis.disconnect()
  }
}

test('a Redis that evicts is refused, with what to type', async () => {
  await using server = await startRedis({
    args: ['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '100mb'],
  })
  const { refusals } = await check(server)
  const { hostname, port } = new URL(server.url)
  const command = `redis-cli -h ${hostname} -p ${port} CONFIG SET maxmemory-policy noeviction`
  expect(refusals).toMatchObject([expect.stringContaining(command)])
})

test('the command for a master that Sentinels know has its address', async () => {
  await using bed = await startSentinels({ args: ['--maxmemory-policy', 'allkeys-lru'] })
  const redis = await reachRedis({ sentinel: { name: 'main', nodes: bed.addresses } })
  const { refusals } = await checkRedis({ redis, keys: keysOf('test') })
  redis.disconnect()
  const { port } = await bed.master()
  expect(refusals).toMatchObject([expect.stringContaining(`redis-cli -h 127.0.0.1 -p ${port} CONFIG SET`)])
})

test('the command for a Redis with TLS and a password names neither user nor password', () => {
  const redis = openRedis('rediss://kh:hidden@redis.example:6380', 'command', silentLog)
  redis.disconnect()
  expect(redisCli(redis)).toBe('redis-cli -h redis.example -p 6380 --tls --user NAME --askpass')
})

test('a Redis without append-only file, and one without limit, are warned of', async () => {
  await using server = await startRedis({ args: ['--appendonly', 'no'] })
  const { refusals, warnings } = await check(server)
  expect(refusals).toEqual([])
  expect(warnings).toMatchObject([
    expect.stringContaining('appendonly yes'),
    expect.stringContaining('maxmemory'),
  ])
})

test('a bound above the memory limit is refused, with its key and what Redis has', async () => {
  await using server = await startRedis({ args: ['--maxmemory', '24mb'] })
  const redis = openRedis(server.url, 'command', silentLog)
  const bounds = [
    { name: 'kubeherald.yaml:3:20 sinks.audit.queue.maxBytes', bytes: 512e6 },
    { name: 'kubeherald.yaml:4:20 sinks.small.queue.maxBytes', bytes: 4e6 },
  ]
  const { refusals } = await checkRedis({ redis, keys: keysOf('test'), bounds })
  const together = [8e6, 8e6, 8e6].map((bytes) => ({ name: 'sinks.audit.queue.maxBytes', bytes }))
  const { warnings } = await checkRedis({ redis, keys: keysOf('test'), bounds: together })
  redis.disconnect()
  expect(warnings).toEqual([expect.stringContaining('together are 24 MB')])
  expect(refusals).toEqual([
    'kubeherald.yaml:3:20 sinks.audit.queue.maxBytes is 512 MB, more than the maxmemory of Redis (25.2 MB): lower it, or raise maxmemory',
  ])
})

test('keys of another layout are refused', async () => {
  await using server = await startRedis()
  await server.command('SET', keysOf('test').schema, '99')
  const { refusals } = await check(server)
  expect(refusals).toMatchObject([expect.stringContaining('layout 99')])
})

test('a Redis that is refused is left as it was', async () => {
  await using server = await startRedis({ args: ['--maxmemory-policy', 'volatile-ttl'] })
  await check(server)
  expect(await server.command('DBSIZE')).toBe(0)
})

test('a full Redis that was used before is good for a start: its deliveries have to go on', async () => {
  await using server = await startRedis()
  const redis = openRedis(server.url, 'command', silentLog)
  const salt = await readSalt(redis, keysOf('test'))
  await check(server)
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  expect((await check(server)).refusals).toEqual([])
  expect(await readSalt(redis, keysOf('test'))).toEqual(salt)
  redis.disconnect()
})

test('a Redis where CONFIG is forbidden is checked all the same', async () => {
  await using server = await startRedis({ args: ['--rename-command', 'CONFIG', '', '--appendonly', 'no'] })
  const { refusals, warnings } = await check(server)
  expect(refusals).toEqual([])
  expect(warnings).toHaveLength(2)
})

test('a Redis that does not answer is told with address and reason', async () => {
  const port = await freePort()
  await expect(reachRedis(`redis://user:hidden@127.0.0.1:${port}/2`)).rejects.toThrow(
    `Redis at 127.0.0.1:${port} does not answer: nobody listens at 127.0.0.1:${port}`,
  )
  await expect(reachRedis('unix:///nowhere/redis.sock')).rejects.toThrow(/at \/nowhere\/redis.sock .*ENOENT/)
})

test('a wrong password is told, and never shown', async () => {
  await using server = await startRedis()
  await server.command('CONFIG', 'SET', 'requirepass', 'right')
  const error = await reachRedis(`redis://:wrong-secret@127.0.0.1:${server.port}`).catch((it) => it)
  expect(error.message).toMatch(/refuses: Redis does not accept the user and password of the configuration/)
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('wrong-secret')
  const redis = await reachRedis(`redis://:right@127.0.0.1:${server.port}`)
  expect(await redis.ping()).toBe('PONG')
  redis.disconnect()
})

test.each([
  ['redis://user:password@host:6380/1', 'host:6380'],
  ['rediss://host', 'host'],
  ['unix:///run/redis.sock', '/run/redis.sock'],
])('the address of %s is %s', (url, address) => {
  expect(addressOf(url)).toBe(address)
})

test('a node of a Redis Cluster is refused: its keys would move away', async () => {
  await using server = await startRedis({ args: ['--cluster-enabled', 'yes'] })
  const { refusals } = await check(server)
  expect(refusals).toMatchObject([expect.stringContaining('Redis Cluster')])
})

test('Valkey is called by its name and version, and is not taken for an old Redis', async () => {
  await using server = await startRedis({ args: ['--maxmemory', '100mb'] })
  const redis = openRedis(server.url, 'command', silentLog)
  const text = (await redis.info()).replace(/^(server_name|valkey_version):.*\r\n/gm, '')
  redis.info = async () =>
    text.replace(/redis_version:.*/, 'redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.3')
  const report = await checkRedis({ redis, keys: keysOf('test') })
  redis.disconnect()
  expect(report).toEqual({ version: 'Valkey 8.1.3', refusals: [], pending: [], warnings: [] })
})
