import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { cloudEventAttributes, cloudEventData, type Message, type Note } from '../../src/sink/index.ts'
import { cloudEventsBatch, JSON_TYPE, limitsOf, templateBatch } from './batch-format.ts'
import type { BatchFormat } from './batches.ts'
import type { WebhookConfig } from './config.ts'
import { entriesOf } from './presets/log-entry.ts'
import type { PresetOptions } from './presets/options.ts'
import { fitted } from './presets/parts.ts'
import type { LogPreset, MessagePreset } from './presets/preset.ts'

/** The request body and headers of a message. */
export interface Written {
  body: Buffer
  headers: Readonly<Record<string, string>>
  note?: Note
}

type Write = (message: Message) => Written

interface Clock {
  now(): number
}

/** A sink sends one event in a request, or many. */
export type Format = { write: Write; batch?: undefined } | { batch: BatchFormat & { maxReplyBytes?: number } }

/** Returns the format of a sink. Its functions may throw a TemplateFault. */
export function formatOf(config: WebhookConfig, clock: Clock): Format {
  const { service, batch } = config
  if (service && 'format' in service) return { batch: logBatch(config, service, clock) }
  if (service) return { write: presetWriter(config, service, clock) }
  if (batch?.each) return { batch: templateBatch(batch, config.contentType) }
  if (config.format === 'batch') return { batch: cloudEventsBatch(batch) }
  return { write: writerOf(config) }
}

function writerOf({ body: tree, raw, contentType, format }: WebhookConfig): Write {
  if (tree) {
    const headers = { 'content-type': contentType ?? JSON_TYPE }
    return (message) => ({ body: Buffer.from(tree.json(message)), headers })
  }
  if (raw) {
    const headers = { 'content-type': contentType ?? 'text/plain; charset=utf-8' }
    return (message) => ({ body: Buffer.from(raw.render(message)), headers })
  }
  if (format === 'binary')
    return (message) => ({ body: cloudEventData(message), headers: binaryHeaders(message) })
  const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
  return (message) => ({ body: message.cloudEvent, headers })
}

/** The attributes as the HTTP binding of CloudEvents has them in headers. */
function binaryHeaders(message: Parameters<typeof cloudEventAttributes>[0]): Record<string, string> {
  const { datacontenttype, ...attributes } = cloudEventAttributes(message)
  const headers = Object.entries(attributes).map(([name, value]) => [
    `ce-${name}`,
    percentEncoded(String(value)),
  ])
  return { 'content-type': String(datacontenttype), ...Object.fromEntries(headers) }
}

/** Space, `"`, `%`, and everything that is not printable ASCII (CloudEvents HTTP binding 1.0.2, §3.1.3.2). */
export function percentEncoded(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x7e]/gu, (it) =>
      [...Buffer.from(it)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    )
}

/** The options of a preset, as its code has them. */
export function presetOptions(config: WebhookConfig): PresetOptions {
  return { ...config, resolveAfterMs: config.resolveAfter }
}

function presetWriter(config: WebhookConfig, { body, maxBytes }: MessagePreset, clock: Clock): Write {
  const headers = { 'content-type': JSON_TYPE }
  const options = presetOptions(config)
  return (message) => {
    const { body: bytes, truncated } = fitted(maxBytes, (cut) => body(message, options, cut, clock.now()))
    return { body: bytes, headers, ...(truncated && { note: 'truncated' }) }
  }
}

/** Of one event, a separator and a key of its group at most. */
const AROUND_BYTES = 64

function logBatch(config: WebhookConfig, service: LogPreset, clock: Clock) {
  const entryOf = entriesOf(config.body, service.maxBytes)
  const { part, body, answers, maxReplyBytes } = service.format(presetOptions(config), clock)
  return {
    ...limitsOf(config.batch, service.batch),
    item(message: Message) {
      const made = part(entryOf(message))
      return { message, ...made, size: made.bytes.length + (made.group?.length ?? 0) + AROUND_BYTES }
    },
    body,
    ...(answers && { answers }),
    ...(maxReplyBytes !== undefined && { maxReplyBytes }),
  }
}

const gzipped = promisify(gzip)
/** Smaller bodies would hardly become smaller. */
const LEAST_BYTES = 1_024

/** Returns the request with its body compressed by gzip (RFC 9110 §8.4.1.3), outside of the event loop. */
export async function compressed(written: Written): Promise<Written> {
  if (written.body.length < LEAST_BYTES) return written
  const body = await gzipped(written.body)
  return { ...written, body, headers: { ...written.headers, 'content-encoding': 'gzip' } }
}
