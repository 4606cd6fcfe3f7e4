import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { checkPermissions } from '../../src/cli/check/check-cluster.ts'
import type { Config } from '../../src/config/schema.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { discover } from '../../src/watch/client/discovery.ts'
import { type Desk, openDesk } from '../cli/cli.ts'
import { loadText } from '../config/load-text.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { installWidgets } from './bed.ts'
import { startKubeherald } from './kubeherald.ts'
import { applyStrictly, kubeconfigOfAccount, pathOf } from './service-account.ts'
import { manifest, WIDGETS } from './workload.ts'

const WATCH = `
watch:
  - Event
  - Node
  - kind: Deployment
    namespaces: [shop, pay]
  - kind: widgets.stable.example.com
  - { kind: ConfigMap, namespaces: shop, labels: "app" }
  - { kind: Secret, namespaces: pay, fields: "metadata.name=app" }
leases: true
rules:
  - { name: teams, when: { kind: Deployment, namespaceLabels: team, owner: Deployment/web }, to: hook }
  - { name: of-pods, when: { kind: Event, regarding: { kind: Pod, labels: team } }, to: hook }
  - { name: all, to: hook }
`
const NAMESPACES = ['default', 'shop', 'pay', 'kubeherald', 'kube-system']
/** What WATCH needs, said again by hand: `resource`, `resource in namespace`. */
const LISTS = [
  'events',
  ...NAMESPACES.map((namespace) => `events in ${namespace}`),
  'nodes',
  'pods',
  ...NAMESPACES.map((namespace) => `pods in ${namespace}`),
  ...['shop', 'pay'].flatMap((it) => [`replicasets.apps in ${it}`, `jobs.batch in ${it}`]),
  'deployments.apps in shop',
  'deployments.apps in pay',
  'widgets.stable.example.com',
  ...NAMESPACES.map((namespace) => `widgets.stable.example.com in ${namespace}`),
  'configmaps in shop',
  'leases.coordination.k8s.io in kubeherald',
]
const ACCOUNT = { namespace: 'kubeherald', name: 'kubeherald' }
const env = { POD_NAMESPACE: ACCOUNT.namespace }
const signal = new AbortController().signal

let kubernetes: Kubernetes
let desk: Desk
let printed: string
let kubeconfig: string

beforeAll(async () => {
  kubernetes = await borrowKubernetes()
  desk = openDesk(env)
  await installWidgets(kubernetes)
  for (const name of ['shop', 'pay', 'kubeherald'])
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name } })
  const { stdout, stderr, code } = await desk.run('rbac', '-c', desk.write('permissions.yaml', WATCH))
  if (code !== 0) throw new Error(stderr)
  printed = stdout
  await applyStrictly(kubernetes, printed)
  kubeconfig = await kubeconfigOfAccount(kubernetes, ACCOUNT)
})

afterAll(async () => {
  desk?.[Symbol.dispose]()
  await kubernetes?.[Symbol.asyncDispose]()
})

test('with the printed permissions and no others, each without that right alone is named by check', async () => {
  const { config } = (await loadText(`${WATCH}\nsinks: { hook: { type: stdout } }`)) as { config: Config }
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  const catalogue = await discover(client, signal)
  const ask = async () =>
    (await checkPermissions(config, { client, catalogue, namespace: ACCOUNT.namespace }, signal)).missing.map(
      ({ sentence }) => sentence.split(':')[0],
    )
  await waitFor(async () => (await ask()).length === 0, { what: 'the printed permissions to be enough' })
  const tried: string[] = []
  for (const { path, role, rest, title } of withoutEach(printed)) {
    await kubernetes.request('PUT', path, { ...role, rules: rest })
    let missing: (string | undefined)[] = []
    // The right before it comes back at the same time.
    await waitFor(
      async () => {
        missing = await ask()
        return missing.join() === `cannot ${title}`
      },
      { what: () => `permission to ${title} alone to be missing; missing: ${missing}` },
    )
    tried.push(title)
    await kubernetes.request('PUT', path, role)
  }
  expect(tried).toEqual(
    expect.arrayContaining(['get namespace kube-system', 'watch secrets "app" in namespace pay']),
  )
  expect(tried.length).toBeGreaterThanOrEqual(21)
  await client.close()
})

test('with the printed permissions nothing else can be read', async () => {
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  const { resources } = await discover(client, signal)
  const questions = resources
    .filter(({ preferred }) => preferred)
    .flatMap(({ group, version, plural, namespaced }) => {
      const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
      const title = group === '' ? plural : `${plural}.${group}`
      const inside = namespaced ? NAMESPACES : []
      return [
        { title, path: `${root}/${plural}` },
        ...inside.map((it) => ({ title: `${title} in ${it}`, path: `${root}/namespaces/${it}/${plural}` })),
      ]
    })
  const statusOf = async (path: string) => (await client.get(path, {}, signal)).status
  const readable: string[] = []
  const odd: string[] = []
  const waiting = questions.flatMap(({ title, path }) => [
    { title, path },
    { title: `one of ${title}`, path: `${path}/some-name` },
  ])
  const count = waiting.length
  const work = async () => {
    for (let it = waiting.shift(); it; it = waiting.shift()) {
      const status = await statusOf(it.path)
      if (status === 200) readable.push(it.title)
      else if (!isNoAnswer(status, it.path)) odd.push(`${status} ${it.path}`)
    }
  }
  /** A 404 would tell whether an object is there; but for our own Leases, and where no object can have the path. */
  const isNoAnswer = (status: number, path: string) =>
    status === 403 ||
    (status === 404 && (!path.includes('/namespaces/') || path.includes('/namespaces/kubeherald/leases/')))
  await Promise.all(Array.from({ length: 16 }, work))
  expect(readable.toSorted()).toEqual(LISTS.toSorted())
  expect(odd).toEqual([])
  expect(count).toBeGreaterThan(300)
  const named = '/api/v1/namespaces/pay/secrets?fieldSelector=metadata.name%3D'
  expect([await statusOf(`${named}app`), await statusOf(`${named}other`)]).toEqual([200, 403])
  await client.close()
})

