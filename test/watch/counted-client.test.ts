import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { type ClusterClient, codeLabel, countRequests } from '../../src/watch/client/cluster-client.ts'

const never = new AbortController().signal

/** Answers with these statuses, one after the other; 0 breaks the connection. */
function clientOf(...statuses: number[]): ClusterClient {
  const answer = async () => {
    const status = statuses.shift() ?? 200
    if (status === 0) throw new Error('ECONNRESET')
    return { status, headers: {} }
  }
  return {
    url: 'https://cluster',
    get: async () => ({ ...(await answer()), body: Buffer.of() }),
    send: async () => ({ ...(await answer()), body: Buffer.of() }),
    stream: async () => ({ ...(await answer()), body: Readable.from([]) }),
    refresh: async () => {},
    close: async () => {},
  }
}

test('requests are counted by what they ask and what comes of them, and timed', async () => {
  const metrics = createMetrics()
  const client = countRequests(clientOf(200, 0, 410, 200), metrics)
  await client.get('/api', {}, never)
  await expect(client.get('/api', {}, never)).rejects.toThrow('ECONNRESET')
  await client.stream('/api/v1/pods', {}, never)
  await client.stream('/api/v1/pods', {}, never)
  await client.send('PUT', '/apis/coordination.k8s.io/v1/namespaces/a/leases/b', {}, {}, never)
  const { values } = await metrics.apiRequests.get()
  expect(values.map(({ labels, value }) => [labels.verb, labels.code, value])).toEqual([
    ['get', '200', 1],
    ['get', 'none', 1],
    ['watch', '410', 1],
    ['watch', '200', 1],
    ['update', '200', 1],
  ])
  const counts = (await metrics.apiSeconds.get()).values.filter(({ metricName }) =>
    metricName?.endsWith('_count'),
  )
  expect(counts.map(({ labels, value }) => [labels.verb, value])).toEqual([
    ['get', 2],
    ['watch', 2],
    ['update', 1],
  ])
})

test('whatever a server answers, there are few codes', () => {
  const labels = new Set(Array.from({ length: 100_000 }, (_, code) => codeLabel(code - 1_000)))
  expect(labels.size).toBeLessThan(40)
  expect([200, 410, 999, -1, Number.NaN].map(codeLabel)).toEqual(['200', '410', 'other', 'other', 'other'])
})
