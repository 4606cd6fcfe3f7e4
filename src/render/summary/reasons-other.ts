import { containerOf, found, type Meaning, type Said, why } from './reasons.ts'
import { scalerClause } from './scaler.ts'
import { because } from './wording.ts'
import { withoutName } from './workloads.ts'

const metrics: Meaning = (said) => ` cannot read its metrics${because(scalerClause(said.message))}`

/** What controllers say of workloads, jobs, autoscalers, services. */
export const CONTROLLER_REASONS: readonly (readonly [string, Meaning])[] = [
  ['ScalingReplicaSet', scaling],
  ['ReplicaSetCreateError', why('cannot create its ReplicaSet')],
  [
    'FailedCreate',
    (said) =>
      ` cannot create ${said.kind === 'CronJob' ? 'its Job' : 'pods'}${because(withoutName(said.message))}`,
  ],
  ['FailedDelete', why('cannot delete a pod', /^Error deleting: /)],
  ['FailedUpdate', why('cannot be updated')],
  ['FailedDaemonPod', why('has a failed pod', /^Found failed daemon pod /)],
  ['FailedPlacement', why('cannot place a pod')],
  ['RecreatingFailedPod', (said) => ` replaces a failed pod${named(found(said, /Pod ([\w./-]+)/))}`],
  ['RecreatingTerminatedPod', (said) => ` replaces a pod that ended${named(found(said, /Pod ([\w./-]+)/))}`],
  ['SuccessfulCreate', (said) => ` created ${made(said)}`],
  ['SuccessfulDelete', (said) => ` deleted ${made(said)}`],
  ['DeploymentRollback', ' was rolled back'],
  ['DeploymentRollbackRevisionNotFound', ' cannot be rolled back: the revision is gone'],
  ['DeploymentPaused', ' was paused'],
  ['DeploymentResumed', ' was resumed'],
  ['ProgressDeadlineExceeded', ['error', ' could not be rolled out in time']],
  ['ReplicaFailure', ['error', (said) => ` cannot create pods${because(withoutName(said.message))}`]],
  ['BackoffLimitExceeded', ['error', ' failed: all its tries are used up']],
  ['Job/DeadlineExceeded', ['error', ' failed: it took too long']],
  ['DeadlineExceeded', ['error', why('ran out of time')]],
  ['PodFailurePolicy', ['error', (said) => ` failed${because(said.message)}`]],
  ['FailedIndexes', ['error', why('failed')]],
  ['Job/Completed', ' completed'],
  ['Job/Suspended', ' was suspended'],
  ['Job/Resumed', ' was resumed'],
  ['TooManyActivePods', ' has too many active pods'],
  ['SawCompletedJob', sawJob],
  ['MissSchedule', why('missed its time')],
  ['TooManyMissedTimes', ' missed more than 100 runs: it starts none any more'],
  ['MissingJob', (said) => ` misses a Job that it started${named(found(said, /job:? ([\w.-]+)/i))}`],
  ['UnexpectedJob', (said) => ` found a Job that it did not start${named(found(said, /job:? ([\w.-]+)/i))}`],
  ['JobAlreadyActive', ' skipped a run: the one before still runs'],
  ['FailedNeedsStart', why('cannot tell when to run')],
  ['UnparseableSchedule', why('has a schedule that cannot be read')],
  ['InvalidSchedule', why('has a schedule that cannot be read')],
  ['UnknownTimeZone', why('has a time zone that is not known')],
  [
    'SuccessfulRescale',
    (said) =>
      ` scaled to ${found(said, /New size: (\d+)/) || 'another size'}${because(/reason: ([\s\S]*)$/.exec(said.message)?.[1] ?? '')}`,
  ],
  ['FailedGetResourceMetric', metrics],
  ['FailedGetContainerResourceMetric', metrics],
  ['FailedGetPodsMetric', metrics],
  ['FailedGetObjectMetric', metrics],
  ['FailedGetExternalMetric', metrics],
  ['FailedComputeMetricsReplicas', metrics],
  ['FailedGetScale', why('cannot find what it scales')],
  ['FailedRescale', why('cannot scale')],
  ['AmbiguousSelector', ' shares its pods with another autoscaler: it scales nothing'],
  ['SelectorRequired', ' scales something that has no selector'],
  ['FailedToCreateEndpoint', why('has no endpoints: they cannot be written')],
  ['FailedToUpdateEndpoint', why('is out of date', /^Failed to update endpoint \S+: /)],
  ['FailedToUpdateEndpointSlices', why('has endpoints that are out of date')],
  ['EnsuringLoadBalancer', ' is getting its load balancer'],
  ['EnsuredLoadBalancer', ' has its load balancer'],
  ['UpdatedLoadBalancer', ' has new nodes behind its load balancer'],
  ['DeletingLoadBalancer', ' is losing its load balancer'],
  ['DeletedLoadBalancer', ' has no load balancer any more'],
  ['SyncLoadBalancerFailed', why('cannot get its load balancer', /^Error syncing load balancer: /)],
  ['CreatingLoadBalancerFailed', why('cannot get its load balancer')],
  ['UpdateLoadBalancerFailed', why('cannot update its load balancer')],
  ['UnAvailableLoadBalancer', ' has a load balancer without a node behind it'],
  ['Ingress/Sync', ' is being set up by its ingress controller'],
  ['NoPods', ' matches no pods'],
  ['CalculateExpectedPodCountFailed', why('cannot tell how many pods there should be')],
  ['LeaderElection', (said) => `: ${found(said, /^(\S+) became leader/) || 'somebody'} leads now`],
  ['DisruptionTarget', (said) => `: ${containerOf(said, 'it')} will be disrupted`],
]

/** Both forms: `Scaled up replica set web-5f from 0 to 3`, and the older `to 3 from 0`. */
function scaling(said: Said): string {
  const [, way, set, a, b] = /Scaled (up|down) replica set (\S+) from (\d+) to (\d+)/.exec(said.message) ?? []
  if (way) return ` scaled ReplicaSet ${set} ${way}, ${a} → ${b}`
  const [, older, olderSet, to, from] =
    /Scaled (up|down) replica set (\S+) to (\d+)(?: from (\d+))?/.exec(said.message) ?? []
  if (older)
    return ` scaled ReplicaSet ${olderSet} ${older} ${from ? `, ${from} → ${to}` : `to ${to}`}`.replace(
      ' ,',
      ',',
    )
  return ` scaled a ReplicaSet${because(said.message)}`
}

function made(said: Said): string {
  const job = found(said, /(?:Created|Deleted) job:? ([\w.-]+)/i)
  if (job) return `Job ${job}`
  const claim = found(said, /Claim ([\w.-]+)/)
  if (claim && /claim/i.test(said.message)) return `PersistentVolumeClaim ${claim}`
  const pod = found(said, /pod:? ([\w.-]+)/i)
  return pod ? `Pod ${pod}` : 'a pod'
}

function sawJob(said: Said): { says: string; severity?: 'warning' | 'info' } {
  const name = found(said, /job: ([\w.-]+)/)
  const failed = /(?:condition|status): Failed/.test(said.message)
  return {
    says: `: Job ${name || 'of it'} ${failed ? 'failed' : 'completed'}`,
    severity: failed ? 'warning' : 'info',
  }
}

function named(name: string): string {
  return name === '' ? '' : `, ${name}`
}
