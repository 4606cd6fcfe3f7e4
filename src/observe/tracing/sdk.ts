import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
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
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from '../log.ts'
import { describeCauses } from '../redact.ts'
import { ConsoleExporter } from './console-exporter.ts'
import type { Protocol, TraceSettings } from './environment.ts'
import { TellingExporter } from './telling-exporter.ts'

export interface Sdk {
  tracer: Tracer
  /** Exports what is left. */
  close(): Promise<void>
}

export interface SdkOptions {
  version: string
  /** Tells processes apart. */
  instance: string
  log: Logger
  env: Readonly<Record<string, string | undefined>>
}

/** OpenTelemetry's SDK by its own settings; loaded only when traces are on. */
export async function startSdk(settings: TraceSettings, options: SdkOptions): Promise<Sdk> {
  const { log, version } = options
  tellFaults(log)
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
        new BatchSpanProcessor({ exporter: new TellingExporter(exporter, log), ...settings.batch }),
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

/** What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say comes before what we know. */
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
function tellFaults(log: Logger): void {
  const told = new Set<string>()
  const tell = (message: string, ...details: unknown[]) => {
    const pattern = message.replace(/\d+/g, '#')
    if (told.size > 100 || told.has(pattern)) return
    told.add(pattern)
    const [error] = details.filter((it) => it instanceof Error)
    log.warn({ detail: message, ...(error && { error }) }, 'a fault of tracing; the line is not touched')
  }
  const silent = () => {}
  const logger = { error: tell, warn: tell, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
  // Exports that failed are told by their exporter.
  setGlobalErrorHandler((error) => log.debug({ error: wordsOf(error) }, 'a fault of tracing'))
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? describeCauses(error) : String(error)
}
