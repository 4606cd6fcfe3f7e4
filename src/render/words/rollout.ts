import { conditionOf } from './conditions.ts'
import { at, number, text } from './read.ts'
import type { Told } from './told.ts'

/** How far a workload is, whatever its kind. */
export interface Rollout {
  readonly desired: number
  readonly updated: number
  readonly ready: number
  /** Pods of the new template are still being made, or old ones taken away. */
  readonly rolling: boolean
}

/** Undefined where there is no status to tell from. */
export function rolloutOf(told: Told): Rollout | undefined {
  const { kind } = told.event
  if (at(told.object, 'status') === undefined) return undefined
  if (kind === 'DaemonSet') return ofDaemonSet(told)
  if (kind === 'StatefulSet') return ofStatefulSet(told)
  return kind === 'Deployment' ? ofDeployment(told) : ofReplicas(told)
}

function status(told: Told, name: string): number {
  return number(told.object, 'status', name) ?? 0
}

function unseen({ object }: Told): boolean {
  const generation = number(object, 'metadata', 'generation')
  const observed = number(object, 'status', 'observedGeneration')
  return generation !== undefined && observed !== undefined && generation > observed
}

function replicas({ object }: Told): number {
  return number(object, 'spec', 'replicas') ?? 1
}

function ofDeployment(told: Told): Rollout {
  const desired = replicas(told)
  const updated = status(told, 'updatedReplicas')
  const done = conditionOf(told, 'Progressing')?.reason === 'NewReplicaSetAvailable'
  const behind = updated < desired || status(told, 'replicas') > updated
  const ready = status(told, 'readyReplicas')
  return { desired, updated, ready, rolling: unseen(told) || (behind && !done) }
}

function ofStatefulSet(told: Told): Rollout {
  const desired = replicas(told)
  const current = text(told.object, 'status', 'currentRevision')
  const wanted = text(told.object, 'status', 'updateRevision')
  const updated = wanted === current ? desired : status(told, 'updatedReplicas')
  const partition = number(told.object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0
  const manual = text(told.object, 'spec', 'updateStrategy', 'type') === 'OnDelete'
  const rolling = unseen(told) || (!manual && wanted !== current && updated < desired - partition)
  return { desired, updated, ready: status(told, 'readyReplicas'), rolling }
}

function ofDaemonSet(told: Told): Rollout {
  const desired = status(told, 'desiredNumberScheduled')
  const updated = status(told, 'updatedNumberScheduled')
  const manual = text(told.object, 'spec', 'updateStrategy', 'type') === 'OnDelete'
  return {
    desired,
    updated,
    ready: status(told, 'numberReady'),
    rolling: unseen(told) || (!manual && updated < desired),
  }
}

function ofReplicas(told: Told): Rollout {
  const desired = replicas(told)
  return { desired, updated: desired, ready: status(told, 'readyReplicas'), rolling: false }
}
