import { Redis, type RedisOptions } from 'ioredis'
import { type Logger, silentLog } from '../log.ts'
import { inPlainWords } from '../plain-words.ts'

/**
 * What a connection is for. `commit`: never resends by itself, because a lost reply says nothing (a commit asks the
 * checkpoint instead). `work`: waits for Redis as long as it takes, as BullMQ wants. `command`: fails soon, for a person.
 */
export type Purpose = 'commit' | 'work' | 'command'

const MAX_RECONNECT_DELAY_MS = 1_000

/** A Redis that is silent for longer is frozen or out of reach: TCP alone would notice after a quarter of an hour. */
const SILENCE_MS = 15_000

const OPTIONS = {
  // autoResend off together with maxRetriesPerRequest null would leave promises unsettled for ever.
  commit: { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, enableOfflineQueue: false },
  work: { maxRetriesPerRequest: null },
  command: { maxRetriesPerRequest: 0, connectTimeout: 3_000, retryStrategy: () => null },
} satisfies Record<Purpose, RedisOptions>

/** Opens a connection; it reconnects by itself. Accepts redis://, rediss:// and unix:///path. */
export function openRedis(url: string, purpose: Purpose, log: Logger): Redis {
  const options = {
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), MAX_RECONNECT_DELAY_MS),
    // After a failover the old master may keep the connection: the name may lead to the new one.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
    socketTimeout: SILENCE_MS,
    lazyConnect: true,
    ...OPTIONS[purpose],
  }
  const path = socketPath(url)
  const redis = path === undefined ? new Redis(url, options) : new Redis(path, options)
  logChanges(redis, purpose, log)
  redis.connect().catch(() => {}) // reported by the 'error' event; reconnecting goes on
  return redis
}

/** A `command` connection that answers; throws the address and the reason, and nothing that holds the password. */
export async function reachRedis(url: string): Promise<Redis> {
  const redis = openRedis(url, 'command', silentLog)
  let reason = 'no answer'
  redis.on('error', ({ message }: Error) => {
    reason = message
  })
  try {
    await redis.ping()
    return redis
  } catch (error) {
    redis.disconnect()
    const { name, message } = error as Error
    if (name === 'ReplyError') reason = message
    // Not as the cause: errors of ioredis carry the command with its arguments, AUTH among them.
    const refused = /^(NOAUTH|WRONGPASS|NOPERM)/.test(reason)
    throw new Error(
      `Redis at ${addressOf(url)} ${refused ? 'refuses' : 'does not answer'}: ${inPlainWords(reason)}`,
    )
  }
}

/** host:port or socket path, without user and password. */
export function addressOf(url: string): string {
  return socketPath(url) ?? new URL(url).host
}

function socketPath(url: string): string | undefined {
  return url.startsWith('unix://') ? url.slice('unix://'.length) : undefined
}

/** One line when it breaks and one when it is back, not one per attempt. */
function logChanges(redis: Redis, purpose: Purpose, log: Logger): void {
  let broken = false
  redis.on('error', (error: Error) => {
    if (broken) return
    broken = true
    if (purpose !== 'command')
      log.warn({ purpose, error: inPlainWords(error.message) }, 'Redis does not answer; waiting for it')
  })
  redis.on('ready', () => {
    if (broken && purpose !== 'command') log.info({ purpose }, 'Redis answers again')
    broken = false
  })
}
