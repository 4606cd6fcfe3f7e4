import type { Redis } from 'ioredis'
import type { Config } from '../config/schema.ts'
import { type Logger, silentLog } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Keys } from '../store/keys.ts'
import { countReconnects, openRedis, type Purpose, watchLiveness } from '../store/redis/connection.ts'
import { keepSalt, readSalt, watchSchema } from '../store/redis/layout.ts'
import { createMemoryGate, type MemoryGate } from '../store/redis/memory-gate.ts'
import type { Troubles } from '../store/redis/redis-fault.ts'
import type { RedisTarget } from '../store/redis/redis-target.ts'
import type { BytesBound } from '../store/redis/requirements.ts'

/** One connection for each kind of work, so that none waits behind another's blocking read or large commit. */
export interface Connections {
  commit: Redis
  lanes: Redis
  /** For BullMQ: commands, and the blocking worker. */
  queue: Redis
  worker: Redis
  /** For gauges, reports and the stores of sinks. */
  report: Redis
}

/** Opens the connections, which reconnect after each loss. */
export function openConnections(target: RedisTarget, log: Logger, metrics: Metrics): Connections {
  // All connections lose Redis and reconnect together: only one of them logs it.
  const connect = (purpose: Purpose, logger = silentLog) => openRedis(target, purpose, logger)
  const connections = {
    commit: connect('commit', log),
    lanes: connect('work'),
    queue: connect('work'),
    worker: connect('work'),
    report: connect('commit'),
  }
  countReconnects(connections, metrics)
  return connections
}

export function disconnect(connections: Connections): void {
  for (const connection of Object.values(connections)) connection.disconnect()
}

/** Returns the configured bounds in bytes, each with its path in the file. */
export function boundsOf({ sinks, deadLetters, placeOf }: Config): BytesBound[] {
  const bound = (path: readonly string[], bytes: number | undefined): BytesBound[] => {
    if (bytes === undefined) return []
    const place = placeOf?.(path)
    return [{ name: `${place === undefined ? '' : `${place} `}${path.join('.')}`, bytes }]
  }
  return [
    ...sinks.flatMap(({ name, queue }) => bound(['sinks', name, 'queue', 'maxBytes'], queue?.maxBytes)),
    ...bound(['deadLetters', 'maxBytes'], deadLetters?.maxBytes),
  ]
}

/**
 * Returns the bytes of which the default bounds are shares: the limit of Redis, or the part of it that `redis.share` gives this cluster;
 * 0 without a limit, undefined while it is not known.
 */
export function usableMemory(gate: Pick<MemoryGate, 'maxmemory'>, { redis }: Config): number | undefined {
  const limit = gate.maxmemory()
  return limit === undefined ? undefined : Math.floor(limit * (redis.share ?? 1))
}

interface RedisUpkeepParts {
  connections: Connections
  keys: Keys
  troubles: Troubles
  metrics: Metrics
  log: Logger
  /** The part of `maxmemory` that is this cluster's. */
  share(): number
  /** Called once when a newer version converted the keys. */
  onLayoutChanged?: ((error: Error) => void) | undefined
}

/** Checks of Redis that every process runs, whatever its role. */
interface RedisUpkeep {
  /** Salts the hashes of Secret values. */
  salt: Buffer
  /** Returns how long Redis has not answered, in milliseconds. */
  silentMs(): number
  gate: MemoryGate
  close(): void
}

/** Starts to check the layout of the keys, the salt, the liveness and the memory of Redis. */
export async function startRedisUpkeep(parts: RedisUpkeepParts): Promise<RedisUpkeep> {
  const { connections, keys, troubles, metrics, log, share, onLayoutChanged } = parts
  const redis = connections.report
  using started = new DisposableStack()
  const closing = <Part extends { close(): void }>(part: Part) => started.adopt(part, (it) => it.close())
  closing(
    watchSchema({ redis, keys }, (error) => {
      log.error(
        { error: error.message },
        'the keys in Redis are of another version; nothing is written any more',
      )
      onLayoutChanged?.(error)
    }),
  )
  const salt = await readSalt(connections.lanes, keys)
  closing(keepSalt(redis, keys, salt))
  const { silentMs } = closing(watchLiveness(redis, keys))
  const gate = closing(createMemoryGate({ redis, keys, troubles, metrics, log, share }))
  // The bounds of queues are shares of maxmemory.
  await gate.sampled
  const opened = started.move()
  return { salt, silentMs, gate, close: () => opened.dispose() }
}
