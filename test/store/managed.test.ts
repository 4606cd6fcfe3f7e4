import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { readLane } from '../../src/store/lanes/read-lane.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { COMMANDS, inspectRedis, missingPermissions } from '../../src/store/redis/requirements.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { startLine } from './line-bed.ts'

// Several servers each; a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** Redis as others run it: few permissions, no CONFIG, other makes, shared with others. */

const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
const ACL = /^ACL SETUSER kubeherald .*$/m.exec(page)?.[0] ?? ''

async function withUser(more: readonly string[] = [], args: string[] = []): Promise<RedisServer> {
  const server = await startRedis({ args })
  await server.command(...ACL.split(' '), ...more)
  return server
}
const userYaml = (server: RedisServer) => `{ url: "${server.url}", username: kubeherald, password: PASSWORD }`

test('the user of docs/operating.md may do what the list says, and the list is what it may', () => {
  const granted = ACL.split(' ').filter((it) => it.startsWith('+'))
  expect(granted).toEqual(COMMANDS.map((it) => `+${it}`))
})

const read = (folder: URL, which: (name: string) => boolean) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[jt]s$/.test(name) && which(basename(name)))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')

/** Words that Redis takes for commands. */
async function commandsAmong(words: Iterable<RegExpExecArray>): Promise<string[]> {
  await using server = await startRedis()
  const known = new Set((await server.command('COMMAND', 'LIST')) as string[])
  return [...new Set([...words].map(([, word = '']) => word.toLowerCase()))].filter((it) => known.has(it))
}

