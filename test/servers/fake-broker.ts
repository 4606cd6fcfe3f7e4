import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Certificate } from './certificates.ts'

/** A record that reached a broker's log. */
export interface LoggedRecord {
  partition: number
  key: string
  value: string | null
}

/** One batch for one partition, as it arrived. */
export interface Produced {
  node: number
  topic: string
  partition: number
  records: readonly LoggedRecord[]
  /** Of this batch's producer; -1 without idempotence. */
  producerId: bigint
  sequence: number
}

/** What becomes of a request; by default it is appended and acknowledged. */
export interface Fate {
  append?: boolean
  /** An error code instead of 0. */
  code?: number
  /** No answer; the connection stays, or is cut. */
  answer?: 'none' | 'cut' | 'garbage'
  /** Other entries in the answer than the one that is due. */
  entries?: readonly { topic?: string; partition?: number; code?: number; offset?: bigint }[]
  throttleMs?: number
}

export interface FakeCluster extends AsyncDisposable {
  readonly brokers: string[]
  /** The leader (a node, counted from 0) of each partition of each topic; -1 is none. Also what metadata tell. */
  readonly leaders: Record<string, number[]>
  /** What metadata tell instead, while it is set. */
  told: Record<string, number[]> | undefined
  /** The leaders in the metadata of single nodes, in place of the present ones. */
  readonly stale: Map<number, Record<string, number[]>>
  readonly log: readonly LoggedRecord[]
  readonly produced: readonly Produced[]
  /** How often metadata were asked for. */
  readonly metadataRequests: number
  /** Decides about every batch that comes from now on. */
  onProduce(decide: (batch: Produced, n: number) => Fate | undefined): void
  /** Forgets what came, so that memory shows what others keep. */
  forget(): void
  /** Ends one node: its connections and its port. */
  end(node: number): Promise<void>
  /** Starts one that was ended, on its port. */
  start(node: number): Promise<void>
  /** Reads nothing from the connections that are open, of one node or of all. The returned function reads on, and resolves when they have ended. */
  pause(node?: number): () => Promise<unknown>
  /** From now on who comes has to bring this password with SASL PLAIN, or this token with OAUTHBEARER; those that are in stay. */
  password: string | undefined
  /** Nodes that refuse any password. */
  readonly refusing: Set<number>
}

const API = { Produce: 0, Metadata: 3, SaslHandshake: 17, ApiVersions: 18, SaslAuthenticate: 36 }
const NOT_LEADER = 6
const UNKNOWN_TOPIC = 3
const SASL_AUTHENTICATION_FAILED = 58

