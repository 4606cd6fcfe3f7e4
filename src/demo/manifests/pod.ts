import type { KubeObject, OwnerReference } from '../objects.ts'
import type { PodTemplate } from './workload.ts'

export interface Pod extends KubeObject {
  spec: PodSpec
  status: PodStatus
}

export interface PodSpec {
  containers: Container[]
  nodeName?: string
}

interface Container {
  name: string
  image: string
}

export interface PodStatus {
  observedGeneration?: number
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  conditions?: Condition[]
  hostIP?: string
  podIP?: string
  startTime?: string
  containerStatuses?: ContainerStatus[]
  qosClass?: string
}

export interface Condition {
  type: string
  status: 'True' | 'False'
  lastProbeTime?: null
  lastTransitionTime: string
  reason?: string
  message?: string
}

export interface ContainerStatus {
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

export type ContainerState =
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
