import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeTraceRequest, type OtlpRequest, type OtlpValue, readJsonRequest } from './otlp-decode.ts'

/** A span as it was exported. */
export interface ExportedSpan {
  traceId: string
  spanId: string
  /** '' of a root. */
  parentSpanId: string
  name: string
  kind: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER'
  startMs: number
  endMs: number
  attributes: Record<string, unknown>
  links: { traceId: string; spanId: string }[]
  error: string | undefined
  /** Of the process that exported it. */
  resource: Record<string, unknown>
}

export interface OtlpReceiver extends AsyncDisposable {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string
  readonly spans: ExportedSpan[]
  /** Of each request. */
  readonly headers: IncomingHttpHeaders[]
  /** What was wrong with requests; a test wants it empty. */
  readonly faults: string[]
  /** How to answer from now on; 0 never answers. */
  answer(status: number): void
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']

/** A collector that takes traces by OTLP over HTTP, in protobuf or JSON, and refuses what the protocol does not allow. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ExportedSpan[] = []
  const headers: IncomingHttpHeaders[] = []
  const faults: string[] = []
  let status = 200

  async function receive(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of message) chunks.push(chunk as Buffer)
    headers.push(message.headers)
    if (status === 0) return
    const type = message.headers['content-type'] ?? ''
    if (status !== 200) return void response.writeHead(status).end()
    try {
      if (message.method !== 'POST' || message.url !== '/v1/traces')
        throw new Error(`${message.method} ${message.url} is not POST /v1/traces`)
      spans.push(...spansOf(requestOf(Buffer.concat(chunks), type)))
      response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '')
    } catch (error) {
      faults.push((error as Error).message)
      response.writeHead(400, { 'content-type': type }).end()
    }
  }

  const server = createServer((message, response) => void receive(message, response).catch(() => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    faults,
    answer(next) {
      status = next
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function requestOf(body: Buffer, type: string): OtlpRequest {
  if (type === 'application/x-protobuf') return decodeTraceRequest(body)
  if (type === 'application/json') return readJsonRequest(body.toString())
  throw new Error(`content type ${type} is none of OTLP's`)
}

function spansOf({ resourceSpans }: OtlpRequest): ExportedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) => {
      if (scope.name !== 'kubeherald') throw new Error(`scope ${scope.name}`)
      return spans.map((span) => {
        demand(/^(?!0{32})[0-9a-f]{32}$/, span.traceId, 'trace id')
        demand(/^(?!0{16})[0-9a-f]{16}$/, span.spanId, 'span id')
        demand(/^([0-9a-f]{16})?$/, span.parentSpanId, 'parent id')
        if (span.endTimeUnixNano < span.startTimeUnixNano)
          throw new Error(`${span.name} ends before it begins`)
        return {
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId,
          name: span.name,
          kind: KINDS[span.kind] as ExportedSpan['kind'],
          startMs: Number(span.startTimeUnixNano) / 1e6,
          endMs: Number(span.endTimeUnixNano) / 1e6,
          attributes: recordOf(span.attributes),
          links: span.links.map(({ traceId, spanId }) => ({ traceId, spanId })),
          error: span.status.code === 2 ? span.status.message : undefined,
          resource: recordOf(resource.attributes),
        }
      })
    }),
  )
}

function demand(pattern: RegExp, text: string, what: string): void {
  if (!pattern.test(text)) throw new Error(`${what} "${text}"`)
}

function recordOf(attributes: readonly { key: string; value: OtlpValue }[]): Record<string, unknown> {
  const record = Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))
  if (Object.keys(record).length !== attributes.length) throw new Error('an attribute stands there twice')
  return record
}

function plain(value: OtlpValue): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(plain)
  if (value.intValue !== undefined) return Number(value.intValue)
  return value.stringValue ?? value.boolValue ?? value.doubleValue
}
