import { LEASE_RIGHTS } from '../../src/cli/rbac/permissions.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import type { Receiver } from '../servers/receiver.ts'
import type { RedisServer } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'

/** Namespaces that are watched by name are a watch each. */
export const NAMESPACES = ['shop-a', 'shop-b', 'shop-c', 'shop-d', 'shop-e', 'shop-f']

export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

export interface Lease {
  metadata: { name: string; labels: Record<string, string>; annotations: Record<string, string> }
  spec: {
    holderIdentity: string
    leaseDurationSeconds: number
    leaseTransitions: number
    acquireTime: string
    renewTime: string
  }
}

/** Lets `plain` watch, and nothing else. */
export async function grantWatches(kubernetes: Kubernetes): Promise<void> {
  for (const name of NAMESPACES) {
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name } })
    const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }
    await bind(kubernetes, name, 'reader', rule)
  }
}

/** Lets `plain` use leases, as far as it has to. */
export async function grantLeases(kubernetes: Kubernetes): Promise<void> {
  const { group, resource, verbs } = LEASE_RIGHTS
  await bind(kubernetes, 'default', 'leases', { apiGroups: [group], resources: [resource], verbs })
}

async function bind(kubernetes: Kubernetes, namespace: string, name: string, rule: object): Promise<void> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await kubernetes.request('POST', `${path}/roles`, { metadata: { name }, rules: [rule] })
  await kubernetes.request('POST', `${path}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'User', name: 'plain', apiGroup: 'rbac.authorization.k8s.io' }],
  })
}

/** A process of many, in its own pod so to say. */
export function startReplica(
  { kubernetes, redis, hook }: { kubernetes: Kubernetes; redis: RedisServer; hook: Receiver },
  pod: string,
  options: { unready?: boolean; leases?: string; env?: Record<string, string> } = {},
): Promise<Kubeherald> {
  return startKubeherald({
    kubeconfig: kubernetes.kubeconfigOf('plain'),
    env: { POD_NAME: pod, ...options.env },
    unready: options.unready ?? false,
    config: `
cluster: drill
leases: ${options.leases ?? 'true'}
redis: { url: "${redis.url}" }
watch: [{ kind: ConfigMap, namespaces: [${NAMESPACES}] }]
sinks: { hook: { type: webhook, url: "${hook.url}" } }
rules: [{ name: all, to: [hook] }]`,
  })
}

/** All leases, those of watches or those of processes. */
export async function leasesOf(
  kubernetes: Kubernetes,
  component: 'watch' | 'member',
  cluster = 'drill',
): Promise<Lease[]> {
  const selector = encodeURIComponent(
    `app.kubernetes.io/name=kubeherald,kubeherald.dev/cluster=${cluster},app.kubernetes.io/component=${component}`,
  )
  const { items } = (await kubernetes.request('GET', `${LEASES}?labelSelector=${selector}`)) as {
    items: Lease[]
  }
  return items
}

/** How many watches each pod holds; '' are free. */
export async function holdings(kubernetes: Kubernetes): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { spec } of await leasesOf(kubernetes, 'watch')) {
    const pod = spec.holderIdentity.split('_')[0] ?? ''
    counts[pod] = (counts[pod] ?? 0) + 1
  }
  return counts
}

/** Waits until the pods hold so many watches each; gives how long that took. */
export async function shared(
  kubernetes: Kubernetes,
  expected: Record<string, number>,
  timeoutMs = 45_000,
): Promise<number> {
  const startedMs = performance.now()
  let counts: Record<string, number> = {}
  await waitFor(
    async () => {
      counts = await holdings(kubernetes)
      return JSON.stringify(sorted(counts)) === JSON.stringify(sorted(expected))
    },
    { timeoutMs, what: () => `${JSON.stringify(expected)}; it is ${JSON.stringify(counts)}` },
  )
  return performance.now() - startedMs
}

function sorted(counts: Record<string, number>): [string, number][] {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))
}
