import type { KubeEvent } from '../../model/event.ts'
import type { Severity } from '../../sink/index.ts'
import { because, clause } from './phrasing.ts'
import type { Draft } from './summarizer.ts'
import { scalerClause, withoutName } from './workloads.ts'

const metrics: Meaning = (said) => ` cannot read its metrics${because(scalerClause(said.message))}`

/** Reasons of controllers: workloads, jobs, autoscalers, services. */
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
  ['MissingJob', (said) => ` misses a Job that it started${named(found(said, /: ([\w.-]+)$/))}`],
  ['UnexpectedJob', (said) => ` found a Job that it did not start${named(found(said, /: ([\w.-]+)$/))}`],
  ['JobAlreadyActive', ' skipped a run: the one before still runs'],
  ['FailedNeedsStart', why('cannot determine when to run')],
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
  ['CalculateExpectedPodCountFailed', why('cannot determine how many pods there should be')],
  ['LeaderElection', (said) => `: ${found(said, /^(\S+) became leader/) || 'somebody'} leads now`],
  ['DisruptionTarget', (said) => `: ${containerOf(said, 'it')} will be disrupted`],
]

/** Both forms: `Scaled up replica set web-5f from 0 to 3`, and the older `to 3 from 0`. */
function scaling(said: EventFacts): string {
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

function made(said: EventFacts): string {
  const job = found(said, /(?:Created|Deleted) job:? ([\w.-]+)/i)
  if (job) return `Job ${job}`
  const claim = found(said, /Claim ([\w.-]+)/)
  if (claim && /claim/i.test(said.message)) return `PersistentVolumeClaim ${claim}`
  const pod = found(said, /pod:? ([\w.-]+)/i)
  return pod ? `Pod ${pod}` : 'a pod'
}

function sawJob(said: EventFacts): { phrase: string; severity?: 'warning' | 'info' } {
  const name = found(said, /job: ([\w.-]+)/)
  const failed = /(?:condition|status): Failed/.test(said.message)
  return {
    phrase: `: Job ${name || 'of it'} ${failed ? 'failed' : 'completed'}`,
    severity: failed ? 'warning' : 'info',
  }
}

function named(name: string): string {
  return name === '' ? '' : `, ${name}`
}

/** An Event, as the tables of reasons see it. */
export interface EventFacts extends Readonly<KubeEvent> {
  /** Kind of the regarded object. */
  readonly kind: string
  /** The container that it regards; '' when it regards all of it. */
  readonly container: string
}

/**
 * The meaning of a reason: the phrase after the name in the title, with a severity unless the Event's type
 * determines it.
 */
export type Meaning =
  | string
  | ((said: EventFacts) => string | Partial<Draft>)
  | readonly [Severity, string | ((said: EventFacts) => string)]

/** `container app`, or `otherwise` if the Event names none. */
export function containerOf({ container }: EventFacts, otherwise = 'a container'): string {
  return container === '' ? otherwise : `container ${container}`
}

/** Returns the first group of a pattern in the message, or ''. */
export function found({ message }: EventFacts, pattern: RegExp): string {
  return clause(pattern.exec(message)?.[1] ?? '', 100)
}

/** The image that the message names in quotes. */
export function imageOf(said: EventFacts): string {
  return found(said, /image "([^"]{1,300})"/)
}

/** Returns a meaning: the phrase, with the message as its cause. */
export function why(phrase: string, strip?: RegExp): (said: EventFacts) => string {
  return ({ message }) => ` ${phrase}${because(strip ? message.replace(strip, '') : message)}`
}

const volumeFailed: Meaning = (said) =>
  ` has no volume${because(said.message.replace(/^[\s\S]*?failed to provision volume with StorageClass "[^"]*": /, ''))}`

