import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { startKubeherald } from './kubeherald.ts'

interface Example {
  sinks: Record<string, unknown>
  rules: { name: string; to?: string | (string | Record<string, unknown>)[] }[]
}

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const EXAMPLES = [...README.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text)
const DATABASES = '/apis/stable.example.com/v1/namespaces/shop/databases'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'

let kubernetes: Kubernetes
let redis: RedisServer
let hook: Receiver
let stack: AsyncDisposableStack
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  kubernetes = stack.use(await startKubernetes())
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
}, 120_000)
afterAll(() => stack?.[Symbol.asyncDispose]())

/** As it is written, but for how long it waits and where it is sent to: sinks of the same names, and a Redis of this machine. */
function runnable(text: string, index: number): string {
  const example = parse(text.replaceAll('for: 2m', 'for: 1s')) as Example
  const sinks = Object.keys(example.sinks).map((name) => [
    name,
    { type: 'webhook', url: `${hook.url}/${index}/${name}` },
  ])
  const nameOf = (to: string | Record<string, unknown>) => (typeof to === 'string' ? to : Object.keys(to)[0])
  const rules = example.rules.map((rule) =>
    rule.to === undefined ? rule : { ...rule, to: [rule.to].flat().map(nameOf) },
  )
  const own = { cluster: `example-${index}`, redis: { url: redis.url } }
  return stringify({ ...example, ...own, sinks: Object.fromEntries(sinks), rules })
}

/** Something for each rule of the examples. */
async function happen(name: string): Promise<void> {
  await kubernetes.request('POST', '/api/v1/namespaces/shop/events', {
    metadata: { name },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container app in pod web-1',
    involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-1' },
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
  await kubernetes.request('PATCH', `${DEPLOYMENTS}/${name}`, { spec: { replicas: 2 } })
}

test.each(EXAMPLES.map((text, index) => [index, text] as const))(
  'example %i of the README tells what its rules say',
  async (index, text) => {
    const { rules } = parse(text) as Example
    await using kubeherald = await startKubeherald({
      kubeconfig: kubernetes.kubeconfig,
      config: runnable(text, index),
    })
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
      what: () => `${missing()}; told: ${told()}\n${kubeherald.log().slice(-1_500)}`,
      timeoutMs: 20_000,
    })
  },
  60_000,
)
