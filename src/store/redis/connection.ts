import { connect as connectTcp, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'
import { type Logger, silentLog } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { TlsOptions } from '../../sink/index.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import type { Keys } from '../keys.ts'
import { followMaster, locateFor, type MasterFollower } from './locate-master.ts'
import { explain, isLasting, isNotTheMaster, LastingFault } from './redis-fault.ts'
import {
  addressOf,
  type HostPort,
  NO_TLS,
  type RedisTarget,
  socketPath,
  tlsOptionsOf,
} from './redis-target.ts'

/**
 * The purpose of a connection. `commit`: never resends a command, because after a lost reply its outcome is unknown (a commit reads
 * the checkpoint instead). `work`: waits for Redis without a limit, as BullMQ requires. `command`: fails soon, for interactive use.
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
      // They may have been exchanged, or left out.
      Object.assign(this, { username: undefined, password: undefined }, credentialsOf(to))
      return Math.min(50 * 2 ** Math.min(attempt, 6), MAX_RECONNECT_DELAY_MS)
    },
    // After a failover the old master may keep the connection, after a move of slots the old node.
    reconnectOnError: ({ message }: Error) => isNotTheMaster(message),
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

/** Separate user and password take precedence over those in the URL. */
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
      log.warn({ purpose, error: friendlyError(error.message) }, 'Redis does not answer; waiting for it')
  })
  redis.on('ready', () => {
    if (broken && purpose !== 'command') log.info({ purpose }, 'Redis answers again')
    broken = false
  })
}

/**
 * ioredis: after a refused SELECT it goes on in database 0, which is somebody else's. What harms nothing it prints. While Redis
 * loads its data it waits without an event or a limit; with `refuseLoading` the connection fails then.
 */
function greetStrictly(redis: Redis, refuseLoading = false): Redis {
  const { auth, info, select, duplicate } = redis as unknown as Record<string, Send>
  return Object.assign(redis, {
    select: (...args: unknown[]) =>
      select?.apply(redis, args).catch((error: Error) => {
        redis.stream.destroy()
        throw error
      }),
    // A password that nobody asks for does no harm.
    auth: (...args: unknown[]) =>
      auth?.apply(redis, args).catch((error: Error) => {
        if (!/no password is set|without any password configured/.test(error.message)) throw error
      }),
    info: (...args: unknown[]) => info?.apply(redis, quietly(args, refuseLoading)),
    duplicate: (...args: unknown[]) =>
      greetStrictly((duplicate as unknown as Duplicate).apply(redis, args), refuseLoading),
  })
}

type Send = (...args: unknown[]) => Promise<unknown>
type Duplicate = (...args: unknown[]) => Redis
type Callback = (error: Error | null, text?: string) => void

/** Only ioredis calls INFO with a callback, for its ready check. A server whose INFO is forbidden counts as ready. */
function quietly(args: unknown[], refuseLoading: boolean): unknown[] {
  const callback = args.at(-1) as Callback
  if (typeof callback !== 'function') return args
  const checked: Callback = (error, text) => {
    if (error?.message.startsWith('NOPERM')) return callback(null, '')
    const isLoading = refuseLoading && /^loading:1\b/m.test(text ?? '')
    return isLoading ? callback(new Error('LOADING Redis is loading its data')) : callback(error, text)
  }
  return [...args.slice(0, -1), checked]
}

/** Resolves to whether Redis is connected within this time; to false as soon as the signal aborts. */
export function isConnected(
  redis: Pick<Redis, 'status' | 'once' | 'off'>,
  withinMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const isReady = redis.status === 'ready'
  if (isReady || signal?.aborted) return Promise.resolve(isReady)
  return new Promise((resolve) => {
    const end = (isThere: boolean) => {
      clearTimeout(timer)
      redis.off('ready', ready)
      signal?.removeEventListener('abort', late)
      resolve(isThere)
    }
    const ready = () => end(true)
    const late = () => end(false)
    const timer = setTimeout(late, withinMs)
    redis.once('ready', ready)
    signal?.addEventListener('abort', late)
  })
}

/** Counts when a connection that was ready is ready again. */
export function countReconnects(
  connections: Readonly<Record<string, Pick<Redis, 'on'>>>,
  { redisReconnects }: Metrics,
): void {
  for (const [connection, redis] of Object.entries(connections)) {
    redisReconnects.inc({ connection }, 0)
    let wasReady = false
    redis.on('ready', () => {
      if (wasReady) redisReconnects.inc({ connection })
      wasReady = true
    })
  }
}

