import type { Redis } from 'ioredis'
import { readOrCreate } from './read-or-create.ts'

/** What a Redis must be like; each refusal says what to do. */
export interface RedisReport {
  version: string
  refusals: string[]
  warnings: string[]
}

const OLDEST = [6, 2]
const SCHEMA = '1'

/** Looks whether Redis will keep what it is given. Reads INFO alone: CONFIG is forbidden on many managed ones. */
export async function checkRedis(redis: Redis, keys: { schema: string }): Promise<RedisReport> {
  const info = parseInfo(await redis.info())
  const version = info['redis_version'] ?? '0'
  const refusals: string[] = []
  const warnings: string[] = []
  if (isOlder(version)) refusals.push(`Redis ${version} is too old: 6.2 or newer is needed`)
  const policy = info['maxmemory_policy'] ?? 'noeviction'
  if (policy !== 'noeviction') {
    refusals.push(
      `Redis has maxmemory-policy ${policy}: it would delete waiting deliveries when it is full. ` +
        'Set "maxmemory-policy noeviction" in redis.conf, or now: redis-cli CONFIG SET maxmemory-policy noeviction',
    )
  }
  if (info['redis_mode'] === 'cluster') {
    refusals.push('this Redis is a node of a Redis Cluster, which is not supported yet: use a single one')
  }
  if (info['aof_enabled'] === '0') {
    warnings.push(
      'Redis writes no append-only file: what happened since its last snapshot is lost when it dies. Set "appendonly yes"',
    )
  }
  if (info['maxmemory'] === '0') {
    warnings.push(
      'Redis has no memory limit: set "maxmemory", so that watches can pause before the machine is full',
    )
  }
  // Nothing is written into a Redis that will not be used.
  if (refusals.length === 0) refusals.push(...(await checkSchema(redis, keys.schema)))
  return { version, refusals, warnings }
}

async function checkSchema(redis: Redis, key: string): Promise<string[]> {
  const schema = await readOrCreate(redis, key, SCHEMA)
  if (schema === SCHEMA) return []
  return [
    `the keys in Redis have layout ${schema}, this version knows layout ${SCHEMA}: run the matching version`,
  ]
}

/** `INFO` as a map. */
export function parseInfo(text: string): Record<string, string> {
  const pairs = text.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(':')
    return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const]
  })
  return Object.fromEntries(pairs)
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}
