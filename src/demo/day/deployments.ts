import { configMap, service } from '../manifests/cluster.ts'
import type { Pod } from '../manifests/pod.ts'
import {
  type App,
  type Deployment,
  deployment,
  imageOf,
  type ReplicaSet,
  replicaSet,
  withImage,
} from '../manifests/workload.ts'
import { ownedBy, type Stored } from '../objects.ts'
import { createPod, isReady, podsOf, startPod, stopPod } from './pods.ts'
import type { Scene, World } from './world.ts'

const KEPT_REPLICA_SETS = 2

/** Somebody deploys an application for the first time. */
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

/** The person's part of a roll-out: the Deployment gets another image. */
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
  world.tell(changed, {
    type: 'Normal',
    reason: 'SuccessfulRescale',
    message,
    from: 'horizontal-pod-autoscaler',
  })
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

export function replicaSetsOf(world: World, { metadata }: Stored<Deployment>): Stored<ReplicaSet>[] {
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

export function* scaleUp(
  world: World,
  owner: Stored<Deployment>,
  set: Stored<ReplicaSet>,
  replicas: number,
): Scene {
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
    world.tell(shrunk, { type: 'Normal', reason: 'SuccessfulDelete', message, from: 'replicaset-controller' })
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
  world.tell(owner, { type: 'Normal', reason: 'ScalingReplicaSet', message, from: 'deployment-controller' })
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

/** The controllers count the pods. */
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
