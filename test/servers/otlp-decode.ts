/** ExportTraceServiceRequest of OTLP 1, as far as traces use it; ids are hexadecimal. */
export interface OtlpRequest {
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] }
    scopeSpans: { scope: { name: string; version: string }; spans: OtlpSpan[] }[]
  }[]
}

interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  kind: number
  startTimeUnixNano: bigint
  endTimeUnixNano: bigint
  attributes: OtlpAttribute[]
  links: { traceId: string; spanId: string }[]
  status: { message: string; code: number }
}

interface OtlpAttribute {
  key: string
  value: OtlpValue
}

export interface OtlpValue {
  stringValue?: string
  boolValue?: boolean
  intValue?: bigint | number | string
  doubleValue?: number
  arrayValue?: { values: OtlpValue[] }
}

type Kind = 'string' | 'bool' | 'varint' | 'int64' | 'fixed32' | 'fixed64' | 'double' | 'hex' | Schema
/** Field number → name, type, and whether it comes many times. */
interface Schema {
  [field: number]: readonly [name: string, kind: Kind, repeated?: true]
}

const VALUE: Schema = {
  1: ['stringValue', 'string'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int64'],
  4: ['doubleValue', 'double'],
}
VALUE[5] = ['arrayValue', { 1: ['values', VALUE, true] }]
const ATTRIBUTE: Schema = { 1: ['key', 'string'], 2: ['value', VALUE] }
const LINK: Schema = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'string'],
  4: ['attributes', ATTRIBUTE, true],
  5: ['droppedAttributesCount', 'varint'],
  6: ['flags', 'fixed32'],
}
const SPAN: Schema = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'string'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'string'],
  6: ['kind', 'varint'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes', ATTRIBUTE, true],
  10: ['droppedAttributesCount', 'varint'],
  12: ['droppedEventsCount', 'varint'],
  13: ['links', LINK, true],
  14: ['droppedLinksCount', 'varint'],
  15: ['status', { 2: ['message', 'string'], 3: ['code', 'varint'] }],
  16: ['flags', 'fixed32'],
}
const RESOURCE: Schema = { 1: ['attributes', ATTRIBUTE, true], 2: ['droppedAttributesCount', 'varint'] }
const SCOPE: Schema = {
  1: ['name', 'string'],
  2: ['version', 'string'],
  4: ['droppedAttributesCount', 'varint'],
}
const SCOPE_SPANS: Schema = { 1: ['scope', SCOPE], 2: ['spans', SPAN, true], 3: ['schemaUrl', 'string'] }
const RESOURCE_SPANS: Schema = {
  1: ['resource', RESOURCE],
  2: ['scopeSpans', SCOPE_SPANS, true],
  3: ['schemaUrl', 'string'],
}
const REQUEST: Schema = { 1: ['resourceSpans', RESOURCE_SPANS, true] }

/** Decodes the protobuf of a request; throws at a field that traces do not have, or of a wrong wire type. */
export function decodeTraceRequest(body: Buffer): OtlpRequest {
  return decode(body, REQUEST) as unknown as OtlpRequest
}

/** The same from OTLP's JSON, where 64-bit numbers are text. */
export function readJsonRequest(text: string): OtlpRequest {
  const request = JSON.parse(text, (key, value) =>
    key.endsWith('UnixNano') ? BigInt(value as string) : value,
  ) as OtlpRequest
  for (const { scopeSpans } of request.resourceSpans)
    for (const { spans } of scopeSpans)
      for (const span of spans) {
        span.parentSpanId ??= ''
        span.status.message ??= ''
      }
  return request
}

function decode(bytes: Buffer, schema: Schema): Record<string, unknown> {
  const message: Record<string, unknown> = {}
  for (const [name, kind, repeated] of Object.values(schema)) {
    if (repeated) message[name] = []
    else if ((kind === 'string' || kind === 'hex') && schema !== VALUE) message[name] = ''
  }
  let at = 0
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined || shift > 63n) throw new Error('a varint without end')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('a field that is longer than its message')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const known = schema[tag >> 3]
    if (!known) throw new Error(`field ${tag >> 3} is not known beside ${Object.keys(message)}`)
    const [name, kind, repeated] = known
    if ((tag & 7) !== wireType(kind)) throw new Error(`field ${name} has wire type ${tag & 7}`)
    const value = read(kind, varint, take)
    if (repeated) (message[name] as unknown[]).push(value)
    else message[name] = value
  }
  return message
}

function wireType(kind: Kind): number {
  if (kind === 'varint' || kind === 'bool' || kind === 'int64') return 0
  if (kind === 'fixed64' || kind === 'double') return 1
  return kind === 'fixed32' ? 5 : 2
}

function read(kind: Kind, varint: () => bigint, take: (length: number) => Buffer): unknown {
  if (kind === 'varint') return Number(varint())
  if (kind === 'int64') return BigInt.asIntN(64, varint())
  if (kind === 'bool') return varint() === 1n
  if (kind === 'fixed64') return take(8).readBigUInt64LE()
  if (kind === 'double') return take(8).readDoubleLE()
  if (kind === 'fixed32') return take(4).readUInt32LE()
  const part = take(Number(varint()))
  if (kind === 'string') return new TextDecoder('utf-8', { fatal: true }).decode(part)
  return kind === 'hex' ? part.toString('hex') : decode(part, kind)
}
