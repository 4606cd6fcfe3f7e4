/** Objects as Kubernetes' controllers write them, in the form that tests of rules take. */

const OLD = '2025-12-01T00:00:00Z'

export function node(
  at: string,
  conditions: Record<string, string>,
  more: { spec?: object; created?: string } = {},
) {
  const { spec, created = OLD } = more
  const ready = conditions['Ready'] ?? 'True'
  const message = ready === 'Unknown' ? 'Kubelet stopped posting node status.' : 'container runtime is down'
  return {
    at,
    kind: 'Node',
    metadata: { name: 'w-1', creationTimestamp: created },
    ...(spec && { spec }),
    status: {
      conditions: Object.entries({
        MemoryPressure: 'False',
        DiskPressure: 'False',
        PIDPressure: 'False',
        ...conditions,
        Ready: ready,
      }).map(([type, status]) => ({
        type,
        status,
        ...(type === 'Ready' && status !== 'True' && { message }),
        ...(type === 'Ready' && status === 'False' && { reason: 'KubeletNotReady' }),
      })),
    },
  }
}

export function taints(...keys: string[]) {
  return { spec: { taints: keys.map((it) => ({ key: `node.kubernetes.io/${it}`, effect: 'NoSchedule' })) } }
}

/** The node lifecycle controller adds the taint after the kubelet has written the condition. */
export function pressure(type: string, taint: string) {
  return [node('0s', {}), node('1m', { [type]: 'True' }), node('61s', { [type]: 'True' }, taints(taint))]
}

export function workload(kind: string, at: string, ready: number, status: object, more: object = {}) {
  const spec = { replicas: 3, template: { spec: { containers: [{ name: 'app', image: 'web:1' }] } } }
  const metadata = { name: 'web', namespace: 'shop', creationTimestamp: OLD, ...more }
  return {
    at,
    kind,
    metadata,
    spec,
    status: { replicas: 3, readyReplicas: ready, updatedReplicas: 3, ...status },
  }
}

export function available(status: string) {
  return {
    conditions: [
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
      { type: 'Available', status },
    ],
  }
}

export function daemons(at: string, ready: number, more: object = {}) {
  const counts = { desiredNumberScheduled: 3, currentNumberScheduled: 3, updatedNumberScheduled: 3 }
  const metadata = { name: 'agent', namespace: 'shop', creationTimestamp: OLD, ...more }
  return {
    at,
    kind: 'DaemonSet',
    metadata,
    status: { ...counts, numberReady: ready, numberUnavailable: 3 - ready },
  }
}

export function pod(at: string, status: object, more: { metadata?: object; spec?: object } = {}) {
  return {
    at,
    kind: 'Pod',
    metadata: { name: 'web-1', namespace: 'shop', ...more.metadata },
    spec: more.spec ?? {},
    status,
  }
}

export const UNSCHEDULABLE = {
  phase: 'Pending',
  conditions: [
    {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message: '0/3 nodes are available: 3 Insufficient cpu.',
    },
  ],
}

/** Of a pod that runs and has never been ready. */
export const UNREADY = {
  phase: 'Running',
  startTime: '2026-01-05T12:00:01Z',
  conditions: [
    {
      type: 'Ready',
      status: 'False',
      reason: 'ContainersNotReady',
      lastTransitionTime: '2026-01-05T12:00:01Z',
    },
  ],
  containerStatuses: [{ name: 'app', ready: false, restartCount: 0, state: { running: {} } }],
}

export function waiting(reason: string, message: string, more: object = {}) {
  return {
    phase: 'Pending',
    containerStatuses: [{ name: 'app', ready: false, state: { waiting: { reason, message } } }],
    ...more,
  }
}

export function claim(at: string, phase: string, annotations: object = {}) {
  return {
    at,
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'shop', annotations },
    status: { phase },
  }
}

export const PROVISIONER = { 'volume.kubernetes.io/storage-provisioner': 'ebs.csi.aws.com' }

export function scaler(at: string, replicas: number, limited: string, cpu: number) {
  const reason = limited === 'True' ? 'TooManyReplicas' : 'DesiredWithinRange'
  const metrics = [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: cpu } } }]
  return {
    at,
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web', namespace: 'shop', creationTimestamp: OLD },
    spec: { maxReplicas: 10 },
    status: {
      currentReplicas: replicas,
      desiredReplicas: replicas,
      currentMetrics: metrics,
      conditions: [{ type: 'ScalingLimited', status: limited, reason }],
    },
  }
}
