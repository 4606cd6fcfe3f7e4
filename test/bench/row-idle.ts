import { setTimeout as pause } from 'node:timers/promises'
import { hasKubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const KINDS = [
  'Pod',
  'Event',
  'Node',
  'Service',
  'ConfigMap',
  'Namespace',
  'Deployment',
  'StatefulSet',
  'Job',
  'CronJob',
]
const WARM_UP_MS = 30_000
const SECONDS = 60
const MOST_PERCENT = 0.5

export const idleRow: Row = {
  name: 'idle',
  title: `processor time with ${KINDS.length} watches of a real API server in which nothing happens`,
  async measure(context) {
    if (!hasKubernetes()) throw new Error('there is no kube-apiserver; `npm test` builds it')
    buildBundle()
    const shares: number[] = []
    for (let i = 0; i < context.pairs; i++) shares.push(await idle(context))
    const ours = median(shares)
    return {
      ours: `${ours.toFixed(2)} % of a core`,
      yardstick: '–',
      target: `≤ ${MOST_PERCENT} %`,
      met: ours <= MOST_PERCENT,
    }
  },
}

/** Percent of a core, over the seconds after its code is compiled. */
async function idle(context: BenchContext): Promise<number> {
  await using kubernetes = await startKubernetes()
  await using redis = await context.startRedis()
  await using hook = await serve('./hook.ts')
  await using bundle = runBundle(kubernetes.url, redis.url, `{ type: webhook, url: "${hook.url}" }`, {
    kubeconfig: kubernetes.kubeconfig,
    watch: KINDS.join(', '),
  })
  await pause(WARM_UP_MS)
  const before = bundle.usage().cpuSeconds
  await pause(SECONDS * 1_000)
  return ((bundle.usage().cpuSeconds - before) / SECONDS) * 100
}
