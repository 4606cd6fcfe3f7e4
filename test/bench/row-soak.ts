import { setTimeout as pause } from 'node:timers/promises'
import { hasKubernetes, type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { freePort } from '../servers/ports.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { benchEvent } from './event.ts'
import { liveHeapMb } from './live-heap.ts'
import { median } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Result, Row } from './row.ts'

const PER_SECOND = 60
const SAMPLE_MS = 5_000
/** Samples before this are of a process that compiles its code. */
const WARM_UP_MS = 60_000
const MOST_MB = 165
const MOST = 1.1

export const soakRow: Row = {
  name: 'soak',
  title: `memory of the bundle, ${PER_SECOND} Events/s of a real API server to a webhook with faults: last minute / second minute`,
  async measure(context) {
    if (!hasKubernetes()) throw new Error('there is no kube-apiserver; `npm test` builds it')
    buildBundle()
    return measure(context)
  },
}

async function measure(context: BenchContext): Promise<Result> {
  await using kubernetes = await startKubernetes()
  await using redis = await context.startRedis()
  await using hook = await serve('./hook.ts', 'faults')
  const sink = `{ type: webhook, url: "${hook.url}" }`
  const port = await freePort()
  await using bundle = runBundle(kubernetes.url, redis.url, sink, {
    kubeconfig: kubernetes.kubeconfig,
    watch: 'Event',
    launcher: ['env', `NODE_OPTIONS=--inspect-port=${port}`],
  })
  const stop = new AbortController()
  const written = writeEvents(kubernetes, stop.signal)
  const samples: number[] = []
  const endMs = performance.now() + context.minutes * 60_000
  const minute = 60_000 / SAMPLE_MS
  const first = WARM_UP_MS / SAMPLE_MS
  while (performance.now() < endMs) {
    await pause(SAMPLE_MS)
    samples.push(bundle.residentMb())
  }
  const liveMb = await liveHeapMb(bundle.child.pid as number, port)
  stop.abort()
  await written
  const [before, after] = [median(samples.slice(first, first + minute)), median(samples.slice(-minute))]
  const curve = samples.filter((_, i) => i % (5 * minute) === minute).map((mb) => mb.toFixed(0))
  const ratio = after / before
  return {
    ours: `${after.toFixed(0)} MB (every 5 minutes: ${curve.join(' ')}), at the end ${liveMb.toFixed(1)} MB of live heap`,
    yardstick: `${before.toFixed(0)} MB`,
    ratio,
    target: `≤ ${MOST_MB} MB, ≤ ${MOST} ×`,
    met: after <= MOST_MB && ratio <= MOST,
  }
}

/** Writes Events at a steady rate until the signal aborts. */
async function writeEvents(kubernetes: Kubernetes, signal: AbortSignal): Promise<void> {
  const startedMs = performance.now()
  for (let i = 0; !signal.aborted; ) {
    const due = ((performance.now() - startedMs) / 1_000) * PER_SECOND
    const writes: Promise<unknown>[] = []
    for (; i < due; i++)
      writes.push(kubernetes.request('POST', '/api/v1/namespaces/default/events', benchEvent(i)))
    await Promise.all(writes)
    await pause(20)
  }
}
