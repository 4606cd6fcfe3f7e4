import { cronJob } from '../manifests/batch.ts'
import { configMap, namespace, node, secret } from '../manifests/cluster.ts'
import { databaseDefinition } from '../manifests/database.ts'
import type { App } from '../manifests/workload.ts'
import { provision } from './databases.ts'
import { install } from './deployments.ts'
import type { Scene, World } from './world.ts'

const NODES = ['worker-1', 'worker-2', 'worker-3']

const NAMESPACES = {
  default: undefined,
  'kube-system': undefined,
  'kube-public': undefined,
  'kube-node-lease': undefined,
  shop: 'shop',
  pay: 'pay',
  reports: 'data',
}

/** An application of the demo with what most of them have in common. */
export function app(
  namespaceName: string,
  name: string,
  team: string,
  version: string,
  replicas: number,
): App {
  const image = `registry.example.com/${namespaceName}/${name}:${version}`
  return { name, namespace: namespaceName, team, image, replicas, memory: '256Mi', port: 8080 }
}

const APPS: readonly App[] = [
  {
    ...app('kube-system', 'coredns', 'platform', '1.13.1', 2),
    image: 'registry.k8s.io/coredns/coredns:v1.13.1',
  },
  app('shop', 'storefront', 'shop', '2.14.1', 3),
  app('shop', 'cart', 'shop', '1.8.0', 2),
  app('shop', 'search', 'shop', '4.0.3', 2),
  app('pay', 'checkout', 'pay', '3.2.9', 2),
]

export const NIGHTLY_REPORT = app('reports', 'nightly-report', 'data', '0.9.4', 1)
export const FORECAST: App = { ...app('reports', 'forecast', 'data', '0.3.0', 1), memory: '96Gi' }

/** Builds the cluster as it is when the day begins. */
export function* setUp(world: World): Scene {
  const { store, chance } = world
  for (const [name, team] of Object.entries(NAMESPACES)) {
    store.put(namespace(name, team))
    store.put(configMap('kube-root-ca.crt', name, { 'ca.crt': certificate(chance.hex(640)) }))
  }
  for (const [i, name] of NODES.entries()) store.put(node(name, i, world.now()))
  store.put(databaseDefinition(world.now()))
  for (const name of ['shop', 'pay']) {
    const url = `postgres://${name}:${chance.hex(24)}@${name}-db.${name}:5432/${name}`
    store.put(secret(`${name}-database`, name, { url }))
  }
  for (const it of APPS) yield* install(world, it)
  store.put(cronJob(NIGHTLY_REPORT, '0 2 * * *'))
  yield* provision(world, { name: 'orders', namespace: 'shop', team: 'shop', tier: 'gold', version: '17.4' })
  yield* provision(world, { name: 'ledger', namespace: 'pay', team: 'pay', tier: 'gold', version: '17.4' })
}

function certificate(digits: string): string {
  const lines =
    Buffer.from(digits)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
