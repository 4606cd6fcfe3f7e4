import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveApi } from '../../src/demo/api/server.ts'
import { createStore, type Store } from '../../src/demo/api/store.ts'
import { chanceOf, type KubeObject } from '../../src/demo/objects.ts'
import { programMain } from '../program.ts'
import { freePort } from '../servers/ports.ts'
import { startProgram } from '../servers/process.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

export const TOKENS = { reader: 'reader-token-0123456789abcdef', ops: 'ops-token-0123456789abcdefgh' }

/** What ships, as a process of its own, with a cluster, a Redis and receivers. */
export interface PageBed extends AsyncDisposable {
  /** Of the page, without the last slash. */
  url: string
  store: Store
  /** Receives all; refuses all; is not there. */
  oncall: Receiver
  pager: Receiver
  /** An answer of the API. */
  api(path: string): Promise<any>
}

const configOf = ({ redis, port, oncall, pager, bus }: Record<string, string | number>) => `
cluster: test
redis: { url: "${redis}" }
server:
  port: ${port}
  tokens:
    - { name: reader, role: read, token: "${TOKENS.reader}" }
    - { name: ops, role: act, token: "${TOKENS.ops}" }
journal: { keep: 1h }
watch: [Event, Deployment, ConfigMap]
sinks:
  oncall: { type: mattermost, url: "${oncall}" }
  pager: { type: webhook, url: "${pager}" }
  bus: { type: webhook, url: "http://127.0.0.1:${bus}/" }
rules:
  - name: noise
    when: { kind: Event, type: Normal }
    drop: true
  - name: crash-loops
    when: { kind: Event, reason: BackOff }
    throttle: { per: regarding, every: 30m }
    to: [oncall, pager]
  - name: probes
    when: { kind: Event, reason: Unhealthy }
    to: pager
  - name: rollouts
    when: { kind: Deployment }
    changed: spec.template.spec.containers.*.image
    to: [oncall, bus]
  - name: outages
    when: { kind: ConfigMap, name: "outage-*" }
    resolve: { after: 1h }
    to: oncall
  - name: settings
    when: { kind: ConfigMap }
    message: { title: "{{ object.data.title }}", text: "{{ object.data.text }}" }
    to: oncall
  - name: refused
    when: { kind: ConfigMap, name: hostile-refused }
    to: pager
`

export async function startPageBed(): Promise<PageBed> {
  await using stack = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-page-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const store = createStore({ chance: chanceOf(Math.random), clock: Date, history: 1_000 })
  store.put(deployment('shop/web:1.41'))
  const cluster = stack.use(await serveApi(store))
  const redis = stack.use(await startRedis())
  const oncall = stack.use(await startReceiver())
  const pager = stack.use(await startReceiver())
  pager.answer(() => ({ status: 400, body: 'unknown routing key' }))
  const [port, bus] = [await freePort(), await freePort()]
  const parts = { redis: redis.url, port, oncall: oncall.url, pager: pager.url, bus }
  writeFileSync(join(dir, 'kubeherald.yaml'), configOf(parts))
  writeFileSync(join(dir, 'kubeconfig'), kubeconfigOf(cluster.url))
  const env = { PATH: process.env['PATH'], HOME: dir, KUBECONFIG: join(dir, 'kubeconfig'), TZ: 'UTC' }
  const program = startProgram(process.execPath, [programMain(), 'run', '-c', 'kubeherald.yaml'], {
    cwd: dir,
    env,
  })
  stack.defer(() => program.end('SIGTERM'))
  const url = `http://127.0.0.1:${port}`
  await waitFor(() => /kubeherald .* started/.test(program.output()) || program.ended(), {
    timeoutMs: 60_000,
    what: () => `a start; it said ${program.output()}`,
  })
  if (program.ended()) throw new Error(program.output())
  const headers = { authorization: `Bearer ${TOKENS.ops}` }
  const api = async (path: string): Promise<any> => {
    const response = await fetch(`${url}/api/v1${path}`, { headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  await waitFor(async () => (await api('/watches')).items.every((it: any) => it.phase === 'watching'), {
    what: 'the watches',
  })
  const moved = stack.move()
  return { url, store, oncall, pager, api, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

export function deployment(image: string): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', labels: { team: 'storefront' } },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } },
    },
  }
}

/** A ConfigMap that is an incident. */
export function outage(round: number): KubeObject {
  return {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'outage-1', namespace: 'shop' } },
    data: { round: String(round) },
  } as KubeObject
}

/** A warning about the pod shop/web-1, as kubelets send it. */
export function warning(reason: string, message: string, count = 1): KubeObject {
  const time = new Date().toISOString().replace(/\.\d+/, '')
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `web-1.${reason.toLowerCase()}`, namespace: 'shop' },
    ...{ type: 'Warning', reason, message, count, firstTimestamp: time, lastTimestamp: time },
    ...{ source: { component: 'kubelet' }, reportingComponent: 'kubelet' },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'pod-1' },
  } as KubeObject
}

export const SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(2)>'

/** Markup, control characters and far too much in each field that can hold them. */
export function hostile(round: number, name = 'hostile'): KubeObject {
  const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`l${i}`, `v${round}`]))
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: 'shop',
      labels: { ...labels, [SCRIPT]: SCRIPT },
      annotations: { note: `${round}${'x'.repeat(1_000_000)}`, [SCRIPT]: `${SCRIPT}${round}` },
    },
    data: { title: `${SCRIPT} \u202egpj.exe ${round}`, text: `${SCRIPT} [a](javascript:alert(3)) ${round}` },
  } as KubeObject
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server } }],
    users: [{ name: 'test', user: {} }],
  })
}
