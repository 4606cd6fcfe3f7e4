import type { Happening, Json } from './source-models.ts'

const API: Readonly<Record<string, readonly [apiVersion: string, kind: string, isClusterScoped?: true]>> = {
  pods: ['v1', 'Pod'],
  nodes: ['v1', 'Node', true],
  namespaces: ['v1', 'Namespace', true],
  persistentvolumes: ['v1', 'PersistentVolume', true],
  services: ['v1', 'Service'],
  secrets: ['v1', 'Secret'],
  configmaps: ['v1', 'ConfigMap'],
  'deployments.apps': ['apps/v1', 'Deployment'],
  'daemonsets.apps': ['apps/v1', 'DaemonSet'],
  'replicasets.apps': ['apps/v1', 'ReplicaSet'],
  'jobs.batch': ['batch/v1', 'Job'],
  'horizontalpodautoscalers.autoscaling': ['autoscaling/v2', 'HorizontalPodAutoscaler'],
  'certificates.cert-manager.io': ['cert-manager.io/v1', 'Certificate'],
  'prometheusrules.monitoring.coreos.com': ['monitoring.coreos.com/v1', 'PrometheusRule'],
  'clusters.cluster.x-k8s.io': ['cluster.x-k8s.io/v1beta1', 'Cluster'],
}

const NAMESPACES = ['shop', 'shop', 'gateway', 'gateway', 'kube-system', 'sandbox-1', 'team-a', 'preview-1']
const REASONS = ['BackOff', 'Unhealthy', 'Failed', 'Killing', 'Upgraded', 'Upgrading', 'SuccessfulRescale']
const MESSAGES = ['Liveness Probe failed: 500', 'nf_conntrack table is full', 'Back-off restarting']
const SOURCES = [
  { component: 'kubelet', host: 'edge-1' },
  { component: 'vpa-updater' },
  { component: 'upgrades' },
  {},
]
const LABELS = [
  undefined,
  { version: 'dev', team: 'shop' },
  { alerts: 'off', team: 'pay' },
  { version: 'prod' },
]
const ANNOTATIONS = [
  undefined,
  { 'botkube.io/disable': 'true' },
  { 'team/alerts': 'yes', 'cert-manager.io/alt-names': 'shop.example.com' },
]
const TYPES = ['ADDED', 'ADDED', 'MODIFIED', 'DELETED'] as const

/** Returns changes of objects of these kinds and Events about them: the same ones each time. */
export function happenings(count: number, kinds: readonly string[]): Happening[] {
  let state = 1
  const next = (below: number) => {
    state = (state * 48271) % 0x7fffffff
    return state % below
  }
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T

  function objectOf(resource: string, name: string): Json {
    const [apiVersion, kind, isClusterScoped] = API[resource] ?? []
    const [labels, annotations] = [pick(LABELS), pick(ANNOTATIONS)]
    const metadata = {
      name,
      ...(!isClusterScoped && { namespace: pick(NAMESPACES) }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    }
    return { apiVersion, kind, metadata, ...content() }
  }
  const content = () => ({
    spec: { template: { spec: { containers: [{ name: 'app', image: `app:${next(2)}` }] } } },
    status: { availableReplicas: next(2), conditions: [{ type: pick(['Ready', 'Failed']), status: 'True' }] },
  })

  return Array.from({ length: count }, (_, i): Happening => {
    const resource = pick(kinds)
    const object = objectOf(resource, `${pick(['web', 'settings'])}-${i}`)
    const type = pick(TYPES)
    if (next(3) === 0) {
      const old = { ...object, ...content() }
      return { type, resource, object, ...(type === 'MODIFIED' && { old }) }
    }
    const { apiVersion, kind, metadata } = object
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: `event-${i}`,
        namespace: metadata.namespace ?? 'default',
        ...(next(4) === 0 && { labels: { team: 'shop' } }),
      },
      involvedObject: {
        apiVersion,
        kind,
        name: metadata.name,
        ...(metadata.namespace && { namespace: metadata.namespace }),
      },
      type: pick(['Normal', 'Warning', 'Warning']),
      reason: pick(REASONS),
      message: pick(MESSAGES),
      source: pick(SOURCES),
      count: pick([1, 1, 5]),
    }
    return { type, resource: 'events', object: event, about: { resource, object } }
  })
}
