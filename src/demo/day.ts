import type { Resource } from '../event.ts'
import {
  CONFIG_MAP,
  CRD,
  DATABASE,
  DEPLOYMENT,
  EVENT,
  JOB,
  NAMESPACE,
  NODE,
  POD,
  SERVICE,
} from './resources.ts'
import type { DemoObject, DemoStore } from './store.ts'

/** One thing that happens, and how long the cluster is quiet after it. */
export interface Moment {
  act(): void
  afterMs: number
}

const SHOP = 'shop'
const IMAGES = ['1.4.2', '1.5.0', '1.5.1', '1.6.0']

/** What is there when the demo begins. */
export function furnish(store: DemoStore): void {
  for (const name of ['kube-system', 'default', SHOP, 'payments'])
    store.create(NAMESPACE, { name, status: { phase: 'Active' } })
  for (const name of ['node-a', 'node-b'])
    store.create(NODE, { name, status: { conditions: [{ type: 'Ready', status: 'True' }] } })
  store.create(CRD, {
    name: 'databases.stable.example.com',
    spec: { group: 'stable.example.com', names: { kind: 'Database' } },
  })
  store.create(SERVICE, {
    name: 'web',
    namespace: SHOP,
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
  store.create(CONFIG_MAP, { name: 'web-settings', namespace: SHOP, data: { currency: 'EUR' } })
  store.create(DEPLOYMENT, deployment('web', SHOP, IMAGES[0] as string, 3))
  store.create(DEPLOYMENT, deployment('cart', SHOP, '2.1.0', 2))
  for (let i = 0; i < 3; i++) store.create(POD, pod(`web-${i}`, SHOP, 'web', IMAGES[0] as string))
  for (let i = 0; i < 2; i++) store.create(POD, pod(`cart-${i}`, SHOP, 'cart', '2.1.0'))
  store.create(DATABASE, {
    name: 'orders',
    namespace: SHOP,
    labels: { tier: 'gold' },
    spec: { size: 'small' },
    status: { phase: 'Ready' },
  })
}

/** A day without end: roll-outs, a crash loop, scaling, a job, a database that grows, and whatever the nodes say. */
export function* day(store: DemoStore, parts: { random(): number; now(): string }): Generator<Moment> {
  const quiet = (shortMs: number, longMs: number) => shortMs + parts.random() * (longMs - shortMs)
  const moment = (act: () => void, afterMs = quiet(250, 900)): Moment => ({ act, afterMs })
  const say = (type: string, about: DemoObject, reason: string, message: string) =>
    tell(store, parts.now(), type, about, reason, message)
  const found = (resource: Resource, namespace: string, name: string) =>
    store.find(resource, namespace, name) as DemoObject

  for (let round = 1; ; round++) {
    const image = IMAGES[round % IMAGES.length] as string
    yield moment(() => {
      store.update(DEPLOYMENT, SHOP, 'web', (it) => ({ ...it, ...spec('web', image, 3) }))
      say(
        'Normal',
        found(DEPLOYMENT, SHOP, 'web'),
        'ScalingReplicaSet',
        `Scaled up replica set web-${round} to 1`,
      )
    })
    for (let i = 0; i < 3; i++) {
      const [old, fresh] = [`web-${(round - 1) * 3 + i}`, `web-${round * 3 + i}`]
      yield moment(() => {
        store.create(POD, pod(fresh, SHOP, 'web', image))
        say(
          'Normal',
          found(POD, SHOP, fresh),
          'Scheduled',
          `Successfully assigned ${SHOP}/${fresh} to node-${i % 2 ? 'a' : 'b'}`,
        )
      })
      yield moment(() =>
        say(
          'Normal',
          found(POD, SHOP, fresh),
          'Pulled',
          `Container image "registry.example.com/web:${image}" already present on machine`,
        ),
      )
      yield moment(() => store.remove(POD, SHOP, old))
    }
    yield* crashLoop(store, say, moment, parts.now)
    yield moment(() =>
      store.update(DEPLOYMENT, SHOP, 'cart', (it) => ({ ...it, ...spec('cart', '2.1.0', 2 + (round % 3)) })),
    )
    yield moment(() =>
      store.update(CONFIG_MAP, SHOP, 'web-settings', (it) => ({
        ...it,
        data: { currency: round % 2 ? 'USD' : 'EUR' },
      })),
    )
    const job = `report-${round}`
    yield moment(() =>
      store.create(JOB, {
        name: job,
        namespace: 'payments',
        spec: { backoffLimit: 2 },
        status: { active: 1 },
      }),
    )
    for (const [phase, message] of [
      ['Resizing', 'Volume grows to 20Gi'],
      ['Ready', 'Volume has 20Gi'],
    ] as const) {
      yield moment(() =>
        store.update(DATABASE, SHOP, 'orders', (it) => ({ ...it, status: { phase, message } })),
      )
    }
    yield moment(() =>
      say(
        'Warning',
        found(NODE, '', 'node-b'),
        'NodeHasDiskPressure',
        'Node node-b status is now: NodeHasDiskPressure',
      ),
    )
    yield moment(() =>
      say(
        'Warning',
        found(POD, SHOP, 'cart-0'),
        'FailedScheduling',
        '0/2 nodes are available: 2 Insufficient memory.',
      ),
    )
    yield moment(() => {
      store.update(JOB, 'payments', job, (it) => ({ ...it, status: { succeeded: 1 } }))
      say('Normal', found(JOB, 'payments', job), 'Completed', 'Job completed')
    })
    yield moment(() => store.remove(JOB, 'payments', job), quiet(1_000, 2_500))
  }
}

type Say = (type: string, about: DemoObject, reason: string, message: string) => DemoObject

/** An Event recurs: its count rises, the object stays the same. */
function* crashLoop(
  store: DemoStore,
  say: Say,
  moment: (act: () => void) => Moment,
  now: () => string,
): Generator<Moment> {
  let event: DemoObject | undefined
  for (let restarts = 1; restarts <= 4; restarts++) {
    yield moment(() => {
      const status = {
        phase: 'Running',
        containerStatuses: [
          { name: 'cart', restartCount: restarts, state: { waiting: { reason: 'CrashLoopBackOff' } } },
        ],
      }
      const broken = store.update(POD, SHOP, 'cart-1', (it) => ({ ...it, status })) as DemoObject
      if (!event)
        event = say('Warning', broken, 'BackOff', 'Back-off restarting failed container cart in pod cart-1')
      else
        store.update(EVENT, SHOP, event.metadata.name, (it) => ({
          ...it,
          count: restarts,
          lastTimestamp: now(),
        }))
    })
  }
  yield moment(() =>
    store.update(POD, SHOP, 'cart-1', (it) => ({
      ...it,
      status: { phase: 'Running', containerStatuses: [{ name: 'cart', ready: true }] },
    })),
  )
}

function tell(
  store: DemoStore,
  now: string,
  type: string,
  about: DemoObject,
  reason: string,
  message: string,
): DemoObject {
  const { name, namespace, uid } = about.metadata
  const suffix = (store.revision + 1).toString(16)
  return store.create(EVENT, {
    name: `${name}.${suffix}`,
    namespace: namespace ?? 'default',
    involvedObject: { apiVersion: about.apiVersion, kind: about.kind, namespace, name, uid },
    ...{ type, reason, message, count: 1, firstTimestamp: now, lastTimestamp: now },
    source: { component: about.kind === 'Pod' ? 'kubelet' : `${about.kind.toLowerCase()}-controller` },
  })
}

function spec(app: string, image: string, replicas: number): object {
  const containers = [
    { name: app, image: `registry.example.com/${app}:${image}`, ports: [{ containerPort: 8080 }] },
  ]
  return {
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers } },
    },
  }
}

function deployment(app: string, namespace: string, image: string, replicas: number) {
  return {
    name: app,
    namespace,
    labels: { app, team: namespace },
    ...spec(app, image, replicas),
    status: { readyReplicas: replicas },
  }
}

function pod(name: string, namespace: string, app: string, image: string) {
  return {
    name,
    namespace,
    labels: { app, team: namespace },
    metadata: {
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: `owner-of-${app}`, controller: true },
      ],
      managedFields: [
        { manager: 'kubelet', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: { 'f:status': {} } },
      ],
    },
    spec: { nodeName: 'node-a', containers: [{ name: app, image: `registry.example.com/${app}:${image}` }] },
    status: { phase: 'Running', podIP: '10.244.0.7' },
  }
}
