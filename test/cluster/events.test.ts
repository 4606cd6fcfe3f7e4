import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'

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
