import {
  type ConfigMap,
  configMap,
  type Database,
  type DatabaseOptions,
  type DatabaseStatus,
  database,
  databaseDefinition,
  type Node,
  namespace,
  node,
  secret,
} from '../manifests/cluster.ts'
import { type App, type CronJob, cronJob, type Deployment, imageOf } from '../manifests/workload.ts'
import type { KubeObject, Stored } from '../objects.ts'
import { install, rollOut, scale, uninstall } from './deployments.ts'
import { crashLoop, memoryPressure, missingImage, runCronJob, runGreedyJob } from './incidents.ts'
import type { Scene, World } from './world.ts'

const PAUSE_MS = [350, 1_100] as const

/** Plays an endless day. Yields the milliseconds until the next change. */
export function* playDay(world: World): Generator<number, never, void> {
  const tracks = [endless(shopDay, world), endless(platformDay, world)] as const
  for (;;) {
    const before = world.store.revision()
    world.chance.pick(tracks).next()
    world.forgetEvents()
    if (world.store.revision() > before) yield world.chance.between(...PAUSE_MS)
  }
}

function* endless(day: (world: World) => Scene, world: World): Scene<never> {
  for (;;) yield* day(world)
}

/** The work of the shop's team; the platform's team works at the same time. */
function* shopDay(world: World): Scene {
  const find = <T extends KubeObject>(apiVersion: string, kind: string, name: string) =>
    world.find<T>(apiVersion, kind, 'shop', name)
  const deploymentOf = (name: string) => find<Deployment>('apps/v1', 'Deployment', name)
  const storefront = deploymentOf('storefront')
  yield* rollOut(world, storefront, nextPatch(imageOf(storefront.spec.template)))
  yield* scale(world, deploymentOf('cart'), 4)
  yield* editConfig(world, find<ConfigMap>('v1', 'ConfigMap', 'search-config'))
  yield* missingImage(
    world,
    deploymentOf('search'),
    `registry.example.com/shop/search:4.1.0-rc${world.chance.between(1, 9)}`,
  )
  yield* previewEnvironment(world)
  yield* scale(world, deploymentOf('cart'), 2)
}

function* platformDay(world: World): Scene {
  const checkout = world.find<Deployment>('apps/v1', 'Deployment', 'pay', 'checkout')
  yield* crashLoop(world, checkout, 4)
  yield* rollOut(world, checkout, nextPatch(imageOf(checkout.spec.template)))
  yield* upgrade(world, world.find<Database>('stable.example.com/v1', 'Database', 'shop', 'orders'))
  const nightly = world.find<CronJob>('batch/v1', 'CronJob', 'reports', NIGHTLY_REPORT.name)
  yield* runCronJob(world, nightly, NIGHTLY_REPORT)
  yield* runGreedyJob(world, FORECAST)
  yield* rotatePassword(world)
  const [first, ...others] = world.all<Node>('v1', 'Node')
  if (first) yield* memoryPressure(world, world.chance.pick([first, ...others]))
  yield* backUp(world, world.find<Database>('stable.example.com/v1', 'Database', 'pay', 'ledger'))
}

function* editConfig(world: World, it: Stored<ConfigMap>): Scene {
  const LOG_LEVEL = world.store.get<ConfigMap>(it)?.data['LOG_LEVEL'] === 'debug' ? 'info' : 'debug'
  world.change(it, (current) => ({ ...current, data: { ...current.data, LOG_LEVEL } }))
  yield
}

function* rotatePassword(world: World): Scene {
  const url = `postgres://pay:${world.chance.hex(24)}@pay-db.pay:5432/pay`
  world.store.put(secret('pay-database', 'pay', { url }))
  yield
}