/** Brokers that speak as much of Kafka's protocol as a producer needs, and do as they are told. No idempotence, no compression. */
export async function startFakeCluster(
  leaders: Record<string, number[]>,
  nodes = 1,
  certificate?: Certificate,
): Promise<FakeCluster> {
  const log: LoggedRecord[] = []
  const produced: Produced[] = []
  const sockets = new Map<Socket, number>()
  const known = new WeakSet<Socket>()
  const servers: Server[] = []
  let decide: (batch: Produced, n: number) => Fate | undefined = () => undefined
  let metadataRequests = 0
  for (let node = 0; node < nodes; node++) {
    const onSocket = (socket: Socket) => serve(node, socket)
    const server = certificate ? createTlsServer(certificate, onSocket) : createServer(onSocket)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
  }
  const ports = servers.map((it) => (it.address() as { port: number }).port)

  function serve(node: number, socket: Socket): void {
    sockets.set(socket, node)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    let buffered = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk])
      while (buffered.length >= 4 && buffered.length >= 4 + buffered.readInt32BE()) {
        const frame = buffered.subarray(4, 4 + buffered.readInt32BE())
        buffered = buffered.subarray(4 + frame.length)
        answer(node, socket, new Reader(frame))
      }
    })
  }

  function answer(node: number, socket: Socket, request: Reader): void {
    const [api, version, correlation] = [request.int16(), request.int16(), request.int32()]
    request.string()
    const reply = new Writer().int32(correlation)
    if (api === API.ApiVersions) versions(reply, version)
    else if (api === API.SaslHandshake)
      reply.int16(0).array(['PLAIN', 'OAUTHBEARER'], (it) => reply.string(it))
    else if (api === API.SaslAuthenticate) authenticate(node, socket, reply, request)
    else if (cluster.password !== undefined && !known.has(socket)) return void socket.destroy()
    else if (api === API.Metadata) metadata(node, reply, request)
    else return produce(node, socket, reply, request)
    socket.write(reply.frame())
  }

  function authenticate(node: number, socket: Socket, reply: Writer, request: Reader): void {
    const said = request.bytes(request.int32()).toString()
    const [, , password = /auth=Bearer (\S+?)\x01/.exec(said)?.[1]] = said.split('\0')
    const isRight = password === cluster.password && !cluster.refusing.has(node)
    if (isRight) known.add(socket)
    reply.int16(isRight ? 0 : SASL_AUTHENTICATION_FAILED).string(isRight ? null : 'Authentication failed')
    // No bytes, and no end of the session.
    reply.int32(0).int64(0n)
  }

  function metadata(node: number, reply: Writer, request: Reader): void {
    metadataRequests++
    reply.array(ports, (port, i) => reply.int32(i).string('127.0.0.1').int32(port).string(null))
    reply.int32(0)
    const shown = cluster.stale.get(node) ?? cluster.told ?? leaders
    reply.array(
      request.array(() => request.string() ?? ''),
      (topic) => {
        const partitions = shown[topic] ?? []
        reply
          .int16(shown[topic] ? 0 : UNKNOWN_TOPIC)
          .string(topic)
          .int8(0)
        reply.array(partitions, (leader, partition) => {
          reply
            .int16(leader < 0 ? 5 : 0)
            .int32(partition)
            .int32(leader)
          reply
            .array([Math.max(leader, 0)], (it) => reply.int32(it))
            .array([Math.max(leader, 0)], (it) => reply.int32(it))
        })
      },
    )
  }

  function produce(node: number, socket: Socket, reply: Writer, request: Reader): void {
    request.string()
    request.int16()
    request.int32()
    const fates: Fate[] = []
    const topics = request.array(() => {
      const topic = request.string() ?? ''
      const entries = request.array(() => {
        const partition = request.int32()
        const batch = readBatch(request.bytes(request.int32()), partition)
        const arrived: Produced = { node, topic, partition, ...batch }
        produced.push(arrived)
        const isLeader = leaders[topic]?.[partition] === node
        const fate = decide(arrived, produced.length) ?? (isLeader ? {} : { code: NOT_LEADER })
        fates.push(fate)
        const offset = BigInt(log.length)
        if (fate.append ?? (fate.code ?? 0) === 0) log.push(...arrived.records)
        return { partition, code: fate.code ?? 0, offset }
      })
      return { topic, entries }
    })
    const odd = fates.find(({ answer }) => answer !== undefined)?.answer
    if (odd === 'none') return
    if (odd === 'cut') return void socket.destroy()
    if (odd === 'garbage') return void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
    const entries = fates.find((it) => it.entries)?.entries
    const due = entries
      ? entries.map((it) => ({
          topic: it.topic ?? topics[0]?.topic ?? '',
          entries: [{ partition: it.partition ?? 0, code: it.code ?? 0, offset: it.offset ?? 0n }],
        }))
      : topics
    reply.array(due, ({ topic, entries }) => {
      reply.string(topic)
      reply.array(entries, ({ partition, code, offset }) =>
        reply.int32(partition).int16(code).int64(offset).int64(-1n).int64(0n),
      )
    })
    reply.int32(fates[0]?.throttleMs ?? 0)
    socket.write(reply.frame())
  }

  const cluster: FakeCluster = {
    brokers: ports.map((port) => `127.0.0.1:${port}`),
    leaders,
    told: undefined,
    stale: new Map(),
    log,
    produced,
    forget() {
      log.length = 0
      produced.length = 0
    },
    get metadataRequests() {
      return metadataRequests
    },
    onProduce(next) {
      decide = next
    },
    async end(node) {
      const server = servers[node] as Server
      server.close()
      for (const [socket, of] of sockets) if (of === node) socket.destroy()
      await once(server, 'close')
    },
    async start(node) {
      const server = createServer((socket) => serve(node, socket)).listen(ports[node], '127.0.0.1')
      await once(server, 'listening')
      servers[node] = server
    },
    pause(node) {
      const some = [...sockets].filter(([, of]) => node === undefined || of === node)
      const paused = some.map(([socket]) => socket.pause())
      return () => {
        const ended = paused.map(
          (socket) => socket.closed || new Promise((resolve) => socket.once('close', resolve)),
        )
        for (const socket of paused) socket.resume()
        return Promise.all(ended)
      }
    },
    password: undefined,
    refusing: new Set(),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.keys()) socket.destroy()
      for (const server of servers) server.close()
    },
  }
  return cluster
}

