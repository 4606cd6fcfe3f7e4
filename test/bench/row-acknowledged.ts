import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { hasKubernetes, type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { benchEvent } from './event.ts'
import { median, quantile } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const PER_SECOND = 100
const WARM_UP = 20 * PER_SECOND
const COUNT = 20 * PER_SECOND
const MOST_P50_MS = 1
const MOST_P99_MS = 5

export const acknowledgedRow: Row = {
  name: 'acknowledged',
  title: `a real API server's acknowledgement → webhook, ${PER_SECOND} Events a second`,
  async measure(context) {
    if (!hasKubernetes()) throw new Error('there is no kube-apiserver; `npm test` builds it')
    buildBundle()
    const runs: number[][] = []
    for (let i = 0; i < context.pairs; i++) runs.push(await delays(context))
    const of = (share: number) => median(runs.map((it) => quantile(it, share)))
    const [p50, p99] = [of(0.5), of(0.99)]
    return {
      ours: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
      yardstick: `${COUNT} Events, after ${WARM_UP} to warm up`,
      target: `p50 ≤ ${MOST_P50_MS} ms, p99 ≤ ${MOST_P99_MS} ms`,
      met: p50 <= MOST_P50_MS && p99 <= MOST_P99_MS,
    }
  },
}

/** Milliseconds between the end of a write and the arrival of its Event at the webhook: negative where that came first. */
async function delays(context: BenchContext): Promise<number[]> {
  await using kubernetes = await startKubernetes()
  await using redis = await context.startRedis()
  await using hook = await serve('./hook.ts', 'firsts', '0')
  await using _bundle = runBundle(kubernetes.url, redis.url, `{ type: webhook, url: "${hook.url}" }`, {
    kubeconfig: kubernetes.kubeconfig,
    watch: 'Event',
  })
  await pause(5_000)
  const written = await writeEvents(kubernetes, WARM_UP + COUNT)
  let firsts: Record<string, number> = {}
  const all = async () => {
    const { body } = await request(`${hook.url}/firsts`)
    firsts = (await body.json()) as Record<string, number>
    return Object.keys(firsts).length >= WARM_UP + COUNT
  }
  await waitFor(all, { timeoutMs: 30_000, what: 'all Events at the webhook' })
  const arrivals = new Map(Object.entries(firsts).map(([it, ms]) => [it.slice(it.lastIndexOf('/') + 1), ms]))
  return [...written].slice(WARM_UP).map(([name, ms]) => (arrivals.get(name) ?? Number.NaN) - ms)
}

/** Writes Events at a steady rate; gives when each one was acknowledged, by name, in the order of the writes. */
async function writeEvents(kubernetes: Kubernetes, count: number): Promise<Map<string, number>> {
  const written = new Map<string, number>()
  const startedMs = performance.now()
  const writes: Promise<void>[] = []
  for (let i = 0; i < count; ) {
    const due = Math.min(count, ((performance.now() - startedMs) / 1_000) * PER_SECOND)
    for (; i < due; i++) {
      const event = benchEvent(i)
      written.set(event.metadata.name, 0)
      const write = kubernetes.request('POST', '/api/v1/namespaces/default/events', event)
      writes.push(
        write.then(() => {
          written.set(event.metadata.name, performance.timeOrigin + performance.now())
        }),
      )
    }
    await pause(1)
  }
  await Promise.all(writes)
  return written
}
