import type { KubeObject } from '../objects.ts'
import type { App } from './workload.ts'
import { labelsOf } from './workload.ts'

export interface Node extends KubeObject {
  spec: { podCIDR: string; providerID: string; unschedulable?: boolean; taints?: object[] }
  status: { conditions: NodeCondition[] } & Record<string, unknown>
}

export interface NodeCondition {
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
