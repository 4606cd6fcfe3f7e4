import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Outcome, Sink } from '../../src/sink/index.ts'
import { isQuarantine } from '../../src/store/keys.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** Lanes whose slots go to a second worker: of two, each keeps every other one. */
const [HELD, OTHER] = ['hook/n1', 'hook/n3']

/** Waits until every worker has seen the others, and has decided which slots to give away. */
async function everyWorkerDecides({ redis, keys }: Bed, workers: number): Promise<void> {
  const beats = async () => {
    const texts = Object.values(await redis.hgetall(keys.workers))
    return texts.map((text): number => JSON.parse(text).beat)
  }
  await waitFor(async () => (await beats()).length === workers, { what: 'the workers' })
  const sum = async () => (await beats()).reduce((all, beat) => all + beat, 0)
  const until = (await sum()) + 2 * workers
  await waitFor(async () => (await sum()) >= until, { what: 'two heartbeats of each' })
}

/** A worker with a call under way in a slot that would move. */
async function holdSlot(it: Bed) {
  const release = Promise.withResolvers<void>()
  const leaving = scriptedSink(async ({ event }) => {
    if (event.name === 'held') await release.promise
    return DELIVERED
  })
  const lanes = it.work({ hook: leaving })
  await it.put(HELD, 'held@1')
  lanes.wake([HELD])
  await waitFor(() => leaving.calls === 1, { what: 'a call that is under way' })
  return { release, leaving, lanes }
}

test.concurrent('a slot of which a call is under way stays, while others go to another worker', async () => {
  await using it = await startLaneBed()
  const { release, leaving, lanes } = await holdSlot(it)
  const joining = scriptedSink(() => DELIVERED)
  it.work({ hook: joining })
  await everyWorkerDecides(it, 2)
  await it.put(OTHER, 'other@1')
  await it.put('hook/n0', 'kept@1')
  lanes.wake([OTHER, 'hook/n0'])
  await waitFor(() => leaving.took.includes('kept@1'), { what: 'a lane that stays' })
  await waitFor(() => joining.took.includes('other@1'), { what: 'a lane of which nothing is under way' })
  expect({ leaving: leaving.took, joining: joining.took }).toEqual({
    leaving: ['kept@1'],
    joining: ['other@1'],
  })
  release.resolve()
  await it.drained('hook')
  expect({ leaving: leaving.took, joining: joining.took }).toEqual({
    leaving: ['kept@1', 'held@1'],
    joining: ['other@1'],
  })
})

const ENDS: [string, Outcome][] = [
  ['an object that fails', ODD],
  ['a sink that fails', DOWN],
  ['a target that fails', { ...DOWN, scope: 'target' } as Outcome],
  ['a sink that paces itself', { kind: 'later', afterMs: 100 }],
]

test.concurrent.each(ENDS)(
  'a slot goes to another worker as soon as its last call ends, also with %s',
  async (_, end) => {
    await using it = await startLaneBed()
    const release = Promise.withResolvers<void>()
    const leaving = scriptedSink(async ({ event }) => {
      if (event.name !== 'held') return DELIVERED
      await release.promise
      return end
    })
    const lanes = it.work({ hook: leaving })
    await it.put(HELD, 'held@1')
    lanes.wake([HELD])
    await waitFor(() => leaving.calls === 1, { what: 'a call that holds the slot' })
    const joining = scriptedSink(() => DELIVERED)
    it.work({ hook: joining })
    await everyWorkerDecides(it, 2)
    release.resolve()
    await waitFor(() => joining.took.includes('held@1'), { what: 'the delivery, by the next owner' })
  },
)

test.concurrent('a call that hangs keeps its slot where it is, and no other object of the slot waits for it', async () => {
  await using it = await startLaneBed()
  const { release, leaving, lanes } = await holdSlot(it)
  const joining = scriptedSink(() => DELIVERED)
  const others = it.work({ hook: joining })
  await everyWorkerDecides(it, 2)
  await it.put(HELD, 'late@1')
  for (const it of [lanes, others]) it.wake([HELD])
  await waitFor(() => leaving.took.includes('late@1'), { what: 'another object of the slot' })
  release.resolve()
  await it.drained('hook')
  expect([...leaving.took, ...joining.took].toSorted()).toEqual(['held@1', 'late@1'])
})

