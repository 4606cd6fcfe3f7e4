import { expect, test } from 'vitest'
import { startWatches } from '../../src/app/pipeline.ts'
import type { SourceStore } from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { waitFor } from '../wait-for.ts'

const PODS = {
  resource: 'pods',
  responseKind: { kind: 'Pod' },
  scope: 'Namespaced',
  verbs: ['list', 'watch'],
}
const CATALOGUE = {
  kind: 'APIGroupDiscoveryList',
  items: [{ metadata: {}, versions: [{ version: 'v1', resources: [PODS] }] }],
}

/** A cluster with pods, whose Leases are there for the taking. */
const client: ClusterClient = {
  url: 'https://cluster',
  async get(path) {
    const answer = (status: number, body: object) => ({
      status,
      headers: {},
      body: Buffer.from(JSON.stringify(body)),
    })
    if (path === '/api') return answer(200, CATALOGUE)
    if (path.startsWith('/apis/coordination') && path.includes('?')) return answer(200, { items: [] })
    if (path === '/apis') return answer(200, { ...CATALOGUE, items: [] })
    return answer(404, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 })
  },
  async send(_method, _path, body) {
    const lease = body as { metadata: object }
    const written = { ...lease, metadata: { ...lease.metadata, resourceVersion: '1', uid: 'u' } }
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(written)) }
  },
  stream: () => Promise.reject(new Error('no streams here')),
  refresh: async () => {},
  close: async () => {},
}

const store = {
  absentKinds: { add: async () => {}, has: async () => false, remove: async () => {} },
  identities: { get: async () => undefined, set: async () => {}, ofUid: async () => undefined },
  stored: async () => [],
  peek: async () => undefined,
  open: () => Promise.reject(new Error('no sessions here')),
} as unknown as SourceStore

test('requests for Leases are counted as all others to the API server are', async () => {
  const metrics = createMetrics()
  const leases = { durationSeconds: 3, renewDeadlineSeconds: 2, retryPeriodSeconds: 0.1 }
  const config = { watch: [{ kind: 'Pod' }], leases, kubernetes: {} }
  const redis = { store: 'abc', silentMs: () => 0 }
  const common = { cluster: 'test', namespace: 'ns', redis, metrics, log: silentLog, clock: Date }
  const watches = startWatches({ ...common, config, client }, store)
  const created = async () =>
    (await metrics.apiRequests.get()).values.find(({ labels }) => labels.verb === 'create')
  await waitFor(created, { what: 'a Lease to be counted' })
  await watches.close()
  expect((await metrics.apiRequests.get()).values.map(({ labels }) => labels.verb)).toContain('delete')
})
