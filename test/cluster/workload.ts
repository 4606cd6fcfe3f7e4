import { setTimeout as pause } from 'node:timers/promises'
import type { Kubernetes } from '../servers/kubernetes.ts'

export const WIDGET_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.stable.example.com' },
  spec: {
    group: 'stable.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

export const WIDGETS = '/apis/stable.example.com/v1/namespaces/default/widgets'
export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
export const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

/** A manifest of the kind that a collection path holds. */
export function manifest(collection: string, name: string, step: number): object {
  const metadata = { name, labels: { app: name, step: String(step) } }
  if (collection === CONFIG_MAPS)
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { step: String(step) } }
  if (collection === WIDGETS)
    return { apiVersion: 'stable.example.com/v1', kind: 'Widget', metadata, spec: { step } }
  const labels = { app: name }
  const containers = [{ name: 'app', image: `registry.invalid/app:${step}` }]
  const spec = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec }
}

/** Creates, changes once or twice, and deletes `count` objects of each collection, `parallel` at a time. */
export async function churn(
  kubernetes: Pick<Kubernetes, 'request'>,
  collections: readonly string[],
  options: {
    count: number
    parallel: number
    prefix?: string
    deleteEvery?: number
    /** Each so manieth of the deleted ones is created, changed and deleted once more under its name. Default: none. */
    recreateEvery?: number
    /** How long each of those that write waits before a write. Default: not at all. */
    pauseMs?: number
    /** What a new ConfigMap has besides its step, such as something large. */
    dataOf?(): Record<string, string> | undefined
  },
): Promise<void> {
  const { count, parallel, prefix = 'object', deleteEvery = 1, recreateEvery, pauseMs, dataOf } = options
  async function request(...call: Parameters<Kubernetes['request']>): Promise<void> {
    if (pauseMs) await pause(pauseMs)
    await kubernetes.request(...call)
  }
  const jobs = collections.flatMap((collection) =>
    Array.from({ length: count }, (_, i) => ({ collection, i })),
  )
  let next = 0
  async function work(): Promise<void> {
    for (let job = jobs[next++]; job; job = jobs[next++]) {
      const { collection, i } = job
      const name = `${prefix}-${i}`
      const more = collection === CONFIG_MAPS ? dataOf?.() : undefined
      const created = manifest(collection, name, 0)
      await request('POST', collection, more ? { ...created, data: { step: '0', ...more } } : created)
      for (let step = 1; step <= 1 + (i % 2); step++) {
        await request('PATCH', `${collection}/${name}`, manifest(collection, name, step))
      }
      if (i % deleteEvery !== 0) continue
      await request('DELETE', `${collection}/${name}`)
      if (!recreateEvery || (i / deleteEvery) % recreateEvery !== 0) continue
      await request('POST', collection, manifest(collection, name, 0))
      await request('PATCH', `${collection}/${name}`, manifest(collection, name, 1))
      await request('DELETE', `${collection}/${name}`)
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
}
