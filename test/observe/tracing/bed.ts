import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kubeherald, startKubeherald } from '../../cluster/kubeherald.ts'
import { type ExportedSpan, type OtlpReceiver, startOtlpReceiver } from '../../servers/otlp.ts'
import { type Receiver, startReceiver } from '../../servers/receiver.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'
import { configMap, type ScriptedApi, startScriptedApi } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'

export interface TracedBed extends AsyncDisposable {
  api: ScriptedApi
  redis: RedisServer
  hook: Receiver
  otlp: OtlpReceiver
  watching: Kubeherald
  /** Says that these ConfigMaps were made. */
  make(...names: string[]): void
  /** Starts the process that delivers. */
  deliver(env?: Record<string, string>): Promise<Kubeherald>
  /** Waits for spans that fulfil this, and gives all that came. */
  spans(enough: (spans: ExportedSpan[]) => boolean, what: string): Promise<ExportedSpan[]>
}

export interface TracedBedOptions {
  /** What stands in the environment of both; `undefined` traces to the bed's collector. */
  env?: Record<string, string>
  /** More of the sink's options. */
  options?: string
  /** A sink in the place of the webhook. */
  sink?: string
}

/** kubeherald as two processes on a real Redis, with an API server, a webhook and a collector of traces. */
export async function startTracedBed({ env, options = '', sink }: TracedBedOptions = {}): Promise<TracedBed> {
  await using opening = new AsyncDisposableStack()
  const api = opening.use(await startScriptedApi())
  const redis = opening.use(await startRedis())
  const hook = opening.use(await startReceiver())
  const otlp = opening.use(await startOtlpReceiver())
  const config = `
cluster: prod-eu
redis: { url: "${redis.url}" }
watch: [ConfigMap]
sinks: { hook: ${sink ?? `{ type: webhook, url: "${hook.url}"${options} }`} }
rules: [{ name: noise, when: { name: noise }, drop: true }, { name: all, when: { name: "!boring" }, to: [hook] }]`
  const kubeconfig = join(redis.dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigOf(api.url))
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url, OTEL_BSP_SCHEDULE_DELAY: '50', ...env }
  const start = (role: string, more: Record<string, string> = {}) =>
    startKubeherald({ config, kubeconfig, args: ['--role', role], env: { ...traced, ...more } })
  const watching = opening.use(await start('watch'))
  await waitFor(() => api.current(), { timeoutMs: 60_000, what: 'an open watch' })
  const stack = opening.move()
  let version = 10
  return {
    api,
    redis,
    hook,
    otlp,
    watching,
    make(...names) {
      const frames = names.map((name) =>
        JSON.stringify({ type: 'ADDED', object: configMap(name, ++version) }),
      )
      api.current()?.raw(`${frames.join('\n')}\n`)
    },
    async deliver(more) {
      return stack.use(await start('deliver', more))
    },
    async spans(enough, what) {
      await waitFor(() => enough(otlp.spans), {
        timeoutMs: 60_000,
        what: () => `${what}; there are ${otlp.spans.map(({ name }) => name)} ${otlp.faults}`,
      })
      return otlp.spans
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** A trace as a tree of names: `watch configmaps > send hook > process hook`, a line for each span without children. */
export function treeOf(spans: readonly ExportedSpan[], traceId: string): string[] {
  const trace = spans.filter((it) => it.traceId === traceId)
  const pathOf = ({ name, parentSpanId }: ExportedSpan): string => {
    const parent = trace.find(({ spanId }) => spanId === parentSpanId)
    if (!parent) return parentSpanId === '' ? name : `? > ${name}`
    return `${pathOf(parent)} > ${name}`
  }
  return trace
    .filter(({ spanId }) => !trace.some(({ parentSpanId }) => parentSpanId === spanId))
    .map(pathOf)
    .sort()
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    users: [{ name: 'test', user: { token: 't0ken-of-the-cluster' } }],
  })
}
