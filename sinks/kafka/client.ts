import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { createSlots } from '../../src/sink/index.ts'
import { type Address, shownAddress } from './address.ts'
import { isAuthentication, OutOfTime, RequestFault, rootCause, Throttled } from './faults.ts'
import { apiKeys, Broker, ConnectionPool, type EncodedRequest, requests } from './kafkajs.ts'
import type { Sasl } from './security.ts'

export interface LinkOptions {
  clientId: string
  tls: ConnectionOptions | undefined
  sasl: Sasl | undefined
  /** For connecting, the handshakes and authentication, each. */
  connectMs: number
  /** kafkajs' own. */
  logger: unknown
}

/** The connection to one broker; requests go through it one after the other. It is used until its first failure. */
export interface Link {
  readonly address: Address
  readonly connected: boolean
  /** Answers as the broker did, whatever error codes are in it. Throws a RequestFault, or Throttled before it is sent. */
  ask<T>(api: string, options: object, limitMs: number, encode?: Encode): Promise<T>
  /** Ends after what is under way, or when `soon` aborts. */
  close(soon?: AbortSignal): Promise<void>
}

/** Makes the body of a request, instead of kafkajs. */
export type Encode = () => Promise<EncodedRequest>

const KEEP_ALIVE_MS = 30_000
/** A shorter throttling is waited for. */
const THROTTLE_WAIT_MS = 1_000
/** From Kafka 0.11 on; before, records had no headers. */
const LEAST_PRODUCE = 3
const TOO_OLD = new Error('it is older than Kafka 0.11, whose records have no headers')
const never = new AbortController().signal

export function openLink(address: Address, options: LinkOptions, onGone: () => void): Link {
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
    socketFactory,
  })
  const broker = new Broker({
    connectionPool: pool,
    logger,
    allowAutoTopicCreation: false,
    authenticationTimeout: connectMs,
  })
  const turns = createSlots(1)
  let gone: unknown

  /** A connection that failed is not used again: kafkajs keeps the beginning of an answer that was cut. */
  function giveUp(error: Error): void {
    if (gone) return
    gone = error
    if (isAuthentication(rootCause(error))) sasl?.refused()
    onGone()
    for (const connection of pool.pool) {
      connection.authHandlers?.onError()
      connection.requestQueue.rejectAll(error)
      connection.socket?.destroy()
      connection.disconnect().catch(() => {})
    }
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

  async function connected(): Promise<void> {
    if (gone) throw new RequestFault(shown, false, gone)
    if (broker.isConnected()) return
    try {
      // Connecting, TLS, versions, two or more steps of SASL.
      await within(broker.connect(), 2 * connectMs, 'no connection')
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
      try {
        return (await within(pool.send(raw), limitMs + Math.max(0, throttledMs), 'no answer')) as T
      } catch (error) {
        throw new RequestFault(shown, true, error)
      }
    }, never)
  }

  return {
    address,
    get connected() {
      return !gone && broker.isConnected()
    },
    ask,
    async close(soon = never) {
      if (gone) return
      await turns.run(async () => {}, soon).catch(() => {})
      giveUp(new Error('the sink is closed'))
    },
  }
}

interface SocketParts extends Address {
  ssl?: ConnectionOptions
  onConnect: () => void
}

/** Without Nagle's delay: the end of a request would wait for the broker to acknowledge its beginning. */
function socketFactory({ host, port, ssl, onConnect }: SocketParts): Socket {
  const socket = ssl
    ? connectTls({ host, port, ...(!isIP(host) && { servername: host }), ...ssl }, onConnect)
    : connectTcp({ host, port }, onConnect)
  socket.setNoDelay(true)
  return socket.setKeepAlive(true, KEEP_ALIVE_MS)
}
