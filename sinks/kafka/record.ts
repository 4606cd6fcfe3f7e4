import type { Message } from '../../src/sink/index.ts'
import type { Addressed } from './addressed.ts'
import type { KafkaRoute } from './config.ts'
import { headersOf, openEnvelope } from './envelope.ts'
import { encodeHeaders } from './record-headers.ts'

/** What is written to a partition. */
export interface KafkaRecord {
  readonly key: Buffer
  /** null is a tombstone. */
  readonly value: Buffer | null
  /** Encoded. */
  readonly headers: Buffer
  /** What it takes of a batch, uncompressed, at most. */
  readonly bytes: number
}

/** Lengths, offset and timestamp of a record, at most. */
const RECORD_OVERHEAD = 40

/** A message as a record. */
export function recordOf(message: Message<KafkaRoute>, { key, state, format }: Addressed): KafkaRecord {
  if (format === 'structured') {
    const headers = { 'content-type': 'application/cloudevents+json; charset=UTF-8' }
    return sized(key, message.cloudEvent, { ...headers, ...message.trace })
  }
  const { attributes, data } = openEnvelope(message.cloudEvent)
  const headers = { ...headersOf(attributes), ...message.trace }
  if (!state) return sized(key, format === 'object' ? message.objectJson : data, headers)
  return sized(key, message.event.type === 'DELETED' ? null : message.objectJson, headers)
}

function sized(key: string, value: Buffer | null, attributes: Record<string, string>): KafkaRecord {
  const keyBytes = Buffer.from(key)
  const headers = encodeHeaders(attributes)
  const bytes = RECORD_OVERHEAD + keyBytes.length + (value?.length ?? 0) + headers.length
  return { key: keyBytes, value, headers, bytes }
}
