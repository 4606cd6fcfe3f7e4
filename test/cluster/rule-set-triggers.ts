/** A request to the API server. */
export interface Step {
  method: 'POST' | 'PATCH' | 'DELETE'
  path: string
  body?: object
}

export interface Trigger {
  steps: readonly Step[]
  /** `held`: by `for` or `group`, until its time comes. */
  outcome: 'sent' | 'held'
}

const IN_SHOP = '/api/v1/namespaces/shop'
const APPS = '/apis/apps/v1/namespaces/shop'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'

const create = (collection: string, name: string, rest: object): Step => ({
  method: 'POST',
  path: collection,
  body: { metadata: { name }, ...rest },
})
const patch = (path: string, body: object): Step => ({ method: 'PATCH', path, body })
const remove = (path: string): Step => ({ method: 'DELETE', path })

const container = (more: object = {}) => ({ name: 'app', image: 'registry.invalid/app:1', ...more })
const pod = (name: string, spec: object = {}) =>
  create(`${IN_SHOP}/pods`, name, { spec: { containers: [container()], ...spec } })
const podStatus = (name: string, status: object) => patch(`${IN_SHOP}/pods/${name}/status`, { status })
const containerStatus = (more: object) => ({
  containerStatuses: [
    { name: 'app', image: 'a', imageID: '', ready: false, restartCount: 1, started: false, ...more },
  ],
})

let events = 0
const event = (reason: string, message: string, involvedObject: object, count = 1): Step => ({
  method: 'POST',
  path: `${namespaceOf(involvedObject)}/events`,
  body: { metadata: { name: `event-${++events}` }, type: 'Warning', reason, message, involvedObject, count },
})
const times = (count: number, step: () => Step): Step[] => Array.from({ length: count }, step)
const namespaceOf = (ref: { namespace?: string }) => (ref.namespace ? IN_SHOP : '/api/v1/namespaces/default')
const aPod = { kind: 'Pod', namespace: 'shop', name: 'web' }
const aClaim = { kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'data' }
const aNode = { kind: 'Node', name: 'worker-1' }

const template = (image: string) => ({
  metadata: { labels: { app: 'x' } },
  spec: { containers: [{ name: 'app', image }] },
})
const workload = (name: string, kind = 'deployments') =>
  create(`${APPS}/${kind}`, name, {
    spec: { selector: { matchLabels: { app: 'x' } }, template: template('registry.invalid/app:1') },
  })
const status = (path: string, type: string, value: string, reason = 'Tested') =>
  patch(`${path}/status`, { status: { conditions: [{ type, status: value, reason, message: '' }] } })

