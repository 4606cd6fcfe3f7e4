import { createHash } from 'node:crypto'
import {
  laneByKey,
  type Message,
  type Outcome,
  objectKey,
  orderOf,
  type Routed,
  renderFault,
  type Template,
} from '../../src/sink/index.ts'
import { type KafkaConfig, type KafkaRoute, topicNameFault } from './config.ts'

/** A record of a partition. */
export interface KafkaRecord {
  readonly key: Buffer
  /** null is a tombstone. */
  readonly value: Buffer | null
  /** Encoded. */
  readonly headers: Buffer
  /** Upper bound of its size in a batch, uncompressed. */
  readonly bytes: number
}

/** Lengths, offset and timestamp of a record, at most. */
const RECORD_OVERHEAD = 40

/** A message as a record. */
export function recordOf(message: Message<KafkaRoute>, { key, state, format }: Destination): KafkaRecord {
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

/** The two parts of a CloudEvent: its attributes and its data. */
interface Envelope {
  attributes: Readonly<Record<string, unknown>>
  data: Buffer
}

const DATA = Buffer.from(',"data":')

/**
 * Splits a structured CloudEvent without parsing its data, which comes last. An attribute's text cannot contain the
 * key, because its quotes are escaped.
 */
function openEnvelope(cloudEvent: Buffer): Envelope {
  const at = cloudEvent.indexOf(DATA)
  if (at > 0 && cloudEvent.at(-1) === 0x7d) {
    const attributes = parsed(`${cloudEvent.toString('utf8', 0, at)}}`)
    if (attributes) return { attributes, data: cloudEvent.subarray(at + DATA.length, -1) }
  }
  const { data, ...attributes } = JSON.parse(cloudEvent.toString())
  return { attributes, data: Buffer.from(JSON.stringify(data)) }
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/**
 * The attributes as headers of CloudEvents' binary mode for Kafka: `ce_` and the name, UTF-8 as it is, without percent
 * encoding. Control characters and halves of surrogate pairs, which CloudEvents forbids, are replaced.
 */
function headersOf(attributes: Readonly<Record<string, unknown>>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue
    headers[name === 'datacontenttype' ? 'content-type' : `ce_${name}`] = text(value)
  }
  return headers
}

function text(value: unknown): string {
  const shown = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return shown.toWellFormed().replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}

/** Encodes headers as the end of a record. */
export function encodeHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers)
  const buffer = Buffer.allocUnsafe(
    entries.reduce((sum, [name, text]) => sum + 10 + 3 * (name.length + text.length), 5),
  )
  let at = writeVarint(buffer, entries.length, 0)
  for (const text of entries.flat()) {
    at = writeVarint(buffer, Buffer.byteLength(text), at)
    at += buffer.write(text, at)
  }
  return buffer.subarray(0, at)
}

/** Writes a zigzag varint, as in Protocol Buffers; returns the offset after it. */
export function writeVarint(buffer: Buffer, value: number, at: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest > 127; rest >>>= 7) buffer[at++] = (rest & 127) | 128
  buffer[at] = rest
  return at + 1
}

/** Returns the number of bytes of a varint. */
export function varintSize(value: number): number {
  let bytes = 1
  for (let rest = (value << 1) >>> 0; rest > 127; rest >>>= 7) bytes++
  return bytes
}

/** The destination of an event, by the rule's options or else the sink's. */
interface Destination {
  topic: string
  key: string
  state: boolean
  format: KafkaConfig['format']
}

/** Bytes; a longer key ends in a hash of all of it, so that equal keys stay equal. */
const MAX_KEY = 512

/** Returns topic and key of an event, or the outcome if it has none. */
export function destinationOf(
  subject: Routed<KafkaRoute>,
  config: Pick<KafkaConfig, 'topic' | 'key' | 'state' | 'format'>,
): Destination | Outcome {
  const { route, event } = subject
  const template = route.topic ?? config.topic
  if (!template) return misconfigured(`no topic: set it in the sink, or in rule "${subject.rule}"`)
  const state = route.state ?? config.state
  const format = route.format ?? config.format
  if (state && subject.notice?.kind === 'digest')
    return rejected(
      `rule "${subject.rule}" emits digests, which are no state of an object: leave out its group or state`,
    )
  if (state && subject.retried && event.type !== 'DELETED')
    return rejected(
      'the topic may have a newer state than this dead letter: kubeherald replay --snapshot sends the present one; drop this',
    )
  if (state && format === 'structured')
    return misconfigured(`rule "${subject.rule}" has state: true, which cannot go with format: structured`)
  try {
    const topic = render(template, subject)
    const fault = topicNameFault(topic)
    if (fault !== undefined)
      return rejected(`${JSON.stringify(topic.slice(0, 300))} is not a topic name: ${fault}`)
    const own = route.key ?? config.key
    const key = own ? render(own, subject) : objectKey(event)
    if (key === '') return rejected(`the key "${own?.source.slice(0, 200) ?? ''}" is empty for this object`)
    return { topic, key: bounded(key), state, format }
  } catch (error) {
    const fault = renderFault(error)
    if (fault) return fault
    throw error
  }
}

/** `<topic>.<0–15>`: a topic that fails delays its own lanes alone, and one key's records stay in one. */
export function laneOf(subject: Routed<KafkaRoute>, config: KafkaConfig): string {
  const place = destinationOf(subject, config)
  if ('kind' in place) return `@.${laneByKey(orderOf(subject))}`
  return `${place.topic}.${laneByKey(place.key)}`
}

function render(template: Template, subject: Routed<KafkaRoute>): string {
  return template.constant ? template.source : template.render(subject).trim()
}

function bounded(key: string): string {
  const bytes = Buffer.from(key)
  if (bytes.length <= MAX_KEY) return key
  const hash = createHash('sha256').update(bytes).digest('hex')
  return `${bytes.toString('utf8', 0, MAX_KEY - hash.length - 5).replace(/\ufffd+$/, '')}#${hash}`
}

function rejected(detail: string): Outcome {
  return { kind: 'rejected', reason: 'config', detail }
}

function misconfigured(detail: string): Outcome {
  return { kind: 'retry', reason: 'config', detail, scope: 'target' }
}
