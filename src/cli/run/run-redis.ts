import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../log.ts'
import { reachRedis } from '../../queue/connection.ts'
import { startEmbedded } from '../../queue/embedded.ts'
import { forgetCluster } from '../../queue/forget.ts'
import { readReports } from '../../queue/instances.ts'
import { keysOf } from '../../queue/keys.ts'
import { addressOf, type RedisTarget, targetOf } from '../../queue/redis-target.ts'
import { stateDir } from '../../state-dir.ts'
import { UsageError } from '../usage-error.ts'
import { makeStateDirectory, stateDirectoryFault } from './state-directory.ts'

export interface ChosenRedis {
  target: RedisTarget
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
  const target = targetOf(config.redis, keysOf(cluster).bullmq)
  if (target) {
    if (!demo && cluster === SHARED_DEMO)
      throw new UsageError(
        `cluster: ${SHARED_DEMO} is the name of the demo, which deletes what is stored under it: choose another`,
      )
    if (demo) await borrowForDemo(target, stack)
    return { target }
  }
  const state = stateDir(wish.stateDir, process.env)
  const dir = demo ? join(state, 'demo') : state
  makeStateDirectory(dir)
  const embedded = await startEmbedded(dir, log).catch((error: unknown) => {
    throw stateDirectoryFault(dir, error)
  })
  // A demo's day is new each time: what the last one left is of no use. Only its owner may delete it.
  if (demo) stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  stack.defer(() => embedded.stop())
  writeFileSync(join(dir, 'cluster'), cluster)
  return { target: { url: embedded.url }, dir }
}

/** A demo begins with nothing and leaves nothing, under a name that is nobody else's. */
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
