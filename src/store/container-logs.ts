import type { Redis } from 'ioredis'
import type { ContainerLog } from '../model/delivery.ts'
import type { Keys } from './keys.ts'
import { compress, decompress } from './packing.ts'
import { runScript, script } from './redis/script.ts'

/** Logs of containers that deliveries wait for, shared by all processes. */
export interface LogStore {
  /** Rejects while Redis is unavailable or full. */
  put(id: string, log: ContainerLog): Promise<void>
  /** Stores for a minute why logs were not read, by id, so that no process waits for them. Takes no room from logs. */
  putRefusals(refusals: ReadonlyMap<string, ContainerLog>): Promise<void>
  get(ids: readonly string[]): Promise<(ContainerLog | undefined)[]>
}

/** As long as deliveries wait at most by default. */
const KEPT_MS = 86_400_000
const MAX_BYTES = 16 * 2 ** 20
/** Share of `maxmemory`. */
const SHARE = 0.02
/** What Redis adds to the fields of a hash and of a sorted set, about. */
const FIXED_BYTES = 200

/**
 * Removes what is too old, and the oldest while there is too much. ARGV: id, log, now, oldest time, maximum of bytes, TTL. It needs no
 * command that other scripts do not need.
 */
const PUT = script(`
local logs, times = KEYS[1], KEYS[2]
local bytes = tonumber(redis.call('GET', KEYS[3]) or '0')
local function remove(ids)
  for _, id in ipairs(ids) do
    local log = redis.call('HGET', logs, id)
    if log then bytes = bytes - #log - ${FIXED_BYTES} end
    redis.call('HDEL', logs, id)
    redis.call('ZREM', times, id)
  end
end
remove({ARGV[1]})
remove(redis.call('ZRANGEBYSCORE', times, '-inf', ARGV[4], 'LIMIT', '0', '1000'))
redis.call('HSET', logs, ARGV[1], ARGV[2])
redis.call('ZADD', times, ARGV[3], ARGV[1])
bytes = bytes + #ARGV[2] + ${FIXED_BYTES}
while bytes > tonumber(ARGV[5]) and redis.call('ZCARD', times) > 1 do
  remove(redis.call('ZRANGE', times, '0', '0'))
end
redis.call('SET', KEYS[3], bytes)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[6]) end
`)

const REFUSED_MS = 60_000
/** Beyond it all are forgotten: then processes wait for logs that do not come. */
const MAX_REFUSALS = 10_000

/** ARGV: maximum number, TTL, ids and logs. */
const REFUSE = script(`
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[1]) then redis.call('DEL', KEYS[1]) end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
`)

/** `maxmemory` is the limit of Redis in bytes: 0 if it has none, undefined while it is not known. */
export function createLogStore(parts: {
  redis: Redis
  keys: Keys
  maxmemory(): number | undefined
  clock: { now(): number }
}): LogStore {
  const { redis, keys, maxmemory, clock } = parts
  const own = [keys.logs, keys.logTimes, keys.logBytes]
  return {
    async put(id, log) {
      const nowMs = clock.now()
      const limit = maxmemory() ?? 0
      const maxBytes = limit === 0 ? MAX_BYTES : Math.min(MAX_BYTES, Math.floor(limit * SHARE))
      const packed = compress(Buffer.from(JSON.stringify(log)))
      await runScript(redis, PUT, own, [id, packed, nowMs, nowMs - KEPT_MS, maxBytes, KEPT_MS])
    },
    async putRefusals(refusals) {
      const args = [...refusals].flatMap(([id, log]) => [id, JSON.stringify(log)])
      await runScript(redis, REFUSE, [keys.logRefusals], [MAX_REFUSALS, REFUSED_MS, ...args])
    },
    async get(ids) {
      if (ids.length === 0) return []
      const [packed, refused] = await Promise.all([
        redis.hmgetBuffer(keys.logs, ...ids),
        redis.hmget(keys.logRefusals, ...ids),
      ])
      return packed.map((it, i) => readStored(() => (it ? decompress(it).toString() : refused[i])))
    },
  }
}

/** Undefined for what another version wrote, or nobody can read. */
function readStored(textOf: () => string | null | undefined): ContainerLog | undefined {
  try {
    const text = textOf()
    if (text == null) return undefined
    const log = JSON.parse(text) as ContainerLog
    const isLog = typeof log.text === 'string' || typeof log.error === 'string'
    return isLog ? log : undefined
  } catch {
    return undefined
  }
}
