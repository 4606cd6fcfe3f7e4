import { redactText } from '../../text/redact.ts'

export const PROTOCOLS = ['http/protobuf', 'http/json'] as const
export type Protocol = (typeof PROTOCOLS)[number]

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof SAMPLERS)[number]

/** What of `OTEL_BSP_*` is set. */
export interface BatchSettings {
  scheduledDelayMillis?: number
  exportTimeoutMillis?: number
  maxQueueSize?: number
  maxExportBatchSize?: number
}

export interface TraceSettings {
  /** Empty: traces are off. */
  exporters: readonly ('otlp' | 'console')[]
  protocol: Protocol
  sampler: { name: SamplerName; ratio: number }
  batch: BatchSettings
  /** What cannot be used: which variable, what is wrong, what to write instead. */
  problems: readonly string[]
}

type Env = Readonly<Record<string, string | undefined>>

/**
 * What OpenTelemetry's environment variables ask for. Traces are on when an exporter is named or an OTLP endpoint is set. A
 * value that cannot be used is a problem for the log, never an error; endpoint, headers, timeout, compression and certificates
 * are read by the exporter itself.
 */
export function readTraceSettings(env: Env): TraceSettings {
  const problems: string[] = []
  const read = reader(env, problems)
  if (read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return { ...OFF, problems }
  const wanted = exportersOf(read, problems)
  const otlp = wanted.includes('otlp') ? protocolOf(read, problems) : undefined
  const endpoint = otlp !== undefined && endpointsUsable(read, problems)
  const exporters = wanted.filter((it) => it !== 'otlp' || endpoint)
  if (exporters.length === 0) return { ...OFF, problems }
  checkResource(read, problems)
  return {
    exporters,
    protocol: otlp ?? OFF.protocol,
    sampler: samplerOf(read),
    batch: batchOf(read),
    problems,
  }
}

const OFF: TraceSettings = {
  exporters: [],
  protocol: 'http/protobuf',
  sampler: { name: 'parentbased_always_on', ratio: 1 },
  batch: {},
  problems: [],
}

type Reader = ReturnType<typeof reader>

/** An empty value is as good as none, as the specification wants it. */
function reader(env: Env, problems: string[]) {
  const text = (name: string) => env[name]?.trim() || undefined
  return {
    text,
    /** The first of these that is set, with its name. */
    first(...names: string[]): { name: string; value: string } | undefined {
      for (const name of names) {
        const value = text(name)
        if (value !== undefined) return { name, value }
      }
      return undefined
    },
    number(name: string, is: { what: string; good(value: number): boolean }): number | undefined {
      const value = text(name)
      if (value === undefined) return undefined
      if (is.good(Number(value))) return Number(value)
      problems.push(`${name}=${redactText(value)} must be ${is.what}; its default is used`)
      return undefined
    },
    oneOf<T extends string>(name: string, known: readonly T[], fallback: T): T {
      const value = text(name)?.toLowerCase()
      const found = known.find((it) => it === value)
      if (value !== undefined && found === undefined)
        problems.push(`${name}=${redactText(value)} is not known; ${fallback} is used (${known.join(', ')})`)
      return found ?? fallback
    },
  }
}

function exportersOf(read: Reader, problems: string[]): ('otlp' | 'console')[] {
  const named = read.text('OTEL_TRACES_EXPORTER')
  if (named === undefined)
    return read.first('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT') ? ['otlp'] : []
  const exporters = new Set<'otlp' | 'console'>()
  for (const word of named.split(',')) {
    const name = word.trim().toLowerCase()
    if (name === 'otlp' || name === 'console') exporters.add(name)
    else if (name !== 'none' && name !== '')
      problems.push(`OTEL_TRACES_EXPORTER=${redactText(name)} is not known; write otlp, console or none`)
  }
  return [...exporters]
}

function protocolOf(read: Reader, problems: string[]): Protocol | undefined {
  const set = read.first('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (!set) return 'http/protobuf'
  const protocol = PROTOCOLS.find((it) => it === set.value.toLowerCase())
  if (protocol) return protocol
  const what = `${set.name}=${redactText(set.value)}`
  problems.push(
    set.value.toLowerCase() === 'grpc'
      ? `${what} is not spoken: write http/protobuf, and the collector's port for HTTP (4318) in the endpoint`
      : `${what} is not known; write http/protobuf or http/json`,
  )
  return undefined
}

function endpointsUsable(read: Reader, problems: string[]): boolean {
  const set = read.first('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (!set || /^https?:$/.test(URL.parse(set.value)?.protocol ?? '')) return true
  problems.push(
    `${set.name}=${redactText(set.value)} is no http or https address; write http://collector.example:4318`,
  )
  return false
}

/** A list that is wrong in one place is ignored as a whole, which nobody would notice. */
function checkResource(read: Reader, problems: string[]): void {
  const entries = read.text('OTEL_RESOURCE_ATTRIBUTES')?.split(',') ?? []
  const wrong = entries.find((it) => it.trim() !== '' && !/^\s*[^=\s][^=]*=[^=]*$/.test(it))
  if (wrong === undefined) return
  problems.push(
    `OTEL_RESOURCE_ATTRIBUTES is ignored: "${redactText(wrong.trim())}" is not key=value, with "," and "=" inside of them as %2C and %3D`,
  )
}

const RATIO = { what: 'a number from 0 to 1', good: (it: number) => it >= 0 && it <= 1 }

function samplerOf(read: Reader): TraceSettings['sampler'] {
  const name = read.oneOf('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on')
  const ratio = name.endsWith('traceidratio') ? read.number('OTEL_TRACES_SAMPLER_ARG', RATIO) : undefined
  return { name, ratio: ratio ?? 1 }
}

const BATCH = {
  scheduledDelayMillis: 'OTEL_BSP_SCHEDULE_DELAY',
  exportTimeoutMillis: 'OTEL_BSP_EXPORT_TIMEOUT',
  maxQueueSize: 'OTEL_BSP_MAX_QUEUE_SIZE',
  maxExportBatchSize: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
} as const
const POSITIVE = { what: 'a whole number above 0', good: (it: number) => Number.isSafeInteger(it) && it > 0 }

function batchOf(read: Reader): BatchSettings {
  const settings = Object.entries(BATCH).flatMap(([key, name]) => {
    const value = read.number(name, POSITIVE)
    return value === undefined ? [] : [[key, value]]
  })
  return Object.fromEntries(settings) as BatchSettings
}