test('with the printed permissions kubeherald does its whole job as that service account', async () => {
  await using redis = await startRedis()
  await using hook = await startReceiver()
  await using kubeherald = await startKubeherald({
    kubeconfig,
    env,
    config: `cluster: test\nredis: { url: "${redis.url}" }\n${WATCH}
sinks: { hook: { type: webhook, url: "${hook.url}" } }`,
  })
  // A process that waits for its leases is ready, and does not watch yet.
  const phases = async () =>
    (await kubeherald.status()).instances.flatMap(({ watches }: any) => watches.map((it: any) => it.phase))
  await waitFor(async () => (await phases()).join() === Array(7).fill('watching').join(), {
    timeoutMs: 30_000,
    what: 'seven watches',
  })
  const namespaced = (path: string, namespace: string) => path.replace('/default/', `/${namespace}/`)
  const events = '/api/v1/namespaces/default/events'
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'web' }
  const secret = { metadata: { name: 'app' }, stringData: { key: 'never-to-be-seen' } }
  const post = (path: string, body: object) => kubernetes.request('POST', path, body)
  await post(events, { metadata: { name: 'back-off' }, involvedObject, reason: 'BackOff', type: 'Warning' })
  await post('/api/v1/nodes', { metadata: { name: 'worker-1' } })
  for (const namespace of ['shop', 'pay']) {
    const path = namespaced('/apis/apps/v1/namespaces/default/deployments', namespace)
    await post(path, manifest('deployments', `web-${namespace}`, 0))
  }
  await post('/api/v1/namespaces/shop/configmaps', { metadata: { name: 'flags', labels: { app: 'a' } } })
  await post('/api/v1/namespaces/pay/secrets', secret)
  await post(WIDGETS, manifest(WIDGETS, 'gadget', 0))
  const told = () =>
    new Set(hook.requests.map(({ body }) => JSON.parse(body)).map(({ data, name }) => `${data.type} ${name}`))
  const added = ['back-off', 'worker-1', 'web-shop', 'web-pay', 'flags', 'app', 'gadget'].map(
    (it) => `ADDED ${it}`,
  )
  await waitFor(() => added.every((it) => told().has(it)), {
    timeoutMs: 30_000,
    what: () => `${added.join(', ')}; came ${[...told()].join(', ')}`,
  })
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await kubernetes.request('DELETE', `${crds}/widgets.stable.example.com`)
  await waitFor(() => told().has('DELETED gadget'), { timeoutMs: 30_000, what: 'the widget to be gone' })
  // A resourceVersion may be 403, and a port have it among its digits.
  const said = kubeherald.log().replaceAll(/"position":"\d+"/g, '')
  expect(said).not.toMatch(/\b403\b|cannot be read|never-to-be-seen/)
  // What check says to a person who forgot a permission, and how it ends.
  const binding = '/apis/rbac.authorization.k8s.io/v1/namespaces/pay/rolebindings/kubeherald'
  await kubernetes.request('DELETE', binding)
  await waitFor(async () => (await kubeherald.command('check')).code === 2, {
    what: 'check to miss the permission',
  })
  const { stdout } = await kubeherald.command('check')
  expect(stdout).toContain(
    'error: cannot list and watch deployments.apps in namespace pay: needed by watch[2] at ',
  )
  expect(stdout).toMatch(
    /error: cannot list and watch secrets "app" in namespace pay: needed by watch\[5\] at .*kubeherald.yaml:\d+:5; without it watch\[5\] cannot run/,
  )
  expect(stdout).toContain('rbac" prints the permissions that are needed')
  expect(stdout).toMatch(/has 4 problems\n$/)
})

interface Role {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
  rules: { apiGroups: string[]; resources: string[]; resourceNames?: string[]; verbs: string[] }[]
}

/** Each role without one verb on one resource (or on one object), and how a person calls what is missing. */
function* withoutEach(yaml: string) {
  const roles = parseAllDocuments(yaml).map((document) => document.toJS() as Role)
  for (const role of roles.filter(({ rules }) => rules)) {
    const { namespace } = role.metadata
    for (const rule of role.rules)
      for (const verb of rule.verbs)
        for (const name of rule.resourceNames ?? [undefined]) {
          const others = role.rules.filter((it) => it !== rule)
          const verbs = rule.verbs.filter((it) => it !== verb)
          const names = (rule.resourceNames ?? []).filter((it) => it !== name)
          const rest = [...others]
          if (verbs.length > 0) rest.push({ ...rule, verbs })
          if (names.length > 0) rest.push({ ...rule, resourceNames: names, verbs: [verb] })
          const [group, resource] = [rule.apiGroups[0]!, rule.resources[0]!]
          const plain = group === '' ? resource : `${resource}.${group}`
          const object = name === undefined ? plain : `${plain} "${name}"`
          const where = namespace === undefined ? 'in the cluster' : `in namespace ${namespace}`
          const title = resource === 'namespaces' ? `${verb} namespace ${name}` : `${verb} ${object} ${where}`
          yield { path: pathOf(role), role, rest, title }
        }
  }
}
