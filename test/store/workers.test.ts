import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'

const LANES = Array.from({ length: 16 }, (_, i) => `hook/${i}`)

/** Takes what a webhook of 5 ms takes; `order` is what all such sinks of a test took, in order. */
const slow = (order: string[] = []) =>
  scriptedSink(async ({ event }) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    order.push(`${event.name}@${event.resourceVersion}`)
    return DELIVERED
  })

test('queue.md: a worker that joins late gets its share of a backlog, and the order holds', async () => {
  await using it = await startLaneBed()
  for (const lane of LANES) await it.put(lane, ...numbered(lane, 1_000))
  const order: string[] = []
  // Slots move within two heartbeats: the backlog has to outlast those.
  const [early, late] = [slow(order), slow(order)]
  it.work({ hook: early }).wake(LANES)
  await waitFor(() => early.took.length > 200, { what: 'the first worker to be busy' })
  const before = early.took.length
  it.work({ hook: late })
  await it.drained('hook')
  const share = late.took.length / (late.took.length + early.took.length - before)
  expect(share).toBeGreaterThan(0.25)
  for (const lane of LANES)
    expect(order.filter((name) => name.startsWith(`${lane}@`))).toEqual(numbered(lane, 1_000))
  const { delivered, dead } = (await it.ledger()).sinks['hook'] ?? {}
  expect({ delivered, dead }).toEqual({ delivered: 16 * 1_000, dead: 0 })
})

test('queue.md: Redis restarts again and again while lanes drain; nothing is lost, and the order holds', async () => {
  await using it = await startLaneBed()
  for (const lane of LANES) await it.put(lane, ...numbered(lane, 150))
  const sink = slow()
  it.work({ hook: sink }).wake(LANES)
  for (let round = 1; round <= 3; round++) {
    const before = sink.took.length
    await waitFor(() => sink.took.length > before + 200 || sink.took.length >= 16 * 150, {
      what: 'some deliveries',
    })
    await it.server.kill()
    await it.server.restart()
  }
  await it.drained('hook')
  const first = [...new Set(sink.took)]
  for (const lane of LANES)
    expect(first.filter((name) => name.startsWith(`${lane}@`))).toEqual(numbered(lane, 150))
  const ledger = await it.ledger()
  expect(ledger.sinks['hook']).toMatchObject({ enqueued: 16 * 150, delivered: 16 * 150, dead: 0 })
  expect(ledger.balanced).toBe(true)
})
