import { expect, test } from 'vitest'
import { isParked } from '../../src/queue/lane-names.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** Lanes whose slots go to a second worker: of two, each keeps every other one. */
const [HELD, LATE] = ['hook/n1', 'hook/n3']

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

test('while a slot is on its way to another worker, its lanes begin nothing here', async () => {
  await using it = await startLaneBed()
  const release = Promise.withResolvers<void>()
  const leaving = scriptedSink(async ({ event }) => {
    if (event.name === 'held') await release.promise
    return DELIVERED
  })
  const lanes = it.work({ hook: leaving })
  await it.put(HELD, 'held@1')
  lanes.wake([HELD])
  await waitFor(() => leaving.calls === 1, { what: 'a call that holds the slots' })
  const joining = scriptedSink(() => DELIVERED)
  it.work({ hook: joining })
  await everyWorkerDecides(it, 2)
  await it.put(LATE, 'late@1')
  lanes.wake([LATE])
  await it.put('hook/n0', 'kept@1')
  lanes.wake(['hook/n0'])
  await waitFor(() => leaving.took.includes('kept@1'), { what: 'a lane that stays' })
  expect(joining.took).toEqual([])
  release.resolve()
  await it.drained('hook')
  expect({ leaving: leaving.took, joining: joining.took }).toEqual({
    leaving: ['kept@1', 'held@1'],
    joining: ['late@1'],
  })
})

test('an attempt of a parked chain ends before another worker gets its slot', async () => {
  await using it = await startLaneBed()
  const release = Promise.withResolvers<void>()
  const isParkedIn = async () => (await it.redis.hkeys(it.keys.pending)).some(isParked)
  let isHeld = false
  const leaving = scriptedSink(async ({ event }) => {
    if (event.name !== 'bad') return DELIVERED
    if (!(await isParkedIn())) return ODD
    isHeld = true
    await release.promise
    return DELIVERED
  })
  const lanes = it.work({ hook: leaving }, { minFailingMs: 600_000 })
  const trickle = it.trickle(lanes)
  await waitFor(() => leaving.took.length > 0, { what: 'a success' })
  await it.put(HELD, 'bad@1', 'bad@2')
  lanes.wake([HELD])
  await waitFor(() => isHeld, { what: 'an attempt of the parked chain' })
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
