import { found, type Meaning, type Said, why } from './reasons.ts'
import { because } from './wording.ts'

const volumeFailed: Meaning = (said) =>
  ` has no volume${because(said.message.replace(/^[\s\S]*?failed to provision volume with StorageClass "[^"]*": /, ''))}`

/** What is said of nodes, volumes and claims. */
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
  ['ScaleDown', ' is being removed: too little runs on it'],
  ['ScaleDownFailed', why('cannot be removed')],
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
function killed({ message }: Said): string {
  const [, id, name] = /Kill(?:ed)? process (\d+) \(([^)]{1,80})\)/i.exec(message) ?? []
  if (name) return `: ${name} (process ${id})`
  const [, victim] = /victim process: ([^,]{1,80})/.exec(message) ?? []
  return victim ? `: ${victim} was killed` : ''
}

function resource(said: Said): string {
  const name = found(said, /reclaim ([\w-]+)/)
  return name && ` on ${name}`
}

function of(name: string): string {
  return name && `, ${name}`
}
