import type { CronJob } from '../manifests/batch.ts'
import { type ConfigMap, configMap, type Node, namespace, secret } from '../manifests/cluster.ts'
import type { Database } from '../manifests/database.ts'
import { type Deployment, imageOf } from '../manifests/workload.ts'
import type { KubeObject, Stored } from '../objects.ts'
import { app, FORECAST, NIGHTLY_REPORT } from './beginning.ts'
import { backUp, provision, retire, upgrade } from './databases.ts'
import { install, rollOut, scale, uninstall } from './deployments.ts'
import { runCronJob, runGreedyJob } from './jobs.ts'
import { crashLoop, memoryPressure, missingImage } from './troubles.ts'
import type { Scene, World } from './world.ts'

const PAUSE_MS = [350, 1_100] as const

/** A day that begins anew when it is over. Yields how long it is until the next change, in milliseconds. */
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

/** The people of the shop. They and the platform's people work on different things at the same time. */
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
