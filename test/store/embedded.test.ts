import {
  accessSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startEmbedded, useEmbedded } from '../../src/store/redis/embedded.ts'
import { checkRedis } from '../../src/store/redis/requirements.ts'
import { startProgram } from '../servers/process.ts'
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

async function serverPid(url: string): Promise<number> {
  const info = await withRedis(url, (redis) => redis.info('server'))
  return Number(/process_id:(\d+)/.exec(info)?.[1])
}

/** A process that runs a private Redis in the directory of its first argument. */
const HOLDER = join(import.meta.dirname, 'embedded-holder.ts')

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
  const report = await withRedis(embedded.url, (redis) => checkRedis({ redis, keys: keysOf('test') }))
  expect(report).toMatchObject({ refusals: [], warnings: [] })
  expect(await withRedis(embedded.url, (redis) => redis.config('GET', 'port'))).toContain('0')
  await embedded.stop()
})

test('where there is only a valkey-server, that is what runs', async () => {
  using state = stateDir()
  using bin = stateDir()
  const path = process.env['PATH'] ?? ''
  const there = path
    .split(delimiter)
    .flatMap((dir) =>
      ['valkey-server', 'redis-server'].map((name) => join(dir, name)).filter((file) => isThere(file)),
    )
  symlinkSync(there[0] as string, join(bin.dir, 'valkey-server'))
  process.env['PATH'] = bin.dir
  try {
    const embedded = await startEmbedded(state.dir, silentLog)
    expect(await withRedis(embedded.url, (redis) => redis.ping())).toBe('PONG')
    await embedded.stop()
  } finally {
    process.env['PATH'] = path
  }
})

function isThere(file: string): boolean {
  try {
    accessSync(file)
    return true
  } catch {
    return false
  }
}

test('a second one in the same directory is refused with the pid of the first', async () => {
  using state = stateDir()
  const embedded = await startEmbedded(state.dir, silentLog)
  await expect(startEmbedded(state.dir, silentLog)).rejects.toThrow(
    `another kubeherald (pid ${process.pid} on ${hostname()}) runs with ${state.dir}`,
  )
  expect(await withRedis(embedded.url, (redis) => redis.ping())).toBe('PONG')
  await embedded.stop()
})

test('one that was killed is taken over: its redis-server is ended first, and its data are there', async () => {
  using state = stateDir()
  const holder = startProgram(process.execPath, [HOLDER, state.dir])
  await waitFor(() => holder.output().includes('unix://'), { what: () => `the holder; ${holder.output()}` })
  const url = holder.output().trim()
  await withRedis(url, (redis) => redis.set('key', 'value'))
  const orphan = await serverPid(url)
  await holder.end('SIGKILL')
  expect(await serverPid(url)).toBe(orphan)
  const embedded = await startEmbedded(state.dir, silentLog)
  expect(await withRedis(embedded.url, (redis) => redis.get('key'))).toBe('value')
  expect(await serverPid(embedded.url)).not.toBe(orphan)
  await embedded.stop()
})

test('one that ends by itself without a stop leaves no redis-server behind', async () => {
  using state = stateDir()
  const holder = startProgram(process.execPath, [HOLDER, state.dir, '--throw'])
  await waitFor(() => holder.ended(), { what: 'the holder to fail' })
  await waitFor(() => isGone(state.dir), { what: 'its redis-server to end' })
})

/** Whether no redis-server answers there. */
function isGone(dir: string): Promise<boolean> {
  return withRedis(`unix://${dir}/redis.sock`, (redis) => redis.ping()).then(
    () => false,
    () => true,
  )
}

/** A command that has started a Redis of its own where `run` has stopped. */
async function startCommand(dir: string) {
  await (await startEmbedded(dir, silentLog)).stop()
  const command = startProgram(process.execPath, [HOLDER, dir, '--command'])
  await waitFor(() => command.output().includes('unix://'), {
    what: () => `the command; ${command.output()}`,
  })
  return command
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'a command that %s ends has stopped its redis-server, and the directory is free',
  async (signal) => {
    using state = stateDir()
    const command = await startCommand(state.dir)
    await command.end(signal)
    expect(await isGone(state.dir)).toBe(true)
    expect(readdirSync(state.dir)).not.toContain('kubeherald.pid')
  },
)

test('run waits for the end of a command that has the directory', async () => {
  using state = stateDir()
  const command = await startCommand(state.dir)
  const waiting = Promise.withResolvers<object>()
  const log = { ...silentLog, warn: (fields: object) => waiting.resolve(fields) }
  const starting = startEmbedded(state.dir, log as typeof silentLog)
  expect(await waiting.promise).toMatchObject({ pid: command.pid })
  await command.end('SIGINT')
  await (await starting).stop()
})

test('a command reads a Redis that cannot write its file, and therefore refuses PING', async () => {
  using state = stateDir()
  const server = createServer((socket) => {
    socket.on('data', () =>
      socket.end('-MISCONF Errors writing to the AOF file: No space left on device\r\n'),
    )
  })
  await new Promise<void>((resolve) => server.listen(join(state.dir, 'redis.sock'), resolve))
  using _ = { [Symbol.dispose]: () => server.close() }
  const { url } = await useEmbedded(state.dir, { onlyRunning: true })
  expect(url).toContain('redis.sock')
})

