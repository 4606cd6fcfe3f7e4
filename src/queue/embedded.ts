import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type Logger, silentLog } from '../log.ts'
import { openRedis } from './connection.ts'

/** A private Redis for one node: its socket and data lie in the state directory. */
export interface EmbeddedRedis {
  url: string
  /** Stops it, if this process started it. */
  stop(): Promise<void>
}

/** The state directory is in use, or there is no redis-server; the message says what to do. */
export class EmbeddedError extends Error {
  override name = 'EmbeddedError'
}

const MEMORY_SHARE = 0.25
const MAX_SOCKET_PATH = 100
const START_TIMEOUT_MS = 60_000
const RESTART_PAUSE_MS = 1_000

/** Starts it for `run`, which owns the directory: a second one is refused. Starts it again should it die. */
export async function startEmbedded(dir: string, log: Logger): Promise<EmbeddedRedis> {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const release = lock(join(dir, 'kubeherald.pid'), dir)
  const url = `unix://${socketPath(dir)}`
  // One that a killed process left behind still has the data.
  if (await answers(url)) await shutDown(url)
  let stopping = false
  let child = await launch(dir, url)
  const watchOver = (running: ChildProcess) =>
    running.once('exit', async (code, signal) => {
      if (stopping) return
      log.error({ code, signal }, 'the private redis-server ended; starting it again')
      await pause(RESTART_PAUSE_MS)
      if (stopping) return
      child = await launch(dir, url)
      watchOver(child)
    })
  watchOver(child)
  return {
    url,
    async stop() {
      stopping = true
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await gone
      }
      release()
    },
  }
}

/** For commands beside `run`: uses the one that runs, or starts one for as long as the command takes. */
export async function useEmbedded(dir: string): Promise<EmbeddedRedis> {
  const url = `unix://${socketPath(dir)}`
  if (await answers(url)) return { url, async stop() {} }
  if (!existsSync(join(dir, 'appendonlydir')))
    throw new EmbeddedError(`there is nothing in ${dir}: kubeherald has not run with it`)
  return startEmbedded(dir, silentLog)
}

async function launch(dir: string, url: string): Promise<ChildProcess> {
  const hadData = existsSync(join(dir, 'appendonlydir'))
  // In a process group of its own: Ctrl-C in a terminal must not stop it before us.
  const child = spawn(serverProgram(), serverArguments(dir, url), {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output = (output + chunk).slice(-2_000)
    })
  }
  const untilMs = Date.now() + START_TIMEOUT_MS
  while (!(await answers(url))) {
    if (child.exitCode !== null || Date.now() > untilMs)
      throw new EmbeddedError(`redis-server did not start: ${output.trim()}`)
    await pause(20)
  }
  // A transaction that was torn by a crash would be replayed with the next one (valkey-io/valkey#4342).
  if (hadData) await withRedis(url, (redis) => redis.bgrewriteaof()).catch(() => {})
  return child
}

function serverProgram(): string {
  const found = ['redis-server', 'valkey-server'].find(
    (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
  )
  if (!found) {
    throw new EmbeddedError(
      'there is no redis-server (or valkey-server) on this machine: install it, or set redis.url in the configuration',
    )
  }
  return found
}

function serverArguments(dir: string, url: string): string[] {
  const maxMemory = Math.floor(totalmem() * MEMORY_SHARE)
  return [
    ...['--port', '0', '--unixsocket', url.slice('unix://'.length), '--unixsocketperm', '700', '--dir', dir],
    ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--daemonize', 'no'],
    ...['--maxmemory', String(maxMemory), '--maxmemory-policy', 'noeviction', '--loglevel', 'warning'],
  ]
}

/** A socket's path may be about 100 bytes long; for deep directories a short one stands in. */
function socketPath(dir: string): string {
  const path = join(dir, 'redis.sock')
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path
  return join(tmpdir(), `kubeherald-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}.sock`)
}

/** Gives the release; throws when another live process has it. */
function lock(file: string, dir: string): () => void {
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch {
      const pid = Number(existsSync(file) ? readFileSync(file, 'utf8') : 0)
      if (pid > 0 && pid !== process.pid && isAlive(pid)) {
        throw new EmbeddedError(
          `another kubeherald (pid ${pid}) runs with ${dir}: stop it, or choose another --state-dir`,
        )
      }
      rmSync(file, { force: true })
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function shutDown(url: string): Promise<void> {
  await withRedis(url, (redis) => redis.shutdown('NOSAVE')).catch(() => {})
  while (await answers(url)) await pause(20)
}

async function answers(url: string): Promise<boolean> {
  if (!existsSync(url.slice('unix://'.length))) return false
  return withRedis(url, (redis) => redis.ping()).then(
    () => true,
    () => false,
  )
}

async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = openRedis(url, 'command', silentLog)
  try {
    return await use(redis)
  } finally {
    redis.disconnect()
  }
}
