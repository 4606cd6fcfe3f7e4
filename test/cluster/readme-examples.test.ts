import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { startApp } from '../../src/app/app.ts'
import { demoStarter, STARTER } from '../../src/config/starter.ts'
import { silentLog } from '../../src/observe/log.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { loadText } from '../config/load-text.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

interface Example {
  kubernetes?: object
  server?: object
  include?: { from: string; to: string }[]
  sinks: Record<string, unknown>
  rules: { name: string; to?: string | (string | Record<string, unknown>)[] }[]
}

const ROOT = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8')
const blocksOf = (file: string) =>
  [...read(file).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text)
const ofChart = (text: string) => stringify((parse(text) as { config?: object }).config)

/** By what they are in: the README, all that deploy/ ships or shows with rules in it, and what runs without a configuration. */
const EXAMPLES: [where: string, text: string][] = [
  ...blocksOf('README.md').map((text, i): [string, string] => [`README.md, ${i + 1}`, text]),
  ...globSync('deploy/{compose,kustomize/overlays/*,helm/*/files}/*.yaml', { cwd: fileURLToPath(ROOT) })
    .toSorted()
    .map((file): [string, string] => [file, read(file)])
    .filter(([, text]) => /^watch:/m.test(text)),
  ...globSync('deploy/**/*.md', { cwd: fileURLToPath(ROOT) }).flatMap((file) =>
    blocksOf(file).flatMap((text): [string, string][] =>
      /^ {2}rules:/m.test(text) ? [[file, ofChart(text)]] : [],
    ),
  ),
  ['the starter', STARTER],
  ['the starter of the demo', demoStarter('http://127.0.0.1:9')],
]
const DATABASES = '/apis/stable.example.com/v1/namespaces/shop/databases'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'

let kubernetes: Kubernetes
let redis: RedisServer
let hook: Receiver
let stack: AsyncDisposableStack
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  kubernetes = stack.use(await borrowKubernetes())
  redis = stack.use(await startRedis())
  hook = stack.use(await startReceiver())
  await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  await kubernetes.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'databases.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'databases', singular: 'database', kind: 'Database' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  })
  const isServed = () =>
    kubernetes.request('GET', DATABASES).then(
      () => true,
      () => false,
    )
  await waitFor(isServed, { what: 'databases to be served' })
})
afterAll(() => stack?.[Symbol.asyncDispose]())

/** As it is written, but for how long it waits and where it is sent to: sinks of the same names, and a Redis of this machine. */
function runnable(text: string, index: number): string {
  const { kubernetes: _k, server: _s, ...example } = parse(text.replaceAll('for: 2m', 'for: 1s')) as Example
  const sinks = Object.keys(example.sinks).map((name) => [
    name,
    { type: 'webhook', url: `${hook.url}/${index}/${name}` },
  ])
  const nameOf = (to: string | Record<string, unknown>) => (typeof to === 'string' ? to : Object.keys(to)[0])
  const rules = example.rules.map((rule) =>
    rule.to === undefined ? rule : { ...rule, to: [rule.to].flat().map(nameOf) },
  )
  const own = {
    cluster: `example-${index}`,
    redis: { url: redis.url },
    server: { host: '127.0.0.1', port: 0 },
  }
  return stringify({ ...example, ...own, sinks: Object.fromEntries(sinks), rules })
}

/** kubeherald with this configuration in the process of the test, ready. */
async function start(text: string, cluster: string): Promise<AsyncDisposable> {
  const loaded = await loadText(text)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  await using opening = new AsyncDisposableStack()
  const client = connectCluster({ kubeconfig: kubernetes.kubeconfig, env: {}, userAgent: 'test' })
  opening.defer(() => client.close())
  const target = { config: loaded.config, redis: { url: redis.url }, client, namespace: 'default' }
  const app = await startApp({ ...target, cluster, role: 'all', log: silentLog })
  opening.defer(async () => void (await app.stop()))
  await waitFor(async () => (await fetch(`${app.url}/readyz`)).ok, { what: 'it to be ready' })
  return opening.move()
}

/** Something for each rule of the examples. */
async function happen(name: string): Promise<void> {
  const events = [
    { type: 'Warning', reason: 'BackOff', message: 'Back-off restarting failed container app in pod web-1' },
    { type: 'Warning', reason: 'Unhealthy', message: 'Readiness probe failed', count: 5 },
    { type: 'Normal', reason: 'Pulled', message: 'Container image is there' },
  ]
  for (const [i, event] of events.entries())
    await kubernetes.request('POST', '/api/v1/namespaces/shop/events', {
      metadata: { name: `${name}-${i}` },
      involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
      ...event,
    })
  await kubernetes.request('POST', DATABASES, {
    apiVersion: 'stable.example.com/v1',
    kind: 'Database',
    metadata: { name, labels: { tier: 'gold' } },
  })
  await kubernetes.request('POST', '/api/v1/nodes', { metadata: { name } })
  await kubernetes.request('PATCH', `/api/v1/nodes/${name}/status`, {
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  })
  const template = {
    metadata: { labels: { app: name } },
    spec: { containers: [{ name: 'app', image: 'web:1' }] },
  }
  await kubernetes.request('POST', DEPLOYMENTS, {
    metadata: { name, labels: { team: 'shop' } },
    spec: { selector: { matchLabels: { app: name } }, template },
  })
  const changes = [
    { spec: { replicas: 2 } },
    { spec: { template: { spec: { containers: [{ name: 'app', image: 'web:2' }] } } } },
    { metadata: { labels: { tier: 'web' } } },
  ]
  for (const change of changes) await kubernetes.request('PATCH', `${DEPLOYMENTS}/${name}`, change)
}

test.each(EXAMPLES.map(([where, text], index) => [where, text, index] as const))(
  'the example of %s tells what its rules say',
  async (_where, text, index) => {
    const { rules } = parse(text) as Example
    await using _kubeherald = await start(runnable(text, index), `example-${index}`)
    await happen(`change-${index}`)
    const telling = rules.filter(({ to }) => to !== undefined)
    expect(telling.length).toBeGreaterThan(0)
    const told = () =>
      hook.requests
        .filter(({ path }) => path.startsWith(`/hook/${index}/`))
        .map(({ path, body }) => `${JSON.parse(body).data.rule} → ${path.split('/').at(-1)}`)
    const sinksOf = ({ to }: Example['rules'][number]) =>
      [to ?? []].flat().map((it) => (typeof it === 'string' ? it : (Object.keys(it)[0] as string)))
    const wanted = telling.flatMap((rule) => sinksOf(rule).map((sink) => `${rule.name} → ${sink}`))
    const missing = () => wanted.filter((it) => !told().includes(it))
    await waitFor(() => missing().length === 0, {
      what: () => `${missing()}; told: ${told()}`,
      timeoutMs: 20_000,
    })
  },
)