const node = (name: string) => create('/api/v1/nodes', name, {})
const nodeStatus = (name: string, type: string, value: string) => status(`/api/v1/nodes/${name}`, type, value)
const claim = (name: string) =>
  create(`${IN_SHOP}/persistentvolumeclaims`, name, {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
const enforce = (namespace: string, level: string) =>
  patch(`/api/v1/namespaces/${namespace}`, {
    metadata: { labels: { 'pod-security.kubernetes.io/enforce': level } },
  })
/** Asked about nothing that there is. */
const webhook = (failurePolicy: string) => ({
  name: 'guard.example.com',
  failurePolicy,
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  clientConfig: { url: 'https://guard.example.com/' },
  rules: [
    { apiGroups: ['none.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] },
  ],
})
const JOB = {
  spec: { template: { spec: { restartPolicy: 'Never', containers: [container()] } } },
}

/** What makes each rule of each ready-made set match. */
export const TRIGGERS: Readonly<Record<string, Readonly<Record<string, Trigger>>>> = {
  'crash-loops': {
    'crash-loop': {
      outcome: 'sent',
      steps: [event('BackOff', 'Back-off restarting failed container app in pod web', aPod, 3)],
    },
    'image-cannot-be-pulled': {
      outcome: 'sent',
      steps: times(2, () =>
        event('Failed', 'Failed to pull image "registry.invalid/app:1": not found', aPod),
      ),
    },
    'oom-killed': {
      outcome: 'sent',
      steps: [
        pod('oom'),
        podStatus(
          'oom',
          containerStatus({
            lastState: {
              terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-01-01T00:00:00Z' },
            },
          }),
        ),
      ],
    },
    'container-cannot-start': {
      outcome: 'held',
      steps: [
        pod('misconfigured'),
        podStatus(
          'misconfigured',
          containerStatus({ state: { waiting: { reason: 'CreateContainerConfigError' } } }),
        ),
      ],
    },
    'pod-without-node': {
      outcome: 'held',
      steps: [
        pod('large'),
        podStatus('large', {
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
        }),
      ],
    },
    evicted: {
      outcome: 'held',
      steps: [pod('evicted'), podStatus('evicted', { phase: 'Failed', reason: 'Evicted' })],
    },
  },
  rollouts: {
    'image-changed': {
      outcome: 'sent',
      steps: [
        workload('new-image'),
        patch(`${APPS}/deployments/new-image`, {
          spec: { template: template('registry.invalid/app:2') },
        }),
      ],
    },
    'rollout-stuck': {
      outcome: 'sent',
      steps: [
        workload('stuck'),
        status(`${APPS}/deployments/stuck`, 'Progressing', 'False', 'ProgressDeadlineExceeded'),
      ],
    },
    'not-available': {
      outcome: 'held',
      steps: [
        workload('away'),
        status(`${APPS}/deployments/away`, 'Available', 'True'),
        status(`${APPS}/deployments/away`, 'Available', 'False'),
      ],
    },
    'replicas-not-ready': { outcome: 'held', steps: [workload('database', 'statefulsets')] },
    'daemons-not-available': {
      outcome: 'held',
      steps: [
        workload('agent', 'daemonsets'),
        patch(`${APPS}/daemonsets/agent/status`, { status: { numberUnavailable: 1 } }),
      ],
    },
    'job-failed': {
      outcome: 'sent',
      steps: [
        create('/apis/batch/v1/namespaces/shop/jobs', 'report', JOB),
        patch('/apis/batch/v1/namespaces/shop/jobs/report/status', {
          status: {
            startTime: '2026-01-01T00:00:00Z',
            failed: 1,
            conditions: [
              { type: 'FailureTarget', status: 'True', reason: 'BackoffLimitExceeded' },
              { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' },
            ],
          },
        }),
      ],
    },
  },
  nodes: {
    'node-not-ready': {
      outcome: 'held',
      steps: [node('lost'), nodeStatus('lost', 'Ready', 'True'), nodeStatus('lost', 'Ready', 'Unknown')],
    },
    'node-under-memory-pressure': {
      outcome: 'held',
      steps: [node('full'), nodeStatus('full', 'MemoryPressure', 'True')],
    },
    'node-under-disk-pressure': {
      outcome: 'held',
      steps: [node('disk'), nodeStatus('disk', 'DiskPressure', 'True')],
    },
    'node-out-of-pids': {
      outcome: 'held',
      steps: [node('busy'), nodeStatus('busy', 'PIDPressure', 'True')],
    },
    'node-cordoned': {
      outcome: 'held',
      steps: [node('cordoned'), patch('/api/v1/nodes/cordoned', { spec: { unschedulable: true } })],
    },
    'node-added': { outcome: 'held', steps: [node('new'), nodeStatus('new', 'Ready', 'True')] },
    'node-gone': { outcome: 'held', steps: [node('old'), remove('/api/v1/nodes/old')] },
    'node-fault': { outcome: 'sent', steps: [event('SystemOOM', 'System OOM encountered', aNode)] },
    'node-rebooted': {
      outcome: 'held',
      steps: [event('Rebooted', 'Node worker-1 has been rebooted', aNode)],
    },
  },
  storage: {
    'claim-pending': {
      outcome: 'held',
      steps: [
        claim('pending'),
        patch(`${IN_SHOP}/persistentvolumeclaims/pending`, {
          metadata: { annotations: { 'volume.kubernetes.io/storage-provisioner': 'ebs.csi.aws.com' } },
        }),
      ],
    },
    'claim-without-volume': {
      outcome: 'sent',
      steps: [event('FailedBinding', 'no persistent volumes available for this claim', aClaim, 20)],
    },
    'claim-lost': {
      outcome: 'sent',
      steps: [
        claim('lost'),
        patch(`${IN_SHOP}/persistentvolumeclaims/lost/status`, { status: { phase: 'Lost' } }),
      ],
    },
    'volume-failed': {
      outcome: 'sent',
      steps: [
        create('/api/v1/persistentvolumes', 'broken', {
          spec: {
            capacity: { storage: '1Gi' },
            accessModes: ['ReadWriteOnce'],
            hostPath: { path: '/tmp/volume' },
          },
        }),
        patch('/api/v1/persistentvolumes/broken/status', { status: { phase: 'Failed' } }),
      ],
    },
    'volume-not-mounted': {
      outcome: 'sent',
      steps: times(6, () => event('FailedMount', 'MountVolume.SetUp failed', aPod)),
    },
    'volume-not-provisioned': {
      outcome: 'sent',
      steps: times(3, () => event('ProvisioningFailed', 'quota exceeded', aClaim)),
    },
    'volume-not-resized': {
      outcome: 'sent',
      steps: [event('VolumeResizeFailed', 'resize volume failed', aClaim)],
    },
  },
  security: {
    'cluster-admin-given': {
      outcome: 'sent',
      steps: [
        create(`${RBAC}/clusterrolebindings`, 'eve', {
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
        }),
      ],
    },
    'all-rights-in-a-role': {
      outcome: 'sent',
      steps: [
        create(`${RBAC}/clusterroles`, 'everything', {
          rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
        }),
      ],
    },
    'privileged-pod': {
      outcome: 'sent',
      steps: [pod('privileged', { containers: [container({ securityContext: { privileged: true } })] })],
    },
    'privileged-daemon': {
      outcome: 'sent',
      steps: [
        create(`${APPS}/daemonsets`, 'network', {
          spec: {
            selector: { matchLabels: { app: 'x' } },
            template: {
              metadata: { labels: { app: 'x' } },
              spec: { hostNetwork: true, containers: [container()] },
            },
          },
        }),
      ],
    },
    'pod-security-relaxed': {
      outcome: 'sent',
      steps: [enforce('shop', 'restricted'), enforce('shop', 'privileged')],
    },
    'service-opened': {
      outcome: 'sent',
      steps: [create(`${IN_SHOP}/services`, 'open', { spec: { type: 'NodePort', ports: [{ port: 80 }] } })],
    },
    'admission-added-or-gone': {
      outcome: 'sent',
      steps: [create(`${ADMISSION}/validatingwebhookconfigurations`, 'empty', { webhooks: [] })],
    },
    'admission-changed': {
      outcome: 'sent',
      steps: [
        create(`${ADMISSION}/validatingwebhookconfigurations`, 'guard', { webhooks: [webhook('Fail')] }),
        patch(`${ADMISSION}/validatingwebhookconfigurations/guard`, { webhooks: [webhook('Ignore')] }),
      ],
    },
  },
  audit: {
    'created-or-deleted': {
      outcome: 'sent',
      steps: [create(`${IN_SHOP}/configmaps`, 'settings', { data: { a: '1' } })],
    },
    changed: { outcome: 'sent', steps: [patch(`${IN_SHOP}/configmaps/settings`, { data: { a: '2' } })] },
  },
}
