import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { openRedis } from '../../src/queue/connection.ts'
import { startEmbedded, useEmbedded } from '../../src/queue/embedded.ts'
import { checkRedis } from '../../src/queue/requirements.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

function stateDir() {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-state-'))
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) }
}

async function withRedis<T>(
  url: string,
  use: (redis: ReturnType<typeof openRedis>) => Promise<T>,
): Promise<T> {
  const redis = openRedis(url, 'command', silentLog)
  try {
    return await use(redis)
  } finally {
    redis.disconnect()
  }
}

test('the private Redis keeps its data over a stop, and leaves no process behind', async () => {
  using state = stateDir()
  const first = await startEmbedded(state.dir, silentLog)
  await withRedis(first.url, (redis) => redis.set('key', 'value'))
  await first.stop()
  await expect(withRedis(first.url, (redis) => redis.ping())).rejects.toThrow()
  const second = await startEmbedded(state.dir, silentLog)
  expect(await withRedis(second.url, (redis) => redis.get('key'))).toBe('value')
  await second.stop()
})

test('it listens on no port, keeps an append-only file and evicts nothing', async () => {
  using state = stateDir()
  const embedded = await startEmbedded(state.dir, silentLog)
  const report = await withRedis(embedded.url, (redis) => checkRedis(redis, { schema: 'schema' }))
  expect(report).toMatchObject({ refusals: [], warnings: [] })
  expect(await withRedis(embedded.url, (redis) => redis.config('GET', 'port'))).toContain('0')
  await embedded.stop()
})

test('a second one in the same directory is refused with the pid of the first', async () => {
  using state = stateDir()
  // pid 1 is alive, and not us.
  writeFileSync(join(state.dir, 'kubeherald.pid'), `${hostname()} 1 `)
  await expect(startEmbedded(state.dir, silentLog)).rejects.toThrow(/another kubeherald \(pid 1 on /)
})

test('the lock of a process that was killed is taken over', async () => {
  using state = stateDir()
  writeFileSync(join(state.dir, 'kubeherald.pid'), `${hostname()} 999999999 `)
  const embedded = await startEmbedded(state.dir, silentLog)
  await embedded.stop()
})

test('it is started again when it dies, with its data', async () => {
  using state = stateDir()
  const embedded = await startEmbedded(state.dir, silentLog)
  await withRedis(embedded.url, (redis) => redis.set('key', 'value'))
  const pid = /process_id:(\d+)/.exec(await withRedis(embedded.url, (redis) => redis.info('server')))?.[1]
  process.kill(Number(pid), 'SIGKILL')
  const value = () => withRedis(embedded.url, (redis) => redis.get('key')).catch(() => undefined)
  await waitFor(async () => (await value()) === 'value', { what: 'the data to be back' })
  await embedded.stop()
})

test('commands beside a running one use it, and do not stop it', async () => {
  using state = stateDir()
  const embedded = await startEmbedded(state.dir, silentLog)
  const other = await useEmbedded(state.dir)
  expect(other.url).toBe(embedded.url)
  await other.stop()
  expect(await withRedis(embedded.url, (redis) => redis.ping())).toBe('PONG')
  await embedded.stop()
})

test('a Redis that evicts is refused, with what to type', async () => {
  await using server = await startRedis({
    args: ['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '100mb'],
  })
  const { refusals } = await withRedis(server.url, (redis) => checkRedis(redis, { schema: 'schema' }))
  expect(refusals).toMatchObject([expect.stringContaining('CONFIG SET maxmemory-policy noeviction')])
})

test('a Redis without append-only file, and one without limit, are warned of', async () => {
  await using server = await startRedis({ args: ['--appendonly', 'no'] })
  const { refusals, warnings } = await withRedis(server.url, (redis) =>
    checkRedis(redis, { schema: 'schema' }),
  )
  expect(refusals).toEqual([])
  expect(warnings).toMatchObject([
    expect.stringContaining('appendonly yes'),
    expect.stringContaining('maxmemory'),
  ])
})

test('keys of another layout are refused', async () => {
  await using server = await startRedis()
  await server.command('SET', 'schema', '99')
  const { refusals } = await withRedis(server.url, (redis) => checkRedis(redis, { schema: 'schema' }))
  expect(refusals).toMatchObject([expect.stringContaining('layout 99')])
})
