import { Redis, type RedisOptions } from 'ioredis'
import { type Logger, silentLog } from '../log.ts'
import { inPlainWords } from '../plain-words.ts'
import { explain } from './connection-advice.ts'
import { connectorFor } from './connector.ts'
import { followMaster, type MasterFollower } from './follow-master.ts'
import { greetStrictly } from './greeting.ts'
import { locateFor } from './locate-master.ts'
import { isLasting, LastingFault } from './redis-fault.ts'
import { addressOf, type RedisTarget, socketPath } from './redis-target.ts'

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

/**
 * Opens a connection to one server; it reconnects by itself, to the master of that time. Also to a Redis Cluster it is one
 * connection to one node: what is watched and what is executed never part.
 */
export function openRedis(target: RedisTarget | string, purpose: Purpose, log: Logger): Redis {
  const to = typeof target === 'string' ? { url: target } : target
  const options = {
    retryStrategy(this: RedisOptions, attempt: number) {
      Object.assign(this, credentialsOf(to)) // they may have been exchanged
      return Math.min(50 * 2 ** Math.min(attempt, 6), MAX_RECONNECT_DELAY_MS)
    },
    // After a failover the old master may keep the connection, after a move of slots the old node.
    reconnectOnError: ({ message }: Error) => /^(READONLY|MOVED)\b/.test(message),
    socketTimeout: SILENCE_MS,
    lazyConnect: true,
    disableClientInfo: true,
    ...OPTIONS[purpose],
    ...credentialsOf(to),
    ...(tlsOf(to) && { tls: {} }),
    Connector: connectorFor({
      follower: followerOf(to),
      tls: () => tlsOf(to),
      once: purpose === 'command',
    }),
  } satisfies RedisOptions
  const { url } = to
  const redis = greetStrictly(
    url === undefined ? new Redis(options) : new Redis(socketPath(url) ?? url, options),
    purpose === 'command',
  )
  logChanges(redis, purpose, log)
  redis.connect().catch(() => {}) // reported by the 'error' event; reconnecting goes on
  return redis
}

/**
 * A `command` connection that answers. Throws the address and the reason, and nothing that holds the password: a `LastingFault`
 * where another attempt would fail for the same reason.
 */
export async function reachRedis(target: RedisTarget | string, signal?: AbortSignal): Promise<Redis> {
  const redis = openRedis(target, 'command', silentLog)
  const end = () => redis.disconnect()
  signal?.addEventListener('abort', end, { once: true })
  let fault = new Error('no answer')
  redis.on('error', (error: Error) => {
    fault = error
  })
  try {
    await redis.ping()
    return redis
  } catch (error) {
    // One that cannot write its file refuses even PING, and can be read all the same.
    if ((error as Error).message.startsWith('MISCONF')) return redis
    redis.disconnect()
    if ((error as Error).name === 'ReplyError') fault = error as Error
    throw unreachable(target, fault)
  } finally {
    signal?.removeEventListener('abort', end)
  }
}

/** Without a cause: errors of ioredis carry the command with its arguments, AUTH among them. */
function unreachable(target: RedisTarget | string, fault: Error): Error {
  const reason = fault.message
  const to = typeof target === 'string' ? { url: target } : target
  const secure = tlsOf(to) !== undefined || to.url?.startsWith('unix:') === true
  const explained = explain(reason, { secure: secure || followerOf(to) !== undefined })
  const does = /^(NOAUTH|WRONGPASS|NOPERM)/.test(reason) ? 'refuses' : 'does not answer'
  const message = `Redis at ${addressOf(target)} ${does}: ${explained}`
  return new (isLasting(fault) ? LastingFault : Error)(message)
}

/** User and password beside the address win over those within. */
function credentialsOf({ url, username, password }: RedisTarget) {
  const parsed = url !== undefined && socketPath(url) === undefined ? new URL(url) : undefined
  const user = username ?? decodeURIComponent(parsed?.username ?? '')
  const word = password ?? decodeURIComponent(parsed?.password ?? '')
  return { ...(user && { username: user }), ...(word && { password: word }) }
}

function tlsOf({ url, tls }: RedisTarget) {
  return tls ?? (url?.startsWith('rediss://') ? true : undefined)
}

/** Connections to one target look after its master together. */
const followers = new WeakMap<RedisTarget, MasterFollower>()

function followerOf(target: RedisTarget): MasterFollower | undefined {
  const known = followers.get(target)
  if (known) return known
  const locate = locateFor(target)
  const follower = locate && followMaster(locate)
  if (follower) followers.set(target, follower)
  return follower
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
