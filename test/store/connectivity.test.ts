import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis, reachRedis } from '../../src/store/redis/connection.ts'
import { hashSlot } from '../../src/store/redis/locate-master.ts'
import {
  addressOf,
  type RedisTarget,
  renewCredentials,
  targetOf,
} from '../../src/store/redis/redis-target.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { startSentinels } from '../servers/redis-sentinel.ts'
import { waitFor } from '../wait-for.ts'

// Several servers each; a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const keys = keysOf('test')
const KEY = keys.bullmq

const said = (target: RedisTarget) =>
  reachRedis(target).then(
    () => 'reached',
    (error: Error) => error.message,
  )

test('Redis Cluster: the slot of a key is the one that Redis computes', async () => {
  await using server = await startRedis({ args: ['--cluster-enabled', 'yes'] })
  for (const key of ['a', '{kubeherald:prod}:lane', 'x{}y', '{a}{b}', '{', 'ünïcode'])
    expect(hashSlot(key)).toBe(await server.command('CLUSTER', 'KEYSLOT', key))
})

test('Redis Cluster: the connection is with the node that has our slot, from any other on', async () => {
  await using cluster = await startRedisCluster()
  const master = await cluster.masterOf(KEY)
  for (const address of cluster.addresses) {
    const redis = await reachRedis({ cluster: { nodes: [address], key: KEY } })
    expect(redis.stream.remotePort).toBe(master.port)
    expect((await checkRedis({ redis, keys, asCluster: true })).refusals).toEqual([])
    redis.disconnect()
  }
  // A seed that is gone keeps nobody away.
  const redis = await reachRedis({ cluster: { nodes: ['127.0.0.1:1', ...cluster.addresses], key: KEY } })
  redis.disconnect()
})

test('Redis Cluster: a slot that moves takes the connection along', async () => {
  await using cluster = await startRedisCluster()
  const target = { cluster: { nodes: cluster.addresses, key: KEY } }
  const redis = openRedis(target, 'work', silentLog)
  await redis.set(keys.salt, 'x')
  const to = await cluster.otherMaster(await cluster.masterOf(KEY))
  await cluster.beginMove(KEY, to)
  while ((await cluster.moveSome(KEY, to, 10)) > 0);
  await cluster.endMove(KEY, to)
  await waitFor(async () => (await redis.get(keys.salt).catch(() => undefined)) === 'x', { what: 'the key' })
  expect(redis.stream.remotePort).toBe(to.port)
  redis.disconnect()
})

test('Redis Cluster: what is not a cluster, and what may not be asked, is told', async () => {
  await using server = await startRedis()
  const target = { cluster: { nodes: [`127.0.0.1:${server.port}`], key: KEY } }
  expect(await said(target)).toBe(
    `Redis at cluster 127.0.0.1:${server.port} does not answer: 127.0.0.1:${server.port}: it is not a Redis Cluster; write redis.url instead of redis.cluster`,
  )
  await server.command('ACL', 'SETUSER', 'kh', 'on', '>pw', '~*', '+@all', '-cluster')
  expect(await said({ ...target, username: 'kh', password: 'pw' })).toContain('forbids CLUSTER SLOTS')
})

test('Sentinel: the master is found through any Sentinel, and a name that they do not know is told', async () => {
  await using bed = await startSentinels({ password: 'of-sentinels' })
  const sentinel = { name: 'main', nodes: ['127.0.0.1:1', ...bed.addresses], password: 'of-sentinels' }
  const redis = await reachRedis({ sentinel })
  expect(redis.stream.remotePort).toBe((await bed.master()).port)
  redis.disconnect()
  expect(await said({ sentinel: { ...sentinel, name: 'mymaster' } })).toContain(
    'it knows no master called "mymaster"',
  )
  const wrong = await said({ sentinel: { ...sentinel, password: 'wrong-one' } })
  expect(wrong).toContain('does not accept redis.sentinel.username and redis.sentinel.password')
  expect(wrong).not.toContain('wrong-one')
  expect(await said({ sentinel: { name: 'main', nodes: ['127.0.0.1:1', '127.0.0.1:2'] } })).toMatch(
    /does not answer: nobody listens at 127.0.0.1:1; nobody listens at 127.0.0.1:2$/,
  )
})

