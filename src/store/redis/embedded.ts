import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Logger, silentLog } from '../../observe/log.ts'
import { lockState } from './state-lock.ts'
import { stopOnSignal } from './stop-on-signal.ts'

/** A private Redis for one node: its socket and data lie in the state directory. */
export interface EmbeddedRedis {
  url: string
  /** Stops it, if this process started it. */
  stop(): Promise<void>
}

/** sun_path holds 104 bytes on macOS, 108 on Linux. */
const MAX_SOCKET_PATH = 100

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 30_000
const HEALTHY_MS = 60_000
const ORPHAN_LIMIT_MS = 30_000

/** How long the end of a command with a Redis of its own is waited for. */
const COMMAND_LIMIT_MS = 30_000
const LOCK_PAUSE_MS = 100

/**
 * Starts it for `run`, which owns the directory: a second one is refused, the end of another command is waited for. Starts it
 * again should it die.
 */
export async function startEmbedded(dir: string, log: Logger): Promise<EmbeddedRedis> {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return start(dir, { log, isCommand: false }, new AbortController())
}

interface Starter {
  log: Logger
  /** One that ends soon, unlike `run`. */
  isCommand: boolean
}

async function start(dir: string, starter: Starter, stopping: AbortController): Promise<EmbeddedRedis> {
  const { log } = starter
  const socket = socketPath(dir)
  const release = await lock(dir, socket, starter, stopping.signal)
  try {
    await stopOrphanedRedis(dir, socket)
    const launch = () => launchRedis(dir, socket, log, stopping.signal)
    const running = keepRunning(await launch(), launch, log, stopping.signal)
    return {
      url: `unix://${socket}`,
      async stop() {
        stopping.abort()
        await running
        release()
      },
    }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * For commands other than `run`: uses the running server, or starts one for the duration of the command, unless it is `onlyRunning`.
 * A signal that ends the command stops that one first.
 */
export async function useEmbedded(dir: string, { onlyRunning = false } = {}): Promise<EmbeddedRedis> {
  if (!existsSync(dir)) throw nothingIn(dir)
  const socket = socketPath(dir)
  while ((await probe(socket)) === 'loading') await pause(100)
  if ((await probe(socket)) === 'ready') return { url: `unix://${socket}`, async stop() {} }
  if (!hasData(dir)) throw nothingIn(dir)
  if (onlyRunning)
    throw new EmbeddedError(
      `no kubeherald runs with ${dir}, so nothing changes; "kubeherald status" shows what is stored`,
    )
  const stopping = new AbortController()
  const starting = start(dir, { log: silentLog, isCommand: true }, stopping)
  const ignoreSignals = stopOnSignal(async () => {
    stopping.abort()
    await (await starting).stop()
  })
  try {
    const { url, stop } = await starting
    return { url, stop: () => stop().finally(ignoreSignals) }
  } catch (error) {
    // With a signal, this process ends with it.
    if (!stopping.signal.aborted) ignoreSignals()
    throw error
  }
}

function nothingIn(dir: string): EmbeddedError {
  return new EmbeddedError(
    `there is nothing in ${dir}: kubeherald has not run with it (-c names the configuration that it runs with, --state-dir the place of its private Redis)`,
  )
}

async function lock(
  dir: string,
  socket: string,
  { log, isCommand }: Starter,
  signal: AbortSignal,
): Promise<() => void> {
  const isLive = async () => (await probe(socket)) !== 'absent'
  const untilMs = performance.now() + COMMAND_LIMIT_MS
  for (let isNoted = false; ; isNoted = true) {
    const lock = await lockState(join(dir, 'kubeherald.pid'), isLive, isCommand)
    if ('release' in lock) return lock.release
    const { pid, host, isCommand: isOfCommand } = lock.heldBy
    const what = isOfCommand ? 'a command of kubeherald' : 'another kubeherald'
    if (!isOfCommand || performance.now() > untilMs)
      throw new EmbeddedError(
        `${what} (pid ${pid} on ${host}) runs with ${dir}: stop it, or choose another --state-dir`,
      )
    if (!isNoted) log.warn({ pid, host, dir }, 'a command uses the state directory; waiting for its end')
    await pause(LOCK_PAUSE_MS, undefined, { signal })
  }
}

/** One that a killed process left behind still has the data, and two on the same files would spoil them. */
async function stopOrphanedRedis(dir: string, socket: string): Promise<void> {
  const untilMs = Date.now() + ORPHAN_LIMIT_MS
  while ((await probe(socket)) !== 'absent') {
    if (Date.now() > untilMs) {
      const file = join(dir, 'redis.pid')
      const pid = existsSync(file) ? ` (pid ${readFileSync(file, 'utf8').trim()})` : ''
      throw new EmbeddedError(
        `the redis-server${pid} that an earlier kubeherald left behind does not end: end it`,
      )
    }
    await shutDown(socket)
    await pause(50)
  }
}

/** Starts it again whenever it ends, ever more slowly, until the signal; then stops it. */
async function keepRunning(
  first: RedisProgram,
  launch: () => Promise<RedisProgram>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  let program: RedisProgram | undefined = first
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const sinceMs = Date.now()
    const reason = program && (await Promise.race([program.ended, stopped]))
    if (signal.aborted) break
    if (reason) log.error({ reason }, 'the private redis-server ended; starting it again')
    if (Date.now() - sinceMs > HEALTHY_MS) pauseMs = FIRST_PAUSE_MS
    await pause(pauseMs, undefined, { signal }).catch(() => {}) // aborted: seen below
    if (signal.aborted) break
    program = await launch().catch((error) => {
      if (!signal.aborted) log.error({ error }, 'the private redis-server does not start; trying again')
      return undefined
    })
  }
  await program?.stop()
}

/** In the state directory; for deep ones in a directory that only this user may enter. */
function socketPath(dir: string): string {
  const path = join(dir, 'redis.sock')
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path
  const hash = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  const shortDir = join(tmpdir(), `kubeherald-${hash}`)
  mkdirSync(shortDir, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(shortDir)
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
    throw new EmbeddedError(`${shortDir} belongs to somebody else: choose a shorter --state-dir`)
  return join(shortDir, 'redis.sock')
}

/** A redis-server that this process started. */
interface RedisProgram {
  /** Settles when it ends, with the reason. */
  ended: Promise<string>
  /** Lets it write its file and waits for its end. */
  stop(): Promise<void>
}

/** There is no usable redis-server; the message includes what to do. */
class EmbeddedError extends Error {
  override name = 'EmbeddedError'
}

/** Share of the machine's or the container's memory. Watches pause at 80 % of it. */
const MEMORY_SHARE = 0.25

/** A start without any reply for this time has failed; loading a large file has no limit. */
const SILENT_START_MS = 30_000

/** All that was confirmed is with the system by then; only its last second may not be on the disk. */
const STOP_LIMIT_MS = 8_000

const ANSWER_LIMIT_MS = 2_000

/** Starts redis-server on a socket with its data in `dir`; settles when it answers. */
async function launchRedis(
  dir: string,
  socket: string,
  log: Logger,
  signal?: AbortSignal,
): Promise<RedisProgram> {
  const hadData = hasData(dir)
  const { program, kill } = spawnRedis(serverArguments(dir, socket))
  try {
    await untilReady(program, socket, signal)
  } catch (error) {
    kill()
    throw error
  }
  // A transaction that was torn by a crash would be replayed with the next one (valkey-io/valkey#4342).
  const answer = hadData ? await ask(socket, 'BGREWRITEAOF') : '+'
  if (!answer?.startsWith('+')) log.warn({ answer }, 'the private redis-server does not rewrite its file')
  return program
}

/** Whether one has written its append-only file there: a directory since Redis 7. */
function hasData(dir: string): boolean {
  return ['appendonlydir', 'appendonly.aof'].some((name) => existsSync(join(dir, name)))
}

/** The state of a server on a socket: `loading` reads its file, `silent` accepts connections but sends nothing. */
async function probe(socket: string): Promise<'ready' | 'loading' | 'silent' | 'absent'> {
  const answer = await ask(socket, 'PING')
  if (answer === undefined) return 'absent'
  if (answer.startsWith('-LOADING')) return 'loading'
  // A Redis that cannot write its file refuses even PING, and can be read all the same.
  return /^(\+|-MISCONF\b)/.test(answer) ? 'ready' : 'silent'
}

/** Shuts the server down; it writes its file first. */
async function shutDown(socket: string): Promise<void> {
  await ask(socket, 'SHUTDOWN NOSAVE')
}

function spawnRedis(args: readonly string[]): { program: RedisProgram; kill(): void } {
  // In a process group of its own: Ctrl-C in a terminal must not stop it before us.
  const child = spawn(serverProgram(), args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-2_000)
    })
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', ({ message }) => resolve(message))
    child.once('close', (code, signal) =>
      resolve(`${signal ?? `exit code ${code}`} ${lastLine(output)}`.trim()),
    )
  })
  // However this process ends nothing is left running, except after a SIGKILL, or a signal that nobody handles: see `stopOnSignal`.
  const end = () => void child.kill('SIGTERM')
  process.once('exit', end)
  void ended.then(() => process.off('exit', end))
  return {
    kill: () => void child.kill('SIGKILL'),
    program: {
      ended,
      async stop() {
        child.kill('SIGTERM')
        const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
        await ended
        clearTimeout(limit)
      },
    },
  }
}

