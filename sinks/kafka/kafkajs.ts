import type { Socket } from 'node:net'
import kafkajs from 'kafkajs'
import manifest from 'kafkajs/package.json' with { type: 'json' }
import Broker from 'kafkajs/src/broker/index.js'
import loggers from 'kafkajs/src/loggers/index.js'
import ConnectionPool from 'kafkajs/src/network/connectionPool.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import crc32c from 'kafkajs/src/protocol/recordBatch/crc32C/index.js'
import apiKeys from 'kafkajs/src/protocol/requests/apiKeys.js'
import protocol from 'kafkajs/src/protocol/requests/index.js'

// kafkajs' producer retries, partitions and merges responses in ways that lose records silently (README.md). Its
// lower layers, connections and protocol, are sound: only these are used, with one request for one partition.

const VERSION = '2.2.4'

export interface ProduceAnswer {
  topics: {
    topicName: string
    partitions: { partition: number; errorCode: number; baseOffset: string }[]
  }[]
}

export interface MetadataAnswer {
  brokers: { nodeId: number; host: string; port: number }[]
  controllerId: number
  topicMetadata: {
    topicErrorCode: number
    topic: string
    partitionMetadata: { partitionErrorCode: number; partitionId: number; leader: number }[]
  }[]
}

export interface CreateTopicsAnswer {
  topicErrors: { topic: string; errorCode: number; errorMessage?: string | null }[]
}

export interface DescribeConfigsAnswer {
  resources: {
    errorCode: number
    resourceName: string
    configEntries: { configName: string; configValue: string }[]
  }[]
}

/** The part of a request that follows its header. */
export interface EncodedRequest {
  /** Looked at only to see whether it is an encoder. */
  buf: Buffer
  buffer: Buffer
}

export interface Protocol {
  request: { apiVersion: number; encode(): Promise<EncodedRequest> }
  response: { decode(bytes: Buffer): Promise<unknown>; parse(answer: unknown): Promise<unknown> }
}

export interface KafkaRequestQueue {
  pending: unknown[]
  throttledUntil: number
  rejectAll(error: Error): void
  scheduleCheckPendingRequests(): void
}

export interface Connection {
  socket?: Socket
  authHandlers: { onError(): void } | null
  requestQueue: KafkaRequestQueue
  disconnect(): Promise<unknown>
}

export interface KafkaConnectionPool {
  pool: Connection[]
  isConnected(): boolean
  send(protocol: Protocol): Promise<unknown>
  destroy(): Promise<void>
}

export interface KafkaBroker {
  isConnected(): boolean
  connect(): Promise<void>
  lookupRequest(apiKey: number, definition: unknown): (options: object) => Protocol
}

export type ConnectionPoolClass = new (options: object) => KafkaConnectionPool
export type BrokerClass = new (options: object) => KafkaBroker

export interface LogEntry {
  label: string
  log: { message: string } & Record<string, unknown>
}

export { apiKeys, Broker, ConnectionPool, crc32c, loggers }
export const requests = protocol.requests
export const { CompressionTypes } = kafkajs

const partition = kafkajs.Partitioners.DefaultPartitioner()

/** The partition of a key, as Java's clients and librdkafka's `murmur2_random` choose it. */
export function partitionOf(key: Buffer, partitions: number): number {
  const partitionMetadata = countOf(partitions)
  // A topic of the same name always: the partitioner remembers each.
  return partition({ topic: '', partitionMetadata, message: { key, value: null } })
}

type Counted = Parameters<typeof partition>[0]['partitionMetadata']
const counts = new Map<number, Counted>()

/** The partitioner takes a list but reads only its length. */
function countOf(partitions: number): Counted {
  const known = counts.get(partitions)
  if (known) return known
  if (counts.size > 100) counts.clear()
  const list = Array.from({ length: partitions }, () => ({})) as unknown as Counted
  counts.set(partitions, list)
  return list
}

let prepared = false

/**
 * Checks the version of kafkajs and patches its request queue, which otherwise rearms a timer of 1 ms forever for
 * every idle connection. Throws for any other version.
 */
export function prepareKafkajs(): void {
  if (prepared) return
  const { prototype } = RequestQueue
  const whole =
    manifest.version === VERSION &&
    typeof prototype?.scheduleCheckPendingRequests === 'function' &&
    typeof prototype.rejectAll === 'function' &&
    typeof Broker === 'function' &&
    typeof ConnectionPool === 'function' &&
    typeof crc32c === 'function' &&
    ['Produce', 'Metadata', 'CreateTopics', 'DescribeConfigs'].every((it) => it in requests && it in apiKeys)
  if (!whole)
    throw new Error(
      `the Kafka sink works with kafkajs ${VERSION} and nothing else, for it builds on its inner parts; found ${manifest.version}. Install kubeherald's own dependencies again (npm ci)`,
    )
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function (this: KafkaRequestQueue) {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this)
  }
  prepared = true
}
