import { once } from 'node:events'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import {
  createMask,
  type Health,
  type Mask,
  type Outcome,
  type Sink,
  type SinkContext,
} from '../../src/sink/index.ts'
import { type ClusterClient, createClusterClient } from './client.ts'
import type { KafkaConfig, KafkaRoute } from './config.ts'
import { createDeliver } from './deliver.ts'
import { CompressionTypes, type LogEntry, loggers, prepareKafkajs } from './kafkajs.ts'
import { createPartitionQueues } from './partition-queues.ts'
import type { Compression } from './produce-request.ts'
import { createProducer, failedToLearn } from './producer.ts'
import { createSasl, secretsOf, tlsOptions } from './security.ts'
import { createTopics, TopicFault, viewOf } from './topics.ts'

const LIMITS = { maxRecords: 500, maxBytes: 900_000 }
/** By then the core has aborted the deliveries, and has little time left for its own shutdown. */
const CLOSE_LIMIT_MS = 1_000
const WARNINGS = 2

/** Opens the sink. It connects with the first delivery or health check. */
export function openKafka(config: KafkaConfig, context: SinkContext): Sink<KafkaRoute> {
  prepareKafkajs()
  const { log, clock, userAgent } = context
  const mask = createMask(secretsOf(config))
  const sasl = createSasl(config.sasl, userAgent)
  const wire = createClusterClient({
    seeds: config.brokers,
    clientId: config.clientId,
    tls: tlsOptions(config.tls),
    sasl,
    connectMs: config.connectTimeout,
    logger: quietLogger(context, mask),
  })
  const topics = createTopics({
    wire,
    maxAgeMs: config.metadataMaxAge,
    createTopics: config.createTopics,
    log,
    clock,
    mask,
  })
  const compression = chooseCompression(config.compression)
  const transmit = createProducer({
    wire,
    topics,
    compression,
    timeoutMs: config.timeout,
    travelMs: config.connectTimeout,
    mask,
  })
  const pipes = createPartitionQueues(transmit, LIMITS)
  const deliver = createDeliver({
    config,
    topics,
    pipes,
    faultOf: (error) => failedToLearn(error, mask).outcome,
  })
  let closing: Promise<void> | undefined

  async function end(): Promise<void> {
    const soon = AbortSignal.timeout(CLOSE_LIMIT_MS)
    await Promise.race([pipes.idle(), once(soon, 'abort')])
    await wire.close(soon)
    await sasl?.close()
  }

  return {
    async deliver(batch, signal) {
      return closing ? batch.map(() => CLOSED) : deliver(batch, signal)
    },
    async health(signal) {
      const stopped = Promise.withResolvers<never>()
      const stop = () => stopped.reject(new Error('stopped before Kafka answered'))
      signal.addEventListener('abort', stop, { once: true })
      try {
        return await Promise.race([checkHealth(config, wire, mask), stopped.promise])
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    close() {
      closing ??= end()
      return closing
    },
  }
}

const CLOSED: Outcome = { kind: 'retry', reason: 'unknown', detail: 'the sink is closed', scope: 'sink' }

/** Logs at debug level: outcomes already contain the errors of kafkajs. */
function quietLogger({ log, name }: SinkContext, mask: Mask): unknown {
  const logCreator = () => (entry: LogEntry) => {
    const { message, broker } = entry.log
    log.debug({ sink: name, broker, said: mask(String(message)) }, 'kafkajs')
  }
  return loggers.createLogger({ level: WARNINGS, logCreator })
}

/** A smaller batch is sent as it is: compressing costs more than it saves. */
const MIN_BYTES = 1_024
const GZIP_LEVEL = 4
const ZSTD_LEVEL = 3

const gzipped = promisify(gzip)
const zstandard = promisify(zstdCompress)

/** Returns the codec for a batch by its uncompressed size. Throws if the codec's package is not installed. */
function chooseCompression(name: KafkaConfig['compression']): (bytes: number) => Compression | undefined {
  if (name === 'none') return () => undefined
  const codec = codecs[name]()
  return (bytes) => (bytes < MIN_BYTES ? undefined : codec)
}

const { GZIP, LZ4, ZSTD } = CompressionTypes
const level = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL }

const codecs: Record<Exclude<KafkaConfig['compression'], 'none'>, () => Compression> = {
  gzip: () => ({ id: GZIP, compress: (bytes) => gzipped(bytes, { level: GZIP_LEVEL }) }),
  zstd: () => ({ id: ZSTD, compress: (bytes) => zstandard(bytes, { params: level }) }),
  lz4: () => ({ id: LZ4, compress: lz4Frame() }),
}

/** A package with native code, which most do not need. */
function lz4Frame(): Compression['compress'] {
  try {
    const { compressFrame } = createRequire(import.meta.url)('lz4-napi') as {
      compressFrame: Compression['compress']
    }
    return compressFrame
  } catch (cause) {
    throw new Error(
      'compression: lz4 needs the package lz4-napi, which is not installed: npm install lz4-napi, or choose zstd',
      { cause },
    )
  }
}

const TOPIC_RESOURCE = 2
/** Any topic name serves: only the response of a broker matters. */
const ANY_TOPIC = '__consumer_offsets'

/** Checks that a broker answers, accepts the credentials, and has the topic if its name is constant. */
async function checkHealth(config: KafkaConfig, wire: ClusterClient, mask: Mask): Promise<Health> {
  const topic = config.topic?.constant ? config.topic.source : undefined
  try {
    const answer = await wire.metadata([topic ?? ANY_TOPIC])
    if (topic === undefined) return { ok: true }
    const view = viewOf(answer, topic, 0)
    if (view instanceof TopicFault) {
      if (view.missing && config.createTopics)
        return { ok: true, warnings: [`topic "${topic}" is not there yet; it will be created`] }
      return { ok: false, reason: view.outcome.reason, detail: view.outcome.detail }
    }
    const leaderless = view.leaders.flatMap((leader, partition) => (leader < 0 ? [partition] : []))
    const warnings = [
      ...(leaderless.length > 0
        ? [`topic "${topic}": no broker leads partition ${leaderless.join(', ')}`]
        : []),
      ...(await policyWarnings(topic, config.state, wire)),
    ]
    return { ok: true, ...(warnings.length > 0 && { warnings }) }
  } catch (error) {
    const { outcome } = failedToLearn(error, mask)
    if (outcome.kind === 'later') return { ok: true, warnings: ['the brokers throttle us'] }
    return { ok: false, reason: outcome.reason, detail: outcome.detail }
  }
}

/** Compaction that does not fit loses records, or keeps those of deleted objects for ever. */
async function policyWarnings(topic: string, state: boolean, wire: ClusterClient): Promise<string[]> {
  const name = 'cleanup.policy'
  const request = { resources: [{ type: TOPIC_RESOURCE, name: topic, configNames: [name] }] }
  // It takes a permission that delivering does not need.
  const answer = await wire.describeConfigs(request).catch(() => undefined)
  const policy = answer?.resources[0]?.configEntries?.find((it) => it.configName === name)?.configValue
  if (policy === undefined) return []
  const compacted = policy.includes('compact')
  if (state && !compacted)
    return [
      `topic "${topic}" has cleanup.policy=${policy}; with state: true it should be compact, or old objects are lost by age`,
    ]
  if (!state && compacted)
    return [
      `topic "${topic}" has cleanup.policy=${policy}, which keeps the newest event of each object only; did you mean state: true?`,
    ]
  return []
}
