import type { Duplex } from 'node:stream'
import { Redis } from 'ioredis'
import type { TlsOptions } from '../../sink/index.ts'
import { explain, isLasting, LastingFault } from './redis-fault.ts'
import {
  type ClusterTarget,
  type HostPort,
  parseNode,
  type RedisTarget,
  type SentinelTarget,
  showNode,
  tlsOptionsOf,
} from './redis-target.ts'

/** The address of the master; `epoch` grows with every failover, if it is known. */
export interface Located {
  at: HostPort
  epoch: number
  /** True if a majority of the configured nodes agrees. */
  agreed: boolean
}

/** Returns the master. Throws if no node knows it. */
type Locate = () => Promise<Located>

/** Returns a function that locates the master; undefined for a Redis with a fixed address. */
export function locateFor(target: RedisTarget): Locate | undefined {
  const { sentinel, cluster } = target
  if (sentinel) return () => askSentinels(sentinel)
  return cluster && clusterLocate(target, cluster)
}

const SENTINEL_PORT = 26_379
const REDIS_PORT = 6_379

/** Returns the master by the answer with the newest configuration epoch: a partitioned Sentinel knows only the old master. */
async function askSentinels({ name, nodes, ...rest }: SentinelTarget): Promise<Located> {
  const credentials = { ...rest, where: 'redis.sentinel' as const }
  const answers = await askNodes(nodesOf(nodes, SENTINEL_PORT), credentials, async (redis) =>
    masterOf(await sentinelMaster(redis, name)),
  )
  const best = answers.reduce((best, it) => (it.epoch > best.epoch ? it : best))
  const alike = answers.filter(({ at, epoch }) => epoch === best.epoch && showNode(at) === showNode(best.at))
  return { ...best, agreed: alike.length > nodes.length / 2 }
}

async function sentinelMaster(redis: Redis, name: string): Promise<unknown> {
  try {
    return await redis.call('SENTINEL', 'MASTER', name)
  } catch (error) {
    const { message } = error as Error
    if (/no such master/i.test(message)) throw new Error(`it knows no master called "${name}"`)
    if (/unknown command/i.test(message)) throw new LastingFault('it is not a Sentinel')
    if (/^NOAUTH/.test(message)) throw new LastingFault('it asks for a password: redis.sentinel.password')
    throw error
  }
}

function masterOf(reply: unknown): Omit<Located, 'agreed'> {
  const pairs = reply as string[]
  const field = (name: string) => pairs[pairs.indexOf(name) + 1] ?? ''
  return { at: { host: field('ip'), port: Number(field('port')) }, epoch: Number(field('config-epoch')) }
}

/** Returns the master of our slot by majority. Also asks the nodes in the answers, because configured ones may no longer exist. */
function clusterLocate(target: RedisTarget, { nodes, key }: ClusterTarget): Locate {
  const slot = hashSlot(key)
  const seeds = nodesOf(nodes, REDIS_PORT)
  const credentials = () => ({ ...target, where: 'redis' as const })
  let learned: readonly HostPort[] = []
  return async () => {
    const known = new Map([...seeds, ...learned].map((node) => [showNode(node), node]))
    const maps = await askNodes([...known.values()], credentials(), async (redis, node) =>
      readSlots(await clusterSlots(redis), node.host),
    )
    learned = [...new Map(maps.flat().flatMap(({ nodes }) => nodes.map((it) => [showNode(it), it]))).values()]
    const masters = maps.flatMap((ranges) => {
      const range = ranges.find(({ start, end }) => start <= slot && slot <= end)
      return range?.nodes[0] ? [range.nodes[0]] : []
    })
    const at = mostNamed(masters)
    if (!at) throw new Error(`the Redis Cluster has no node for slot ${slot}, where all keys belong`)
    return { at, epoch: 0, agreed: true }
  }
}

async function clusterSlots(redis: Redis): Promise<unknown> {
  try {
    return await redis.call('CLUSTER', 'SLOTS')
  } catch (error) {
    const { message } = error as Error
    if (/cluster support disabled/i.test(message))
      throw new LastingFault('it is not a Redis Cluster; write redis.url instead of redis.cluster')
    if (/unknown (sub)?command|NOPERM/i.test(message))
      throw new LastingFault(
        'it forbids CLUSTER SLOTS, which kubeherald needs to find its node; allow it: ACL SETUSER … +cluster|slots',
      )
    throw error
  }
}