test('a command that only looks at what runs starts nothing', async () => {
  using state = stateDir()
  await (await startEmbedded(state.dir, silentLog)).stop()
  await expect(useEmbedded(state.dir, { onlyRunning: true })).rejects.toThrow('no kubeherald runs with')
  expect(await isGone(state.dir)).toBe(true)
})

test.each([
  ['of a process that is gone', `${hostname()} 999999999 1`],
  ['of an earlier process with a pid that is in use again', `${hostname()} 1 1`],
  ['of a container that is gone', 'another-host 1 1'],
  ['that nobody can read', 'nonsense'],
])('a lock %s is taken over', async (_, text) => {
  using state = stateDir()
  writeFileSync(join(state.dir, 'kubeherald.pid'), text)
  const embedded = await startEmbedded(state.dir, silentLog)
  expect(readFileSync(join(state.dir, 'kubeherald.pid'), 'utf8')).toContain(` ${process.pid} `)
  await embedded.stop()
  expect(readdirSync(state.dir).filter((name) => name.startsWith('kubeherald.pid'))).toEqual([])
})

test('of many that take over at once, one gets the directory', async () => {
  using state = stateDir()
  writeFileSync(join(state.dir, 'kubeherald.pid'), `${hostname()} 999999999 1`)
  const holders = Array.from({ length: 4 }, () => startProgram(process.execPath, [HOLDER, state.dir]))
  await waitFor(() => holders.filter((it) => it.ended()).length === 3, { what: 'three to be refused' })
  const [owner] = holders.filter((it) => !it.ended())
  await waitFor(() => owner?.output().includes('unix://'), { what: 'the one to run' })
  for (const it of holders) if (it !== owner) expect(it.output()).toContain(`pid ${owner?.pid}`)
  await owner?.end('SIGTERM')
})

test('a directory that is too deep for a socket works as well', async () => {
  using state = stateDir()
  const deep = join(state.dir, 'd'.repeat(60), 'e'.repeat(60))
  const embedded = await startEmbedded(deep, silentLog)
  expect(Buffer.byteLength(embedded.url)).toBeLessThan(110)
  expect(await withRedis(embedded.url, (redis) => redis.ping())).toBe('PONG')
  const other = await useEmbedded(deep)
  expect(other.url).toBe(embedded.url)
  await embedded.stop()
  rmSync(dirname(embedded.url.slice('unix://'.length)), { recursive: true })
})

test('the file that an unclean end left is written anew, so that a torn transaction cannot come back', async () => {
  using state = stateDir()
  const first = await startEmbedded(state.dir, silentLog)
  await withRedis(first.url, (redis) => redis.set('key', 'value'))
  await first.stop()
  const second = await startEmbedded(state.dir, silentLog)
  const rewritten = () =>
    readdirSync(join(state.dir, 'appendonlydir')).some((name) => name.includes('.2.base.'))
  await waitFor(rewritten, { what: 'the rewrite' })
  await second.stop()
})

test('a terminal cannot stop it: it has a process group of its own', async () => {
  using state = stateDir()
  const embedded = await startEmbedded(state.dir, silentLog)
  const pid = await serverPid(embedded.url)
  expect(() => process.kill(-pid, 0)).not.toThrow()
  await embedded.stop()
})

test('a command where nothing has run says so', async () => {
  using state = stateDir()
  await expect(useEmbedded(state.dir)).rejects.toThrow('kubeherald has not run with it')
  await expect(useEmbedded(join(state.dir, 'absent'))).rejects.toThrow('kubeherald has not run with it')
})

test('a command beside nothing starts it for itself, and stops it', async () => {
  using state = stateDir()
  const run = await startEmbedded(state.dir, silentLog)
  await withRedis(run.url, (redis) => redis.set('key', 'value'))
  await run.stop()
  const command = await useEmbedded(state.dir)
  expect(await withRedis(command.url, (redis) => redis.get('key'))).toBe('value')
  await command.stop()
  await expect(withRedis(command.url, (redis) => redis.ping())).rejects.toThrow()
})

test('a directory that Redis cannot use is told with its reason, and is free again', async () => {
  using state = stateDir()
  mkdirSync(join(state.dir, 'appendonlydir'))
  writeFileSync(join(state.dir, 'appendonlydir', 'appendonly.aof.manifest'), 'spoiled\n')
  await expect(startEmbedded(state.dir, silentLog)).rejects.toThrow(/redis-server did not start: .*manifest/)
  rmSync(join(state.dir, 'appendonlydir'), { recursive: true })
  await (await startEmbedded(state.dir, silentLog)).stop()
})

test('it is started again when it dies, with its data', async () => {
  using state = stateDir()
  const embedded = await startEmbedded(state.dir, silentLog)
  await withRedis(embedded.url, (redis) => redis.set('key', 'value'))
  process.kill(await serverPid(embedded.url), 'SIGKILL')
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