const EVERY_MS = 2_000

/** Asks Redis again and again, to know since when it has not answered this process. */
export function watchLiveness(redis: Redis, keys: Keys, everyMs = EVERY_MS) {
  let silentSinceMs: number | undefined
  let isAsking = false

  /** Time in which nobody asked, as that of a frozen process, is no silence. */
  function ask(): void {
    const askedMs = performance.now()
    const failed = () => {
      silentSinceMs ??= askedMs
    }
    if (isAsking) return failed()
    isAsking = true
    redis
      .get(keys.schema)
      .then(() => {
        silentSinceMs = undefined
      }, failed)
      .finally(() => {
        isAsking = false
      })
  }

  const timer = setInterval(ask, everyMs)
  return {
    silentMs: () => (silentSinceMs === undefined ? 0 : performance.now() - silentSinceMs),
    close: () => clearInterval(timer),
  }
}

interface ConnectorParts {
  /** Finds the master, where it has no address of its own. */
  follower?: MasterFollower | undefined
  /** Read for each connection: certificates may have been exchanged. */
  tls(): true | TlsOptions | undefined
  /** Gives up when the master cannot be found. */
  once: boolean
}

/** What a connector reads of the options of its connection. */
interface Options {
  host?: string
  port?: number
  path?: string
  family?: number
  connectTimeout?: number
  disconnectTimeout: number
}

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1_000
/** A little less than the connection's timeout, so that the error with the reason arrives first. */
const TLS_SHARE = 0.9

/** The class with which ioredis opens each connection to one target. */
function connectorFor({ follower, tls, once }: ConnectorParts) {
  return class extends AbstractConnector {
    readonly #options: Options
    #emit: (type: string, error: Error) => void = () => {}
    /** The connection that is being closed. */
    #ended: Duplex | undefined

    constructor(options: unknown) {
      super((options as Options).disconnectTimeout)
      this.#options = options as Options
    }

    override async connect(emit: (type: string, error: Error) => void): Promise<Socket | TLSSocket> {
      this.connecting = true
      this.#emit = emit
      const { path, family } = this.#options
      if (path) return this.#open(connectTcp({ path }))
      const at = follower ? await this.#findMaster(follower) : this.#fixed()
      // The options of the connection name its server also behind Sentinels and in a Cluster: `redisCli` reads them.
      Object.assign(this.#options, at)
      const secure = tls()
      const where = { ...at, ...(family && { family }) }
      const stream = secure ? this.#openTls(secure, where) : connectTcp(where)
      follower?.leaveWhenMoved(stream, at)
      return this.#open(stream)
    }

    /** Each reply that asks for another connection calls it, and each call of the library's adds a timer and a listener. */
    override disconnect(): void {
      const { stream } = this
      this.connecting = false
      if (stream && stream === this.#ended) return
      this.#ended = stream
      super.disconnect()
    }

    /** What Sentinels and Clusters call a master may be one no longer. */
    override check({ role }: { role?: string }): boolean {
      if (!follower || !role || role === 'master') return true
      this.#emit('error', new Error('the one that should be the master is a replica'))
      return false
    }

    #fixed(): HostPort {
      const { host = 'localhost', port = 6_379 } = this.#options
      return { host, port }
    }

    async #findMaster({ locate }: MasterFollower): Promise<HostPort> {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
        let fault: Error | undefined
        const at = await locate().catch((error: Error) => {
          fault = error
        })
        if (!this.connecting) throw new Error('Connection is closed.')
        if (at) return at
        // A connector that throws is never asked again.
        if (once) throw fault
        this.#emit('error', fault as Error)
        await pause(pauseMs)
      }
    }

    /** A port that speaks no TLS often just waits for more. */
    #openTls(secure: true | TlsOptions, at: HostPort): TLSSocket {
      const stream = connectTls({ ...at, ...tlsOptionsOf(secure, at.host) })
      stream.once('connect', () => {
        const limitMs = (this.#options.connectTimeout ?? 10_000) * TLS_SHARE
        const limit = setTimeout(() => stream.destroy(new Error(NO_TLS)), limitMs)
        for (const end of ['secureConnect', 'close']) stream.once(end, () => clearTimeout(limit))
      })
      return stream
    }

    #open<T extends Socket | TLSSocket>(stream: T): T {
      this.stream = stream
      stream.once('error', (error) => {
        this.firstError = error
      })
      return stream
    }
  }
}