interface SlotRange {
  start: number
  end: number
  /** The master first. */
  nodes: HostPort[]
}

/** A node without an address has that of the asked node; `?` is an unknown name. */
function readSlots(reply: unknown, asked: string): SlotRange[] {
  return (reply as [number, number, ...[string | null, number][]][]).map(([start, end, ...nodes]) => ({
    start,
    end,
    nodes: nodes.flatMap(([host, port]) => (host === '?' ? [] : [{ host: host || asked, port }])),
  }))
}

function mostNamed(nodes: readonly HostPort[]): HostPort | undefined {
  const named = Map.groupBy(nodes, showNode)
  return [...named.values()].toSorted((a, b) => b.length - a.length)[0]?.[0]
}

function nodesOf(texts: readonly string[], defaultPort: number): HostPort[] {
  return texts.flatMap((text) => parseNode(text, defaultPort) ?? [])
}

const SLOTS = 16_384

/** The slot of a key in a Redis Cluster: CRC16 (XMODEM) of its hash tag, or of all of it. */
export function hashSlot(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  const hashed = open !== -1 && close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % SLOTS
}

/** Who asks, and how. */
interface Credentials {
  username?: string | undefined
  password?: string | undefined
  tls?: true | TlsOptions | undefined
  /** The key of the configuration that holds them. */
  where: 'redis' | 'redis.sentinel'
}

const CONNECT_LIMIT_MS = 1_500
const ANSWER_LIMIT_MS = 1_500
/** How long to wait for other nodes after the first answer. */
const GRACE_MS = 300

/**
 * Asks all nodes in parallel. Returns the answers of those that respond in time, in the order of the nodes. If none does, throws
 * an error with the fault of each: a `LastingFault` if all of them are permanent.
 */
async function askNodes<T>(
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
  throw new (lasts ? LastingFault : Error)(describeFaults(nodes, faults, credentials))
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

/** Returns each reason once, with its nodes; some reasons already contain the address. */
function describeFaults(
  nodes: readonly HostPort[],
  faults: ReadonlyMap<number, Error>,
  { tls, where }: Credentials,
): string {
  const byReason = Map.groupBy(
    [...faults].toSorted(([a], [b]) => a - b),
    ([, { message }]) => message,
  )
  const described = [...byReason].map(([reason, given]) => {
    const names = given.map(([i]) => showNode(nodes[i] as HostPort))
    const plain = explain(reason, { secure: tls !== undefined, where })
    return names.length === 1 && plain.includes(names[0] as string) ? plain : `${names.join(', ')}: ${plain}`
  })
  return described.join('; ')
}

function quietly(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

/** Finds the master, and leaves it after a failover, because a frozen or partitioned old master does not report it. */
export interface MasterFollower {
  locate(): Promise<HostPort>
  /** Ends this connection as soon as the master is elsewhere. */
  leaveWhenMoved(stream: Duplex, at: HostPort): void
}

const LOOK_MS = 2_000

export function followMaster(locate: Locate): MasterFollower {
  const connections = new Map<Duplex, string>()
  let timer: NodeJS.Timeout | undefined
  let newest = 0

  /** Sentinels that were cut off know an older master, which may still take writes. Most go back only after a new set-up. */
  async function find(): Promise<Located> {
    const located = await locate()
    if (located.epoch < newest && !located.agreed)
      throw new Error(
        `only Sentinels that were cut off answer: ${showNode(located.at)} was the master before`,
      )
    newest = located.epoch
    return located
  }

  async function look(): Promise<void> {
    const now = showNode((await find()).at)
    for (const [stream, then] of connections)
      if (then !== now) stream.destroy(new Error(`the master is ${now} now`))
  }

  return {
    locate: async () => (await find()).at,
    leaveWhenMoved(stream, at) {
      connections.set(stream, showNode(at))
      timer ??= setInterval(() => void look().catch(() => {}), LOOK_MS).unref()
      stream.once('close', () => {
        connections.delete(stream)
        if (connections.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
    },
  }
}
