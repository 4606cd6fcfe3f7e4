import { configMap, type Node, service } from '../manifests/cluster.ts'
import {
  type App,
  type Deployment,
  deployment,
  imageOf,
  type Pod,
  type PodOptions,
  pod,
  type ReplicaSet,
  replicaSet,
  withConditions,
  withContainer,
  withImage,
  withReady,
} from '../manifests/workload.ts'
import { ownedBy, type Stored } from '../objects.ts'
import type { Scene, World } from './world.ts'

const KEPT_REPLICA_SETS = 2

/** Deploys an application for the first time. */
export function* install(world: World, app: App): Scene {
  const config = { LOG_LEVEL: 'info', FEATURE_FLAGS: 'fast-lane,gift-cards', CACHE_TTL: '30s' }
  world.store.put(configMap(`${app.name}-config`, app.namespace, config))
  world.store.put(service(app, `10.43.${world.chance.between(0, 255)}.${world.chance.between(1, 254)}`))
  const created = world.store.put(deployment(app))
  yield
  const set = createReplicaSet(world, created)
  yield* scaleUp(world, created, set, app.replicas)
}

/** A new image: a pod of the new ReplicaSet starts before one of the old ends. */
export function* rollOut(world: World, started: Stored<Deployment>, image: string): Scene {
  const old = replicaSetOf(world, started)
  const changed = announce(world, started, image)
  yield
  const set = createReplicaSet(world, changed)
  for (let i = 1; i <= started.spec.replicas; i++) {
    yield* scaleUp(world, changed, set, i)
    if (old) yield* scaleDown(world, changed, old, started.spec.replicas - i)
  }
  forgetOldReplicaSets(world, changed)
  yield
}

/** Sets another image on the Deployment, as a user does. */
export function announce(world: World, it: Stored<Deployment>, image: string): Stored<Deployment> {
  return world.change(it, (current) => {
    const revision = Number(current.metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0) + 1
    const annotations = {
      ...current.metadata.annotations,
      'deployment.kubernetes.io/revision': String(revision),
    }
    const template = withImage(current.spec.template, image)
    return { ...current, metadata: { ...current.metadata, annotations }, spec: { ...current.spec, template } }
  })
}

/** More or fewer replicas of the same. */
export function* scale(world: World, it: Stored<Deployment>, replicas: number): Scene {
  const metric =
    replicas > it.spec.replicas ? 'cpu resource utilization above target' : 'All metrics below target'
  const message = `New size: ${replicas}; reason: ${metric}`
  const changed = world.change(it, (current) => ({ ...current, spec: { ...current.spec, replicas } }))
  world.event(changed, 'horizontal-pod-autoscaler', 'SuccessfulRescale', message)
  yield
  const set = replicaSetOf(world, changed)
  if (!set) return
  if (replicas > it.spec.replicas) yield* scaleUp(world, changed, set, replicas)
  else yield* scaleDown(world, changed, set, replicas)
}

