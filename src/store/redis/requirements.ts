import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '../../observe/log.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import type { Keys } from '../keys.ts'
import { reachRedis } from './connection.ts'
import { foreignLayout, LAYOUT } from './layout.ts'
import { isTransient, LastingFault } from './redis-fault.ts'
import { addressOf, type RedisTarget } from './redis-target.ts'
import { evalScript, readOrCreate } from './script.ts'

/** Redis answers, and would lose what it is given, or holds keys that this version cannot use. */
export class RedisRefusedError extends Error {
  override name = 'RedisRefusedError'
  readonly refusals: readonly string[]

  constructor(refusals: readonly string[]) {
    super(refusals.join('; '))
    this.refusals = refusals
  }
}

interface WaitForRedisParts {
  target: RedisTarget
  keys: Keys
  log: Logger
  /** Bounds that must be below the memory limit of Redis. */
  bounds?: readonly BytesBound[]
  /** Called with the reason after each attempt that failed. */
  onWaiting?(reason: string): void
  /** Ends the wait: the promise rejects. */
  signal?: AbortSignal | undefined
}

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1_000
/** A Redis that takes the connection and is silent is reported before the attempt ends. */
const SLOW_MS = 3_000
const FIRST_REMINDER_MS = 30_000
const MAX_REMINDER_MS = 30 * 60_000

/**
 * Waits until Redis can be used, as long as it takes, and returns what it is like. Throws `RedisRefusedError` or `LastingFault`
 * where waiting would not help: a wrong password, an eviction policy, another layout, a certificate that is not trusted.
 */
export async function waitForRedis(parts: WaitForRedisParts): Promise<RedisReport> {
  const { log, signal } = parts
  const sinceMs = performance.now()
  const waitedMs = () => Math.round(performance.now() - sinceMs)
  let reminder = { atMs: 0, afterMs: FIRST_REMINDER_MS }

  function onWaiting(error: string): void {
    parts.onWaiting?.(error)
    if (waitedMs() < reminder.atMs) return
    log.warn({ error, waitedMs: waitedMs() }, 'waiting for Redis')
    const { afterMs } = reminder
    reminder = { atMs: waitedMs() + afterMs, afterMs: Math.min(afterMs * 2, MAX_REMINDER_MS) }
  }

  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const result = await attempt(parts, onWaiting)
    if ('report' in result) {
      if (reminder.atMs > 0) log.info({ waitedMs: waitedMs() }, 'Redis answers')
      for (const warning of result.report.warnings) log.warn({}, warning)
      return result.report
    }
    onWaiting(result.reason)
    await pause(pauseMs, undefined, { ...(signal && { signal }) })
  }
}

/** The reason is why Redis cannot be used yet. */
type Attempt = { report: RedisReport } | { reason: string }

/** One attempt, which ends with the signal. */
async function attempt(parts: WaitForRedisParts, onWaiting: (reason: string) => void): Promise<Attempt> {
  const { target, signal } = parts
  signal?.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const noAnswer = `Redis at ${addressOf(target)} does not answer: no answer in time`
  const slow = setInterval(() => onWaiting(noAnswer), SLOW_MS)
  try {
    return await Promise.race([reachAndCheck(parts), aborted.promise])
  } finally {
    clearInterval(slow)
    signal?.removeEventListener('abort', abort)
  }
}

async function reachAndCheck({ target, keys, signal, bounds }: WaitForRedisParts): Promise<Attempt> {
  const redis = await reachRedis(target, signal).catch((error: Error) => error)
  if (redis instanceof LastingFault) throw redis
  if (redis instanceof Error) return { reason: redis.message }
  const cannot = (why: string) => `Redis at ${addressOf(target)} cannot be used: ${why}`
  try {
    const asCluster = target.cluster !== undefined
    const report = await checkRedis({ redis, keys, asCluster, ...(bounds && { bounds }) })
    if (report.refusals.length > 0) throw new RedisRefusedError(report.refusals)
    return report.pending.length === 0 ? { report } : { reason: cannot(report.pending.join('; ')) }
  } catch (error) {
    if (error instanceof RedisRefusedError) throw error
    const message = cannot(friendlyError((error as Error).message))
    if (isTransient(error)) return { reason: message }
    throw new Error(message, { cause: error })
  } finally {
    redis.disconnect()
  }
}

/** The result of checking a Redis; each refusal includes what to do. */
interface RedisReport {
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

interface CheckParts {
  redis: Redis
  keys: Keys
  /** It is reached as a Redis Cluster. */
  asCluster?: boolean
  /** Bounds that must be below its memory limit. */
  bounds?: readonly BytesBound[]
}

const OLDEST = [6, 2]

/** Looks whether Redis will keep what it is given, and makes it ready: nothing is written into one that is refused. */
export async function checkRedis(parts: CheckParts): Promise<RedisReport> {
  const report = await inspectRedis(parts)
  if (report.refusals.length > 0 || report.pending.length > 0) return report
  const refusal = foreignLayout(await readOrCreate(parts.redis, parts.keys.schema, String(LAYOUT)))
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
  const missing = refusals.length === 0 ? await missingPermissions(redis, keys) : []
  if (missing.length > 0)
    refusals.push(`the user of Redis lacks permissions: ACL SETUSER NAME ${missing.join(' ')}`)
  const pending = [...pendingOf(info)]
  const crowded = boundsTogether(bounds, Number(info['maxmemory'] ?? 0))
  const warnings = [...warningsOf(info), ...(crowded === undefined ? [] : [crowded])]
  return { version: versionOf(info), refusals, pending, warnings }
}

/** Returns why this Redis currently refuses writes; undefined if it accepts them, or does not report it. */
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
    if ((error as Error).message.startsWith('NOPERM')) return {} // reported with the other missing permissions
    throw error
  }
}

