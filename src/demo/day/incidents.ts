import type { Node } from '../manifests/cluster.ts'
import {
  type App,
  type CronJob,
  type Deployment,
  imageOf,
  type Job,
  job,
  type Pod,
  withContainer,
  withReady,
} from '../manifests/workload.ts'
import { ownedBy, type Stored } from '../objects.ts'
import {
  addPod,
  announce,
  createPod,
  createReplicaSet,
  kubeletEvent,
  podsOf,
  replicaSetOf,
  report,
  scaleDown,
  schedule,
  startContainer,
} from './deployments.ts'
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
    // The kubelet repeats the back-off Event while it waits.
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
  kubeletEvent(world, victim, 'BackOff', message, 'Warning')
}

/** A tag that does not exist: the roll-out hangs and is rolled back. */
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
    kubeletEvent(world, hanging, 'Pulling', `Pulling image "${image}"`)
    kubeletEvent(world, hanging, 'Failed', `Failed to pull image "${image}": ${cause}`, 'Warning')
    yield
    const waiting = { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` }
    world.change(hanging, (current) => withContainer(current, { state: { waiting } }))
    kubeletEvent(world, hanging, 'BackOff', waiting.message, 'Warning')
    report(world, changed)
    yield
  }
  const restored = announce(world, changed, good)
  const message = `Rolled back deployment "${owner.metadata.name}" to the previous revision`
  world.event(restored, 'deployment-controller', 'DeploymentRollback', message)
  yield
  yield* scaleDown(world, restored, set, 0)
  world.store.remove(set)
  report(world, restored)
  yield
}

/** A pod that fits on no node. */
function* unschedulable(world: World, waiting: Stored<Pod>): Scene {
  const nodes = world.all<Node>('v1', 'Node').length
  const message = `0/${nodes} nodes are available: ${nodes} Insufficient memory. no new claims to deallocate, preemption: 0/${nodes} nodes are available: ${nodes} No preemption victims found for incoming pod.`
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const
  world.change(waiting, (current) => {
    const conditions = [{ ...condition, lastProbeTime: null, lastTransitionTime: world.now() }]
    return { ...current, status: { ...current.status, conditions } }
  })
  for (let tries = 0; tries < 4; tries++) {
    world.event(waiting, 'default-scheduler', 'FailedScheduling', message, {
      type: 'Warning',
      newStyle: true,
    })
    yield
  }
  world.store.remove(waiting)
  yield
}

/** A node runs low on memory, and recovers. */
export function* memoryPressure(world: World, it: Stored<Node>): Scene {
  const { name } = it.metadata
  const report = (reason: string, message: string, type: 'Normal' | 'Warning' = 'Normal') =>
    world.event(it, 'kubelet', reason, message, { type, host: name })
  report('EvictionThresholdMet', 'Attempting to reclaim memory', 'Warning')
  yield
  setMemoryPressure(world, it, true)
  yield
  report('NodeHasInsufficientMemory', `Node ${name} status is now: NodeHasInsufficientMemory`)
  yield
  setMemoryPressure(world, it, false)
  report('NodeHasSufficientMemory', `Node ${name} status is now: NodeHasSufficientMemory`)
  yield
}

function setMemoryPressure(world: World, it: Stored<Node>, pressed: boolean): void {
  const at = world.now()
  const reason = pressed ? 'KubeletHasInsufficientMemory' : 'KubeletHasSufficientMemory'
  const message = `kubelet has ${pressed ? 'insufficient' : 'sufficient'} memory available`
  const change = { status: pressed ? ('True' as const) : ('False' as const), reason, message }
  world.change(it, (current) => {
    const conditions = current.status.conditions.map((condition) =>
      condition.type === 'MemoryPressure'
        ? { ...condition, ...change, lastHeartbeatTime: at, lastTransitionTime: at }
        : { ...condition, lastHeartbeatTime: at },
    )
    return { ...current, status: { ...current.status, conditions } }
  })
}

/** A CronJob's hour: a Job, its pod, its end. */
export function* runCronJob(world: World, cron: Stored<CronJob>, app: App): Scene {
  const name = `${app.name}-${Math.floor(world.nowMs() / 60_000)}-${world.chance.suffix(3)}`
  const started = world.store.put(job(app, name, ownedBy(cron)))
  world.event(cron, 'cronjob-controller', 'SuccessfulCreate', `Created job ${name}`)
  world.change(cron, (it) => ({ ...it, status: { ...it.status, lastScheduleTime: world.now() } }))
  yield
  const worker = createWorker(world, started)
  world.change(started, (it) => ({ ...it, status: { active: 1, startTime: world.now() } }))
  yield
  const scheduled = schedule(world, worker)
  yield
  startContainer(world, scheduled)
  yield
  yield
  finish(world, scheduled)
  yield
  complete(world, started)
  world.event(
    cron,
    'cronjob-controller',
    'SawCompletedJob',
    `Saw completed job: ${name}, condition: Complete`,
  )
  world.change(cron, (it) => ({ ...it, status: { ...it.status, lastSuccessfulTime: world.now() } }))
  yield
  world.store.remove(scheduled)
  world.store.remove(started)
  yield
}

/** A Job that requests more memory than any node has, and is deleted. */
export function* runGreedyJob(world: World, app: App): Scene {
  const started = world.store.put(job(app, `${app.name}-${world.chance.suffix(5)}`, []))
  yield
  yield* unschedulable(world, createWorker(world, started))
  world.store.remove(started)
  yield
}

function createWorker(world: World, it: Stored<Job>): Stored<Pod> {
  const { name, namespace = '' } = it.metadata
  return createPod(world, it, 'job-controller', {
    name: `${name}-${world.chance.suffix(5)}`,
    generateName: `${name}-`,
    namespace,
    template: it.spec.template,
    ownerReferences: ownedBy(it),
  })
}

function finish(world: World, worker: Stored<Pod>): void {
  const finishedAt = world.now()
  world.change(worker, (it) => {
    const [{ state = {} } = {}] = it.status.containerStatuses ?? []
    const startedAt = 'running' in state ? state.running.startedAt : finishedAt
    const terminated = { exitCode: 0, reason: 'Completed', startedAt, finishedAt }
    const ended = withReady(
      withContainer(it, { state: { terminated }, started: false }),
      false,
      finishedAt,
      'PodCompleted',
    )
    return { ...ended, status: { ...ended.status, phase: 'Succeeded' as const } }
  })
}

function complete(world: World, it: Stored<Job>): void {
  const at = world.now()
  const conditions = [{ type: 'Complete', status: 'True', lastProbeTime: at, lastTransitionTime: at }]
  world.change(it, (current) => {
    const { startTime = at } = current.status
    return { ...current, status: { startTime, succeeded: 1, completionTime: at, conditions } }
  })
  world.event(it, 'job-controller', 'Completed', 'Job completed')
}