test('Sentinel: a master that is frozen is left as soon as there is another', async () => {
  await using bed = await startSentinels()
  const target = { sentinel: { name: 'main', nodes: bed.addresses } }
  const redis = openRedis(target, 'work', silentLog)
  await redis.set(keys.salt, 'x')
  const old = await bed.master()
  process.kill(old.pid, 'SIGSTOP')
  const answer = redis.get(keys.salt)
  await waitFor(async () => (await bed.master()) !== old, { timeoutMs: 60_000, what: 'a failover' })
  const startedMs = performance.now()
  expect(await answer).toBe('x')
  // Silence alone would be noticed after 15 s.
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  redis.disconnect()
  process.kill(old.pid, 'SIGCONT')
})

test('an address never shows who we are', () => {
  const secrets = { username: 'kh', password: 'hidden' }
  expect(
    addressOf({ ...secrets, sentinel: { name: 'main', nodes: ['a:26379', 'b:26379'], ...secrets } }),
  ).toBe('main via sentinels a:26379, b:26379')
  expect(addressOf({ ...secrets, cluster: { nodes: ['a:6379'], key: KEY } })).toBe('cluster a:6379')
  expect(addressOf({ url: 'rediss://kh:hidden@host:6380/1' })).toBe('host:6380')
  expect(targetOf({}, KEY)).toBeUndefined()
})

test('new passwords are taken over where they stand, and no other address', () => {
  const target: RedisTarget = { url: 'redis://kh:old@host:6379' }
  renewCredentials(target, { url: 'redis://kh:new@host:6379' })
  expect(target.url).toBe('redis://kh:new@host:6379')
  renewCredentials(target, { url: 'redis://kh:new@elsewhere:6379' })
  expect(target.url).toBe('redis://kh:new@host:6379')
  renewCredentials(target, { url: 'redis://kh:newer@host:6379/1' })
  renewCredentials(target, { url: 'rediss://kh:newer@host:6379' })
  expect(target.url).toBe('redis://kh:new@host:6379')
  const behind: RedisTarget = { sentinel: { name: 'main', nodes: ['a'], password: 'old' }, password: 'old' }
  renewCredentials(behind, { sentinel: { name: 'main', nodes: ['a'], password: 'new' }, password: 'newer' })
  expect(behind).toMatchObject({ sentinel: { password: 'new' }, password: 'newer' })
  renewCredentials(behind, { sentinel: { name: 'other', nodes: ['a'], password: 'x' }, password: 'x' })
  renewCredentials(behind, { url: 'rediss://b:6379', password: 'x', tls: true })
  expect(behind).toMatchObject({ sentinel: { password: 'new' }, password: 'newer', tls: undefined })
  const plain: RedisTarget = { url: 'redis://a:6379', password: 'ours' }
  renewCredentials(plain, { url: 'rediss://b:6379', password: 'theirs', tls: true })
  expect(plain).toEqual({ url: 'redis://a:6379', password: 'ours' })
})

test('a user that the configuration leaves out is not the user of the next connection', async () => {
  await using server = await startRedis()
  await server.command('ACL', 'SETUSER', 'kh', 'on', '>theirs', '~*', '&*', '+@all')
  const target: RedisTarget = { url: server.url, username: 'kh', password: 'theirs' }
  const redis = openRedis(target, 'work', silentLog)
  await redis.ping()
  renewCredentials(target, { url: server.url })
  await server.command('ACL', 'DELUSER', 'kh')
  const user = () => redis.call('ACL', 'WHOAMI')
  expect(await user()).toBe('default')
  redis.disconnect()
})

test('a connection that has very many refusals of a replica leaves it once, without a warning of leaks', async () => {
  await using server = await startRedis()
  const warnings: Error[] = []
  const note = (warning: Error) => void warnings.push(warning)
  process.on('warning', note)
  const redis = openRedis(server.url, 'commit', silentLog)
  await once(redis, 'ready')
  await server.command('REPLICAOF', '127.0.0.1', '1')
  const { stream } = redis
  await Promise.allSettled(Array.from({ length: 50 }, (_, i) => redis.set(`k${i}`, 'x')))
  const isNew = () => redis.status === 'ready' && redis.stream !== stream
  await waitFor(isNew, { what: 'a new connection' })
  redis.disconnect()
  process.off('warning', note)
  expect(warnings).toEqual([])
})
