import type { KubeObject, OwnerReference } from '../objects.ts'

/** An application of the demo: what its Deployment, ReplicaSets and Pods have in common. */
export interface App {
  name: string
  namespace: string
  team: string
  image: string
  replicas: number
  /** How much memory a pod asks for. */
  memory: string
  port: number
}

export interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> }
  spec: object
}

export interface Deployment extends KubeObject {
  spec: { replicas: number; selector: object; template: PodTemplate; strategy: object } & Record<
    string,
    unknown
  >
  status: WorkloadStatus
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas: number; selector: object; template: PodTemplate }
  status: WorkloadStatus
}

interface WorkloadStatus {
  observedGeneration?: number
  replicas: number
  updatedReplicas?: number
  readyReplicas?: number
  availableReplicas?: number
  unavailableReplicas?: number
  conditions?: object[]
}

export function labelsOf({ name, team }: App): Record<string, string> {
  return {
    'app.kubernetes.io/managed-by': 'argocd',
    'app.kubernetes.io/name': name,
    'app.kubernetes.io/part-of': `${team}-platform`,
    team,
  }
}

export function deployment(app: App): Deployment {
  const labels = labelsOf(app)
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: app.name,
      namespace: app.namespace,
      labels,
      annotations: {
        'argocd.argoproj.io/tracking-id': `${app.name}:apps/Deployment:${app.namespace}/${app.name}`,
        'deployment.kubernetes.io/revision': '1',
      },
    },
    spec: {
      replicas: app.replicas,
      selector: { matchLabels: { 'app.kubernetes.io/name': app.name } },
      template: podTemplate(app),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
      revisionHistoryLimit: 2,
      progressDeadlineSeconds: 600,
    },
    status: { replicas: 0 },
  }
}

export function replicaSet(
  { name, namespace = '' }: KubeObject['metadata'],
  hash: string,
  template: PodTemplate,
  ownerReferences: OwnerReference[],
): ReplicaSet {
  const labels = { ...template.metadata.labels, 'pod-template-hash': hash }
  const matchLabels = { 'app.kubernetes.io/name': name, 'pod-template-hash': hash }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: `${name}-${hash}`, namespace, labels, ownerReferences },
    spec: {
      replicas: 0,
      selector: { matchLabels },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { replicas: 0 },
  }
}

function podTemplate(app: App): PodTemplate {
  return {
    metadata: {
      labels: labelsOf(app),
      annotations: { 'prometheus.io/port': '9102', 'prometheus.io/scrape': 'true' },
    },
    spec: {
      containers: [container(app)],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: app.name,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 },
    },
  }
}

function container({ name, namespace, image, memory, port }: App): object {
  const probe = (path: string, periodSeconds: number) => ({
    httpGet: { path, port: 'http', scheme: 'HTTP' },
    periodSeconds,
    timeoutSeconds: 2,
    successThreshold: 1,
    failureThreshold: 3,
  })
  return {
    name,
    image,
    ports: [
      { name: 'http', containerPort: port, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9102, protocol: 'TCP' },
    ],
    envFrom: [{ configMapRef: { name: `${name}-config` } }],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'POD_IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
      { name: 'OTEL_SERVICE_NAME', value: name },
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otel-collector.monitoring:4317' },
      { name: 'DATABASE_URL', valueFrom: { secretKeyRef: { name: `${namespace}-database`, key: 'url' } } },
    ],
    resources: { limits: { memory }, requests: { cpu: '100m', memory } },
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    livenessProbe: { ...probe('/healthz', 10), initialDelaySeconds: 10 },
    readinessProbe: probe('/readyz', 5),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
  }
}

/** A template with another image. */
export function withImage(template: PodTemplate, image: string): PodTemplate {
  const spec = template.spec as { containers: object[] }
  return { ...template, spec: { ...spec, containers: spec.containers.map((it) => ({ ...it, image })) } }
}

export function imageOf(template: PodTemplate): string {
  const { containers } = template.spec as { containers: { image: string }[] }
  return containers[0]?.image ?? ''
}

export interface Job extends KubeObject {
  spec: { template: PodTemplate } & Record<string, unknown>
  status: {
    active?: number
    succeeded?: number
    startTime?: string
    completionTime?: string
    conditions?: object[]
  }
}

export interface CronJob extends KubeObject {
  spec: { schedule: string; jobTemplate: object } & Record<string, unknown>
  status: { lastScheduleTime?: string; lastSuccessfulTime?: string; active?: object[] }
}

export function cronJob(app: App, schedule: string): CronJob {
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: app.name, namespace: app.namespace, labels: labelsOf(app) },
    spec: {
      schedule,
      concurrencyPolicy: 'Forbid',
      suspend: false,
      jobTemplate: { spec: { template: batchTemplate(app) } },
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
    },
    status: {},
  }
}