async function untilReady({ ended }: RedisProgram, socket: string, signal?: AbortSignal): Promise<void> {
  let over: string | undefined
  void ended.then((reason) => {
    over = reason
  })
  for (let heardMs = Date.now(); ; ) {
    signal?.throwIfAborted()
    if (over !== undefined) throw new EmbeddedError(`redis-server did not start: ${over}`)
    const state = await probe(socket)
    if (state === 'ready') return
    if (state === 'loading') heardMs = Date.now()
    if (Date.now() - heardMs > SILENT_START_MS) throw new EmbeddedError('redis-server does not answer')
    await pause(20)
  }
}

function serverProgram(): string {
  const found = ['redis-server', 'valkey-server'].find(
    (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
  )
  if (found) return found
  throw new EmbeddedError(
    'there is no redis-server (or valkey-server) on this machine: install it, or set redis.url in the configuration',
  )
}

function serverArguments(dir: string, socket: string): string[] {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return [
    ...['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700', '--dir', dir],
    ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--daemonize', 'no'],
    ...['--maxmemory', String(Math.floor(memory * MEMORY_SHARE)), '--maxmemory-policy', 'noeviction'],
    // Entries that wait alone are large for the default of 4 KiB: a quarter of it would stay empty.
    ...['--stream-node-max-bytes', '16384'],
    ...['--pidfile', join(dir, 'redis.pid'), '--loglevel', 'warning'],
  ]
}

/** The first line of the reply; '' when none comes, undefined when nobody listens. */
async function ask(socket: string, command: string): Promise<string | undefined> {
  const connection = connect(socket)
  connection.setTimeout(ANSWER_LIMIT_MS, () => connection.destroy())
  try {
    connection.write(`${command}\r\n`)
    for await (const chunk of connection) return String(chunk).split('\r\n', 1)[0]
    return ''
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ECONNREFUSED' || code === 'ENOENT' ? undefined : ''
  } finally {
    connection.destroy()
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
