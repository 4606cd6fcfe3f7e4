import type { Redis } from 'ioredis'
import { type Logger, silentLog } from '../log.ts'
import type { Keys } from './keys.ts'
import { missingRights } from './rights.ts'
import { prepareSchema } from './schema.ts'

/** What a Redis must be like; each refusal says what to do. */
export interface RedisReport {
  /** `7.0.15`; of another make with its name, `Valkey 8.0.1`. */
  version: string
  refusals: string[]
  /** Why it cannot be used yet: these pass without a change of the configuration, as a failover does. */
  pending: string[]
  warnings: string[]
}

/** A bound in bytes of the configuration, named as its user finds it. */
export interface BytesBound {
  /** `kubeherald.yaml:12:30 sinks.oncall.queue.maxBytes` */
  name: string
  bytes: number
}

export interface CheckParts {
  redis: Redis
  keys: Keys
  /** It is reached as a Redis Cluster. */
  asCluster?: boolean
  /** Bounds that must be below its memory limit. */
  bounds?: readonly BytesBound[]
}

const OLDEST = [6, 2]

/** Looks whether Redis will keep what it is given, and makes it ready: nothing is written into one that is refused. */
export async function checkRedis(parts: CheckParts, log: Logger = silentLog): Promise<RedisReport> {
  const report = await inspectRedis(parts)
  if (report.refusals.length > 0 || report.pending.length > 0) return report
  const refusal = await prepareSchema({ ...parts, log })
  return refusal === undefined ? report : { ...report, refusals: [refusal] }
}

/** Looks, and writes nothing. Reads INFO alone: CONFIG is forbidden on many managed ones. */
export async function inspectRedis({
  redis,
  keys,
  asCluster = false,
  bounds = [],
}: CheckParts): Promise<RedisReport> {
  const info = await readInfo(redis)
  const refusals = [...refusalsOf(info, asCluster, redisCli(redis))]
  refusals.push(...boundsBeyond(bounds, Number(info['maxmemory'] ?? 0)))
  const missing = refusals.length === 0 ? await missingRights(redis, keys) : []
  if (missing.length > 0)
    refusals.push(`the user of Redis lacks rights: ACL SETUSER NAME ${missing.join(' ')}`)
  const pending = [...pendingOf(info)]
  const crowded = boundsTogether(bounds, Number(info['maxmemory'] ?? 0))
  const warnings = [...warningsOf(info), ...(crowded === undefined ? [] : [crowded])]
  return { version: versionOf(info), refusals, pending, warnings }
}

/** Why this Redis takes no writes at the moment; undefined when it does, or does not tell. */
export async function refusalOfWrites(redis: Redis): Promise<string | undefined> {
  const info = await readInfo(redis)
  const [used, limit] = [Number(info['used_memory'] ?? 0), Number(info['maxmemory'] ?? 0)]
  if (info['aof_last_write_status'] === 'err')
    return 'it refuses writes, because it cannot write its append-only file: make room on its disk'
  if (info['rdb_last_bgsave_status'] === 'err')
    return 'its last snapshot failed, and it refuses writes unless stop-writes-on-bgsave-error is no: make room on its disk, then BGSAVE'
  if (info['role'] === 'slave') return 'it refuses writes, because it is a replica'
  return limit > 0 && used > limit ? 'it refuses writes, because it uses more than its maxmemory' : undefined
}

type Info = Readonly<Record<string, string>>

async function readInfo(redis: Redis): Promise<Info> {
  try {
    return parseInfo(await redis.info())
  } catch (error) {
    if ((error as Error).message.startsWith('NOPERM')) return {} // told with the other rights
    throw error
  }
}

function* refusalsOf(info: Info, asCluster: boolean, cli: string): Generator<string> {
  const version = info['redis_version']
  if (version !== undefined && isOlder(version)) yield `Redis ${version} is too old: 6.2 or newer is needed`
  const eviction = evictionOf(info, cli)
  if (eviction !== undefined) yield eviction
  const mode = info['redis_mode'] ?? info['server_mode'] // as Valkey calls it
  if (mode === 'cluster' && !asCluster)
    yield 'this Redis is a node of a Redis Cluster: write redis: { cluster: { nodes: [HOST:PORT] } } instead of redis.url'
  if (mode === 'sentinel')
    yield 'this is a Sentinel: write redis: { sentinel: { name: NAME, nodes: [HOST:26379] } } instead of redis.url'
}

