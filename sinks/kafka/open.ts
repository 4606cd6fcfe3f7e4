import { once } from 'node:events'
import { createMask, type Mask, type Outcome, type Sink, type SinkContext } from '../../src/sink/index.ts'
import { chooseCompression } from './compression.ts'
import type { KafkaConfig, KafkaRoute } from './config.ts'
import { createDeliver } from './deliver.ts'
import { checkHealth } from './health.ts'
import { type LogEntry, loggers, prepareKafkajs } from './kafkajs.ts'
import { createPipes } from './pipes.ts'
import { createSasl, secretsOf, tlsOptions } from './security.ts'
import { createTopics } from './topics.ts'
import { createTransmit, failedToLearn } from './transmit.ts'
import { createWire } from './wire.ts'

const LIMITS = { maxRecords: 500, maxBytes: 900_000 }
/** By then the core has given up what hangs, and has little time left for its own end. */
const CLOSE_LIMIT_MS = 1_000
const WARNINGS = 2

/** Opens the sink; nothing is connected until there is something to send or somebody asks how it is. */
export function openKafka(config: KafkaConfig, context: SinkContext): Sink<KafkaRoute> {
  prepareKafkajs()
  const { log, clock, userAgent } = context
  const mask = createMask(secretsOf(config))
  const sasl = createSasl(config.sasl, userAgent)
  const wire = createWire({
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
  })
  const compression = chooseCompression(config.compression)
  const transmit = createTransmit({
    wire,
    topics,
    compression,
    timeoutMs: config.timeout,
    travelMs: config.connectTimeout,
    mask,
  })
  const pipes = createPipes(transmit, LIMITS)
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

/** What kafkajs has to say stands in outcomes already. */
function quietLogger({ log, name }: SinkContext, mask: Mask): unknown {
  const logCreator = () => (entry: LogEntry) => {
    const { message, broker } = entry.log
    log.debug({ sink: name, broker, said: mask(String(message)) }, 'kafkajs')
  }
  return loggers.createLogger({ level: WARNINGS, logCreator })
}
