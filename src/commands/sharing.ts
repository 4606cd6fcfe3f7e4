import type { Config } from '../config/schema.ts'
import { targetOf } from '../queue/redis-target.ts'

/** What processes that share their work have to say, and this configuration does not: they meet in Redis, under the cluster's name. */
export function missingToShare({ redis, cluster }: Pick<Config, 'redis' | 'cluster'>): string[] {
  return [
    ...(targetOf(redis, '') ? [] : ['redis: { url: "redis://HOST:6379" }']),
    ...(cluster ? [] : ['cluster: NAME']),
  ]
}