/** A namespace for a pull request: everything in it comes and goes. */
function* previewEnvironment(world: World): Scene {
  const name = `preview-${world.chance.between(1_000, 9_999)}`
  const created = world.store.put(namespace(name, 'shop'))
  world.store.put(configMap('kube-root-ca.crt', name, { 'ca.crt': '' }))
  yield
  const data = yield* provision(world, {
    name: 'orders',
    namespace: name,
    team: 'shop',
    tier: 'silver',
    version: '17.4',
  })
  yield* install(world, app(name, 'storefront', 'shop', `pr-${world.chance.between(100, 999)}`, 1))
  yield
  yield* uninstall(world, world.find<Deployment>('apps/v1', 'Deployment', name, 'storefront'))
  yield* retire(world, data)
  yield
  world.change(created, (current) => ({ ...current, status: { phase: 'Terminating' } }))
  yield
  world.store.remove({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kube-root-ca.crt', namespace: name },
  })
  world.store.remove(created)
  yield
}

function nextPatch(image: string): string {
  return image.replace(/(?<!\d)\d+$/, (patch) => String(Number(patch) + 1))
}

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
function app(namespaceName: string, name: string, team: string, version: string, replicas: number): App {
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

const NIGHTLY_REPORT = app('reports', 'nightly-report', 'data', '0.9.4', 1)
const FORECAST: App = { ...app('reports', 'forecast', 'data', '0.3.0', 1), memory: '96Gi' }

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

const OPERATOR = 'database-operator'

/** The operator makes a new database ready. */
function* provision(world: World, options: DatabaseOptions): Scene<Stored<Database>> {
  const it = world.store.put(database(options))
  yield
  world.event(it, OPERATOR, 'Provisioning', `Creating volume and ${it.spec.replicas} replicas`)
  setStatus(world, it, { phase: 'Provisioning', message: 'waiting for volumes' })
  yield
  for (let ready = 1; ready <= it.spec.replicas; ready++) {
    setStatus(world, it, {
      readyReplicas: ready,
      message: `${ready} of ${it.spec.replicas} replicas are ready`,
    })
    yield
  }
  const endpoint = `${options.name}.${options.namespace}.svc:5432`
  setStatus(world, it, {
    phase: 'Ready',
    endpoint,
    version: options.version,
    message: 'all replicas are ready',
  })
  world.event(it, OPERATOR, 'Ready', `Database is ready at ${endpoint}`)
  yield
  return it
}

/** A minor upgrade, replica after replica. */
function* upgrade(world: World, it: Stored<Database>): Scene {
  const version = nextMinor(world.store.get<Database>(it)?.spec.version ?? it.spec.version)
  world.change(it, (current) => ({ ...current, spec: { ...current.spec, version } }))
  yield
  world.event(it, OPERATOR, 'UpgradeStarted', `Upgrading to ${version}`)
  for (let done = 0; done < it.spec.replicas; done++) {
    const readyReplicas = it.spec.replicas - 1
    setStatus(world, it, {
      phase: 'Upgrading',
      readyReplicas,
      message: `replica ${done} restarts with ${version}`,
    })
    yield
  }
  if (world.chance.between(0, 1) === 0) {
    world.event(it, OPERATOR, 'ReplicationLag', 'Replica 2 is 14s behind the primary', { type: 'Warning' })
    yield
  }
  setStatus(world, it, {
    phase: 'Ready',
    readyReplicas: it.spec.replicas,
    version,
    message: 'all replicas are ready',
  })
  world.event(it, OPERATOR, 'UpgradeFinished', `Now at ${version}`)
  yield
}

function* backUp(world: World, it: Stored<Database>): Scene {
  setStatus(world, it, { phase: 'BackingUp', message: 'base backup is running' })
  yield
  yield
  setStatus(world, it, { phase: 'Ready', lastBackup: world.now(), message: 'all replicas are ready' })
  world.event(it, OPERATOR, 'BackupFinished', `Stored ${world.chance.between(38, 44)} GiB`)
  yield
}

function* retire(world: World, it: Stored<Database>): Scene {
  setStatus(world, it, { phase: 'Deleting', message: 'volumes are being deleted' })
  yield
  world.store.remove(it)
}

function setStatus(world: World, it: Stored<Database>, status: Partial<DatabaseStatus>): void {
  world.change(it, (current) => {
    const observedGeneration = current.metadata.generation ?? 1
    return { ...current, status: { ...current.status, observedGeneration, ...status } }
  })
}

function nextMinor(version: string): string {
  const [major = '17', minor = '0'] = version.split('.')
  return `${major}.${Number(minor) + 1}`
}
