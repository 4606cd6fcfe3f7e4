import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../log.ts'

/** A redis-server that this process started. */
export interface RedisProgram {
  /** Settles when it ends, with the reason. */
  ended: Promise<string>
  /** Lets it write its file and waits for its end. */
  stop(): Promise<void>
}

/** There is no usable redis-server; the message says what to do. */
export class EmbeddedError extends Error {
  override name = 'EmbeddedError'
}

/** Of the machine's memory, or of the container's. Watches pause at 80 % of it. */
const MEMORY_SHARE = 0.25

/** A start that says nothing for so long has failed; reading a large file may take as long as it takes. */
const SILENT_START_MS = 30_000

/** All that was confirmed is with the system by then; only its last second may not be on the disk. */
const STOP_LIMIT_MS = 8_000

const ANSWER_LIMIT_MS = 2_000

/** Starts redis-server on a socket with its data in `dir`; settles when it answers. */
export async function launchRedis(
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
export function hasData(dir: string): boolean {
  return ['appendonlydir', 'appendonly.aof'].some((name) => existsSync(join(dir, name)))
}

/** What answers on a socket: `loading` reads its file, `silent` takes connections but says nothing. */
export async function probe(socket: string): Promise<'ready' | 'loading' | 'silent' | 'absent'> {
  const answer = await ask(socket, 'PING')
  if (answer === undefined) return 'absent'
  if (answer.startsWith('-LOADING')) return 'loading'
  return answer.startsWith('+') ? 'ready' : 'silent'
}

/** Tells it to end; it writes its file first. */
export async function shutDown(socket: string): Promise<void> {
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
  // However this process ends, short of a SIGKILL, nothing is left running.
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