export function* uninstall(world: World, it: Stored<Deployment>): Scene {
  const { name, namespace = '' } = it.metadata
  for (const set of replicaSetsOf(world, it)) {
    for (const running of podsOf(world, set)) yield* stopPod(world, running)
    world.store.remove(set)
    yield
  }
  world.store.remove(it)
  world.store.remove({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace } })
  yield
  world.store.remove({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-config`, namespace } })
}

function replicaSetsOf(world: World, { metadata }: Stored<Deployment>): Stored<ReplicaSet>[] {
  return world
    .all<ReplicaSet>('apps/v1', 'ReplicaSet')
    .filter((set) => set.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
}

/** The ReplicaSet that has pods of the image that the Deployment names now. */
export function replicaSetOf(world: World, it: Stored<Deployment>): Stored<ReplicaSet> | undefined {
  return replicaSetsOf(world, it).find((set) => imageOf(set.spec.template) === imageOf(it.spec.template))
}

/** A new ReplicaSet, or the one that had this image before. */
export function createReplicaSet(world: World, it: Stored<Deployment>): Stored<ReplicaSet> {
  const hash = `${world.chance.suffix(10)}`
  return (
    replicaSetOf(world, it) ?? world.store.put(replicaSet(it.metadata, hash, it.spec.template, ownedBy(it)))
  )
}

function* scaleUp(world: World, owner: Stored<Deployment>, set: Stored<ReplicaSet>, replicas: number): Scene {
  const grown = resize(world, owner, set, replicas)
  yield
  while (podsOf(world, set).length < replicas) {
    const created = addPod(world, grown)
    yield
    yield* startPod(world, created)
    report(world, owner)
    yield
  }
}

export function* scaleDown(
  world: World,
  owner: Stored<Deployment>,
  set: Stored<ReplicaSet>,
  replicas: number,
): Scene {
  const shrunk = resize(world, owner, set, replicas)
  yield
  for (const extra of podsOf(world, set).slice(replicas)) {
    const message = `Deleted pod: ${extra.metadata.name}`
    world.event(shrunk, 'replicaset-controller', 'SuccessfulDelete', message)
    yield* stopPod(world, extra)
    report(world, owner)
    yield
  }
}

function resize(world: World, owner: Stored<Deployment>, set: Stored<ReplicaSet>, replicas: number) {
  const before = world.store.get<ReplicaSet>(set)?.spec.replicas ?? 0
  if (before === replicas) return set
  const direction = replicas > before ? 'up' : 'down'
  const message = `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`
  world.event(owner, 'deployment-controller', 'ScalingReplicaSet', message)
  return world.change(set, (current) => ({ ...current, spec: { ...current.spec, replicas } }))
}

export function addPod(world: World, set: Stored<ReplicaSet>): Stored<Pod> {
  const { name, namespace = '' } = set.metadata
  return createPod(world, set, 'replicaset-controller', {
    name: `${name}-${world.chance.suffix(5)}`,
    generateName: `${name}-`,
    namespace,
    template: set.spec.template,
    ownerReferences: ownedBy(set),
  })
}

/** Updates the status of the ReplicaSets and the Deployment. */
export function report(world: World, owner: Stored<Deployment>): void {
  const counts = replicaSetsOf(world, owner).map((set) => {
    const pods = podsOf(world, set)
    const ready = pods.filter(isReady).length
    const status = {
      replicas: pods.length,
      ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
      observedGeneration: set.metadata.generation ?? 1,
    }
    world.change(set, (current) => ({ ...current, status }))
    return { pods: pods.length, ready, current: imageOf(set.spec.template) }
  })
  world.change(owner, (current) => {
    const sum = (of: (it: (typeof counts)[number]) => number) => counts.reduce((all, it) => all + of(it), 0)
    const [replicas, ready] = [sum((it) => it.pods), sum((it) => it.ready)]
    const image = imageOf(current.spec.template)
    const missing = current.spec.replicas - ready
    return {
      ...current,
      status: {
        observedGeneration: current.metadata.generation ?? 1,
        replicas,
        updatedReplicas: sum((it) => (it.current === image ? it.pods : 0)),
        ...(ready > 0 && { readyReplicas: ready, availableReplicas: ready }),
        ...(missing > 0 && { unavailableReplicas: missing }),
        conditions: conditionsOf(current, missing <= 0, world.now()),
      },
    }
  })
}

function conditionsOf({ status }: Deployment, available: boolean, at: string): object[] {
  const value = available ? 'True' : 'False'
  const [before] = (status.conditions ?? []) as { status: string; lastTransitionTime: string }[]
  const lastTransitionTime = before?.status === value ? before.lastTransitionTime : at
  const reason = available ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable'
  const message = `Deployment ${available ? 'has' : 'does not have'} minimum availability.`
  return [
    {
      type: 'Available',
      status: value,
      lastUpdateTime: lastTransitionTime,
      lastTransitionTime,
      reason,
      message,
    },
  ]
}

function forgetOldReplicaSets(world: World, it: Stored<Deployment>): void {
  const empty = replicaSetsOf(world, it)
    .filter(({ spec }) => spec.replicas === 0)
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
  for (const set of empty.slice(0, -KEPT_REPLICA_SETS)) world.store.remove(set)
}

/** The pods that an object owns. */
export function podsOf(world: World, { metadata }: Stored): Stored<Pod>[] {
  return world
    .all<Pod>('v1', 'Pod')
    .filter((it) => it.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
}

function isReady({ status }: Pod): boolean {
  return status.conditions?.some((it) => it.type === 'Ready' && it.status === 'True') ?? false
}

/** A controller creates a pod. */
export function createPod(world: World, owner: Stored, controller: string, options: PodOptions): Stored<Pod> {
  const created = world.store.put(pod(options))
  const message = `Created pod: ${options.name}`
  world.event(owner, controller, 'SuccessfulCreate', message)
  return created
}

/** From creation to Ready: scheduled, pulled, started, probed. */
function* startPod(world: World, created: Stored<Pod>): Scene<Stored<Pod>> {
  let it = schedule(world, created)
  yield
  pullImage(world, it)
  yield
  it = startContainer(world, it)
  yield
  it = world.change(it, (current) => withReady(withContainer(current, { ready: true }), true, world.now()))
  yield
  return it
}

/** The scheduler finds a node, and the kubelet takes the pod over. */
export function schedule(world: World, created: Stored<Pod>): Stored<Pod> {
  const at = world.now()
  const nodes = world.all<Node>('v1', 'Node').filter(({ spec }) => !spec.unschedulable)
  const chosen = world.chance.between(0, nodes.length - 1)
  const nodeName = nodes[chosen]?.metadata.name ?? ''
  const { namespace, name } = created.metadata
  const message = `Successfully assigned ${namespace}/${name} to ${nodeName}`
  world.event(created, 'default-scheduler', 'Scheduled', message, { newStyle: true })
  return world.change(created, (current) => {
    const conditions = withConditions(current.status, at, { type: 'PodScheduled', status: 'True' })
    const initialized = withConditions({ ...current.status, conditions }, at, {
      type: 'Initialized',
      status: 'True',
    })
    const status = {
      ...current.status,
      conditions: initialized,
      hostIP: `192.168.10.${11 + chosen}`,
      startTime: at,
    }
    const scheduled = { ...current, spec: { ...current.spec, nodeName }, status }
    return withReady(withContainer(scheduled, {}), false, at)
  })
}

function pullImage(world: World, it: Stored<Pod>): void {
  const image = it.spec.containers[0]?.image ?? ''
  const took = `${(world.chance.between(400, 4_200) / 1_000).toFixed(3)}s`
  const size = world.chance.between(30_000_000, 190_000_000)
  kubeletEvent(world, it, 'Pulling', `Pulling image "${image}"`)
  const message = `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${size} bytes.`
  kubeletEvent(world, it, 'Pulled', message)
}

/** The container runs, its probes have not succeeded yet. */
export function startContainer(world: World, it: Stored<Pod>): Stored<Pod> {
  const { chance } = world
  const [{ name = '' } = {}] = it.spec.containers
  kubeletEvent(world, it, 'Created', `Container created: ${name}`)
  kubeletEvent(world, it, 'Started', `Container started: ${name}`)
  return world.change(it, (current) => {
    const podIP = current.status.podIP ?? `10.42.${chance.between(0, 2)}.${chance.between(5, 250)}`
    const running = withContainer(current, {
      state: { running: { startedAt: world.now() } },
      started: true,
      containerID: `containerd://${chance.hex(64)}`,
      imageID: `registry.example.com@sha256:${chance.hex(64)}`,
    })
    return { ...running, status: { ...running.status, phase: 'Running', podIP } }
  })
}

/** Deletes a pod: terminating, then gone. */
function* stopPod(world: World, it: Stored<Pod>): Scene {
  const [{ name = '' } = {}] = it.spec.containers
  kubeletEvent(world, it, 'Killing', `Stopping container ${name}`)
  const ending = { deletionTimestamp: world.now(), deletionGracePeriodSeconds: 30 }
  world.change(it, (current) => ({ ...current, metadata: { ...current.metadata, ...ending } }))
  yield
  world.change(it, (current) => withReady(withContainer(current, { ready: false }), false, world.now()))
  yield
  world.store.remove(it)
}

export function kubeletEvent(
  world: World,
  it: Stored<Pod>,
  reason: string,
  message: string,
  type: 'Normal' | 'Warning' = 'Normal',
): void {
  world.event(it, 'kubelet', reason, message, { type, host: it.spec.nodeName ?? '' })
}