test.concurrent('a process that stops while it gives a slot away lets the calls of the slot end', async () => {
  await using it = await startLaneBed()
  const release = Promise.withResolvers<void>()
  let signal: AbortSignal | undefined
  const leaving: Sink = {
    async deliver(batch, of) {
      signal = of
      await release.promise
      return batch.map(() => DELIVERED)
    },
    async close() {},
  }
  const lanes = it.work({ hook: leaving })
  await it.put(HELD, 'held@1')
  lanes.wake([HELD])
  await waitFor(() => signal !== undefined, { what: 'a call that is under way' })
  it.work({ hook: scriptedSink(() => DELIVERED) })
  await everyWorkerDecides(it, 2)
  const closed = lanes.close(600_000)
  // Longer than the slot waits for its calls the first time.
  await pause(3_000)
  expect(signal?.aborted).toBe(false)
  release.resolve()
  await closed
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 1 })
})

test.concurrent('what a slow call has delivered is not sent again by the next owner, also where the object was quarantined meanwhile', async () => {
  await using it = await startLaneBed()
  const release = Promise.withResolvers<void>()
  const leaving = scriptedSink(async ({ event: { name, resourceVersion } }) => {
    if (name === 'slow' && resourceVersion === '1') await release.promise
    return DELIVERED
  })
  // Together, so that several of the object are in the call that hangs.
  const lanes = it.work({ hook: leaving })
  await it.put('hook/n0', ...numbered('warm', 10))
  const trickle = it.trickle(lanes)
  await it.put(HELD, ...numbered('slow', 600))
  lanes.wake([HELD])
  await waitFor(() => lanes.statuses()[0]?.quarantined === 1, { what: 'the object to be quarantined' })
  const closed = lanes.close(20_000)
  await trickle.stop()
  release.resolve()
  await closed
  const before = leaving.took.filter((name) => name.startsWith('slow'))
  const next = scriptedSink(() => DELIVERED)
  it.work({ hook: next })
  await it.drained('hook')
  const after = next.took.filter((name) => name.startsWith('slow'))
  expect(before.length).toBeGreaterThan(1)
  expect([...before, ...after]).toEqual(numbered('slow', 600))
})

test.concurrent('of a slow call that failed nothing is under way any more, also the deliveries behind the one that failed', async () => {
  await using it = await startLaneBed()
  const release = Promise.withResolvers<void>()
  const sink = scriptedSink(async ({ event: { name } }) => {
    if (name !== 'slow') return DELIVERED
    await release.promise
    return { kind: 'retry', reason: 'server-error', detail: '500', scope: 'event', afterMs: 600_000 }
  })
  const lanes = it.work({ hook: sink })
  await it.put('hook/n0', ...numbered('warm', 10))
  const trickle = it.trickle(lanes)
  await it.put(HELD, ...numbered('slow', 600))
  lanes.wake([HELD])
  await waitFor(() => lanes.statuses()[0]?.quarantined === 1, { what: 'the object to be quarantined' })
  release.resolve()
  const noted = async () => (await it.redis.keys(it.keys.progress('*'))).length > 0
  await waitFor(noted, { what: 'the failure of the first delivery' })
  await trickle.stop()
  let isClosed = false
  void lanes.close(600_000).then(() => {
    isClosed = true
  })
  await waitFor(() => isClosed, { what: 'the process to end', timeoutMs: 5_000 })
})

test.concurrent('an attempt of a quarantined chain ends before another worker gets its slot', async () => {
  await using it = await startLaneBed()
  const release = Promise.withResolvers<void>()
  const isQuarantinedIn = async () => (await it.redis.hkeys(it.keys.pending)).some(isQuarantine)
  let isHeld = false
  const leaving = scriptedSink(async ({ event }) => {
    if (event.name !== 'bad') return DELIVERED
    if (!(await isQuarantinedIn())) return ODD
    isHeld = true
    await release.promise
    return DELIVERED
  })
  const lanes = it.work({ hook: leaving }, { minFailingMs: 600_000 })
  const trickle = it.trickle(lanes)
  await waitFor(() => leaving.took.length > 0, { what: 'a success' })
  await it.put(HELD, 'bad@1', 'bad@2')
  lanes.wake([HELD])
  await waitFor(() => isHeld, { what: 'an attempt of the quarantined chain' })
  await trickle.stop()
  const joining = scriptedSink(() => DELIVERED)
  it.work({ hook: joining })
  await everyWorkerDecides(it, 2)
  await everyWorkerDecides(it, 2)
  expect(joining.took).toEqual([])
  release.resolve()
  await it.drained('hook')
  const ofBad = ({ took }: typeof leaving) => took.filter((name) => name.startsWith('bad'))
  expect([...ofBad(leaving), ...ofBad(joining)]).toEqual(['bad@1', 'bad@2'])
})
