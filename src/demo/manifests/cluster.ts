import { type KubeObject, microTimeOf, type Stored, timeOf } from '../objects.ts'
import { type App, labelsOf } from './workload.ts'

export interface Node extends KubeObject {
  spec: { podCIDR: string; providerID: string; unschedulable?: boolean; taints?: object[] }
  status: { conditions: NodeCondition[] } & Record<string, unknown>
}

interface NodeCondition {
  type: string
  status: 'True' | 'False'
  lastHeartbeatTime: string
  lastTransitionTime: string
  reason: string
  message: string
}

export interface ConfigMap extends KubeObject {
  data: Record<string, string>
}

export function namespace(name: string, team?: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...(team && { team }) } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}

export function node(name: string, index: number, at: string): Node {
  const condition = (type: string, status: 'True' | 'False', reason: string, message: string) => ({
    type,
    status,
    lastHeartbeatTime: at,
    lastTransitionTime: at,
    reason,
    message,
  })
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'node.kubernetes.io/instance-type': 'm6i.xlarge',
        'topology.kubernetes.io/zone': `eu-central-1${'abc'[index % 3]}`,
      },
    },
    spec: { podCIDR: `10.42.${index}.0/24`, providerID: `demo://worker/${name}` },
    status: {
      capacity: { cpu: '4', memory: '16074540Ki', pods: '110' },
      allocatable: { cpu: '3920m', memory: '15484716Ki', pods: '110' },
      conditions: [
        condition(
          'MemoryPressure',
          'False',
          'KubeletHasSufficientMemory',
          'kubelet has sufficient memory available',
        ),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
      ],
      addresses: [
        { type: 'InternalIP', address: `192.168.10.${11 + index}` },
        { type: 'Hostname', address: name },
      ],
      nodeInfo: {
        kernelVersion: '6.12.48+deb13-amd64',
        osImage: 'Debian GNU/Linux 13 (trixie)',
        containerRuntimeVersion: 'containerd://2.2.1',
        kubeletVersion: 'v1.36.3',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  }
}

export function service(app: App, clusterIP: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: app.name, namespace: app.namespace, labels: labelsOf(app) },
    spec: {
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 'http' }],
      selector: { 'app.kubernetes.io/name': app.name },
      clusterIP,
      clusterIPs: [clusterIP],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
    },
    status: { loadBalancer: {} },
  }
}

export function configMap(name: string, namespace: string, data: Record<string, string>): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data }
}

/** Its values are made up; kubeherald forwards only hashes of such. */
export function secret(name: string, namespace: string, values: Record<string, string>): KubeObject {
  const entries = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  const data = Object.fromEntries(entries)
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    data,
    type: 'Opaque',
  } as KubeObject
}

export interface Event extends KubeObject {
  involvedObject: Reference
  reason: string
  message: string
  type: 'Normal' | 'Warning'
  count?: number
  series?: { count: number; lastObservedTime: string }
  lastTimestamp: string | null
}

interface Reference {
  kind: string
  namespace?: string
  name: string
  uid: string
  apiVersion: string
  resourceVersion: string
  fieldPath?: string
}

export interface EventOptions {
  /** Default: Normal. */
  type?: 'Normal' | 'Warning'
  host?: string
  /** Written through events.k8s.io, as the scheduler does: `eventTime` and `series` instead of timestamps and count. */
  newStyle?: boolean
}

/** An Event about an object, as the component that reports it writes it. */
export function event(
  about: Stored,
  it: EventOptions & { name: string; nowMs: number; component: string; reason: string; message: string },
): Event {
  const { name, nowMs, component, reason, message, type = 'Normal', host = '', newStyle = false } = it
  const { metadata, kind, apiVersion } = about
  const { namespace, uid, resourceVersion } = metadata
  const now = timeOf(nowMs)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: namespace ?? 'default' },
    involvedObject: {
      kind,
      ...(namespace !== undefined && { namespace }),
      name: metadata.name,
      uid,
      apiVersion,
      resourceVersion,
      ...(component === 'kubelet' && kind === 'Pod' && { fieldPath: fieldPathOf(about) }),
    },
    reason,
    message,
    source: newStyle ? {} : { component, ...(host !== '' && { host }) },
    firstTimestamp: newStyle ? null : now,
    lastTimestamp: newStyle ? null : now,
    ...(!newStyle && { count: 1 }),
    type,
    eventTime: newStyle ? microTimeOf(nowMs) : null,
    ...(newStyle && { action: reason === 'Scheduled' ? 'Binding' : 'Scheduling' }),
    reportingComponent: component,
    reportingInstance: newStyle ? `${component}-control-plane` : host,
  } as Event
}

/** The same Event with a higher count. */
export function repeated(it: Event, nowMs: number): Event {
  if (it.count !== undefined) return { ...it, count: it.count + 1, lastTimestamp: timeOf(nowMs) }
  const count = (it.series?.count ?? 1) + 1
  return { ...it, series: { count, lastObservedTime: microTimeOf(nowMs) } }
}

function fieldPathOf({ spec }: Stored): string {
  const { containers } = spec as { containers: { name: string }[] }
  return `spec.containers{${containers[0]?.name}}`
}

export interface Database extends KubeObject {
  spec: { engine: string; version: string; replicas: number; storage: string; backup: object }
  status: DatabaseStatus
}

export interface DatabaseStatus {
  phase: 'Pending' | 'Provisioning' | 'Ready' | 'Upgrading' | 'BackingUp' | 'Deleting'
  observedGeneration: number
  readyReplicas: number
  endpoint?: string
  version?: string
  lastBackup?: string
  message?: string
}

export interface DatabaseOptions {
  name: string
  namespace: string
  team: string
  tier: 'gold' | 'silver'
  version: string
}

export function database({ name, namespace, team, tier, version }: DatabaseOptions): Database {
  return {
    apiVersion: 'stable.example.com/v1',
    kind: 'Database',
    metadata: { name, namespace, labels: { team, tier } },
    spec: {
      engine: 'postgres',
      version,
      replicas: tier === 'gold' ? 3 : 1,
      storage: tier === 'gold' ? '200Gi' : '20Gi',
      backup: { schedule: '15 2 * * *', retention: '14d' },
    },
    status: { phase: 'Pending', observedGeneration: 0, readyReplicas: 0 },
  }
}

/** The definition that makes the API server serve Databases. */
export function databaseDefinition(at: string): KubeObject {
  const names = {
    plural: 'databases',
    singular: 'database',
    shortNames: ['db'],
    kind: 'Database',
    listKind: 'DatabaseList',
  }
  const field = (type: string) => ({ type })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'databases.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      names,
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  required: ['engine', 'version'],
                  properties: {
                    engine: { type: 'string', enum: ['postgres', 'mysql'] },
                    version: field('string'),
                    replicas: field('integer'),
                    storage: field('string'),
                    backup: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  },
                },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
          subresources: { status: {} },
        },
      ],
      conversion: { strategy: 'None' },
    },
    status: {
      conditions: [
        {
          type: 'NamesAccepted',
          status: 'True',
          lastTransitionTime: at,
          reason: 'NoConflicts',
          message: 'no conflicts found',
        },
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: at,
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
      acceptedNames: names,
      storedVersions: ['v1'],
    },
  }
}
