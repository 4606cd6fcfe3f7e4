import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { createSemaphore } from '../../src/sink/index.ts'
import { type Address, shownAddress } from './config.ts'
import { isAuthentication, OutOfTime, RequestFault, rootCause, Throttled } from './errors.ts'
import {
  apiKeys,
  Broker,
  ConnectionPool,
  type CreateTopicsAnswer,
  type DescribeConfigsAnswer,
  type EncodedRequest,
  type MetadataAnswer,
  type ProduceAnswer,
  requests,
} from './kafkajs.ts'
import { encodeProduce, type ProduceRequest } from './produce-request.ts'
import type { Sasl } from './security.ts'

interface BrokerOptions {
  clientId: string
  tls: ConnectionOptions | undefined
  sasl: Sasl | undefined
  /** For connecting, the handshakes and authentication, each. */
  connectMs: number
  /** kafkajs' own. */
  logger: unknown
}

/** The connection to one broker; requests go through it one after the other. It is used until its first failure. */
interface BrokerConnection {
  readonly address: Address
  readonly connected: boolean
  /** Whether a request waits for its answer for more than a second. */
  readonly slow: boolean
  /** Returns the broker's response, including its error codes. Throws a RequestFault, or Throttled before sending. */
  ask<T>(api: string, options: object, limitMs: number, encode?: Encode): Promise<T>
  /** Closes after pending requests, or when `soon` aborts. */
  close(soon?: AbortSignal): Promise<void>
}

/** Encodes the body of a request in place of kafkajs. */
type Encode = () => Promise<EncodedRequest>

const KEEP_ALIVE_MS = 30_000
/** A shorter throttling is waited for. */
const THROTTLE_WAIT_MS = 1_000
const SLOW_MS = 1_000
/** From Kafka 0.11 on; before, records had no headers. */
const LEAST_PRODUCE = 3
const TOO_OLD = new Error('it is older than Kafka 0.11, whose records have no headers')
const never = new AbortController().signal