export function job(app: App, name: string, ownerReferences: OwnerReference[]): Job {
  const labels = { ...labelsOf(app), 'batch.kubernetes.io/job-name': name }
  const template = batchTemplate(app)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace: app.namespace,
      labels,
      ...(ownerReferences.length > 0 && { ownerReferences }),
    },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 3,
      template: { ...template, metadata: { ...template.metadata, labels } },
      completionMode: 'NonIndexed',
      suspend: false,
    },
    status: {},
  }
}

function batchTemplate(app: App): PodTemplate {
  const template = podTemplate(app)
  return { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
}

export interface Pod extends KubeObject {
  spec: PodSpec
  status: PodStatus
}

interface PodSpec {
  containers: Container[]
  nodeName?: string
}

interface Container {
  name: string
  image: string
}

interface PodStatus {
  observedGeneration?: number
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  conditions?: Condition[]
  hostIP?: string
  podIP?: string
  startTime?: string
  containerStatuses?: ContainerStatus[]
  qosClass?: string
}

interface Condition {
  type: string
  status: 'True' | 'False'
  lastProbeTime?: null
  lastTransitionTime: string
  reason?: string
  message?: string
}

interface ContainerStatus {
  name: string
  state: ContainerState
  lastState: ContainerState
  ready: boolean
  restartCount: number
  image: string
  imageID: string
  containerID?: string
  started: boolean
}

type ContainerState =
  | Record<string, never>
  | { waiting: { reason: string; message?: string } }
  | { running: { startedAt: string } }
  | { terminated: { exitCode: number; reason: string; startedAt: string; finishedAt: string } }

export interface PodOptions {
  name: string
  generateName?: string
  namespace: string
  template: PodTemplate
  ownerReferences: OwnerReference[]
}

/** A pod as its controller creates it: without node or status. */
export function pod({ name, generateName, namespace, template, ownerReferences }: PodOptions): Pod {
  const { containers, ...spec } = template.spec as PodSpec
  const token = { name: 'kube-api-access', mountPath: SERVICE_ACCOUNT, readOnly: true }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(generateName !== undefined && { generateName }),
      namespace,
      ...template.metadata,
      ownerReferences,
    },
    spec: {
      volumes: [{ name: 'tmp', emptyDir: {} }, TOKEN_VOLUME],
      containers: containers.map((it) => ({ ...it, volumeMounts: [...mountsOf(it), token] })),
      ...spec,
      schedulerName: 'default-scheduler',
      tolerations: ['not-ready', 'unreachable'].map((name) => ({
        key: `node.kubernetes.io/${name}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: 'PreemptLowerPriority',
    } as PodSpec,
    status: { phase: 'Pending', qosClass: 'Burstable' },
  }
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const TOKEN_VOLUME = {
  name: 'kube-api-access',
  projected: {
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: 420,
  },
}

function mountsOf(container: Container): object[] {
  return (container as { volumeMounts?: object[] }).volumeMounts ?? []
}

/** Conditions with some set; a condition's time changes only with its status. */
export function withConditions(
  { conditions = [] }: PodStatus,
  at: string,
  ...changed: Omit<Condition, 'lastTransitionTime'>[]
): Condition[] {
  const set = changed.map((condition) => {
    const before = conditions.find(({ type }) => type === condition.type)
    const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : at
    return { ...condition, lastProbeTime: null, lastTransitionTime }
  })
  return [...conditions.filter(({ type }) => !changed.some((it) => it.type === type)), ...set]
}

/** The pod with a change to the status of its container. */
export function withContainer(it: Pod, change: Partial<ContainerStatus>): Pod {
  const [container] = it.spec.containers
  const { name = '', image = '' } = container ?? {}
  const [before] = it.status.containerStatuses ?? []
  const status: ContainerStatus = {
    name,
    state: { waiting: { reason: 'ContainerCreating' } },
    lastState: {},
    ready: false,
    restartCount: 0,
    image,
    imageID: '',
    started: false,
    ...before,
    ...change,
  }
  return { ...it, status: { ...it.status, containerStatuses: [status] } }
}

/** The pod with its conditions Ready and ContainersReady set. */
export function withReady(it: Pod, ready: boolean, at: string, reason = 'ContainersNotReady'): Pod {
  const status = ready ? 'True' : 'False'
  const why = ready
    ? {}
    : { reason, message: `containers with unready status: [${it.spec.containers[0]?.name}]` }
  const conditions = withConditions(
    it.status,
    at,
    { type: 'Ready', status, ...why },
    { type: 'ContainersReady', status, ...why },
  )
  return { ...it, status: { ...it.status, conditions } }
}