/** Reasons about nodes, volumes and claims. */
export const CLUSTER_REASONS: readonly (readonly [string, Meaning])[] = [
  ['Node/NodeNotReady', ['error', ' is not ready']],
  ['NodeReady', ['resolved', ' is ready']],
  ['NodeHasSufficientMemory', ['resolved', ' has enough memory']],
  ['NodeHasInsufficientMemory', ['warning', ' is low on memory']],
  ['NodeHasDiskPressure', ['warning', ' is low on disk space']],
  ['NodeHasNoDiskPressure', ['resolved', ' has enough disk space']],
  ['NodeHasInsufficientPID', ['warning', ' is low on process IDs']],
  ['NodeHasSufficientPID', ['resolved', ' has enough process IDs']],
  ['NodeUnderDiskPressure', ['warning', ' is low on disk space']],
  ['NodeUnderMemoryPressure', ['warning', ' is low on memory']],
  ['NodeNotSchedulable', ' was cordoned: it takes no new pods'],
  ['NodeSchedulable', ' was uncordoned: it takes pods again'],
  ['NodeAllocatableEnforced', ' keeps its pods within its limits'],
  ['NodeStatusUnknown', ['error', ' does not answer']],
  [
    'Node/Starting',
    (said) =>
      ` is starting its ${/kube-proxy/.test(said.reportingComponent ?? said.message) ? 'kube-proxy' : 'kubelet'}`,
  ],
  ['Rebooted', ['warning', ' was rebooted']],
  ['Node/Shutdown', ['warning', ' is shutting down']],
  ['NodeShutdown', ['warning', ' is shutting down']],
  ['RegisteredNode', ' is known to the cluster'],
  ['RemovingNode', ' is being removed from the cluster'],
  ['DeletingNode', ' is being deleted: the cloud has it no more'],
  ['DeletingAllPods', ' loses all its pods'],
  ['TerminatingEvictedPod', ' is ending a pod that was evicted'],
  ['CIDRNotAvailable', ' has no addresses left for its pods'],
  ['InvalidDiskCapacity', why('has a disk whose size cannot be read')],
  ['FreeDiskSpaceFailed', why('cannot free disk space')],
  ['ImageGCFailed', why('cannot remove old images')],
  ['ContainerGCFailed', why('cannot remove old containers')],
  ['KubeletSetupFailed', why('has a kubelet that cannot start')],
  ['EvictionThresholdMet', (said) => ` is running low${resource(said)}: it will evict pods`],
  ['SystemOOM', ['error', (said) => ` ran out of memory${killed(said)}`]],
  ['OOMKilling', ['error', (said) => ` killed a process, out of memory${killed(said)}`]],
  ['KernelOops', ['error', why('has a fault in its kernel')]],
  ['TaskHung', why('has a task that hangs')],
  ['FilesystemIsReadOnly', ['error', ' has a file system that became read-only']],
  ['ReadonlyFilesystem', ['error', ' has a file system that became read-only']],
  ['Node/ScaleDown', ' is being removed: too little runs on it'],
  ['Node/ScaleDownFailed', why('cannot be removed')],
  ['ProvisioningFailed', volumeFailed],
  ['Provisioning', ' is getting a volume'],
  ['ExternalProvisioning', ' waits for its volume to be made'],
  ['ProvisioningSucceeded', (said) => ` has its volume${of(found(said, /volume (\S+)/))}`],
  ['WaitForFirstConsumer', ' waits for a pod that uses it'],
  ['WaitForPodScheduled', ' waits until its pod has a node'],
  ['FailedBinding', ['warning', why('cannot be bound')]],
  ['ClaimLost', ['error', ' lost its volume']],
  ['ClaimMisbound', ['error', ' is bound to the wrong volume']],
  ['VolumeMismatch', why('does not fit its volume')],
  ['VolumeDeleted', ' had its volume deleted'],
  ['VolumeFailedDelete', why('cannot be deleted')],
  ['VolumeFailedRecycle', why('cannot be cleaned')],
  ['Resizing', ' is being resized'],
  ['VolumeResizeFailed', why('cannot be resized')],
  ['ResizeFailed', why('cannot be resized')],
  ['VolumeResizeSuccessful', ' was resized'],
  ['FileSystemResizeRequired', ' waits for a pod to grow its file system'],
  ['FileSystemResizeSuccessful', ' was resized'],
]

/** `: java (process 4711)`. */
function killed({ message }: EventFacts): string {
  const [, id, name] = /Kill(?:ed)? process (\d+) \(([^)]{1,80})\)/i.exec(message) ?? []
  if (name) return `: ${name} (process ${id})`
  const [, victim] = /victim process: ([^,]{1,80})/.exec(message) ?? []
  return victim ? `: ${victim} was killed` : ''
}

function resource(said: EventFacts): string {
  const name = found(said, /reclaim ([\w-]+)/)
  return name && ` on ${name}`
}

function of(name: string): string {
  return name && `, ${name}`
}
