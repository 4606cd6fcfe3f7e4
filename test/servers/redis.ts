import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { waitFor } from '../wait-for.ts'
import { freePort } from './ports.ts'
import { type Program, startProgram } from './process.ts'

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly dir: string
  readonly pid: number
  /** One command on a connection of its own. */
  command(...words: string[]): Promise<unknown>
  /** One command on a connection that is kept, for what is asked again and again. */
  ask(...words: string[]): Promise<unknown>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGTERM: saves and ends. */
  stop(): Promise<void>
  /** Starts it again on the same port and data, with more arguments if given. */
  restart(...more: string[]): Promise<void>
  /** A copy of its data. */
  copy(): Promise<string>
  /** Puts a copy in place of its data; only while it does not run. */
  restore(copy: string): Promise<void>
}

/**
 * A Redis that has written what it confirmed, for tests that kill it and go on with the same session. With everysec it postpones
 * the write up to two seconds while the disk is busy, and confirms before; then a session finds an older state, and its watch starts
 * from there (`limits-lost-writes`, `redis-down`).
 */
export const CONFIRMS_WHAT_IS_WRITTEN = ['--appendfsync', 'no']

/** A real redis-server: AOF on, noeviction, a free loopback port, data in a temporary directory. */
export async function startRedis(options: { args?: string[]; password?: string } = {}): Promise<RedisServer> {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-redis-'))
  const port = await freePort()
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir,
    '--save',
    '',
    '--appendonly',
    'yes',
  ]
  // Its usual port, 10,000 higher, may be one that the kernel gives to a connection.
  if (options.args?.includes('--cluster-enabled') && !options.args.includes('--cluster-port'))
    args.push('--cluster-port', String(await freePort()))
  args.push('--maxmemory-policy', 'noeviction', '--loglevel', 'warning', ...(options.args ?? []))
  let program: Program
  let kept: Redis | undefined

  async function start(...more: string[]): Promise<void> {
    program = startProgram(process.env['REDIS_SERVER'] ?? 'redis-server', [...args, ...more])
    await waitFor(() => answers(port, options.password) || failed(program), {
      what: () => `redis-server; it said ${program.output()}`,
    })
  }

  await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dir,
    get pid() {
      return program.pid
    },
    command: (...words) => once(port, options.password, (redis) => redis.call(...(words as [string]))),
    ask(...words) {
      kept ??= connect(port, options.password, { retryStrategy: () => 50 })
      return kept.call(...(words as [string]))
    },
    kill: () => program.end('SIGKILL'),
    stop: () => program.end('SIGTERM'),
    restart: start,
    async copy() {
      const copy = join(mkdtempSync(join(dir, 'copy-')), 'appendonlydir')
      cpSync(join(dir, 'appendonlydir'), copy, { recursive: true })
      return copy
    },
    async restore(copy) {
      rmSync(join(dir, 'appendonlydir'), { recursive: true })
      cpSync(copy, join(dir, 'appendonlydir'), { recursive: true })
    },
    async [Symbol.asyncDispose]() {
      kept?.disconnect()
      await program.end('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function failed(program: Program): false {
  if (program.ended()) throw new Error(`redis-server ended: ${program.output()}`)
  return false
}

function answers(port: number, password: string | undefined): Promise<boolean> {
  return once(port, password, (redis) => redis.ping()).then(
    () => true,
    () => false,
  )
}

async function once<T>(
  port: number,
  password: string | undefined,
  use: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = connect(port, password, { retryStrategy: () => null, maxRetriesPerRequest: 0 })
  try {
    await redis.connect()
    return await use(redis)
  } finally {
    redis.disconnect()
  }
}

function connect(
  port: number,
  password: string | undefined,
  options: Pick<RedisOptions, 'retryStrategy' | 'maxRetriesPerRequest'>,
): Redis {
  const redis = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    ...(password !== undefined && { password }),
    ...options,
  })
  redis.on('error', () => {})
  return redis
}
