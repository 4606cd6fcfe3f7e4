import { expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import type { Outcome } from '../../src/sink/index.ts'
import { encodeEntries, type LaneEntry } from '../../src/store/entry.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** Deliveries that fail, hang or wait, and fill the memory of their sink: its other lanes are read on. */

const LANE = 'hook/n0'

async function putLarge({ enqueue }: Bed, lane: string, name: string, bytes: number): Promise<void> {
  const event = { ...headerFor(name, '1', 'MODIFIED', `uid-${name}`), time: new Date().toISOString() }
  const objectJson = Buffer.from(JSON.stringify({ data: 'x'.repeat(bytes) }))
  const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson }])
  await enqueue(lane, 1, (entry as LaneEntry).payload)
}

/** So many wait, and nothing was given up. */
async function pendingIs({ ledger }: Bed, count: number): Promise<void> {
  await waitFor(async () => (await ledger()).sinks['hook']?.pending === count, { what: `${count} that wait` })
  expect(await ledger()).toMatchObject({ balanced: true, sinks: { hook: { dead: 0, pending: count } } })
}

const FAILED: Outcome = { kind: 'retry', reason: 'server-error', detail: '503', scope: 'event' }
const LARGE_FAILURES: [string, Outcome][] = [
  ['fails', FAILED],
  ['asks to wait for an hour', { ...FAILED, afterMs: 3_600_000 }],
]

test.each(LARGE_FAILURES)(
  'an object larger than the memory of its sink that %s is found and quarantined, and keeps no other lane waiting',
  async (_, outcome) => {
    await using it = await startLaneBed()
    let failures = 0
    const sink = scriptedSink(({ event }) => {
      if (event.name !== 'large') return DELIVERED
      failures++
      return outcome
    })
    const lanes = it.work({ hook: sink }, { minFailingMs: 600_000, budgetBytes: 200_000 })
    await putLarge(it, LANE, 'large', 60_000)
    lanes.wake([LANE])
    await waitFor(() => failures > 0, { what: 'the first failure' })
    await it.put('hook/n1', ...numbered('healthy', 20))
    lanes.wake(['hook/n1'])
    await waitFor(() => sink.took.length === 20, {
      what: () => `the healthy object; ${sink.took.length} of 20 passed`,
    })
    await waitFor(() => lanes.statuses()[0]?.quarantined === 1, { what: 'the quarantine' })
    expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { dead: 0, pending: 1 } } })
  },
)

test('a sink whose lanes wait for memory for a minute, while nothing passes, is logged once', async () => {
  await using it = await startLaneBed()
  const warn = vi.fn()
  const answer = Promise.withResolvers<Outcome>()
  const sink = scriptedSink(({ event }) => (event.name === 'large' ? answer.promise : DELIVERED))
  const lanes = it.work({ hook: sink }, { budgetBytes: 200_000, log: { ...silentLog, warn } })
  await putLarge(it, LANE, 'large', 60_000)
  lanes.wake([LANE])
  await waitFor(() => sink.calls > 0, { what: 'the call that hangs' })
  await it.put(LANE, 'healthy@1')
  lanes.wake([LANE])
  const now = performance.now.bind(performance)
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000)
  const logged = () => warn.mock.calls.filter(([fields]) => fields.waitedMs > 60_000)
  await waitFor(() => logged().length > 0, { what: 'the warning' })
  expect(logged()[0]?.[0]).toMatchObject({ sink: 'hook' })
  answer.resolve(DELIVERED)
  await it.drained('hook')
  expect(sink.took).toEqual(['large@1', 'healthy@1'])
  expect(logged()).toHaveLength(1)
})

const LIMITED: Outcome = { ...FAILED, reason: 'rate-limited', scope: 'sink', afterMs: 3_600_000 }

test('a large object that is asked to wait for its rate, while another passes, keeps no other lane waiting', async () => {
  await using it = await startLaneBed()
  const early = Promise.withResolvers<Outcome>()
  let limited = 0
  const sink = scriptedSink(async ({ event: { name } }) => {
    if (name === 'early') return early.promise
    if (name !== 'large') return DELIVERED
    early.resolve(DELIVERED)
    await waitFor(() => sink.took.includes('early@1'), { what: 'a delivery that passes' })
    limited++
    return LIMITED
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000, budgetBytes: 200_000 })
  await it.put('hook/n1', 'early@1')
  lanes.wake(['hook/n1'])
  await waitFor(() => sink.calls > 0, { what: 'the call that begins earlier' })
  await putLarge(it, LANE, 'large', 60_000)
  lanes.wake([LANE])
  await waitFor(() => limited > 0, { what: 'the request to wait' })
  await it.put('hook/n1', ...numbered('healthy', 20))
  lanes.wake(['hook/n1'])
  const healthy = () => sink.took.filter((name) => name.startsWith('healthy')).length
  await waitFor(() => healthy() === 20, { what: () => `the healthy object; ${healthy()} of 20 passed` })
  expect(limited).toBe(1)
  await pendingIs(it, 1)
})

