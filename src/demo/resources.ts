import type { Resource } from '../event.ts'

const resource = (
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced = true,
): Resource => ({
  group,
  version,
  kind,
  plural,
  namespaced,
})

export const NAMESPACE = resource('', 'v1', 'Namespace', 'namespaces', false)
export const NODE = resource('', 'v1', 'Node', 'nodes', false)
export const POD = resource('', 'v1', 'Pod', 'pods')
export const EVENT = resource('', 'v1', 'Event', 'events')
export const SERVICE = resource('', 'v1', 'Service', 'services')
export const CONFIG_MAP = resource('', 'v1', 'ConfigMap', 'configmaps')
export const DEPLOYMENT = resource('apps', 'v1', 'Deployment', 'deployments')
export const STATEFUL_SET = resource('apps', 'v1', 'StatefulSet', 'statefulsets')
export const DAEMON_SET = resource('apps', 'v1', 'DaemonSet', 'daemonsets')
export const JOB = resource('batch', 'v1', 'Job', 'jobs')
export const DATABASE = resource('stable.example.com', 'v1', 'Database', 'databases')
export const CRD = resource(
  'apiextensions.k8s.io',
  'v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
)

export const RESOURCES = [
  NAMESPACE,
  NODE,
  POD,
  EVENT,
  SERVICE,
  CONFIG_MAP,
  DEPLOYMENT,
  STATEFUL_SET,
  DAEMON_SET,
  JOB,
  DATABASE,
  CRD,
]
