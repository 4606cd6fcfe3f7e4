import { cloudEventAttributes, cloudEventData, type Message, type Note } from '../../src/sink/index.ts'
import type { WebhookConfig } from './config.ts'
import { PRESETS } from './presets/index.ts'
import { fitted } from './presets/parts.ts'

/** The request body and headers of a message. */
export interface Written {
  body: Buffer
  headers: Readonly<Record<string, string>>
  note?: Note
}

type Write = (message: Message) => Written

const JSON_TYPE = 'application/json; charset=utf-8'

/** Returns the writer of a sink's format. The writer may throw a TemplateFault. */
export function writerOf(config: WebhookConfig): Write {
  const { preset, body: tree, raw, contentType } = config
  if (preset !== undefined) return presetWriter(config, preset)
  if (tree) {
    const headers = { 'content-type': contentType ?? JSON_TYPE }
    return (message) => ({ body: Buffer.from(JSON.stringify(tree.render(message))), headers })
  }
  if (raw) {
    const headers = { 'content-type': contentType ?? 'text/plain; charset=utf-8' }
    return (message) => ({ body: Buffer.from(raw.render(message)), headers })
  }
  if (config.format === 'binary')
    return (message) => ({ body: cloudEventData(message), headers: binaryHeaders(message) })
  const headers = { 'content-type': 'application/cloudevents+json; charset=utf-8' }
  return (message) => ({ body: message.cloudEvent, headers })
}

/** Several messages as one batch of CloudEvents. */
export function writeBatch(messages: readonly Message[]): Written {
  const parts = messages.flatMap((it, i) => [i === 0 ? OPEN : COMMA, it.cloudEvent])
  return { body: Buffer.concat([...parts, CLOSE]), headers: BATCH_HEADERS }
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
const BATCH_HEADERS = { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' }

/** The attributes as the HTTP binding of CloudEvents has them in headers. */
function binaryHeaders(message: Parameters<typeof cloudEventAttributes>[0]): Record<string, string> {
  const { datacontenttype, ...attributes } = cloudEventAttributes(message)
  const headers = Object.entries(attributes).map(([name, value]) => [
    `ce-${name}`,
    percentEncoded(String(value)),
  ])
  return { 'content-type': String(datacontenttype), ...Object.fromEntries(headers) }
}

/** Space, `"`, `%`, and everything that is no printable ASCII (CloudEvents HTTP binding 1.0.2, §3.1.3.2). */
export function percentEncoded(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x7e]/gu, (it) =>
      [...Buffer.from(it)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    )
}

function presetWriter(config: WebhookConfig, name: keyof typeof PRESETS): Write {
  const { body, maxBytes } = PRESETS[name]
  const headers = { 'content-type': JSON_TYPE }
  const options = { ...config, resolveAfterMs: config.resolveAfter }
  return (message) => {
    const { body: bytes, truncated } = fitted(maxBytes, (cut) => body(message, options, cut))
    return { body: bytes, headers, ...(truncated && { note: 'truncated' }) }
  }
}