test('what our own code sends is in the list', async () => {
  const others = ['forget.ts', 'handshake.ts', 'locate-master.ts']
  const code = read(new URL('../../src/store/', import.meta.url), (name) => !others.includes(name))
  const words = [
    ...code.matchAll(/\.([a-z]+?)(?:Buffer)?\(/g),
    ...code.matchAll(/redis\.p?call\('([A-Z]+)'/g),
    ...code.matchAll(/\.add\(\s*'([A-Z]+)'/g),
  ]
  const ofOthers = ['debug', 'keys', 'reset']
  const sent = (await commandsAmong(words)).filter((it) => !ofOthers.includes(it))
  const listed = new Set(COMMANDS.map((it) => it.split('|')[0]))
  expect(sent.filter((it) => !listed.has(it))).toEqual([])
  expect(sent.length).toBeGreaterThan(30)
})

test('what BullMQ sends within the scripts that lanes use is in the list', async () => {
  const used =
    /^(addStandardJob|moveToActive|moveToFinished|moveToDelayed|retryJob|moveStalledJobsToWait|extendLocks?|releaseLock|moveJobsToWait|saveStacktrace|getRateLimitTtl)-/
  const scripts = read(new URL('../../node_modules/bullmq/dist/cjs/scripts/', import.meta.url), (name) =>
    used.test(name),
  )
  // Some are handed on as words.
  const sent = await commandsAmong(scripts.matchAll(/["']([A-Z]{3,})["']/g))
  expect(sent.filter((it) => !COMMANDS.includes(it))).toEqual([])
  expect(sent.length).toBeGreaterThan(20)
})

test('the whole line runs with exactly the permissions of docs/operating.md, where CONFIG is forbidden', async () => {
  await using server = await withUser([], ['--rename-command', 'CONFIG', ''])
  let down = false
  await using line = await startLine({
    redis: userYaml(server),
    cluster: 'prod',
    answer: ({ body }) => ({ status: down ? 503 : body.includes('poison') ? 400 : 200 }),
  })
  for (let i = 0; i < 30; i++) line.frame('ADDED', `a${i}`, 11 + i)
  line.frame('ADDED', 'poison', 50)
  line.frame('DELETED', 'a0', 51)
  await waitFor(() => line.told().length === 31, { what: 'what comes through' })
  down = true
  line.frame('MODIFIED', 'a1', 52)
  await waitFor(() => line.hook.requests.filter(({ status }) => status === 503).length > 3, {
    what: 'an outage',
  })
  down = false
  await waitFor(() => line.told().length === 32 && line.chatted().length === 32, { what: 'the rest' })
  await waitFor(async () => (await line.kubeherald.status()).deadLetters === 2, { what: 'dead letters' })
  expect((await line.kubeherald.command('dead-letters', 'retry', '--all', '--sink', 'hook')).code).toBe(0)
  const [letter] = (
    await line.kubeherald.command('dead-letters', 'list', '--sink', 'chat', '--json')
  ).stdout.split('\n')
  expect((await line.kubeherald.command('dead-letters', 'drop', JSON.parse(letter ?? '').id)).code).toBe(0)
  await line.kubeherald.kill()
  line.api.resourceVersion = '52'
  const watches = line.api.watches().length
  await line.kubeherald.start()
  await waitFor(() => line.api.watches().length > watches, { what: 'the watch after the restart' })
  line.frame('MODIFIED', 'a2', 53)
  await waitFor(() => line.told().includes('MODIFIED a2@53'), { what: 'the change after the restart' })
  expect((await line.kubeherald.status()).ledger.balanced).toBe(true)
  expect(await line.kubeherald.stop()).toBe(0)
  expect(await server.command('ACL', 'LOG')).toEqual([])
  expect(line.kubeherald.log()).not.toContain('NOPERM')
})

test.each([
  ['throttle', 'throttle: { per: namespace, every: 1h, burst: 2 }'],
  ['group', 'group: { by: namespace, wait: 1s, interval: 1s }'],
])('a rule with %s, whose states processes share, needs no other permissions', async (_name, limit) => {
  await using server = await withUser()
  await using line = await startLine({ redis: userYaml(server), cluster: 'prod', limit })
  const names = ['first', 'second']
  for (const [i, name] of names.entries()) line.frame('ADDED', name, 11 + i)
  const bodies = () => line.hook.requests.map(({ body }) => body).join('\n')
  await waitFor(() => names.every((name) => bodies().includes(name)), {
    what: () => `both, not ${bodies()}; ${line.kubeherald.log()}`,
  })
  expect(await server.command('ACL', 'LOG')).toEqual([])
})

test('what a killed process was delivering is delivered by the next one, with exactly these permissions', async () => {
  await using server = await withUser()
  let hang = true
  await using line = await startLine({
    redis: userYaml(server),
    cluster: 'prod',
    answer: () => (hang ? { hang } : { status: 200 }),
  })
  line.frame('ADDED', 'a', 11)
  await waitFor(() => line.hook.requests.length === 2, { what: 'both sinks to be asked' })
  await line.kubeherald.kill()
  line.api.resourceVersion = '11'
  hang = false
  await line.kubeherald.start()
  await waitFor(() => line.told().length >= 1 && line.chatted().length >= 1, {
    timeoutMs: 60_000,
    what: () => `both deliveries, not ${line.told()} ${line.chatted().length}; ${line.kubeherald.log()}`,
  })
  expect(await server.command('ACL', 'LOG')).toEqual([])
})

test('each command that is missing is named at the start, and so are keys', async () => {
  const keys = keysOf('prod')
  await using server = await withUser()
  const target = { url: server.url, username: 'kubeherald', password: 'PASSWORD' }
  const redis = openRedis(target, 'command', silentLog)
  expect(await missingPermissions(redis, keys)).toEqual([])
  const single = COMMANDS.filter((it) => !['eval', 'ping'].includes(it))
  for (const command of single) {
    await server.command('ACL', 'SETUSER', 'kubeherald', `-${command}`)
    expect(await missingPermissions(redis, keys)).toEqual([`+${command}`])
    await server.command('ACL', 'SETUSER', 'kubeherald', `+${command}`)
  }
  await server.command('ACL', 'SETUSER', 'kubeherald', '-eval')
  expect(await missingPermissions(redis, keys)).toEqual(['+eval'])
  await server.command('ACL', 'SETUSER', 'kubeherald', '+eval', '-info', '-xadd')
  expect((await inspectRedis({ redis, keys })).refusals).toEqual([
    'the user of Redis lacks permissions: ACL SETUSER NAME +info +xadd',
  ])
  expect(await missingPermissions(redis, keysOf('other'))).toEqual(['~{kubeherald:other}*'])
  redis.disconnect()
})

test('a right that is taken away while lanes are read is named', async () => {
  await using server = await startRedis()
  await server.command('ACL', 'SETUSER', 'default', '-xrange')
  const redis = openRedis(server.url, 'command', silentLog)
  await expect(readLane(redis, keysOf('prod'), 'hook/0', '-', 1)).rejects.toThrow(/NOPERM.*xrange/)
  redis.disconnect()
})

test('a Redis that does not tell how it keeps data is warned of, not refused', async () => {
  await using server = await startRedis({ args: ['--maxmemory', '100mb'] })
  const redis = openRedis(server.url, 'command', silentLog)
  await redis.ping()
  const full = await redis.info()
  redis.info = async () => full.replace(/^(maxmemory_policy|aof_enabled):.*\r\n/gm, '')
  const { refusals, warnings } = await inspectRedis({ redis, keys: keysOf('test') })
  expect(refusals).toEqual([])
  expect(warnings).toEqual([expect.stringContaining('does not report its maxmemory_policy, aof_enabled')])
  redis.disconnect()
})

test('a replica is no place for deliveries, and is told', async () => {
  await using master = await startRedis()
  await using replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] })
  const redis = openRedis(replica.url, 'command', silentLog)
  expect((await inspectRedis({ redis, keys: keysOf('test') })).pending).toEqual([
    expect.stringContaining('this Redis is a replica'),
  ])
  redis.disconnect()
})

test('two clusters on one Redis do not meet, although their objects are the same', async () => {
  await using server = await startRedis()
  const redis = `{ url: "${server.url}" }`
  await using blue = await startLine({ redis, cluster: 'blue', uid: 'uid' })
  await using green = await startLine({ redis, cluster: 'green', uid: 'uid' })
  for (let i = 0; i < 20; i++) {
    blue.frame('ADDED', `a${i}`, 11 + i)
    if (i % 2 === 0) green.frame('ADDED', `a${i}`, 11 + i)
  }
  await waitFor(() => blue.told().length >= 20 && green.told().length >= 10, { what: 'both' })
  await blue.kubeherald.stop()
  green.frame('DELETED', 'a0', 60)
  await waitFor(() => green.told().length >= 11, { what: 'the other one goes on alone' })
  expect(blue.told()).toHaveLength(20)
  expect(green.told().toSorted()).toEqual(
    [...Array.from({ length: 10 }, (_, i) => `ADDED a${2 * i}@${11 + 2 * i}`), 'DELETED a0@60'].toSorted(),
  )
  // The sink has a delivery before its acknowledgement is in Redis.
  const hookOf = async () => (await green.kubeherald.status()).ledger.sinks.hook
  await waitFor(async () => (await hookOf())?.delivered === 11, { what: 'the last acknowledgement' })
  expect(await hookOf()).toMatchObject({ enqueued: 11, delivered: 11 })
  expect(green.kubeherald.log() + blue.kubeherald.log()).not.toMatch(/fenced|another process/)
})

test('two clusters under one name by mistake: each has its own position, and no change is lost', async () => {
  await using server = await startRedis()
  const redis = `{ url: "${server.url}" }`
  await using one = await startLine({ redis, uid: 'uid-one' })
  await using two = await startLine({ redis, uid: 'uid-two' })
  for (let i = 0; i < 10; i++) {
    one.frame('ADDED', `one${i}`, 11 + i)
    two.frame('ADDED', `two${i}`, 11 + i)
  }
  // Lanes are shared: what one of them found, the other may deliver.
  const all = () => [...one.told(), ...two.told()]
  await waitFor(() => all().length >= 20, { what: 'all' })
  expect(new Set(all()).size).toBe(20)
  expect((await one.kubeherald.status()).ledger.balanced).toBe(true)
})

test('the line waits for a Redis that goes and comes under its user', async () => {
  await using server = await withUser()
  await using proxy = await startTcpProxy(server.port)
  await using line = await startLine({
    redis: `{ url: "redis://kubeherald:PASSWORD@127.0.0.1:${proxy.port}" }`,
    cluster: 'prod',
  })
  for (let i = 0; i < 3; i++) {
    line.frame('ADDED', `a${i}`, 11 + i)
    proxy.cut()
    await waitFor(() => line.told().length === i + 1, { what: `change ${i}` })
  }
})
