import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import type { Logger } from '../log.ts'
import { addressOf, reachRedis } from '../queue/connection.ts'
import { startEmbedded } from '../queue/embedded.ts'
import { forgetCluster } from '../queue/forget.ts'
import { readReports } from '../queue/instances.ts'
import { keysOf } from '../queue/keys.ts'
import { checkRedis } from '../queue/requirements.ts'
import { stateDir } from '../state-dir.ts'
import { makeStateDirectory } from './state-directory.ts'
import { UsageError } from './usage-error.ts'

export interface ChosenRedis {
  url: string
  version: string
  /** Set for a private one. */
  dir?: string
}

export interface RedisWish {
  config: Config
  cluster: string
  stateDir: string | undefined
  demo: boolean
}

/** The cluster name of a demo in a Redis that others use too. */
export const SHARED_DEMO = 'kubeherald-demo'

/** The Redis of the configuration (a demo's has none unless it is asked to share one), or a private one that ends with the stack. */
export async function openRunRedis(
  wish: RedisWish,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<ChosenRedis> {
  const { config, cluster, demo } = wish
  const { url } = config.redis
  if (url) {
    if (demo) await borrowForDemo(url, stack)
    return { url, version: await requireRedis(url, cluster, log) }
  }
  const own = stateDir(wish.stateDir, process.env)
  const dir = demo ? join(own, 'demo') : own
  makeStateDirectory(dir)
  const embedded = await startEmbedded(dir, log)
  // A demo's day is new each time: what the last one left is of no use. Only its owner may delete it.
  if (demo) stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  stack.defer(() => embedded.stop())
  writeFileSync(join(dir, 'cluster'), cluster)
  const version = await requireRedis(embedded.url, cluster, log, 'the redis-server of this machine: ')
  return { url: embedded.url, version, dir }
}

/** A demo begins with nothing and leaves nothing, under a name that is nobody else's. */
async function borrowForDemo(url: string, stack: AsyncDisposableStack): Promise<void> {
  const keys = keysOf(SHARED_DEMO)
  const redis = await reachRedis(url)
  try {
    const [other] = await readReports(redis, keys)
    const address = addressOf(url)
    if (other) throw new Error(`another demo (pid ${other.pid} on ${other.host}) uses Redis at ${address}`)
    await forgetCluster(redis, keys)
  } finally {
    redis.disconnect()
  }
  stack.defer(async () => {
    const again = await reachRedis(url).catch(() => undefined) // gone: the next demo deletes it
    if (again) await forgetCluster(again, keys).finally(() => again.disconnect())
  })
}

/** Refuses a Redis that would lose what it is given. Gives its version. */
async function requireRedis(url: string, cluster: string, log: Logger, whose = ''): Promise<string> {
  const redis = await reachRedis(url)
  try {
    const { version, refusals, warnings } = await checkRedis(redis, keysOf(cluster))
    for (const warning of warnings) log.warn({}, warning)
    if (refusals.length > 0) throw new UsageError(whose + refusals.join('\nkubeherald: '))
    return version
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new Error(`Redis at ${addressOf(url)} cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    redis.disconnect()
  }
}
