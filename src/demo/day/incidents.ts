import type { Node } from '../manifests/cluster.ts'
import { type Pod, withContainer, withReady } from '../manifests/pod.ts'
import type { Deployment } from '../manifests/workload.ts'
import { imageOf } from '../manifests/workload.ts'
import type { Stored } from '../objects.ts'
import { addPod, announce, createReplicaSet, replicaSetOf, report, scaleDown } from './deployments.ts'
import { podsOf, schedule, startContainer, tellFromKubelet } from './pods.ts'
import type { Scene, World } from './world.ts'

/** A container that ends soon after each start. */
export function* crashLoop(world: World, owner: Stored<Deployment>, times: number): Scene {
  const set = replicaSetOf(world, owner)
  const [victim] = set ? podsOf(world, set) : []
  if (!victim) return
  for (let restarts = 1; restarts <= times; restarts++) {
    crash(world, victim, restarts)
    report(world, owner)
    yield
    // The back-off is said again and again while the kubelet waits.
    for (let waits = 0; waits < 3; waits++) {
      backOff(world, victim)
      yield
    }
    startContainer(world, victim)
    yield
  }
}

function crash(world: World, victim: Stored<Pod>, restarts: number): void {
  const at = world.now()
  world.change(victim, (current) => {
    const [{ state: before = {} } = {}] = current.status.containerStatuses ?? []
    const startedAt = 'running' in before ? before.running.startedAt : at
    const terminated = { exitCode: 1, reason: 'Error', startedAt, finishedAt: at }
    const message = `back-off ${Math.min(10 * 2 ** (restarts - 1), 300)}s restarting failed container`
    const crashed = withContainer(current, {
      state: { waiting: { reason: 'CrashLoopBackOff', message } },
      lastState: { terminated },
      ready: false,
      started: false,
      restartCount: restarts,
    })
    return withReady(crashed, false, at)
  })
}

function backOff(world: World, victim: Stored<Pod>): void {
  const { name, namespace, uid } = victim.metadata
  const [container] = victim.spec.containers
  const message = `Back-off restarting failed container ${container?.name} in pod ${name}_${namespace}(${uid})`
  tellFromKubelet(world, victim, 'BackOff', message, 'Warning')
}

/** A tag that nobody pushed: the roll-out hangs, and somebody takes it back. */
export function* missingImage(world: World, owner: Stored<Deployment>, image: string): Scene {
  const good = imageOf(owner.spec.template)
  const changed = announce(world, owner, image)
  yield
  const set = createReplicaSet(world, changed)
  world.change(set, (current) => ({ ...current, spec: { ...current.spec, replicas: 1 } }))
  const hanging = schedule(world, addPod(world, set))
  yield
  for (let tries = 0; tries < 3; tries++) {
    const cause = `failed to resolve reference "${image}": ${image}: not found`
    tellFromKubelet(world, hanging, 'Pulling', `Pulling image "${image}"`)
    tellFromKubelet(world, hanging, 'Failed', `Failed to pull image "${image}": ${cause}`, 'Warning')
    yield
    const waiting = { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` }
    world.change(hanging, (current) => withContainer(current, { state: { waiting } }))
    tellFromKubelet(world, hanging, 'BackOff', waiting.message, 'Warning')
    report(world, changed)
    yield
  }
  const restored = announce(world, changed, good)
  world.tell(restored, {
    type: 'Normal',
    reason: 'DeploymentRollback',
    message: `Rolled back deployment "${owner.metadata.name}" to the previous revision`,
    from: 'deployment-controller',
  })
  yield
  yield* scaleDown(world, restored, set, 0)
  world.store.remove(set)
  report(world, restored)
  yield
}

/** A pod that fits nowhere. */
export function* unschedulable(world: World, waiting: Stored<Pod>): Scene {
  const nodes = world.all<Node>('v1', 'Node').length
  const message = `0/${nodes} nodes are available: ${nodes} Insufficient memory. no new claims to deallocate, preemption: 0/${nodes} nodes are available: ${nodes} No preemption victims found for incoming pod.`
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const
  world.change(waiting, (current) => {
    const conditions = [{ ...condition, lastProbeTime: null, lastTransitionTime: world.now() }]
    return { ...current, status: { ...current.status, conditions } }
  })
  for (let tries = 0; tries < 4; tries++) {
    const remark = { type: 'Warning', reason: 'FailedScheduling', message } as const
    world.tell(waiting, { ...remark, from: 'default-scheduler', newStyle: true })
    yield
  }
  world.store.remove(waiting)
  yield
}

/** A node runs low on memory, and recovers. */
export function* memoryPressure(world: World, it: Stored<Node>): Scene {
  const { name } = it.metadata
  const kubelet = { from: 'kubelet', host: name }
  const message = 'Attempting to reclaim memory'
  world.tell(it, { type: 'Warning', reason: 'EvictionThresholdMet', message, ...kubelet })
  yield
  setMemoryPressure(world, it, true)
  yield
  const pressed = `Node ${name} status is now: NodeHasInsufficientMemory`
  world.tell(it, { type: 'Normal', reason: 'NodeHasInsufficientMemory', message: pressed, ...kubelet })
  yield
  setMemoryPressure(world, it, false)
  const relieved = `Node ${name} status is now: NodeHasSufficientMemory`
  world.tell(it, { type: 'Normal', reason: 'NodeHasSufficientMemory', message: relieved, ...kubelet })
  yield
}

function setMemoryPressure(world: World, it: Stored<Node>, pressed: boolean): void {
  const at = world.now()
  const change = pressed
    ? {
        status: 'True' as const,
        reason: 'KubeletHasInsufficientMemory',
        message: 'kubelet has insufficient memory available',
      }
    : {
        status: 'False' as const,
        reason: 'KubeletHasSufficientMemory',
        message: 'kubelet has sufficient memory available',
      }
  world.change(it, (current) => {
    const conditions = current.status.conditions.map((condition) =>
      condition.type === 'MemoryPressure'
        ? { ...condition, ...change, lastHeartbeatTime: at, lastTransitionTime: at }
        : { ...condition, lastHeartbeatTime: at },
    )
    return { ...current, status: { ...current.status, conditions } }
  })
}
