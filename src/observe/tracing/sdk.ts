import { DiagLogLevel, diag, SpanKind, type Tracer } from '@opentelemetry/api'
import {
  type ExportResult,
  ExportResultCode,
  hrTimeToMilliseconds,
  setGlobalErrorHandler,
} from '@opentelemetry/core'
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { printableJson } from '../../text/printable.ts'
import { describeCauses, redactMessage } from '../../text/redact.ts'
import type { Logger } from '../log.ts'
import type { Protocol, TraceSettings } from './environment.ts'

interface Sdk {
  tracer: Tracer
  /** Exports what is left. */
  close(): Promise<void>
}

interface SdkOptions {
  version: string
  /** Distinguishes processes. */
  instance: string
  log: Logger
  env: Readonly<Record<string, string | undefined>>
}

/** OpenTelemetry's SDK by its own settings; loaded only when traces are on. */
export async function startSdk(settings: TraceSettings, options: SdkOptions): Promise<Sdk> {
  const { log, version } = options
  reportFaults(log)
  const exporters = await Promise.all(
    settings.exporters.map((it) =>
      it === 'console' ? new ConsoleExporter() : otlpExporter(settings.protocol),
    ),
  )
  const provider = new TracerProvider({
    resource: resourceOf(options),
    sampler: samplerOf(settings.sampler),
    spanProcessors: exporters.map(
      (exporter) =>
        new BatchSpanProcessor({ exporter: new ReportingExporter(exporter, log), ...settings.batch }),
    ),
  })
  return { tracer: provider.getTracer('kubeherald', version), close: () => provider.shutdown() }
}

/** Endpoint, headers, timeout, compression and certificates it reads from the environment. */
async function otlpExporter(protocol: Protocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter()
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES precede our own attributes. */
function resourceOf({ version, instance, env }: SdkOptions): Resource {
  const { POD_NAME, POD_NAMESPACE } = env
  const own = resourceFromAttributes({
    'service.name': 'kubeherald',
    'service.version': version,
    'service.instance.id': instance,
    ...(POD_NAME && { 'k8s.pod.name': POD_NAME }),
    ...(POD_NAMESPACE && { 'k8s.namespace.name': POD_NAMESPACE }),
  })
  const detectors = [resourceAttributesEnvDetector, serviceNameEnvDetector]
  return defaultResource().merge(own).merge(detectResources({ detectors }))
}

function samplerOf({ name, ratio }: TraceSettings['sampler']): Sampler {
  const root = name.endsWith('always_off')
    ? new AlwaysOffSampler()
    : name.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(ratio)
      : new AlwaysOnSampler()
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** The SDK's own warnings, each once: of a bad certificate, of spans dropped because nobody takes them. */
function reportFaults(log: Logger): void {
  const reported = new Set<string>()
  const report = (message: string, ...details: unknown[]) => {
    const pattern = message.replace(/\d+/g, '#')
    if (reported.size > 100 || reported.has(pattern)) return
    reported.add(pattern)
    const [error] = details.filter((it) => it instanceof Error)
    log.warn(
      { detail: message, ...(error && { error }) },
      'tracing reports an error; the pipeline is not affected',
    )
  }
  const silent = () => {}
  const logger = { error: report, warn: report, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  // Failed exports are reported by their exporter.
  setGlobalErrorHandler((error) => log.debug({ error: describe(error) }, 'a fault of tracing'))
}

function describe(error: unknown): string {
  return error instanceof Error ? describeCauses(error) : String(error)
}

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

/** Reports once when spans cannot be exported, and once, with the number of lost ones, when they can again. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: Logger
  #lost = 0

  constructor(exporter: SpanExporter, log: Logger) {
    this.#exporter = exporter
    this.#log = log
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#note(spans.length, result)
      done(result)
    })
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  #note(count: number, { code, error }: ExportResult): void {
    if (code === ExportResultCode.SUCCESS) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, 'traces are exported again')
      this.#lost = 0
      return
    }
    if (this.#lost === 0)
      this.#log.warn(
        { detail: detailOf(error) },
        'traces cannot be exported; spans are lost, deliveries are not',
      )
    this.#lost += count
  }
}

/** Status and its reason, never the body of an answer: it may repeat the request. */
function detailOf(error: Error | undefined): string {
  if (!error) return 'no reason given'
  const { code } = error as Error & { code?: number | string }
  const status = typeof code === 'number' ? `${code} ` : ''
  return redactMessage(`${status}${describeCauses(error)}`).slice(0, 300)
}
