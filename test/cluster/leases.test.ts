import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createLeaseApi } from '../../src/watch/leases/lease-api.ts'
import { createSourceLeases } from '../../src/watch/leases/source-leases.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { waitFor } from '../wait-for.ts'
import { type Replica, startWatchBed } from '../watch/bed.ts'
import { currentRevision, etcdHistory } from './etcd-history.ts'
import { grantLeases, grantWatches, LEASES, leasesOf, NAMESPACES } from './replicas.ts'
import { CONFIG_MAPS, churn, DEPLOYMENTS } from './workload.ts'

const GROUP = { cluster: 'test', store: 'one' }
const HOUR_MS = 3_600_000
const ENTRIES = [
  { kind: 'ConfigMap', namespaces: ['default'] },
  { kind: 'Deployment', namespaces: ['default'] },
]

/** A process with leases whose clock is wrong. */
const replica = (identity: string, wallMs: number): Replica => ({
  wallMs,
  leases: (client) =>
    createSourceLeases({
      api: createLeaseApi(client, { namespace: 'default', group: GROUP, timeoutMs: 2_000 }),
      client,
      group: GROUP,
      silentMs: () => 0,
      namespace: 'default',
      metrics: createMetrics(),
      log: silentLog,
      identity,
      durationMs: 6_000,
      renewDeadlineMs: 4_000,
      retryPeriodMs: 500,
      pollMs: 100,
      slowRetryMs: 500,
      monotonic: () => performance.now(),
      clock: { now: () => Date.now() + wallMs },
      random: Math.random,
    }),
})

type Manager = ReturnType<Awaited<ReturnType<typeof startWatchBed>>['start']>
const watching = (manager: Manager) => manager.statuses().filter(({ phase }) => phase === 'watching').length

test('case 41: replicas whose clocks are hours apart take watches from each other under load, and each change is enqueued once', async () => {
  await using kubernetes = await borrowKubernetes()
  await using bed = await startWatchBed({ kubeconfig: kubernetes.kubeconfig, idle: true })
  const early = bed.start(ENTRIES, replica('early', -7 * HOUR_MS))
  await waitFor(() => watching(early) === 2, { what: 'the first to watch all' })
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  const load = churn(kubernetes, [CONFIG_MAPS, DEPLOYMENTS], { count: 60, parallel: 2 })
  const late = bed.start(ENTRIES, replica('late', 7 * HOUR_MS))
  await waitFor(() => watching(early) === 1 && watching(late) === 1, { what: 'one for each' })
  expect(
    early
      .statuses()
      .concat(late.statuses())
      .every(({ ready }) => ready),
  ).toBe(true)
  const ofLate = () => early.statuses().filter(({ holder }) => holder?.startsWith('late'))
  await waitFor(() => ofLate().length === 1, { what: 'the first to learn who has the other watch' })
  await early.close()
  await waitFor(() => watching(late) === 2, { what: 'the other to take over' })
  await load
  await expectEachOnce(kubernetes, bed, since)
})

test('case 41: a process with leases and one without on the same Redis lose nothing and enqueue nothing twice', async () => {
  await using kubernetes = await borrowKubernetes()
  await using bed = await startWatchBed({ kubeconfig: kubernetes.kubeconfig, idle: true })
  const plain = bed.start(ENTRIES)
  await waitFor(() => watching(plain) === 2, { what: 'the one without to watch' })
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  const load = churn(kubernetes, [CONFIG_MAPS, DEPLOYMENTS], { count: 60, parallel: 2 })
  const leased = bed.start(ENTRIES, replica('leased', 0))
  await waitFor(() => watching(leased) === 2, { what: 'the one with leases to watch' })
  await load
  await expectEachOnce(kubernetes, bed, since)
})

test('a process without permission to use leases watches nothing and says so, until it gets it', async () => {
  await using kubernetes = await borrowKubernetes()
  await grantWatches(kubernetes)
  await using bed = await startWatchBed({ kubeconfig: kubernetes.kubeconfigOf('plain'), idle: true })
  const manager = bed.start([{ kind: 'ConfigMap', namespaces: NAMESPACES }], replica('one', 0))
  await waitFor(
    () => manager.statuses().length === 6 && manager.statuses().every((it) => it.phase === 'failing'),
    {
      what: 'the statuses',
    },
  )
  for (const { ready, lastError } of manager.statuses()) {
    expect(ready).toBe(false)
    expect(lastError).toMatch(
      /^cannot use leases in namespace default, and does not watch without: 403 Forbidden/,
    )
  }
  await grantLeases(kubernetes)
  await waitFor(() => watching(manager) === 6, { what: 'all to be watched' })
  const [lease] = await leasesOf(kubernetes, 'watch', 'test')
  await kubernetes.request('DELETE', `${LEASES}/${lease?.metadata.name}`)
  await waitFor(async () => (await leasesOf(kubernetes, 'watch', 'test')).length === 6, {
    what: 'a lease that was deleted to be there again',
  })
})

async function expectEachOnce(
  kubernetes: { etcdUrl: string },
  bed: Awaited<ReturnType<typeof startWatchBed>>,
  since: number,
): Promise<void> {
  const history = (await etcdHistory(kubernetes.etcdUrl, ['configmaps', 'deployments'], since)).filter(
    ({ key }) => key.includes('/default/') && !key.endsWith('kube-root-ca.crt'),
  )
  const happened = history.map(
    ({ type, key, resourceVersion }) => `${type} ${key.split('/').at(-1)}@${resourceVersion}`,
  )
  await waitFor(async () => (await bed.enqueued()).length >= happened.length, {
    what: () => `${happened.length} changes to be enqueued`,
  })
  expect((await bed.enqueued()).sort()).toEqual(happened.sort())
}
