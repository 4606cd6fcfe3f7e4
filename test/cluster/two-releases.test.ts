import { expect, test } from 'vitest'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { arrivalOf, differences, exactly } from './compare.ts'
import { currentRevision, etcdHistory } from './etcd-history.ts'
import { grantLeases, grantWatches, NAMESPACES, startReplica } from './replicas.ts'

test('two releases with the same cluster name and their leases in one namespace, but a Redis each, both tell everything', async () => {
  await using kubernetes = await borrowKubernetes()
  await grantWatches(kubernetes)
  await grantLeases(kubernetes)
  await using redis = await startRedis()
  await using otherRedis = await startRedis()
  await using hook = await startReceiver()
  await using otherHook = await startReceiver()
  await using _one = await startReplica({ kubernetes, redis, hook }, 'pod-one')
  await using _two = await startReplica({ kubernetes, redis: otherRedis, hook: otherHook }, 'pod-two')
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  for (const namespace of NAMESPACES)
    await kubernetes.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
      metadata: { name: 'news' },
    })
  const history = (await etcdHistory(kubernetes.etcdUrl, ['configmaps'], since)).filter(({ key }) =>
    key.endsWith('/news'),
  )
  expect(history).toHaveLength(NAMESPACES.length)
  for (const receiver of [hook, otherHook]) {
    const told = () =>
      differences(
        history,
        receiver.requests.map(({ body }) => arrivalOf(body)),
      )
    await waitFor(() => told().missing.length === 0, {
      what: () => `all to arrive; missing ${told().missing}`,
    })
    expect(told()).toEqual(exactly())
  }
})
