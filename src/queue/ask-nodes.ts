import { Redis } from 'ioredis'
import type { TlsOptions } from '../sink/index.ts'
import { explain } from './connection-advice.ts'
import { isLasting, LastingFault } from './redis-fault.ts'
import { type HostPort, showNode } from './redis-target.ts'
import { tlsOptionsOf } from './tls.ts'

/** Who asks, and how. */
export interface Credentials {
  username?: string | undefined
  password?: string | undefined
  tls?: true | TlsOptions | undefined
  /** The part of the configuration where they stand. */
  where: 'redis' | 'redis.sentinel'
}

const CONNECT_LIMIT_MS = 1_500
const ANSWER_LIMIT_MS = 1_500
/** How long slower ones are waited for once there is an answer. */
const GRACE_MS = 300

/**
 * Asks all nodes at once; gives the answers of those that are quick, in the order of the nodes. Throws what was wrong with
 * each when none answers: a `LastingFault` when all of them will fail again.
 */
export async function askNodes<T>(
  nodes: readonly HostPort[],
  credentials: Credentials,
  question: (redis: Redis, node: HostPort) => Promise<T>,
): Promise<T[]> {
  const answers = new Map<number, T>()
  const faults = new Map<number, Error>()
  const first = Promise.withResolvers<void>()
  const all = Promise.all(
    nodes.map(async (node, i) => {
      try {
        answers.set(i, await askNode(node, credentials, (redis) => question(redis, node)))
        first.resolve()
      } catch (error) {
        faults.set(i, error as Error)
      }
    }),
  )
  await Promise.race([all, first.promise.then(() => quietly(GRACE_MS))])
  if (answers.size > 0) return inOrder(answers)
  const lasts = [...faults.values()].every(isLasting)
  throw new (lasts ? LastingFault : Error)(sayFaults(nodes, faults, credentials))
}

function inOrder<T>(values: ReadonlyMap<number, T>): T[] {
  return [...values].toSorted(([a], [b]) => a - b).map(([, value]) => value)
}

async function askNode<T>(
  { host, port }: HostPort,
  credentials: Credentials,
  question: (redis: Redis) => Promise<T>,
): Promise<T> {
  const { tls } = credentials
  const redis = new Redis({
    host,
    port,
    ...(tls && { tls: tlsOptionsOf(tls, host) }),
    lazyConnect: true,
    protocol: 2,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: CONNECT_LIMIT_MS,
    commandTimeout: ANSWER_LIMIT_MS,
  })
  let reason: Error | undefined
  redis.on('error', (error: Error) => {
    reason = error
  })
  try {
    await redis.connect()
    await logIn(redis, credentials)
    return await question(redis)
  } catch (error) {
    throw (error as Error).name === 'ReplyError' ? error : (reason ?? error)
  } finally {
    redis.disconnect()
  }
}

/** A password that nobody asks for does no harm. */
async function logIn(redis: Redis, { username = 'default', password, where }: Credentials): Promise<void> {
  if (password === undefined) return
  await redis.auth(username, password).catch(({ message }: Error) => {
    if (/without any password configured/.test(message)) return
    // Not the error itself: it carries the password.
    if (!/^WRONGPASS/.test(message)) throw new Error(message)
    throw new LastingFault(`it does not accept ${where}.username and ${where}.password`)
  })
}

/** Each reason once, with the nodes that gave it; some reasons name their address already. */
function sayFaults(
  nodes: readonly HostPort[],
  faults: ReadonlyMap<number, Error>,
  { tls, where }: Credentials,
): string {
  const byReason = Map.groupBy(
    [...faults].toSorted(([a], [b]) => a - b),
    ([, { message }]) => message,
  )
  const told = [...byReason].map(([reason, given]) => {
    const names = given.map(([i]) => showNode(nodes[i] as HostPort))
    const plain = explain(reason, { secure: tls !== undefined, where })
    return names.length === 1 && plain.includes(names[0] as string) ? plain : `${names.join(', ')}: ${plain}`
  })
  return told.join('; ')
}

function quietly(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