function* refusalsOf(info: Info, asCluster: boolean, cli: string): Generator<string> {
  const version = info['redis_version']
  if (version !== undefined && isTooOld(version)) yield `Redis ${version} is too old: 6.2 or newer is needed`
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

/** Returns why Redis may delete stored data, by `INFO memory`, and what to do with `cli`; undefined when it evicts nothing. */
export function evictionOf(info: Info, cli: string): string | undefined {
  const policy = info['maxmemory_policy'] ?? 'noeviction'
  if (policy === 'noeviction') return undefined
  return (
    `Redis has maxmemory-policy ${policy}: it would delete waiting deliveries when it is full. ` +
    `Set "maxmemory-policy noeviction" in redis.conf, or now: ${cli} CONFIG SET maxmemory-policy noeviction`
  )
}

/** The redis-cli command that reaches the connected server; it asks for a password and never holds it or its user. */
export function redisCli({ options }: Pick<Redis, 'options'>): string {
  const { host, port, path, username, password, tls } = options
  const address = path ? ['-s', path] : ['-h', host ?? 'HOST', '-p', port ?? 'PORT']
  const identity = [...(username ? ['--user', 'NAME'] : []), ...(password ? ['--askpass'] : [])]
  return ['redis-cli', ...address, ...(tls ? ['--tls'] : []), ...identity].join(' ')
}

function* warningsOf(info: Info): Generator<string> {
  if (info['aof_enabled'] === '0')
    yield 'Redis writes no append-only file: what happened since its last snapshot is lost when it dies. Set "appendonly yes"'
  if (info['maxmemory'] === '0')
    yield 'Redis has no memory limit: set "maxmemory", so that watches can pause before the machine is full'
  const hidden = ['maxmemory_policy', 'maxmemory', 'aof_enabled'].filter((it) => info[it] === undefined)
  if (hidden.length > 0)
    yield `Redis does not report its ${hidden.join(', ')}: make sure that it evicts nothing (noeviction), has a memory limit, and writes an append-only file`
}

/** `INFO` as a map. */
export function parseInfo(text: string): Record<string, string> {
  const pairs = text.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(':')
    return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const]
  })
  return Object.fromEntries(pairs)
}

/** Valkey reports the compatible version of Redis as `redis_version`, and its own as `valkey_version`. */
function versionOf(info: Info): string {
  const valkey = info['valkey_version']
  return valkey === undefined ? (info['redis_version'] ?? 'of unknown version') : `Valkey ${valkey}`
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}

/**
 * All commands that kubeherald and BullMQ send, also in scripts, with valid arguments; K is replaced by a key. Redis 7.0 crashes
 * when it checks the permission for a command without its arguments.
 */
const EXAMPLES = `
ping; info; client setname x; eval return 1 K; evalsha ffffffffffffffffffffffffffffffffffffffff 1 K;
multi; exec; watch K; unwatch; get K; set K x; setnx K x; setrange K 0 x; mget K; strlen K; incr K;
exists K; del K; unlink K; persist K; pexpire K 1; pttl K; hget K x; hset K x x; hsetnx K x x; hmget K x;
hmset K x x; hgetall K; hdel K x; hexists K x; hincrby K x 1; hkeys K; hlen K; hvals K; hscan K 0;
hrandfield K; llen K; lpos K x; lpush K x; lrange K 0 1; lrem K 1 x; ltrim K 0 1;
memory usage K SAMPLES 1; rpoplpush K K; rpush K x; sadd K x; scard K; sismember K x; smembers K;
srem K x; xadd K * x x; xdel K 0-1; xlen K; xrange K - +; xrevrange K + -; xtrim K MAXLEN 1; zadd K 1 x;
zcard K; zpopmin K; bzpopmin K 1; zrange K 0 1; zrangebyscore K 0 1; zrem K x; zremrangebyrank K 0 1;
zremrangebyscore K 0 1; zrevrange K 0 1; zrevrangebyscore K 1 0; zscan K 0; zscore K x
`
  .trim()
  .split(/;\s/)

/** As ACL SETUSER calls them: the list of docs/operating.md. */
export const COMMANDS: readonly string[] = EXAMPLES.map((example) => {
  const [command = '', sub = ''] = example.split(' ')
  return command === 'client' || command === 'memory' ? `${command}|${sub}` : command
})

/** Returns the missing permissions of the connection's user, as rules for ACL SETUSER. Empty before Redis 7.0, which cannot check them. */
export async function missingPermissions(redis: Redis, keys: Keys): Promise<string[]> {
  try {
    const may = (await evalScript(redis, CHECK, [keys.schema], EXAMPLES)) as string
    return COMMANDS.flatMap((command, i) => (may[i] === '0' ? [`+${command}`] : []))
  } catch (error) {
    const { message } = error as Error
    if (!message.startsWith('NOPERM')) throw error
    return [/\bkeys?\b/.test(message) ? `~${keys.bullmq}*` : '+eval']
  }
}

/** Returns one digit for each example: 0 if it is refused. A command that Redis does not know is not refused. */
const CHECK = `
local may = {}
for i, example in ipairs(ARGV) do
  local command = {}
  for part in string.gmatch(example, '%S+') do command[#command + 1] = part == 'K' and KEYS[1] or part end
  may[i] = '1'
  if redis.acl_check_cmd then
    local known, allowed = pcall(redis.acl_check_cmd, unpack(command))
    if known and not allowed then may[i] = '0' end
  end
end
return table.concat(may)
`
