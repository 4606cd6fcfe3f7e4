import type { Config } from '../../config/schema.ts'
import { reachRedis } from '../../queue/connection.ts'
import { keysOf } from '../../queue/keys.ts'
import { LastingFault } from '../../queue/redis-fault.ts'
import { addressOf, targetOf } from '../../queue/redis-target.ts'
import { inspectRedis } from '../../queue/requirements.ts'
import { foreignLayout } from '../../queue/schema.ts'
import { boundsOf } from '../../queue-settings.ts'
import type { Finding } from './check-report.ts'

/**
 * The findings in the Redis of the configuration; nothing is written. Errors are what makes `run` exit, warnings what it
 * waits for or starts with. Empty for a private Redis.
 */
export async function checkRedisOf(config: Config, cluster: string): Promise<Finding[]> {
  const keys = keysOf(cluster)
  const target = targetOf(config.redis, keys.bullmq)
  if (!target) return []
  const found: Finding[] = []
  const where = `redis (${addressOf(target)})`
  const add = (severity: Finding['severity'], messages: readonly string[]) =>
    found.push(...messages.map((it) => ({ severity, message: `${where}: ${it}` })))
  try {
    const redis = await reachRedis(target)
    try {
      const asCluster = target.cluster !== undefined
      const { refusals, pending, warnings } = await inspectRedis({
        redis,
        keys,
        asCluster,
        bounds: boundsOf(config),
      })
      const foreign = refusals.length === 0 ? foreignLayout(await redis.get(keys.schema)) : undefined
      add('error', [...refusals, ...(foreign === undefined ? [] : [foreign])])
      add('warning', [...pending, ...warnings])
    } finally {
      redis.disconnect()
    }
  } catch (error) {
    add(error instanceof LastingFault ? 'error' : 'warning', [(error as Error).message])
  }
  return found
}
