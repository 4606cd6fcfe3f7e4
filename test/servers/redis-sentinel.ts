import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { waitFor } from '../wait-for.ts'
import { freePort } from './ports.ts'
import { type Program, startProgram } from './process.ts'
import { type RedisServer, startRedis } from './redis.ts'

export interface SentinelBed extends AsyncDisposable {
  readonly servers: readonly RedisServer[]
  /** host:port of the Sentinels. */
  readonly addresses: readonly string[]
  readonly sentinels: readonly Program[]
  /** The master, as the Sentinels know it. */
  master(): Promise<RedisServer>
}

/** A master called `main`, one replica, and three Sentinels that fail over after a second. */
export async function startSentinels(
  options: { args?: string[]; password?: string } = {},
): Promise<SentinelBed> {
  await using stack = new AsyncDisposableStack()
  const args = ['--repl-diskless-sync-delay', '0', ...(options.args ?? [])]
  const master = stack.use(await startRedis({ args }))
  const replica = stack.use(
    await startRedis({ args: [...args, '--replicaof', '127.0.0.1', String(master.port)] }),
  )
  const servers = [master, replica]
  const inSync = async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up')
  await waitFor(inSync, { timeoutMs: 60_000, what: 'the replica to be in sync' })
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-sentinel-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const program = process.env['REDIS_SERVER'] ?? 'redis-server'
  const ports: number[] = []
  const sentinels: Program[] = []
  for (let i = 0; i < 3; i++) {
    const port = await freePort()
    const file = join(dir, `sentinel-${i}.conf`)
    writeFileSync(
      file,
      `port ${port}
bind 127.0.0.1
dir ${dir}
${options.password ? `requirepass ${options.password}\nsentinel sentinel-pass ${options.password}` : ''}
sentinel monitor main 127.0.0.1 ${master.port} 2
sentinel down-after-milliseconds main 1000
sentinel failover-timeout main 5000
`,
    )
    const sentinel = startProgram(program, [file, '--sentinel'])
    stack.defer(() => sentinel.end('SIGKILL'))
    sentinels.push(sentinel)
    ports.push(port)
  }
  const ask = async (port: number, ...words: string[]) => {
    const redis = new Redis({
      port,
      ...(options.password && { password: options.password }),
      lazyConnect: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
      enableReadyCheck: false,
      protocol: 2,
    })
    redis.on('error', () => {})
    try {
      await redis.connect()
      return (await redis.call('SENTINEL', ...words)) as string[]
    } finally {
      redis.disconnect()
    }
  }
  const field = (reply: string[], name: string) => reply[reply.indexOf(name) + 1]
  const knowsAll = async (port: number) => {
    const reply = await ask(port, 'MASTER', 'main').catch(() => [])
    return field(reply, 'num-slaves') === '1' && field(reply, 'num-other-sentinels') === '2'
  }
  await waitFor(async () => (await Promise.all(ports.map(knowsAll))).every(Boolean), {
    timeoutMs: 60_000,
    what: 'the Sentinels to know each other',
  })
  const moved = stack.move()
  return {
    servers,
    sentinels,
    addresses: ports.map((port) => `127.0.0.1:${port}`),
    async master() {
      for (const port of ports) {
        const reply = await ask(port, 'MASTER', 'main').catch(() => undefined)
        const found = reply && servers.find((it) => String(it.port) === field(reply, 'port'))
        if (found) return found
      }
      throw new Error('no Sentinel answers')
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}
