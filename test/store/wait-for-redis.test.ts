import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { LastingFault } from '../../src/store/redis/redis-fault.ts'
import type { RedisTarget } from '../../src/store/redis/redis-target.ts'
import { RedisRefusedError, waitForRedis } from '../../src/store/redis/requirements.ts'
import { createAuthority } from '../servers/certificates.ts'
import { freePort, UNKNOWN_NAME } from '../servers/ports.ts'
import { startProgram } from '../servers/process.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

// Servers start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const keys = keysOf('test')

/** Waits in the background; `reasons` grows with each attempt that fails. */
function startWait(target: RedisTarget) {
  const reasons: string[] = []
  const ending = new AbortController()
  const result = waitForRedis({
    ...{ target, keys, log: silentLog, signal: ending.signal },
    onWaiting: (reason) => void reasons.push(reason),
  })
  result.catch(() => {})
  return {
    result,
    reasons,
    waitsFor: (reason: RegExp) =>
      waitFor(() => reasons.some((it) => reason.test(it)), {
        timeoutMs: 30_000,
        what: () => `the reason ${reason}; there were ${[...new Set(reasons)].join(' | ')}`,
      }),
    async [Symbol.asyncDispose]() {
      ending.abort(new Error('ended'))
      await result.catch(() => {})
    },
  }
}

const fault = (target: RedisTarget) =>
  waitForRedis({ target, keys, log: silentLog, signal: AbortSignal.timeout(30_000) }).then(
    () => undefined,
    (error: Error) => error,
  )

async function cannotBeUsed(server: RedisServer, target: RedisTarget): Promise<Error | undefined> {
  const error = await fault(target)
  expect(await server.command('EXISTS', keys.salt)).toBe(0)
  return error
}

test.each<[string, RegExp, (port: number) => RedisTarget]>([
  ['an address where nobody listens', /nobody listens/, (port) => ({ url: `redis://127.0.0.1:${port}` })],
  ['a name that is not known yet', /cannot be resolved/, () => ({ url: `redis://${UNKNOWN_NAME}` })],
  [
    'Sentinels that are not there yet',
    /nobody listens/,
    (port) => ({ sentinel: { name: 'main', nodes: [`127.0.0.1:${port}`] } }),
  ],
  [
    'a Redis Cluster that is not there yet',
    /nobody listens/,
    (port) => ({ cluster: { nodes: [`127.0.0.1:${port}`], key: keys.bullmq } }),
  ],
])('%s is waited for, until the signal', async (_, reason, targetAt) => {
  await using wait = startWait(targetAt(await freePort()))
  await wait.waitsFor(reason)
  await wait[Symbol.asyncDispose]()
  await expect(wait.result).rejects.toThrow()
})

test('a Redis that takes the connection and is silent is waited for', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  await using wait = startWait({ url: `redis://127.0.0.1:${port}` })
  await wait.waitsFor(/no answer in time/)
  silent.close()
})

test('a Redis that loads its data is waited for', async () => {
  await using server = await startRedis({ args: ['--rdbcompression', 'no'] })
  for (let i = 0; i < 40; i++) await server.command('SET', `key-${i}`, 'x'.repeat(2_000))
  await server.command('BGREWRITEAOF')
  const isRewritten = async () =>
    /aof_rewrite_in_progress:0[\s\S]*aof_rewrite_scheduled:0/.test(
      String(await server.command('INFO', 'persistence')),
    )
  await waitFor(isRewritten, { what: 'the append-only file to be rewritten' })
  await server.stop()
  // It delays each key, and looks at its connections after each kilobyte.
  const slowly = startProgram('redis-server', [
    ...['--port', String(server.port), '--bind', '127.0.0.1', '--dir', server.dir, '--appendonly', 'yes'],
    ...['--key-load-delay', '500000', '--loading-process-events-interval-bytes', '1024'],
  ])
  await using wait = startWait({ url: server.url })
  await wait.waitsFor(/LOADING/)
  await slowly.end('SIGKILL')
  await server.restart()
  expect((await wait.result).refusals).toEqual([])
})

test('a replica is waited for: the address may lead to its master soon', async () => {
  await using master = await startRedis()
  await using server = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] })
  await using wait = startWait({ url: server.url })
  await wait.waitsFor(/is a replica/)
  await server.command('REPLICAOF', 'NO', 'ONE')
  expect((await wait.result).pending).toEqual([])
})

test('a Redis Cluster without slots is waited for', async () => {
  await using server = await startRedis({ args: ['--cluster-enabled', 'yes'] })
  await using wait = startWait({ cluster: { nodes: [`127.0.0.1:${server.port}`], key: keys.bullmq } })
  await wait.waitsFor(/has no node for slot/)
  await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  expect((await wait.result).refusals).toEqual([])
})

test('a full Redis that has nothing of ours yet is waited for', async () => {
  await using server = await startRedis({ args: ['--maxmemory', '1'] })
  await using wait = startWait({ url: server.url })
  await wait.waitsFor(/is full/)
  await server.command('CONFIG', 'SET', 'maxmemory', '0')
  expect((await wait.result).refusals).toEqual([])
})

test('a password, a database or a protocol that is wrong ends the wait', async () => {
  await using server = await startRedis({ args: ['--requirepass', 'right'], password: 'right' })
  const { url } = server
  expect(await fault({ url, password: 'wrong' })).toBeInstanceOf(LastingFault)
  expect(await fault({ url })).toBeInstanceOf(LastingFault)
  expect(await fault({ url: `${url}/99`, password: 'right' })).toBeInstanceOf(LastingFault)
  const node = `127.0.0.1:${server.port}`
  expect(await fault({ cluster: { nodes: [node], key: keys.bullmq }, password: 'wrong' })).toBeInstanceOf(
    LastingFault,
  )
  // A node that is not there may still take the password.
  const nodes = [node, `127.0.0.1:${await freePort()}`]
  await using wait = startWait({ cluster: { nodes, key: keys.bullmq }, password: 'wrong' })
  await wait.waitsFor(/nobody listens/)
})

test('a policy that evicts, and missing permissions, end the wait', async () => {
  await using server = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] })
  expect(await cannotBeUsed(server, { url: server.url })).toBeInstanceOf(RedisRefusedError)
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  await server.command('ACL', 'SETUSER', 'few', 'on', '>pw', '~*', '+@all', '-evalsha')
  const few = { url: server.url, username: 'few', password: 'pw' }
  expect(await cannotBeUsed(server, few)).toBeInstanceOf(RedisRefusedError)
})

test('a certificate of an unknown authority, and one for another name, end the wait', async () => {
  const authority = createAuthority('right')
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-tls-'))
  const write = (name: string, text: string) => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  const { cert, key } = authority.issue('redis')
  const port = await freePort()
  await using _server = await startRedis({
    args: [
      ...['--tls-port', String(port), '--tls-auth-clients', 'no'],
      ...['--tls-cert-file', write('server.crt', cert), '--tls-key-file', write('server.key', key)],
      ...['--tls-ca-cert-file', write('ca.crt', authority.cert)],
    ],
  })
  const url = `rediss://127.0.0.1:${port}`
  expect(await fault({ url })).toBeInstanceOf(LastingFault)
  const named = { ca: authority.cert, servername: 'other.example' }
  expect(await fault({ url, tls: named })).toBeInstanceOf(LastingFault)
  expect(await fault({ url, tls: { ca: authority.cert } })).toBeUndefined()
  rmSync(dir, { recursive: true, force: true })
})
