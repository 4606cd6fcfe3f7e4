import { expect, test } from 'vitest'
import type { Outcome, Sink } from '../../src/sink/index.ts'
import { orderOf } from '../../src/sink/order.ts'
import { isQuarantine, quarantineLane } from '../../src/store/keys.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

const quarantineLanes = async ({ redis, keys }: Bed) => (await redis.hkeys(keys.pending)).filter(isQuarantine)

/** Quarantines `bad`: it fails while another one passes. */
async function quarantine(it: Bed, answer: (name: string) => Outcome) {
  const sink = scriptedSink(({ event }) => answer(event.name))
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  await it.put('hook/n0', 'good@1')
  lanes.wake(['hook/n0'])
  await waitFor(() => sink.took.includes('good@1'), { what: 'a success' })
  const trickle = it.trickle(lanes)
  await it.put('hook/n0', ...numbered('bad', 5))
  lanes.wake(['hook/n0'])
  await waitFor(async () => (await quarantineLanes(it)).length === 1, { what: 'the quarantined chain' })
  await trickle.stop()
  return { sink, lanes }
}

test.concurrent('an object that fails while others pass is quarantined with all that follows, and returns in order when it passes', async () => {
  await using it = await startLaneBed()
  let mended = false
  const { sink, lanes } = await quarantine(it, (name) => (name === 'bad' && !mended ? ODD : DELIVERED))
  await it.put('hook/n0', 'bad@6', 'good@2')
  lanes.wake(['hook/n0'])
  await waitFor(() => sink.took.includes('good@2'), { what: 'the healthy object to go on' })
  const isEmpty = async () => (await it.redis.exists(it.keys.lane('hook/n0'), it.keys.lane('hook/1'))) === 0
  await waitFor(isEmpty, { what: 'empty lanes' })
  expect(lanes.statuses()).toMatchObject([{ quarantined: 1, healthy: true }])
  expect(await it.ledger()).toMatchObject({ balanced: true, verified: true, sinks: { hook: { pending: 6 } } })
  mended = true
  await it.drained('hook')
  expect(sink.took.filter((name) => name.startsWith('bad'))).toEqual(numbered('bad', 6))
  await waitFor(() => lanes.statuses()[0]?.quarantined === 0, { what: 'the object to return' })
  // Nothing is left of the chain.
  expect(await quarantineLanes(it)).toEqual([])
  expect((await it.redis.keys('*')).filter((key) => key.includes('!'))).toEqual([])
})

test.concurrent('a quarantined chain outlasts its process: the next one sends it in order, and nothing overtakes it', async () => {
  await using it = await startLaneBed()
  const { lanes } = await quarantine(it, (name) => (name === 'bad' ? ODD : DELIVERED))
  await lanes.close(500)
  await it.put('hook/n0', 'bad@6')
  const next = scriptedSink(() => DELIVERED)
  it.work({ hook: next })
  await it.drained('hook')
  expect(next.took.filter((name) => name.startsWith('bad'))).toEqual(numbered('bad', 6))
})

test.concurrent('a success of a quarantined object ends the outage of its sink', async () => {
  await using it = await startLaneBed()
  let isDown = false
  const first = await quarantine(it, (name) => (isDown ? DOWN : name === 'bad' ? ODD : DELIVERED))
  isDown = true
  const trickle = it.trickle(first.lanes)
  const outage = () => it.redis.hget(it.keys.outages, 'hook')
  await waitFor(async () => (await outage()) !== null, { what: 'the outage' })
  await trickle.stop()
  await first.lanes.close(500)
  // Only the quarantined object is left to end it.
  await it.redis.hdel(it.keys.pending, 'hook/1')
  await it.redis.del(it.keys.lane('hook/1'))
  const next = scriptedSink(() => DELIVERED)
  it.work({ hook: next })
  await waitFor(() => next.took.includes('bad@5'), { what: 'the quarantined object' })
  await waitFor(async () => (await outage()) === null, { what: 'the end of the outage' })
})

test.concurrent('a quarantined delivery becomes a dead letter of its lane after enough tries, and the rest of its chain goes on', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(({ event }) =>
    event.name === 'bad' && event.resourceVersion === '1' ? ODD : DELIVERED,
  )
  const lanes = it.work({ hook: sink }, { maxTries: 3 })
  const trickle = it.trickle(lanes)
  await waitFor(() => sink.took.length > 0, { what: 'a success' })
  await it.put('hook/n0', 'bad@1', 'bad@2')
  lanes.wake(['hook/n0'])
  await waitFor(() => sink.took.includes('bad@2'), { what: 'what follows' })
  await trickle.stop()
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letters).toMatchObject([{ lane: 'hook/n0', detail: 'failed 3 times while others succeeded: 500' }])
  await it.drained('hook')
  expect((await it.ledger()).balanced).toBe(true)
})