test('objects that are asked to wait, each in a lane of its own, keep no other lane waiting', async () => {
  await using it = await startLaneBed()
  const failed = new Set<string>()
  const sink = scriptedSink(({ event: { name } }) => {
    if (name.startsWith('healthy')) return DELIVERED
    failed.add(name)
    return { ...FAILED, afterMs: 3_600_000 }
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000, budgetBytes: 200_000 })
  for (let i = 1; i <= 6; i++) {
    await putLarge(it, `hook/failing${i}`, `failing-${i}`, 10_000)
    lanes.wake([`hook/failing${i}`])
    await waitFor(() => failed.size === i, { timeoutMs: 20_000, what: `failure ${i} of 6` })
    await it.put('hook/n1', `healthy@${i}`)
    lanes.wake(['hook/n1'])
    await waitFor(() => sink.took.length === i, { timeoutMs: 20_000, what: `healthy delivery ${i} of 6` })
  }
  await pendingIs(it, 6)
})

test('objects that fail in several lanes, and fill the memory of their sink together, keep no other lane waiting', async () => {
  await using it = await startLaneBed()
  const failed = new Set<string>()
  const sink = scriptedSink(({ event: { name } }) => {
    if (name.startsWith('healthy')) return DELIVERED
    failed.add(name)
    return FAILED
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000, budgetBytes: 200_000 })
  const failing = Array.from({ length: 6 }, (_, i) => `hook/failing${i}`)
  for (const [i, lane] of failing.entries()) await putLarge(it, lane, `failing-${i}`, 10_000)
  lanes.wake(failing)
  await waitFor(() => failed.size >= 3, { what: () => `the failures; ${failed.size} of 3` })
  await it.put('hook/n1', ...numbered('healthy', 20))
  lanes.wake(['hook/n1'])
  await waitFor(() => sink.took.length === 20, {
    ...{ timeoutMs: 40_000, what: () => `the healthy object; ${sink.took.length} of 20 passed` },
  })
  await waitFor(() => lanes.statuses()[0]?.quarantined === 6, { what: 'the quarantine' })
})

test.each([false, true])(
  'large objects in quarantine are attempted one after the other: their memory is that of one (found at a start: %s)',
  async (isStart) => {
    await using it = await startLaneBed()
    const end = Promise.withResolvers<Outcome>()
    let hangs = false
    let current = 0
    const sink = scriptedSink(({ event: { name } }) => {
      if (!name.startsWith('large')) return DELIVERED
      if (!hangs) return FAILED
      current++
      return end.promise
    })
    const work = () => it.work({ hook: sink }, { minFailingMs: 600_000, budgetBytes: 200_000 })
    const first = work()
    const trickle = it.trickle(first)
    const failing = Array.from({ length: 8 }, (_, i) => `hook/failing${i}`)
    for (const [i, lane] of failing.entries()) await putLarge(it, lane, `large-${i}`, 60_000)
    first.wake(failing)
    const quarantined = () => first.statuses()[0]?.quarantined
    await waitFor(() => quarantined() === 8, {
      ...{ timeoutMs: 40_000, what: () => `the quarantine; it has ${quarantined()} of 8` },
    })
    if (isStart) {
      await trickle.stop()
      await first.close(100)
    }
    hangs = true
    const lanes = isStart ? work() : first
    const others = isStart ? it.trickle(lanes) : trickle
    if (!isStart) lanes.tryNow(['hook'])
    await waitFor(() => current > 0, { what: 'an attempt that hangs' })
    const before = sink.took.length
    await waitFor(() => sink.took.length > before + 20, { what: 'others, which pass meanwhile' })
    expect(current).toBe(1)
    end.resolve(DELIVERED)
    await others.stop()
    await it.drained('hook')
    expect(current).toBe(8)
  },
)
