import type { Node } from '../manifests/cluster.ts'
import { type Pod, type PodOptions, pod, withConditions, withContainer, withReady } from '../manifests/pod.ts'
import type { Stored } from '../objects.ts'
import type { Scene, World } from './world.ts'

/** The pods that an object owns. */
export function podsOf(world: World, { metadata }: Stored): Stored<Pod>[] {
  return world
    .all<Pod>('v1', 'Pod')
    .filter((it) => it.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
}

export function isReady({ status }: Pod): boolean {
  return status.conditions?.some((it) => it.type === 'Ready' && it.status === 'True') ?? false
}

/** A controller creates a pod. */
export function createPod(world: World, owner: Stored, controller: string, options: PodOptions): Stored<Pod> {
  const created = world.store.put(pod(options))
  const message = `Created pod: ${options.name}`
  world.tell(owner, { type: 'Normal', reason: 'SuccessfulCreate', message, from: controller })
  return created
}

/** From creation to Ready: scheduled, pulled, started, probed. */
export function* startPod(world: World, created: Stored<Pod>): Scene<Stored<Pod>> {
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
  world.tell(created, {
    type: 'Normal',
    reason: 'Scheduled',
    message,
    from: 'default-scheduler',
    newStyle: true,
  })
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
  const image = imageOf(it)
  const took = `${(world.chance.between(400, 4_200) / 1_000).toFixed(3)}s`
  const size = world.chance.between(30_000_000, 190_000_000)
  tellFromKubelet(world, it, 'Pulling', `Pulling image "${image}"`)
  const message = `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${size} bytes.`
  tellFromKubelet(world, it, 'Pulled', message)
}

/** The container runs; probes have not spoken yet. */
export function startContainer(world: World, it: Stored<Pod>): Stored<Pod> {
  const { chance } = world
  const [{ name = '' } = {}] = it.spec.containers
  tellFromKubelet(world, it, 'Created', `Container created: ${name}`)
  tellFromKubelet(world, it, 'Started', `Container started: ${name}`)
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

/** A pod is deleted: told to end, then gone. */
export function* stopPod(world: World, it: Stored<Pod>): Scene {
  const [{ name = '' } = {}] = it.spec.containers
  tellFromKubelet(world, it, 'Killing', `Stopping container ${name}`)
  const ending = { deletionTimestamp: world.now(), deletionGracePeriodSeconds: 30 }
  world.change(it, (current) => ({ ...current, metadata: { ...current.metadata, ...ending } }))
  yield
  world.change(it, (current) => withReady(withContainer(current, { ready: false }), false, world.now()))
  yield
  world.store.remove(it)
}

export function tellFromKubelet(
  world: World,
  it: Stored<Pod>,
  reason: string,
  message: string,
  type: 'Normal' | 'Warning' = 'Normal',
): void {
  world.tell(it, { type, reason, message, from: 'kubelet', host: it.spec.nodeName ?? '' })
}

export function imageOf({ spec }: Pod): string {
  return spec.containers[0]?.image ?? ''
}
