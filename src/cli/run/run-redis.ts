import { accessSync, constants, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../observe/log.ts'
import { keysOf } from '../../store/keys.ts'
import { readReports } from '../../store/process-reports.ts'
import { reachRedis } from '../../store/redis/connection.ts'
import { startEmbedded } from '../../store/redis/embedded.ts'
import { forgetCluster } from '../../store/redis/forget.ts'
import { addressOf, type RedisTarget, targetOf } from '../../store/redis/redis-target.ts'
import { stateDir } from '../environment.ts'
import { fileFault } from '../load-config/file-reads.ts'
import { UsageError } from '../usage-error.ts'

export interface ChosenRedis {
  target: RedisTarget
  /** Set for a private one. */
  dir?: string
}

interface RedisOptions {
  config: Config
  cluster: string
  stateDir: string | undefined
  demo: boolean
}

/** The cluster name of a demo in a Redis that others use too. */
export const SHARED_DEMO = 'kubeherald-demo'

/** The Redis of the configuration (a demo's has none unless it is asked to share one), or a private one that ends with the stack. */
export async function openRunRedis(
  options: RedisOptions,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<ChosenRedis> {
  const { config, cluster, demo } = options
  const target = targetOf(config.redis, keysOf(cluster).bullmq)
  if (target) {
    if (!demo && cluster === SHARED_DEMO)
      throw new UsageError(
        `cluster: ${SHARED_DEMO} is the name of the demo, which deletes what is stored under it: choose another`,
      )
    if (demo) await borrowForDemo(target, stack)
    return { target }
  }
  const state = stateDir(options.stateDir, process.env)
  const dir = demo ? join(state, 'demo') : state
  makeStateDirectory(dir)
  const embedded = await startEmbedded(dir, log).catch((error: unknown) => {
    throw stateDirectoryFault(dir, error)
  })
  // Each demo starts empty. Only its owner may delete the directory.
  if (demo) stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  stack.defer(() => embedded.stop())
  writeFileSync(join(dir, 'cluster'), cluster)
  return { target: { url: embedded.url }, dir }
}

/** Deletes the keys of the demo before and after it. */
async function borrowForDemo(target: RedisTarget, stack: AsyncDisposableStack): Promise<void> {
  const keys = keysOf(SHARED_DEMO)
  const redis = await reachRedis(target)
  try {
    const [other] = await readReports(redis, keys)
    const address = addressOf(target)
    if (other) throw new Error(`another demo (pid ${other.pid} on ${other.host}) uses Redis at ${address}`)
    await forgetCluster(redis, keys)
  } finally {
    redis.disconnect()
  }
  stack.defer(async () => {
    const again = await reachRedis(target).catch(() => undefined) // gone: the next demo deletes it
    if (again) await forgetCluster(again, keys).finally(() => again.disconnect())
  })
}

/** Creates the directory and its missing parents, for this user only. */
function makeStateDirectory(dir: string): void {
  try {
    make(dir)
    accessSync(dir, constants.W_OK | constants.X_OK)
  } catch (error) {
    const why = error instanceof NotADirectory ? error.message : fileFault(error)
    throw new UsageError(`cannot use the state directory ${dir}: ${why}; choose another with --state-dir`)
  }
}

/** Returns a `UsageError` for a full or read-only file system, other errors unchanged. */
export function stateDirectoryFault(dir: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  const isOfFiles = code !== undefined && FULL_OR_READ_ONLY.has(code) && !syscall?.startsWith('spawn')
  if (!isOfFiles) return error
  return new UsageError(
    `cannot write in the state directory ${dir}: ${fileFault(error)}; choose another with --state-dir`,
  )
}

const FULL_OR_READ_ONLY = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM'])

class NotADirectory extends Error {}

/** Creates one directory at a time: `recursive` loops forever where none can be created, such as in /proc. */
function make(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found) throw new NotADirectory(`${dir} is a file`)
  make(dirname(dir))
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(dir).isDirectory()) return
    if (code === 'ENOENT') throw new NotADirectory(`no directory can be made in ${dirname(dir)}`)
    throw error
  }
}
