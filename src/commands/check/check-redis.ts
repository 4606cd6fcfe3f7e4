import type { Config } from '../../config/schema.ts'
import { reachRedis } from '../../queue/connection.ts'
import { keysOf } from '../../queue/keys.ts'
import { addressOf, targetOf } from '../../queue/redis-target.ts'
import { inspectRedis } from '../../queue/requirements.ts'
import { foreignLayout } from '../../queue/schema.ts'

/** What `run` would refuse or warn of in the Redis of the configuration; nothing is written. Empty for a private one. */
export async function checkRedisOf(
  { redis: settings }: Pick<Config, 'redis'>,
  cluster: string,
): Promise<string[]> {
  const keys = keysOf(cluster)
  const target = targetOf(settings, keys.bullmq)
  if (!target) return []
  const found: string[] = []
  try {
    const redis = await reachRedis(target)
    try {
      const asCluster = target.cluster !== undefined
      const { refusals, pending, warnings } = await inspectRedis({ redis, keys, asCluster })
      const foreign = refusals.length === 0 ? foreignLayout(await redis.get(keys.schema)) : undefined
      found.push(...refusals, ...pending, ...warnings, ...(foreign === undefined ? [] : [foreign]))
    } finally {
      redis.disconnect()
    }
  } catch (error) {
    found.push((error as Error).message)
  }
  const where = `redis (${addressOf(target)})`
  return found.map((it) => `${where}: ${it}`)
}