test.concurrent('an object whose calls hang holds back itself alone', async () => {
  await using it = await startLaneBed()
  const good = scriptedSink(() => DELIVERED)
  const sink: Sink = {
    async deliver(batch, signal) {
      if (batch.some(({ event }) => event.name === 'slow')) await new Promise(() => {})
      return good.deliver(batch, signal)
    },
    async close() {},
  }
  const lanes = it.work({ hook: sink })
  await it.put('hook/n0', 'slow@1')
  lanes.wake(['hook/n0'])
  for (let i = 1; i <= 5; i++) {
    await it.put('hook/n0', `good@${i}`, 'slow@2')
    lanes.wake(['hook/n0'])
    await waitFor(() => good.took.includes(`good@${i}`), { what: 'the healthy object to pass' })
  }
})

test.concurrent('of very many failing objects each is quarantined, and the healthy ones pass', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(({ event }) => (event.name.startsWith('bad') ? ODD : DELIVERED))
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  await it.put('hook/n0', ...numbered('first', 1))
  lanes.wake(['hook/n0'])
  await waitFor(() => sink.took.length === 1, { what: 'a success' })
  for (let i = 0; i < 10; i++) {
    const names = Array.from({ length: 30 }, (_, n) => [`bad${i}-${n}@1`, `good${i}-${n}@1`]).flat()
    await it.put('hook/n0', ...names)
  }
  lanes.wake(['hook/n0'])
  const trickle = it.trickle(lanes)
  const healthy = () => sink.took.filter((name) => name.startsWith('good')).length
  await waitFor(() => healthy() === 300, {
    what: () => `the healthy ones; passed: ${healthy()}`,
  })
  await waitFor(async () => (await quarantineLanes(it)).length === 300, {
    what: 'all failing ones to be quarantined',
  })
  await trickle.stop()
  await waitFor(async () => !(await it.redis.exists(it.keys.lane('hook/1'))), { what: 'the others to pass' })
  expect((await it.ledger()).balanced).toBe(true)
})

test.concurrent('a message says how often it was tried: in its lane, when quarantined, and none for what follows', async () => {
  await using it = await startLaneBed()
  const attempts: [string, number][] = []
  let failures = 4
  const sink = scriptedSink(({ event, attempt }) => {
    if (event.name !== 'bad') return DELIVERED
    attempts.push([event.resourceVersion, attempt])
    return failures-- > 0 ? DOWN : DELIVERED
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  const trickle = it.trickle(lanes)
  await waitFor(() => sink.took.length > 0, { what: 'a success' })
  await it.put('hook/n0', 'bad@1', 'bad@2')
  lanes.wake(['hook/n0'])
  await waitFor(() => sink.took.includes('bad@2'), { what: 'the last' })
  await trickle.stop()
  const [first, second, third, fourth, ...rest] = attempts
  expect([first, second]).toEqual([
    ['1', 0],
    ['1', 1],
  ])
  for (const it of [third, fourth]) expect(it?.[1]).toBeGreaterThan(0)
  expect(rest.map(([version, attempt]) => [version, attempt > 0])).toEqual([
    ['1', true],
    ['2', false],
  ])
  await it.drained('hook')
})

const DAY_MS = 86_400_000
const FAILS: Outcome = { kind: 'retry', reason: 'network', detail: 'refused', scope: 'event' }

/** `bad@1` has been in quarantine for two days; processes delivered for a month, until `lastMs` ago. */
async function quarantinedBefore({ redis, keys, put }: Bed, tries: number, lastMs: number): Promise<void> {
  const nowMs = Date.now()
  const lane = quarantineLane('hook/n0', orderOf({ event: headerFor('bad', '1', 'MODIFIED', 'uid-bad') }))
  await put(lane, 'bad@1')
  await redis.hset(keys.progress(lane), { tries, since: nowMs - 2 * DAY_MS })
  await redis.hset(keys.deliveringSince, 'hook', `${nowMs - 30 * DAY_MS},${nowMs - lastMs}`)
}

test.concurrent.each([
  ['as long as maxAge', { tries: 1, failures: 1 }],
  ['as long as failures count', { tries: 4, failures: 3 }],
])(
  'a stop of all processes that takes %s: a quarantined delivery is not given up for it',
  async (_, counts) => {
    await using it = await startLaneBed()
    await quarantinedBefore(it, counts.tries, 2 * DAY_MS)
    let failures = 0
    const sink = scriptedSink(({ event }) =>
      event.name === 'bad' && failures++ < counts.failures ? FAILS : DELIVERED,
    )
    const trickle = it.trickle(it.work({ hook: sink }, { minFailingMs: 300_000 }))
    await waitFor(() => failures > counts.failures, { what: 'the attempt that succeeds' })
    await trickle.stop()
    await it.drained('hook')
    expect(sink.took).toContain('bad@1')
    expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { dead: 0 } } })
  },
)

test.concurrent('a quarantined delivery that has failed for longer than maxAge, while processes ran, expires', async () => {
  await using it = await startLaneBed()
  await quarantinedBefore(it, 1, 1_000)
  const sink = scriptedSink(({ event }) => (event.name === 'bad' ? FAILS : DELIVERED))
  const trickle = it.trickle(it.work({ hook: sink }, { minFailingMs: 300_000 }))
  await waitFor(async () => (await it.ledger()).sinks['hook']?.dead === 1, { what: 'the dead letter' })
  await trickle.stop()
  expect(await Array.fromAsync(listDeadLetters(it.redis, it.keys))).toMatchObject([
    { lane: 'hook/n0', reason: 'expired' },
  ])
})
