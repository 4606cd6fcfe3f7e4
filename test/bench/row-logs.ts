import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { createEvent, createPod, registerNode } from '../servers/kubelet.ts'
import { hasKubernetes, type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median, pairs, quantile } from './pairs.ts'
import { type Server, serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const PODS = 50
const CRASHES_PER_SECOND = 1_000 / 60
const OTHERS_PER_SECOND = 20
const WARM_UP_SECONDS = 10
const SECONDS = 60
/** How long a node takes to answer. */
const KUBELET_MS = 50
const MOST = 1.2

export const logsRow: Row = {
  name: 'logs',
  title: '1,000 crashing pods a minute: p99 of change → webhook for another rule, with logs / without',
  async measure(context) {
    if (!hasKubernetes()) throw new Error('there is no kube-apiserver; `npm test` builds it')
    buildBundle()
    await using kubernetes = await startKubernetes()
    await using kubelet = await serve('./kubelet.ts', String(KUBELET_MS))
    await registerNode(kubernetes.request, Number(new URL(kubelet.url).port))
    for (let i = 0; i < PODS; i++) await createPod(kubernetes.request, 'default', `web-${i}`)
    const cluster = { kubernetes, kubelet }
    const results = await pairs(
      context.pairs,
      () => delaysOfOthers(context, cluster, 'logs: { lines: 20, previous: true }, '),
      () => delaysOfOthers(context, cluster, ''),
    )
    const ratio = median(results.map(({ a, b }) => quantile(a, 0.99) / quantile(b, 0.99)))
    return {
      ours: describe(results.flatMap(({ a }) => a)),
      yardstick: describe(results.flatMap(({ b }) => b)),
      ratio,
      target: `≤ ${MOST} ×`,
      met: ratio <= MOST,
    }
  },
}

function describe(delays: readonly number[]): string {
  return `p50 ${quantile(delays, 0.5).toFixed(1)}, p99 ${quantile(delays, 0.99).toFixed(1)} ms of ${delays.length}`
}

/** In ms, from before each write of a ConfigMap to the receiver. Both rules have the same sink. */
async function delaysOfOthers(
  context: BenchContext,
  { kubernetes, kubelet }: { kubernetes: Kubernetes; kubelet: Server },
  logs: string,
): Promise<number[]> {
  await using redis = await context.startRedis()
  await using hook = await serve('./hook.ts', 'delays')
  await using _bundle = runBundle(kubernetes.url, redis.url, '', {
    kubeconfig: kubernetes.kubeconfig,
    watch: '{ kind: Event, namespaces: default }, { kind: ConfigMap, namespaces: default }',
    routing: `sinks: { out: { type: webhook, url: "${hook.url}" } }
rules:
  - { name: crashes, when: { kind: Event, reason: BackOff }, ${logs}to: [out] }
  - { name: others, when: { kind: ConfigMap, type: ADDED }, to: [out] }
`,
  })
  await warmUp(kubernetes, hook.url)
  let reads = 0
  const noteRead = () => void reads++
  kubelet.child.on('message', noteRead)
  const before = (await delaysAt(hook.url)).length
  await Promise.all([
    atRandom(CRASHES_PER_SECOND, (i) => crash(kubernetes, `web-${i % PODS}`)),
    atRandom(OTHERS_PER_SECOND, () => writeOther(kubernetes)),
  ])
  kubelet.child.off('message', noteRead)
  if (reads > 0 !== logs.length > 0) throw new Error('the rule did not do what is measured')
  return (await delaysAt(hook.url)).slice(before)
}

/** Until the watches are open, and its code is compiled. */
async function warmUp(kubernetes: Kubernetes, url: string): Promise<void> {
  while ((await delaysAt(url)).length < WARM_UP_SECONDS * OTHERS_PER_SECOND) {
    await writeOther(kubernetes)
    await pause(1_000 / OTHERS_PER_SECOND)
  }
}

/** Of the requests that have the time of their write. */
async function delaysAt(url: string): Promise<number[]> {
  const { delays } = (await (await request(`${url}/stats`)).body.json()) as { delays: (number | null)[] }
  return delays.filter((it) => it !== null)
}

async function writeOther({ request: write }: Kubernetes): Promise<void> {
  const sentAt = String(performance.timeOrigin + performance.now())
  const annotations = { 'bench/sent-at': sentAt }
  await write('POST', '/api/v1/namespaces/default/configmaps', {
    metadata: { generateName: 'other-', annotations },
  })
}

let events = 0

function crash({ request: write }: Kubernetes, pod: string): Promise<void> {
  return createEvent(write, { namespace: 'default', pod, name: `${pod}.${++events}` })
}

/** So many a second, each at a random time of its share: at fixed times the logs of one crash would always meet the same other writes. */
async function atRandom(perSecond: number, act: (i: number) => Promise<unknown>): Promise<void> {
  const startedMs = performance.now()
  const acts: Promise<unknown>[] = []
  for (let i = 0; i < perSecond * SECONDS; i++) {
    const dueMs = startedMs + ((i + Math.random()) / perSecond) * 1_000
    await pause(Math.max(0, dueMs - performance.now()))
    acts.push(act(i))
  }
  await Promise.all(acts)
}