/** Why bounds in bytes cannot hold in a Redis with this limit; none where it is 0, which is none. */
export function boundsBeyond(bounds: readonly BytesBound[], maxmemory: number): string[] {
  if (maxmemory === 0) return []
  return bounds
    .filter(({ bytes }) => bytes > maxmemory)
    .map(
      ({ name, bytes }) =>
        `${name} is ${inMegabytes(bytes)}, more than the maxmemory of Redis (${inMegabytes(maxmemory)}): lower it, or raise maxmemory`,
    )
}

/** The memory gate closes at 80 %, and the index needs room. */
const MOST_TOGETHER = 0.7

/** Undefined while the bounds of a configuration leave room for what else is in Redis. */
function boundsTogether(bounds: readonly BytesBound[], maxmemory: number): string | undefined {
  const all = bounds.reduce((sum, { bytes }) => sum + bytes, 0)
  if (maxmemory === 0 || all <= maxmemory * MOST_TOGETHER) return undefined
  return `the bounds of queues and dead letters together are ${inMegabytes(all)}, and the maxmemory of Redis is ${inMegabytes(maxmemory)}: watches pause at 80 % of it. Lower them, or raise maxmemory`
}

function inMegabytes(bytes: number): string {
  return `${Number((bytes / 1e6).toFixed(1))} MB`
}

function* pendingOf(info: Info): Generator<string> {
  if (info['role'] === 'slave')
    yield 'this Redis is a replica, which takes no writes: name its master, or reach it through redis.sentinel'
}

/** Why Redis may delete what it was given, and what to do with `cli`; undefined when it evicts nothing. Of `INFO memory`. */
export function evictionOf(info: Info, cli: string): string | undefined {
  const policy = info['maxmemory_policy'] ?? 'noeviction'
  if (policy === 'noeviction') return undefined
  return (
    `Redis has maxmemory-policy ${policy}: it would delete waiting deliveries when it is full. ` +
    `Set "maxmemory-policy noeviction" in redis.conf, or now: ${cli} CONFIG SET maxmemory-policy noeviction`
  )
}

/** The redis-cli command that reaches the connected server; it asks for a password and never holds it or its user. */
export function redisCli({ options, stream }: Pick<Redis, 'options' | 'stream'>): string {
  const { host, port, path, sentinels, username, password, tls } = options
  // Through Sentinels only the connection knows the master.
  const found = sentinels ? { host: stream?.remoteAddress, port: stream?.remotePort } : { host, port }
  const address = path ? ['-s', path] : ['-h', found.host ?? 'HOST', '-p', found.port ?? 'PORT']
  const identity = [...(username ? ['--user', 'NAME'] : []), ...(password ? ['--askpass'] : [])]
  return ['redis-cli', ...address, ...(tls ? ['--tls'] : []), ...identity].join(' ')
}

function* warningsOf(info: Info): Generator<string> {
  if (info['aof_enabled'] === '0')
    yield 'Redis writes no append-only file: what happened since its last snapshot is lost when it dies. Set "appendonly yes"'
  if (info['maxmemory'] === '0')
    yield 'Redis has no memory limit: set "maxmemory", so that watches can pause before the machine is full'
  const untold = ['maxmemory_policy', 'maxmemory', 'aof_enabled'].filter((it) => info[it] === undefined)
  if (untold.length > 0)
    yield `Redis does not tell its ${untold.join(', ')}: see to it that it evicts nothing (noeviction), has a limit, and writes an append-only file`
}

/** `INFO` as a map. */
export function parseInfo(text: string): Record<string, string> {
  const pairs = text.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(':')
    return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const]
  })
  return Object.fromEntries(pairs)
}

/** Valkey tells the Redis that it is compatible with as `redis_version`, and its own beside it. */
function versionOf(info: Info): string {
  const valkey = info['valkey_version']
  return valkey === undefined ? (info['redis_version'] ?? 'of unknown version') : `Valkey ${valkey}`
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}
