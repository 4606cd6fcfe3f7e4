import { once } from 'node:events'
import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.ts'
import type { Logger } from '../../observe/log.ts'
import { type Access, createAccess } from '../../observe/server/access.ts'
import { createSite, type Site } from '../../observe/server/site.ts'
import type { SinkType } from '../../sink/index.ts'
import type { Keys } from '../../store/keys.ts'
import { createApi } from './api.ts'
import { createHandlers } from './handlers.ts'
import { createStreams } from './stream.ts'

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
}

/** The page and the API of this process. */
export interface OpenSite {
  serve: Site
  close(): void
}

export function openSite(parts: SiteParts): OpenSite {
  const { keys, config, log } = parts
  let connection: Redis | undefined
  let connecting: Promise<void> | undefined
  const redis = () => {
    connection ??= parts.openRedis()
    return connection
  }
  /** Requests that come meanwhile wait together. */
  const connected = async () => {
    if (redis().status === 'ready') return
    connecting ??= untilReady(redis()).finally(() => {
      connecting = undefined
    })
    await connecting
  }
  const streams = createStreams({ redis, keys })
  const answer = createApi({
    handlers: createHandlers({ ...parts, redis }),
    stream: streams.serve,
    audit: ({ who, operation, params, body, result }) =>
      log.info({ audit: true, who, operation, params, body, result }, 'an action by the API'),
    log,
  })
  return {
    serve: createSite({
      access: accessOf(config),
      async api(call) {
        await connected()
        return answer(call)
      },
    }),
    close() {
      streams.close()
      connection?.disconnect()
    },
  }
}

const CONNECT_MS = 2_000

/** Waits for the connection, for a moment: without it commands fail immediately, and the answer has the reason. */
async function untilReady(redis: Redis): Promise<void> {
  await once(redis, 'ready', { signal: AbortSignal.timeout(CONNECT_MS) }).catch(() => {})
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
