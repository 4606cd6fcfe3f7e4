import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../observe/log.ts'
import { type Access, createAccess } from '../../observe/server/access.ts'
import { createRefusalLog, type Refused } from '../../observe/server/refusals.ts'
import { createSite, type Site } from '../../observe/server/site.ts'
import type { SinkType } from '../../sink/index.ts'
import type { Keys } from '../../store/keys.ts'
import { isConnected } from '../../store/redis/connection.ts'
import { createApi } from './api.ts'
import { createHandlers } from './handlers.ts'
import { ApiError } from './routes.ts'
import { createStreams, MOST_CLIENTS } from './stream.ts'

export interface SiteParts {
  /** Opens a connection of the API's own: no delivery and no commit waits for what it reads. */
  openRedis(): Redis
  keys: Keys
  cluster: string
  /** Salts the hashes of Secret values. */
  salt: Buffer
  /** In force; a reload replaces it. */
  config(): Config
  load(type: string): Promise<SinkType>
  log: Logger
  countRefusal(reason: Refused['reason']): void
}

/** The page and the API of this process. */
export interface OpenSite {
  serve: Site
  close(): void
}

export function openSite(parts: SiteParts): OpenSite {
  const { keys, config, log } = parts
  let connection: Redis | undefined
  const redis = () => {
    connection ??= parts.openRedis()
    return connection
  }
  const ready = createRedisReady(redis)
  // Streams have a bound of their own. After a restart all clients come in the same moment.
  const streams = createStreams({ redis, ready: createRedisReady(redis, { most: MOST_CLIENTS }), keys })
  const api = createApi({
    ready,
    handlers: createHandlers({ ...parts, redis }),
    stream: streams.serve,
    audit: ({ who, operation, params, body, result }) =>
      log.info({ audit: true, who, operation, params, body, result }, 'an action by the API'),
    log,
  })
  return {
    serve: createSite({
      access: accessOf(config),
      onRefused: createRefusalLog(parts.countRefusal, log),
      api,
    }),
    close() {
      streams.close()
      connection?.disconnect()
    },
  }
}

/** Decides by the configuration in force: tokens rotate with it. */
function accessOf(config: () => Config): () => Access {
  const known = new WeakMap<object, Access>()
  return () => {
    const { server } = config()
    const settings = server || {}
    const access = known.get(settings) ?? createAccess(settings)
    known.set(settings, access)
    return access
  }
}

const WITHIN_MS = 2_000
/** Requests that wait at the same time. */
const MOST_WAITING = 32

/**
 * Returns a function that waits until Redis is connected, for a moment. It rejects with a 503 if it is not by then, and immediately if many
 * requests wait already.
 */
export function createRedisReady(
  redis: () => Pick<Redis, 'status' | 'once' | 'off'>,
  { most = MOST_WAITING, withinMs = WITHIN_MS }: { most?: number; withinMs?: number } = {},
): () => Promise<void> {
  let waiting = 0
  let connected: Promise<boolean> | undefined
  return async () => {
    if (redis().status === 'ready') return
    if (waiting >= most) throw new ApiError(503, 'Redis is not connected, and many requests wait for it')
    waiting++
    // All requests share one listener.
    connected ??= isConnected(redis(), withinMs).finally(() => {
      connected = undefined
    })
    const isThere = await connected.finally(() => waiting--)
    if (!isThere) throw new ApiError(503, 'Redis is not connected; /readyz and the log have the reason')
  }
}
