/** Objects as an API server gives them, for conditions from real life. */
export const crashingPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-6f7c9d-x2x4q',
    generateName: 'web-6f7c9d-',
    namespace: 'shop',
    uid: '5c6a4a3e-0c4b-4f8e-8f7c-0f7d9b3c2a11',
    resourceVersion: '81233',
    creationTimestamp: '2026-11-21T05:40:00Z',
    labels: { 'app.kubernetes.io/name': 'web', team: 'shop', 'pod-template-hash': '6f7c9d' },
    annotations: { 'prometheus.io/scrape': 'true', 'kubernetes.io/config.source': 'api' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-6f7c9d', controller: true }],
  },
  spec: {
    nodeName: 'worker-3',
    restartPolicy: 'Always',
    hostNetwork: false,
    containers: [
      {
        name: 'app',
        image: 'registry.example.com/shop/web:1.4.2',
        ports: [{ containerPort: 8080, protocol: 'TCP' }],
        resources: { limits: { memory: '512Mi', cpu: '500m' }, requests: { memory: '128Mi', cpu: '100m' } },
        securityContext: { privileged: false, runAsUser: 1000 },
      },
      { name: 'proxy', image: 'envoyproxy/envoy:latest', ports: [{ containerPort: 15001 }], resources: {} },
    ],
    tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 300 }],
  },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-11-21T05:40:01Z' },
      {
        type: 'Ready',
        status: 'False',
        reason: 'ContainersNotReady',
        lastTransitionTime: '2026-11-21T05:58:00Z',
      },
    ],
    containerStatuses: [
      {
        name: 'app',
        ready: false,
        restartCount: 7,
        state: {
          waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' },
        },
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-11-21T05:57:59Z' } },
      },
      {
        name: 'proxy',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-11-21T05:40:03Z' } },
      },
    ],
    qosClass: 'Burstable',
  },
}

export const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'worker-3',
    labels: { 'topology.kubernetes.io/zone': 'eu-1a', 'node-role.kubernetes.io/worker': '' },
  },
  spec: {
    unschedulable: true,
    taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }],
    podCIDR: '10.244.3.0/24',
  },
  status: {
    capacity: { cpu: '8', memory: '32780440Ki', pods: '110' },
    allocatable: { cpu: '7800m', memory: '31Gi', pods: '110' },
    conditions: [
      { type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory' },
      {
        type: 'Ready',
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
      },
    ],
    images: [{ names: ['a@sha256:1', 'a:1'], sizeBytes: 7_311_221 }],
  },
}

export const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    namespace: 'shop',
    generation: 12,
    annotations: { 'deployment.kubernetes.io/revision': '9' },
  },
  spec: {
    replicas: 5,
    paused: false,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } },
    template: { spec: { containers: [{ name: 'web', image: 'registry.example.com/shop/web:1.4.2' }] } },
  },
  status: {
    observedGeneration: 11,
    replicas: 6,
    readyReplicas: 2,
    updatedReplicas: 3,
    conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
  },
}

export const oldDeployment = {
  ...deployment,
  metadata: { ...deployment.metadata, generation: 11 },
  spec: {
    ...deployment.spec,
    replicas: 3,
    template: { spec: { containers: [{ name: 'web', image: 'registry.example.com/shop/web:1.4.1' }] } },
  },
}

export const backOff = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'web.17', namespace: 'shop' },
  involvedObject: {
    kind: 'Pod',
    namespace: 'shop',
    name: 'web-6f7c9d-x2x4q',
    fieldPath: 'spec.containers{app}',
  },
  reason: 'BackOff',
  message: 'Back-off restarting failed container app in pod web-6f7c9d-x2x4q_shop(5c6a)',
  type: 'Warning',
  count: 31,
  firstTimestamp: '2026-11-21T05:41:00Z',
  lastTimestamp: '2026-11-21T05:59:30Z',
  source: { component: 'kubelet', host: 'worker-3' },
}
