import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis, reachRedis } from '../../src/store/redis/connection.ts'
import { type RedisTarget, renewCredentials } from '../../src/store/redis/redis-target.ts'
import { type Certificate, createAuthority } from '../servers/certificates.ts'
import { freePort } from '../servers/ports.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { waitFor } from '../wait-for.ts'

// Several servers each; a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const authority = createAuthority('right')
const other = createAuthority('other')
const dir = mkdtempSync(join(tmpdir(), 'kubeherald-tls-'))
let server: RedisServer
let port: number
let url: string

function write(name: string, text: string): string {
  const file = join(dir, name)
  writeFileSync(file, text)
  return file
}

const files = ({ cert, key }: Certificate) => [
  ...['--tls-cert-file', write('server.crt', cert), '--tls-key-file', write('server.key', key)],
  ...['--tls-ca-cert-file', write('ca.crt', authority.cert)],
]

beforeAll(async () => {
  port = await freePort()
  url = `rediss://127.0.0.1:${port}`
  const args = ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files(authority.issue('redis'))]
  server = await startRedis({ args })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

const said = (target: RedisTarget) =>
  reachRedis(target).then(
    (redis) => {
      redis.disconnect()
      return 'reached'
    },
    (error: Error) => error.message,
  )
const ca = authority.cert

test('TLS: the right authority is believed', async () => {
  expect(await said({ url, tls: { ca } })).toBe('reached')
})

test('TLS: a wrong authority, and none, are told with the key to write', async () => {
  for (const tls of [{ ca: other.cert }, true] as const)
    expect(await said({ url, tls })).toMatch(
      /^Redis at 127\.0\.0\.1:\d+ does not answer: the TLS certificate is .*; redis\.tls\.ca must hold/,
    )
})

test('TLS: a certificate for another name is told; redis.tls.servername says which is right', async () => {
  const wrong = await said({ url: `rediss://localhost:${port}`, tls: { ca } })
  expect(wrong).toContain('certificate is for another host name; if it is the right server')
  expect(await said({ url, tls: { ca, servername: 'other.example' } })).toContain('for another host name')
})

test('TLS: an expired certificate is told', async () => {
  await server.command('CONFIG', 'SET', ...configOf(authority.issue('redis', undefined, { expired: true })))
  expect(await said({ url, tls: { ca } })).toContain(
    'the TLS certificate has expired; give the server a new one',
  )
  await server.command('CONFIG', 'SET', ...configOf(authority.issue('redis')))
})

test('TLS to a port without it, and the other way round, are told', async () => {
  expect(await said({ url: `rediss://127.0.0.1:${server.port}`, tls: { ca } })).toContain(
    'it does not answer the TLS handshake; for a port without TLS write redis://',
  )
  expect(await said({ url: `redis://127.0.0.1:${port}` })).toContain(
    'if that port speaks TLS, write rediss://',
  )
})

test('TLS: a client certificate that is demanded, or not believed, is told', async () => {
  await server.command('CONFIG', 'SET', 'tls-auth-clients', 'yes')
  expect(await said({ url, tls: { ca } })).toContain(
    'asks for a client certificate; give it one: redis.tls.cert and redis.tls.key',
  )
  expect(await said({ url, tls: { ca, ...other.issue('kubeherald') } })).toContain(
    'does not know the authority of the client certificate',
  )
  expect(await said({ url, tls: { ca, ...authority.issue('kubeherald') } })).toBe('reached')
  await server.command('CONFIG', 'SET', 'tls-auth-clients', 'no')
})

test('TLS: certificates and passwords that were exchanged are used by the next connection', async () => {
  await server.command('CONFIG', 'SET', 'tls-auth-clients', 'yes', 'requirepass', 'old-one')
  const target: RedisTarget = { url, password: 'old-one', tls: { ca, ...authority.issue('kubeherald') } }
  const redis = openRedis(target, 'work', silentLog)
  expect(await redis.ping()).toBe('PONG')
  // The server believes another authority now, and another password.
  await redis.config('SET', 'requirepass', 'new-one', 'tls-ca-cert-file', write('other.crt', other.cert))
  renewCredentials(target, { url, password: 'new-one', tls: { ca, ...other.issue('kubeherald') } })
  await redis.call('CLIENT', 'KILL', 'SKIPME', 'no', 'TYPE', 'normal').catch(() => {})
  await waitFor(async () => (await redis.ping().catch(() => undefined)) === 'PONG', {
    what: 'the next connection',
  })
  await redis.config('SET', 'requirepass', '', 'tls-ca-cert-file', write('ca.crt', authority.cert))
  await redis.config('SET', 'tls-auth-clients', 'no')
  redis.disconnect()
})

test('TLS: a Redis Cluster is asked and used over TLS, with a client certificate', async () => {
  const own = files(authority.issue('redis'))
  await using cluster = await startRedisCluster({ tls: own })
  const KEY = keysOf('test').bullmq
  const target = {
    cluster: { nodes: cluster.tlsAddresses, key: KEY },
    tls: { ca, ...authority.issue('kubeherald') },
  }
  const redis = await reachRedis(target)
  expect(await redis.set(`${KEY}:x`, '1')).toBe('OK')
  redis.disconnect()
  expect(await said({ ...target, tls: { ca: other.cert } })).toContain('redis.tls.ca must hold')
})

function configOf(certificate: Certificate): string[] {
  const [, cert = '', , key = ''] = files(certificate)
  return ['tls-cert-file', cert, 'tls-key-file', key]
}
