import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Logger, silentLog } from '../log.ts'
import { EmbeddedError, hasData, launchRedis, probe, type RedisProgram, shutDown } from './redis-program.ts'
import { lockState } from './state-lock.ts'

export { EmbeddedError } from './redis-program.ts'

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

/** Starts it for `run`, which owns the directory: a second one is refused. Starts it again should it die. */
export async function startEmbedded(dir: string, log: Logger): Promise<EmbeddedRedis> {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const socket = socketPath(dir)
  const release = await lock(dir, socket)
  try {
    await endOrphan(dir, socket)
    const stopping = new AbortController()
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

/** For commands beside `run`: uses the one that runs, or starts one for as long as the command takes. */
export async function useEmbedded(dir: string): Promise<EmbeddedRedis> {
  if (!existsSync(dir)) throw nothingIn(dir)
  const socket = socketPath(dir)
  while ((await probe(socket)) === 'loading') await pause(100)
  if ((await probe(socket)) === 'ready') return { url: `unix://${socket}`, async stop() {} }
  if (!hasData(dir)) throw nothingIn(dir)
  return startEmbedded(dir, silentLog)
}

function nothingIn(dir: string): EmbeddedError {
  return new EmbeddedError(
    `there is nothing in ${dir}: kubeherald has not run with it (-c names the configuration that it runs with, --state-dir the place of its private Redis)`,
  )
}

async function lock(dir: string, socket: string): Promise<() => void> {
  const isLive = async () => (await probe(socket)) !== 'absent'
  const lock = await lockState(join(dir, 'kubeherald.pid'), isLive)
  if ('release' in lock) return lock.release
  const { pid, host } = lock.heldBy
  throw new EmbeddedError(
    `another kubeherald (pid ${pid} on ${host}) runs with ${dir}: stop it, or choose another --state-dir`,
  )
}

/** One that a killed process left behind still has the data, and two on the same files would spoil them. */
async function endOrphan(dir: string, socket: string): Promise<void> {
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
