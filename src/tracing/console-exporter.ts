import { SpanKind } from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, hrTimeToMilliseconds } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { printableJson } from '../printable.ts'

/** A span as a line of JSON on stderr: stdout may be a sink's. */
export class ConsoleExporter implements SpanExporter {
  readonly #output: { write(line: string): unknown }

  constructor(output: { write(line: string): unknown } = process.stderr) {
    this.#output = output
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#output.write(spans.map((span) => `${printableJson(lineOf(span))}\n`).join(''))
    done({ code: ExportResultCode.SUCCESS })
  }

  async shutdown(): Promise<void> {}
}

function lineOf(span: ReadableSpan): object {
  const { traceId, spanId } = span.spanContext()
  return {
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    name: span.name,
    kind: SpanKind[span.kind],
    start: new Date(hrTimeToMilliseconds(span.startTime)).toISOString(),
    durationMs: hrTimeToMilliseconds(span.duration),
    attributes: span.attributes,
    links: span.links.map(({ context }) => ({ traceId: context.traceId, spanId: context.spanId })),
    status: span.status,
  }
}
