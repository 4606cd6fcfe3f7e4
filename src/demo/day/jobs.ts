import { type CronJob, type Job, job } from '../manifests/batch.ts'
import { type Pod, withContainer, withReady } from '../manifests/pod.ts'
import type { App } from '../manifests/workload.ts'
import { ownedBy, type Stored } from '../objects.ts'
import { createPod, schedule, startContainer } from './pods.ts'
import { unschedulable } from './troubles.ts'
import type { Scene, World } from './world.ts'

/** A CronJob's hour: a Job, its pod, its end. */
export function* runCronJob(world: World, cron: Stored<CronJob>, app: App): Scene {
  const name = `${app.name}-${Math.floor(world.nowMs() / 60_000)}-${world.chance.suffix(3)}`
  const started = world.store.put(job(app, name, ownedBy(cron)))
  world.tell(cron, told('SuccessfulCreate', `Created job ${name}`, 'cronjob-controller'))
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
  world.tell(
    cron,
    told('SawCompletedJob', `Saw completed job: ${name}, condition: Complete`, 'cronjob-controller'),
  )
  world.change(cron, (it) => ({ ...it, status: { ...it.status, lastSuccessfulTime: world.now() } }))
  yield
  world.store.remove(scheduled)
  world.store.remove(started)
  yield
}

/** A Job that asks for more memory than any node has; somebody deletes it. */
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
  world.tell(it, told('Completed', 'Job completed', 'job-controller'))
}

function told(reason: string, message: string, from: string) {
  return { type: 'Normal', reason, message, from } as const
}
