import { type Address, shownAddress } from './address.ts'
import { isAuthentication, RequestFault, rootCause } from './faults.ts'
import type { CreateTopicsAnswer, DescribeConfigsAnswer, MetadataAnswer, ProduceAnswer } from './kafkajs.ts'
import { type Link, type LinkOptions, openLink } from './link.ts'
import { encodeProduce, type ProduceRequest } from './produce-request.ts'

export interface WireOptions extends LinkOptions {
  /** Where to ask first. */
  seeds: readonly Address[]
}

/** The brokers of a cluster: one connection to each that is needed. */
export interface Wire {
  /** Asks any broker about topics; their errors stand in the answer. */
  metadata(topics: readonly string[]): Promise<MetadataAnswer>
  produce(leader: number, request: ProduceRequest, limitMs: number): Promise<ProduceAnswer>
  createTopics(request: object, limitMs: number): Promise<CreateTopicsAnswer>
  describeConfigs(request: object): Promise<DescribeConfigsAnswer>
  /** Ends after what is under way, or when `soon` aborts. */
  close(soon: AbortSignal): Promise<void>
}

const METADATA_LIMIT_MS = 10_000
/** All brokers together may take so long to answer; a batch gets 60 s. */
const SEARCH_LIMIT_MS = 20_000

export function createWire(options: WireOptions): Wire {
  const { seeds, ...linkOptions } = options
  const links = new Map<string, Link>()
  const nodes = new Map<number, Address>()
  let controller = -1
  let firstSeed = 0
  let closed = false

  function linkTo(address: Address): Link {
    const key = shownAddress(address)
    const known = links.get(key)
    if (known) return known
    if (closed) throw new RequestFault(key, false, new Error('the sink is closed'))
    const link = openLink(address, linkOptions, () => {
      if (links.get(key) === link) links.delete(key)
    })
    links.set(key, link)
    return link
  }

  /** Those that are connected, those that the cluster named, those of the configuration; each once. */
  function candidates(): Address[] {
    const connected = [...links.values()].filter((it) => it.connected).map(({ address }) => address)
    const start = firstSeed++ % seeds.length
    const all = [...connected, ...nodes.values(), ...seeds.slice(start), ...seeds.slice(0, start)]
    return [...new Map(all.map((it) => [shownAddress(it), it])).values()]
  }

  async function askAny<T>(api: string, args: object): Promise<T> {
    const untilMs = performance.now() + SEARCH_LIMIT_MS
    let failure: unknown
    for (const address of candidates()) {
      try {
        return await linkTo(address).ask<T>(api, args, METADATA_LIMIT_MS)
      } catch (error) {
        failure = error
        // The others would refuse the same credentials, and lock the user out sooner.
        if (isAuthentication(rootCause(error)) || performance.now() > untilMs) break
      }
    }
    throw failure
  }

  function addressOfNode(id: number): Address {
    const address = nodes.get(id)
    if (!address) throw new Error(`broker ${id} is not known`)
    return address
  }

  function learn({ brokers, controllerId }: MetadataAnswer): void {
    controller = controllerId
    nodes.clear()
    for (const { nodeId, host, port } of brokers) nodes.set(nodeId, { host, port })
    const wanted = new Set([...nodes.values(), ...seeds].map(shownAddress))
    for (const [key, link] of links) {
      if (wanted.has(key)) continue
      links.delete(key)
      link.close().catch(() => {})
    }
  }

  return {
    async metadata(topics) {
      const answer = await askAny<MetadataAnswer>('Metadata', { topics, allowAutoTopicCreation: false })
      learn(answer)
      return answer
    },
    async produce(leader, request, limitMs) {
      return linkTo(addressOfNode(leader)).ask('Produce', {}, limitMs, () =>
        encodeProduce(request, Date.now()),
      )
    },
    async createTopics(request, limitMs) {
      return linkTo(addressOfNode(controller)).ask('CreateTopics', request, limitMs)
    },
    describeConfigs: (request) => askAny('DescribeConfigs', request),
    async close(soon) {
      closed = true
      await Promise.all([...links.values()].map((link) => link.close(soon)))
    },
  }
}
