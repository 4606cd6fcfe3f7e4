import type { Redis } from 'ioredis'
import { askNodes } from './ask-nodes.ts'
import { hashSlot } from './hash-slot.ts'
import { LastingFault } from './redis-fault.ts'
import {
  type ClusterTarget,
  type HostPort,
  parseNode,
  type RedisTarget,
  type SentinelTarget,
  showNode,
} from './redis-target.ts'

/** Where the master is; `epoch` grows with every failover, where that is known. */
export interface Located {
  at: HostPort
  epoch: number
  /** Most of those that are configured say so. */
  agreed: boolean
}

/** Asks where the master is. Throws why nobody knows. */
export type Locate = () => Promise<Located>

/** How to find the master; undefined for a Redis that has an address of its own. */
export function locateFor(target: RedisTarget): Locate | undefined {
  const { sentinel, cluster } = target
  if (sentinel) return () => askSentinels(sentinel)
  return cluster && clusterLocate(target, cluster)
}

const SENTINEL_PORT = 26_379
const REDIS_PORT = 6_379

/** Of several answers the one of the newest configuration: a Sentinel that was cut off knows only the old master. */
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
    if (/unknown command/i.test(message)) throw new LastingFault('it is no Sentinel')
    if (/^NOAUTH/.test(message)) throw new LastingFault('it asks for a password: redis.sentinel.password')
    throw error
  }
}

function masterOf(reply: unknown): Omit<Located, 'agreed'> {
  const pairs = reply as string[]
  const field = (name: string) => pairs[pairs.indexOf(name) + 1] ?? ''
  return { at: { host: field('ip'), port: Number(field('port')) }, epoch: Number(field('config-epoch')) }
}

/** What most nodes say of our slot. Nodes that they name are asked, too: those of the configuration may be gone by then. */
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
      throw new LastingFault('it is no Redis Cluster; write redis.url instead of redis.cluster')
    if (/unknown (sub)?command|NOPERM/i.test(message))
      throw new LastingFault(
        'it forbids CLUSTER SLOTS, which tells where keys belong; allow it: ACL SETUSER … +cluster|slots',
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

/** A node without an address is reached as the one that was asked; `?` stands for a name that is not known. */
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
