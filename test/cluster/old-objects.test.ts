import { expect, test } from 'vitest'
import { z } from 'zod'
import { startApp } from '../../src/app/app.ts'
import type { Config } from '../../src/config/schema.ts'
import { silentLog } from '../../src/observe/log.ts'
import { defineSink, type Message, type SinkType } from '../../src/sink/index.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { DEPLOYMENTS } from './workload.ts'

const deployment = (image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default', labels: { 'app.kubernetes.io/name': 'web' } },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image }] },
    },
  },
})

/** kubeherald with one sink that tells people what changed. */
async function startTeller(kubernetes: Kubernetes, redisUrl: string) {
  const messages: Message[] = []
  const teller = defineSink({
    apiVersion: 1,
    type: 'teller',
    config: z.strictObject({}),
    showsChanges: () => true,
    open: () => ({
      async deliver(batch) {
        messages.push(...batch)
        return batch.map(() => ({ kind: 'delivered' as const }))
      },
      async close() {},
    }),
  })
  const config: Config = {
    kubernetes: {},
    leases: false,
    redis: { url: redisUrl },
    server: false,
    watch: [{ kind: 'Deployment' }],
    sinks: [{ name: 'chat', type: 'teller', options: {}, source: '' }],
    rules: [{ name: 'all', when: { kind: 'Deployment' }, to: ['chat'] }],
    routes: new Map(),
  }
  const client = connectCluster({ kubeconfig: kubernetes.kubeconfig, env: {}, userAgent: 'test' })
  const sinkTypes = { teller: teller as SinkType }
  const app = await startApp({
    config,
    cluster: 'test',
    role: 'all',
    redis: { url: redisUrl },
    client,
    log: silentLog,
    sinkTypes,
  })
  await waitFor(() => app.watches?.statuses().some(({ phase }) => phase === 'watching'), {
    what: 'the watch',
  })
  return { messages, [Symbol.asyncDispose]: async () => void (await app.stop()) }
}

test('a roll-out arrives as old image → new image, and what was deleted meanwhile as it was', async () => {
  await using kubernetes = await borrowKubernetes()
  await using redis = await startRedis()
  await kubernetes.request('POST', DEPLOYMENTS, deployment('nginx:1'))
  {
    await using teller = await startTeller(kubernetes, redis.url)
    await kubernetes.request('PATCH', `${DEPLOYMENTS}/web`, deployment('nginx:2'))
    await waitFor(() => teller.messages.length > 0, { what: 'the roll-out' })
    const changes = [
      { path: 'spec.template.spec.containers[name=web].image', old: 'nginx:1', new: 'nginx:2' },
    ]
    const [message] = teller.messages as [Message]
    expect(message.event).toMatchObject({ type: 'MODIFIED', name: 'web', changes })
    expect(JSON.parse(message.cloudEvent.toString()).data.changes).toEqual(changes)
    expect(message.summary.changes).toEqual(changes)
  }
  await kubernetes.request('DELETE', `${DEPLOYMENTS}/web`)
  await kubernetes.compact()
  await using teller = await startTeller(kubernetes, redis.url)
  await waitFor(() => teller.messages.length > 0, { timeoutMs: 30_000, what: 'the deletion' })
  const [message] = teller.messages as [Message]
  expect(message.event).toMatchObject({ type: 'DELETED', name: 'web', synthesized: true })
  expect(message.object).toMatchObject({ spec: deployment('nginx:2').spec })
})
