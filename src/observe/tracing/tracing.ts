import type { Logger } from '../log.ts'
import type { PipelineTracer } from '../trace.ts'
import { readTraceSettings } from './environment.ts'

interface Tracing extends PipelineTracer {
  /** Exports what is left; after the limit that is given up. */
  close(): Promise<void>
}

interface TracingOptions {
  env: Readonly<Record<string, string | undefined>>
  version: string
  instance: string
  log: Logger
}

/** Time limit of closing; a stop may take ten seconds. */
const CLOSE_MS = 1_500

/**
 * Traces as OpenTelemetry's environment variables ask for them; undefined, and nothing of OpenTelemetry is loaded, when they
 * don't. Nothing that is wrong with them ends a start.
 */
export async function startTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { log } = options
  const settings = readTraceSettings(options.env)
  const { exporters, protocol, sampler, problems } = settings
  const outcome = exporters.length === 0 ? 'there are no traces' : 'traces go on without it'
  for (const problem of problems) log.warn({ problem }, `tracing is not set up as asked: ${outcome}`)
  if (exporters.length === 0) return undefined
  try {
    const { startSdk } = await import('./sdk.ts')
    const { createPipelineTracer } = await import('./pipeline-tracer.ts')
    const sdk = await startSdk(settings, options)
    log.info({ exporters, protocol, sampler: sampler.name, ratio: sampler.ratio }, 'traces are on')
    return { ...createPipelineTracer(sdk.tracer, log), close: () => within(CLOSE_MS, sdk.close(), log) }
  } catch (error) {
    log.warn({ error }, 'tracing could not start; there are no traces')
    return undefined
  }
}

async function within(limitMs: number, work: Promise<void>, log: Logger): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(() => {
    log.warn({}, 'traces could not be exported in time; the last spans are lost')
    late.resolve()
  }, limitMs)
  try {
    await Promise.race([work.catch((error) => log.debug({ error }, 'the last spans are lost')), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
