import { Redis } from 'ioredis'
import { inPlainWords } from '../plain-words.ts'
import { type HostPort, type RedisTls, showNode } from './redis-target.ts'
import { tlsOptionsOf } from './tls.ts'

/** Who asks, and how. */
export interface Credentials {
  username?: string | undefined
  password?: string | undefined
  tls?: true | RedisTls | undefined
}

const CONNECT_LIMIT_MS = 1_500
const ANSWER_LIMIT_MS = 1_500
/** How long slower ones are waited for once there is an answer. */
const GRACE_MS = 300

/**
 * Asks all nodes at once; gives the answers of those that are quick, in the order of the nodes. Throws what was wrong with
 * each when none answers.
 */
export async function askNodes<T>(
  nodes: readonly HostPort[],
  credentials: Credentials,
  question: (redis: Redis, node: HostPort) => Promise<T>,
): Promise<T[]> {
  const answers = new Map<number, T>()
  const faults = new Set<string>()
  const first = Promise.withResolvers<void>()
  const all = Promise.all(
    nodes.map(async (node, i) => {
      try {
        answers.set(i, await askNode(node, credentials, (redis) => question(redis, node)))
        first.resolve()
      } catch (error) {
        faults.add(sayWhere(node, inPlainWords((error as Error).message)))
      }
    }),
  )
  await Promise.race([all, first.promise.then(() => quietly(GRACE_MS))])
  if (answers.size === 0) throw new Error([...faults].join('; '))
  return [...answers.entries()].toSorted(([a], [b]) => a - b).map(([, answer]) => answer)
}

async function askNode<T>(
  { host, port }: HostPort,
  { username, password, tls }: Credentials,
  question: (redis: Redis) => Promise<T>,
): Promise<T> {
  const redis = new Redis({
    host,
    port,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
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
    return await question(redis)
  } catch (error) {
    throw (error as Error).name === 'ReplyError' ? error : (reason ?? error)
  } finally {
    redis.disconnect()
  }
}

/** Most reasons name the address already. */
function sayWhere(node: HostPort, reason: string): string {
  return reason.includes(showNode(node)) ? reason : `${showNode(node)}: ${reason}`
}

function quietly(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