function openConnection(address: Address, options: BrokerOptions, onGone: () => void): BrokerConnection {
  const { clientId, tls, sasl, connectMs, logger } = options
  const shown = shownAddress(address)
  const pool = new ConnectionPool({
    ...address,
    clientId,
    ...(tls && { ssl: tls }),
    // kafkajs keeps things of its own in it.
    ...(sasl && { sasl: { ...sasl.options } }),
    logger,
    connectionTimeout: connectMs,
    requestTimeout: connectMs,
    // Its check runs ten times a second for ever; every request has a limit here.
    enforceRequestTimeout: false,
    maxInFlightRequests: 1,
    reauthenticationThreshold: 10_000,
    socketFactory: (parts: SocketParts) => overTcp(tcp, parts),
  })
  const broker = new Broker({
    connectionPool: pool,
    logger,
    allowAutoTopicCreation: false,
    authenticationTimeout: connectMs,
  })
  const turns = createSemaphore(1)
  let tcp: Socket | undefined
  let connecting: Promise<void> | undefined
  let gone: unknown
  let sentAtMs = Number.POSITIVE_INFINITY

  /** A connection that failed is not used again: kafkajs keeps the beginning of an answer that was cut. */
  function giveUp(error: Error): void {
    if (gone) return
    gone = error
    if (isAuthentication(rootCause(error))) sasl?.refused()
    onGone()
    const isEnding = pool.pool.some(({ socket }) => socket?.writableEnded)
    // After a mere close the kernel may still send what was written, minutes later and behind newer records.
    if (tcp && !tcp.connecting && !isEnding) tcp.resetAndDestroy()
    for (const connection of pool.pool) {
      connection.authHandlers?.onError()
      connection.requestQueue.rejectAll(error)
      connection.socket?.destroy()
      connection.disconnect().catch(() => {})
    }
    tcp?.destroy()
  }

  async function within<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new OutOfTime(`${what} within ${limitMs} ms`)), limitMs)
    try {
      return await Promise.race([work, late.promise])
    } catch (error) {
      work.catch(() => {})
      giveUp(error as Error)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async function connect(): Promise<void> {
    // Otherwise only its session is over.
    if (!pool.isConnected()) {
      tcp = connectTcp(address)
      // Without Nagle's delay: the end of a request would wait for the broker to acknowledge its beginning.
      tcp.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS)
      tcp.on('error', () => {})
      await within(once(tcp, 'connect'), connectMs, 'no connection')
    }
    await broker.connect()
  }

  async function connected(): Promise<void> {
    if (gone) throw new RequestFault(shown, false, gone)
    if (broker.isConnected()) return
    connecting ??= connect().finally(() => {
      connecting = undefined
    })
    try {
      // Connecting, TLS, versions, two or more steps of SASL.
      await within(connecting, 2 * connectMs, 'no connection')
    } catch (error) {
      throw new RequestFault(shown, false, error)
    }
  }

  async function ask<T>(api: string, args: object, limitMs: number, encode?: Encode): Promise<T> {
    await connected()
    const { request, response } = broker.lookupRequest(apiKeys[api] as number, requests[api])(args)
    if (encode && request.apiVersion < LEAST_PRODUCE) throw new RequestFault(shown, false, TOO_OLD)
    const encoded = await (encode ?? request.encode)()
    return turns.run(async () => {
      if (gone || !broker.isConnected())
        throw new RequestFault(shown, false, gone ?? new Error('the connection was lost'))
      const throttledMs = (pool.pool[0]?.requestQueue.throttledUntil ?? 0) - Date.now()
      if (throttledMs > THROTTLE_WAIT_MS) throw new Throttled(throttledMs)
      const raw = {
        request: { ...request, encode: async () => encoded },
        response: { decode: response.decode, parse: async (answer: unknown) => answer },
      }
      sentAtMs = performance.now()
      try {
        return (await within(pool.send(raw), limitMs + Math.max(0, throttledMs), 'no answer')) as T
      } catch (error) {
        throw new RequestFault(shown, true, error)
      } finally {
        sentAtMs = Number.POSITIVE_INFINITY
      }
    }, never)
  }

  return {
    address,
    get connected() {
      return !gone && broker.isConnected()
    },
    get slow() {
      return performance.now() - sentAtMs > SLOW_MS
    },
    ask,
    async close(soon = never) {
      if (gone) return
      await turns.run(async () => {}, soon).catch(() => {})
      giveUp(new Error('the connection was closed'))
    },
  }
}

interface SocketParts extends Address {
  ssl?: ConnectionOptions
  onConnect: () => void
}

/**
 * Returns the socket for kafkajs over a TCP connection. That is made before, and kept: only a TCP socket can be reset, and TLS over one that
 * is not connected would stay with the first of its addresses.
 */
function overTcp(tcp: Socket | undefined, { host, ssl, onConnect }: SocketParts): Socket {
  if (!tcp || tcp.destroyed) throw new Error('the connection was lost')
  if (ssl)
    return connectTls({ socket: tcp, host, ...(!isIP(host) && { servername: host }), ...ssl }, onConnect)
  process.nextTick(onConnect)
  return tcp
}

interface ClusterClientOptions extends BrokerOptions {
  /** The bootstrap brokers. */
  seeds: readonly Address[]
}

/** The brokers of a cluster: a connection to each that writes something, and mostly one more, to any of them, for metadata. */
export interface ClusterClient {
  /** Asks any broker about topics; their error codes are in the response. */
  metadata(topics: readonly string[]): Promise<MetadataAnswer>
  /** The broker that was asked last had stale metadata: another one is asked next, if there is one. */
  markMetadataStale(): void
  produce(leader: number, request: ProduceRequest, limitMs: number): Promise<ProduceAnswer>
  createTopics(request: object, limitMs: number): Promise<CreateTopicsAnswer>
  describeConfigs(request: object): Promise<DescribeConfigsAnswer>
  /** Closes after pending requests, or when `soon` aborts. */
  close(soon: AbortSignal): Promise<void>
}

const METADATA_LIMIT_MS = 10_000
/** Time limit for the answers of all brokers together; a batch gets 60 s. */
const SEARCH_LIMIT_MS = 20_000

