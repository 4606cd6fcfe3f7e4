import { expect, test } from 'vitest'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { arrivalOf, differences } from './compare.ts'
import { currentRevision, etcdHistory } from './etcd-history.ts'
import { grantLeases, grantWatches, NAMESPACES, shared, startReplica } from './replicas.ts'

const LEASES = '{ durationSeconds: 5, renewDeadlineSeconds: 4, retryPeriodSeconds: 1 }'

test('a replica that loses Redis alone leaves its watches to one that has it, and gets its share back with it', async () => {
  await using kubernetes = await borrowKubernetes()
  await grantWatches(kubernetes)
  await grantLeases(kubernetes)
  await using redis = await startRedis()
  await using proxy = await startTcpProxy(redis.port)
  await using hook = await startReceiver()
  const throughProxy = { ...redis, url: `redis://127.0.0.1:${proxy.port}` }
  await using _a = await startReplica({ kubernetes, redis, hook }, 'pod-a', { leases: LEASES })
  await using b = await startReplica({ kubernetes, redis: throughProxy, hook }, 'pod-b', { leases: LEASES })
  await shared(kubernetes, { 'pod-a': 3, 'pod-b': 3 })
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  const write = async (name: string) => {
    for (const namespace of NAMESPACES)
      await kubernetes.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name } })
  }
  const happened = async () =>
    (await etcdHistory(kubernetes.etcdUrl, ['configmaps'], since)).filter(({ key }) => key.includes('/news-'))
  const allTold = async () => {
    const history = await happened()
    const missing = () =>
      differences(
        history,
        hook.requests.map(({ body }) => arrivalOf(body)),
      ).missing
    await waitFor(() => missing().length === 0, {
      timeoutMs: 60_000,
      what: () => `all to arrive; missing ${missing()}`,
    })
    return history
  }

  proxy.retarget(1)
  proxy.cut()
  await write('news-1')
  await allTold()
  await shared(kubernetes, { 'pod-a': 6 })
  expect(b.log()).toContain('watches are left to processes that it answers')
  proxy.retarget(redis.port)
  await shared(kubernetes, { 'pod-a': 3, 'pod-b': 3 })
  await write('news-2')
  const history = await allTold()
  const { ledger } = await b.status()
  expect(ledger.sinks.hook.enqueued).toBe(history.length)
  expect(ledger.balanced).toBe(true)
})
