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

export interface WorkloadStatus {
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

export function podTemplate(app: App): PodTemplate {
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