export function createClusterClient(options: ClusterClientOptions): ClusterClient {
  const { seeds, ...linkOptions } = options
  const writeLinks = new Map<string, BrokerConnection>()
  /** Apart, since metadata of all topics would wait behind one write that takes long. */
  const metadataLinks = new Map<string, BrokerConnection>()
  /** All that are open, also those that close when their pending requests are answered. */
  const open = new Set<BrokerConnection>()
  const nodes = new Map<number, Address>()
  let controller = -1
  /** The address of the broker that was asked for metadata last, and of those whose metadata were stale. */
  let asked: string | undefined
  const stale = new Set<string>()
  let searches = 0
  let closed = false

  function linkTo(address: Address, links: Map<string, BrokerConnection>): BrokerConnection {
    const key = shownAddress(address)
    const known = links.get(key)
    if (known) return known
    if (closed) throw new RequestFault(key, false, new Error('the sink is closed'))
    const link = openConnection(address, linkOptions, () => {
      open.delete(link)
      if (links.get(key) === link) links.delete(key)
    })
    open.add(link)
    links.set(key, link)
    return link
  }

  /** Closes it when its pending requests are answered. Other requests get a new connection. */
  function drop(links: Map<string, BrokerConnection>, key: string): void {
    const link = links.get(key)
    links.delete(key)
    link?.close().catch(() => {})
  }

  /** A broker that does not answer a write may answer nothing. Its address in the configuration may differ from that in the metadata. */
  function dropMetadataLinks(address: string): void {
    const named = new Set([...nodes.values()].map(shownAddress))
    for (const key of metadataLinks.keys()) if (key === address || !named.has(key)) drop(metadataLinks, key)
  }

  /**
   * The brokers to ask for metadata, each once: those that are connected, for metadata first, and those that the cluster named, each search
   * beginning with another one; among these, slow ones and those with stale metadata last. Then those of the configuration.
   */
  function candidates(): Address[] {
    const connected = [...metadataLinks.values(), ...writeLinks.values()]
      .filter((it) => it.connected)
      .map(({ address }) => address)
    const turn = searches++
    const from = (some: readonly Address[]) => some.map((_, i) => some[(turn + i) % some.length] as Address)
    const isLast = (key: string) =>
      stale.has(key) || writeLinks.get(key)?.slow || metadataLinks.get(key)?.slow || false
    const known = [...connected, ...from([...nodes.values()])].toSorted(
      (a, b) => Number(isLast(shownAddress(a))) - Number(isLast(shownAddress(b))),
    )
    return [...new Map([...known, ...from(seeds)].map((it) => [shownAddress(it), it])).values()]
  }

  async function write<T>(address: Address, ask: (link: BrokerConnection) => Promise<T>): Promise<T> {
    try {
      return await ask(linkTo(address, writeLinks))
    } catch (error) {
      if (rootCause(error) instanceof OutOfTime) dropMetadataLinks(shownAddress(address))
      throw error
    }
  }

  async function askAny<T>(api: string, args: object): Promise<T> {
    const untilMs = performance.now() + SEARCH_LIMIT_MS
    let failure: unknown
    for (const address of candidates()) {
      try {
        asked = shownAddress(address)
        return await linkTo(address, metadataLinks).ask<T>(api, args, METADATA_LIMIT_MS)
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
    for (const links of [writeLinks, metadataLinks])
      for (const key of links.keys()) if (!wanted.has(key)) drop(links, key)
  }

  return {
    async metadata(topics) {
      const answer = await askAny<MetadataAnswer>('Metadata', { topics, allowAutoTopicCreation: false })
      learn(answer)
      return answer
    },
    markMetadataStale() {
      if (asked) stale.add(asked)
      if ([...nodes.values()].every((it) => stale.has(shownAddress(it)))) stale.clear()
    },
    async produce(leader, request, limitMs) {
      const encode = () => encodeProduce(request, Date.now())
      return write(addressOfNode(leader), (link) => link.ask('Produce', {}, limitMs, encode))
    },
    async createTopics(request, limitMs) {
      return write(addressOfNode(controller), (link) => link.ask('CreateTopics', request, limitMs))
    },
    describeConfigs: (request) => askAny('DescribeConfigs', request),
    async close(soon) {
      closed = true
      await Promise.all([...open].map((link) => link.close(soon)))
    },
  }
}
