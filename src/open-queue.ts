import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { builtInSinks } from './app.ts'
import { clusterName } from './cluster-name.ts'
import { readConfiguration } from './commands/configuration.ts'
import type { Config } from './config/schema.ts'
import { reachRedis } from './queue/connection.ts'
import { useEmbedded } from './queue/embedded.ts'
import { type Keys, keysOf } from './queue/keys.ts'
import { stateDir } from './state-dir.ts'
import { findKubeconfig, loadAccess } from './watch/kubeconfig.ts'

/** The queue of a configuration, for commands beside `run`. */
export interface OpenQueue extends AsyncDisposable {
  redis: Redis
  redisUrl: string
  keys: Keys
  config: Config
}

export interface QueueOptions {
  config?: string
  stateDir?: string
}

/** Opens the Redis that `run` uses with the same arguments. */
export async function openQueue(options: QueueOptions): Promise<OpenQueue> {
  const { config } = await readConfiguration(options.config, builtInSinks)
  const place = config.redis.url ? { url: config.redis.url, stop: async () => {} } : await embedded(options)
  const redis = await reachRedis(place.url).catch(async (error) => {
    await place.stop()
    throw error
  })
  const cluster =
    'cluster' in place && !config.cluster ? place.cluster : clusterName(config, contextOf(config))
  return {
    redis,
    redisUrl: place.url,
    keys: keysOf(cluster),
    config,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      await place.stop()
    },
  }
}

/** The private Redis of the state directory, or that of a demo that runs. */
async function embedded(
  options: QueueOptions,
): Promise<{ url: string; cluster: string; stop(): Promise<void> }> {
  const own = stateDir(options.stateDir, process.env)
  const demo = join(own, 'demo')
  const dir = existsSync(join(demo, 'kubeherald.pid')) ? demo : own
  const redis = await useEmbedded(dir)
  const note = join(dir, 'cluster')
  return { ...redis, cluster: existsSync(note) ? readFileSync(note, 'utf8') : 'kubernetes' }
}

function contextOf({ kubernetes }: Config): string | undefined {
  if (!findKubeconfig({ ...kubernetes, env: process.env })) return undefined
  return loadAccess({ ...kubernetes, env: process.env }).context
}
