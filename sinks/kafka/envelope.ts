/** A CloudEvent in two parts: what describes it, and the bytes that it is about. */
export interface Envelope {
  attributes: Readonly<Record<string, unknown>>
  data: Buffer
}

const DATA = Buffer.from(',"data":')

/**
 * Takes a structured CloudEvent apart without parsing its data, which stands last. A text inside an attribute cannot look
 * like the key: its quotes are escaped.
 */
export function openEnvelope(cloudEvent: Buffer): Envelope {
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
export function headersOf(attributes: Readonly<Record<string, unknown>>): Record<string, string> {
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