const VERSIONS = [
  [API.Produce, 3, 6],
  [API.Metadata, 1, 1],
  [API.ApiVersions, 0, 2],
  [API.SaslHandshake, 1, 1],
  [API.SaslAuthenticate, 1, 1],
] as const

function versions(reply: Writer, version: number): void {
  reply.int16(0).array(VERSIONS, ([api, least, most]) => reply.int16(api).int16(least).int16(most))
  if (version > 0) reply.int32(0)
}

/** A record batch (magic 2). */
function readBatch(bytes: Buffer, partition: number): Pick<Produced, 'records' | 'producerId' | 'sequence'> {
  const count = bytes.readInt32BE(57)
  const reader = new Reader(bytes.subarray(61))
  const records = Array.from({ length: count }, (): LoggedRecord => {
    reader.varint()
    reader.int8()
    reader.varint()
    reader.varint()
    const key = reader.text() ?? ''
    const value = reader.text()
    for (let n = reader.varint(); n > 0; n--) {
      reader.text()
      reader.text()
    }
    return { partition, key, value }
  })
  return { records, producerId: bytes.readBigInt64BE(43), sequence: bytes.readInt32BE(53) }
}

class Reader {
  #at = 0
  readonly #bytes: Buffer
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  bytes(length: number): Buffer {
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
  int8 = (): number => this.bytes(1).readInt8()
  int16 = (): number => this.bytes(2).readInt16BE()
  int32 = (): number => this.bytes(4).readInt32BE()
  string(): string | null {
    const length = this.int16()
    return length < 0 ? null : this.bytes(length).toString()
  }
  array<T>(read: () => T): T[] {
    return Array.from({ length: Math.max(0, this.int32()) }, read)
  }
  /** Zigzag. Good for 32 bits, and for timestamps by arithmetic instead of shifts. */
  varint(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.int8() & 0xff
      value += (byte & 127) * factor
      if (byte < 128) return value % 2 ? -(value + 1) / 2 : value / 2
    }
  }
  text(): string | null {
    const length = this.varint()
    return length < 0 ? null : this.bytes(length).toString()
  }
}

class Writer {
  readonly #parts: Buffer[] = []
  #add(size: number, write: (buffer: Buffer) => void): this {
    const buffer = Buffer.alloc(size)
    write(buffer)
    this.#parts.push(buffer)
    return this
  }
  int8 = (n: number): this => this.#add(1, (it) => it.writeInt8(n))
  int16 = (n: number): this => this.#add(2, (it) => it.writeInt16BE(n))
  int32 = (n: number): this => this.#add(4, (it) => it.writeInt32BE(n))
  int64 = (n: bigint): this => this.#add(8, (it) => it.writeBigInt64BE(n))
  string(text: string | null): this {
    if (text === null) return this.int16(-1)
    const bytes = Buffer.from(text)
    this.int16(bytes.length)
    this.#parts.push(bytes)
    return this
  }
  array<T>(items: readonly T[], write: (item: T, i: number) => void): this {
    this.int32(items.length)
    for (const [i, item] of items.entries()) write(item, i)
    return this
  }
  frame(): Buffer {
    const body = Buffer.concat(this.#parts)
    const size = Buffer.alloc(4)
    size.writeInt32BE(body.length)
    return Buffer.concat([size, body])
  }
}
