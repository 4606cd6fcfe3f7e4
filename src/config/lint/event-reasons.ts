/**
 * The reasons of the Events that Kubernetes 1.36's own components write, by component and subject (from their sources, such as
 * pkg/kubelet/events/event.go). Other controllers have reasons of their own.
 */
export const EVENT_REASONS: Readonly<Record<string, readonly string[]>> = {
  'kubelet, of containers': listOf(`
    BackOff Created ExceededGracePeriod Failed FailedPostStartHook FailedPreStopHook Killing Preempting ProbeWarning Started Unhealthy`),
  'kubelet, of images': listOf(
    'BackOff ErrImageNeverPull Failed FailedToRetrieveImagePullSecret InspectFailed Pulled Pulling',
  ),
  'kubelet, of pods': listOf(`
    Evicted FailedCreatePodContainer FailedCreatePodSandBox FailedKillPod FailedNodeDeclaredFeaturesCheck FailedPodSandBoxStatus
    FailedPrepareDynamicResources FailedSync FailedValidation NetworkNotReady NodeAffinity NodeShutdown OutOfcpu OutOfmemory OutOfpods
    ResizeCompleted ResizeDeferred ResizeError ResizeInfeasible ResizeStarted SandboxChanged TopologyAffinityError
    UnexpectedAdmissionError`),
  'kubelet, of volumes': listOf(`
    AlreadyMountedVolume FailedAttachVolume FailedMapVolume FailedMount FailedMountOnFilesystemMismatch FileSystemResizeFailed
    FileSystemResizeSuccessful PossibleMemoryBackedVolumesOnDisk SuccessfulAttachVolume SuccessfulMountVolume
    VolumeConditionAbnormal VolumePermissionChangeInProgress VolumeResizeFailed VolumeResizeSuccessful`),
  'kubelet, of nodes': listOf(`
    CgroupV1 CheckLimitsForResolvConf ContainerGCFailed DNSConfigForming EvictionThresholdMet FailedNodeAllocatableEnforcement
    FreeDiskSpaceFailed ImageGCFailed InvalidDiskCapacity InvalidImageID KubeletSetupFailed MissingClusterDNS NodeAllocatableEnforced
    NodeHasDiskPressure NodeHasInsufficientMemory NodeHasInsufficientPID NodeHasNoDiskPressure NodeHasSufficientMemory
    NodeHasSufficientPID NodeNotReady NodeNotSchedulable NodeReady NodeSchedulable Rebooted Shutdown Starting SystemOOM`),
  'node-problem-detector': listOf(`
    CorruptDockerImage CorruptDockerOverlay2 DockerHung FilesystemIsReadOnly Ext4Error Ext4Warning FrequentContainerdRestart
    FrequentDockerRestart FrequentKubeletRestart IOError KernelDeadlock KernelOops MemoryReadError OOMKilling ReadonlyFilesystem TaskHung
    UnregisterNetDevice`),
  scheduler: listOf('BindingConditionsPending FailedScheduling Preempted Scheduled'),
  'node controllers': listOf(`
    CIDRAssignmentFailed CIDRNotAvailable DeletingAllPods DeviceTaintManagerEviction NodeControllerEviction NodeNotReady RegisteredNode
    RemovingNode TaintManagerEviction`),
  'Deployments, ReplicaSets, StatefulSets, DaemonSets': listOf(`
    DeploymentRollback DeploymentRollbackRevisionNotFound DeploymentRollbackTemplateUnchanged FailedCreate FailedDaemonPod FailedDelete
    FailedPlacement FailedUpdate OwnerRefInvalidNamespace RecreatingFailedPod RecreatingTerminatedPod ReplicaSetCreateError
    ScalingReplicaSet SelectingAll SucceededDaemonPod SuccessfulCreate SuccessfulDelete SuccessfulUpdate`),
  'Jobs and CronJobs': listOf(`
    BackoffLimitExceeded Completed DeadlineExceeded FailedCreate FailedDelete FailedIndexes FailedNeedsStart InvalidSchedule
    JobAlreadyActive MaxFailedIndexesExceeded MissSchedule MissingJob PodFailurePolicy Resumed SawCompletedJob SuccessfulCreate
    SuccessfulDelete Suspended TooManyMissedTimes TooManySucceededPods UnParseableCronJobSchedule UnexpectedJob UnknownCompletionMode
    UnknownTimeZone UnparseableSchedule UnsupportedSchedule`),
  HorizontalPodAutoscalers: listOf(`
    AmbiguousSelector FailedComputeMetricsReplicas FailedConvertHPA FailedGetContainerResourceMetric FailedGetExternalMetric
    FailedGetObjectMetric FailedGetPodsMetric FailedGetResourceMetric FailedGetScale FailedRescale FailedUpdateStatus InvalidSelector
    SelectorRequired SuccessfulRescale`),
  PodDisruptionBudgets: listOf(
    'CalculateExpectedPodCountFailed MultiplePodDisruptionBudgets NoControllers NoPods NotDeleted UnmanagedPods',
  ),
  'volume controllers and provisioners': listOf(`
    ExternalExpanding ExternalProvisioning FailedBinding MultipleSELinuxLabels Provisioning ProvisioningCleanupFailed ProvisioningFailed
    ProvisioningSucceeded RecyclerPod Resizing SELinuxChangePolicyConflict SELinuxLabelConflict VolumeDelete VolumeFailedDelete
    VolumeFailedRecycle VolumeMismatch VolumeRecycled WaitForFirstConsumer WaitForPodScheduled`),
  'Services and Endpoints': listOf(`
    ClusterIPAlreadyAllocated ClusterIPNotAllocated ClusterIPNotValid ClusterIPOutOfRange DeletedLoadBalancer DeletingLoadBalancer
    EnsuredLoadBalancer EnsuringLoadBalancer FailedToCreateEndpoint FailedToListEndpointSlices FailedToListPods FailedToUpdateEndpoint
    FailedToUpdateEndpointSlices HostIPsIPFamilyMismatch InvalidIPAddress LoadBalancerSourceRanges PortAlreadyAllocated PortNotAllocated
    PortOutOfRange PortRangeFull ServiceCIDRFull SyncLoadBalancerFailed TooManyAddressesToMirror TopologyAwareHintsDisabled
    TopologyAwareHintsEnabled UnAvailableLoadBalancer UpdateLoadBalancerFailed UpdatedLoadBalancer`),
  others: listOf(
    'CertificateExpired CertificateOverdueForRefresh ConflictingController FailedResourceClaimCreation LeaderElection',
  ),
}

function listOf(text: string): string[] {
  return text.trim().split(/\s+/)
}
