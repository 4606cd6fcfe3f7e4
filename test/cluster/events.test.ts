import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences, exactly } from './compare.ts'

const EVENTS = '/api/v1/namespaces/default/events'

test('acceptance 8: an Event whose count rises to 100 arrives as 100 changes', async () => {
  await using bed = await startBed({ watch: '[Event]', prefixes: ['events'] })
  const event = (count: number) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web-1.back-off' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'web-1' },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container',
    count,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: new Date().toISOString().replace(/\.\d+Z/, 'Z'),
  })
  await bed.kubernetes.request('POST', EVENTS, event(1))
  for (let count = 2; count <= 100; count++)
    await bed.kubernetes.request('PUT', `${EVENTS}/web-1.back-off`, event(count))
  await waitFor(() => bed.hook.requests.length >= 100, { what: '100 changes' })
  const counts = bed.hook.requests.map(({ body }) => JSON.parse(body).data.event.count)
  expect(counts).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test('case 47: Events that expire are DELETED, which only rules get that name it', async () => {
  await using bed = await startBed({
    watch: '[Event]',
    prefixes: ['events'],
    flags: ['--event-ttl', '3s', '--lease-reuse-duration-seconds', '1'],
    rules: `
  - { name: every-change, when: { namespace: default, type: [ADDED, MODIFIED, DELETED] }, to: [hook] }
  - { name: quiet, when: { namespace: quiet }, to: [hook] }`,
  })
  const { kubernetes, kubeherald, hook } = bed
  await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'quiet' } })
  const write = (namespace: string, i: number) =>
    kubernetes.request('POST', `/api/v1/namespaces/${namespace}/events`, {
      metadata: { name: `event-${i}` },
      involvedObject: { kind: 'Pod', namespace, name: 'web-1' },
      type: 'Normal',
      reason: 'Pulled',
    })
  for (let i = 0; i < 20; i++) for (const namespace of ['quiet', 'default']) await write(namespace, i)
  const unmatched = async () =>
    Object.values<any>((await kubeherald.status()).ledger.watches).reduce((sum, it) => sum + it.unmatched, 0)
  // The API server has Events of its own, which expire as well.
  const ours = async () => {
    // The whole history is read each time.
    await pause(200)
    return (await bed.history()).filter(({ key }) => key.includes('/event-'))
  }
  await waitFor(async () => (await ours()).length === 40, { what: 'etcd to let them expire' })
  await waitFor(async () => (await unmatched()) >= 20, { what: 'what no rule names' })
  const history = await bed.allArrived()
  const types = Map.groupBy(await ours(), ({ type }) => type)
  expect([...types].map(([type, them]) => [type, them.length])).toEqual([
    ['ADDED', 20],
    ['DELETED', 20],
  ])
  const inDefault = bed.arrivals().filter(({ key }) => key.includes('/default/'))
  expect(differences(history, inDefault)).toEqual(exactly())
  const quiet = hook.requests
    .map(({ body }) => JSON.parse(body))
    .filter(({ namespace }) => namespace === 'quiet')
  expect(quiet.map(({ data }) => data.type)).toEqual(Array(20).fill('ADDED'))
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})
