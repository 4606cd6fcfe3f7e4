import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isQuarantine, slotOf } from '../../src/store/keys.ts'
import { workerOf } from '../../src/store/lanes/slot-plan.ts'
import { seeded } from '../seeded-random.ts'
import { waitFor } from '../wait-for.ts'
import { named, type Stage, startLoad, startStage } from './stage-bed.ts'

/** Faults while chains are quarantined and return all the time: the sets are exact, the order holds, and nothing stays behind. */

const OBJECTS = named('object', 64)
const PER_SECOND = 64
const KILLS = 4
const KEY = '{kubeherald:test}'

/** Two of five requests fail with an answer that is the object's own: chains are quarantined, and return a second later. */
function failOften({ hook }: Stage): void {
  const random = seeded(7)
  hook.answer(() => ({ status: random() < 0.4 ? 500 : 200 }))
}

/** How many chains are quarantined in Redis. */
async function quarantinedIn({ redis }: Stage): Promise<number> {
  const lanes = (await redis.ask('HKEYS', `${KEY}:pending`)) as string[]
  return lanes.filter(isQuarantine).length
}

/** All arrive, in order and counted, and no chain is left quarantined. */
async function expectRecovery(it: Stage): Promise<void> {
  it.hook.answer(() => ({ status: 200 }))
  await it.expectAll('hook', 60_000)
  await waitFor(async () => (await quarantinedIn(it)) === 0, { what: 'all chains to return' })
}

test.concurrent('a process that is killed again and again while chains are quarantined and return', async () => {
  await using it = await startStage()
  failOften(it)
  const random = seeded(3)
  const load = startLoad(it.feed, OBJECTS, PER_SECOND)
  let quarantined = 0
  for (let i = 0; i < KILLS; i++) {
    const before = it.hook.requests.length
    await waitFor(() => it.hook.requests.length > before, { what: 'deliveries' })
    await pause(random() * 700)
    quarantined += await quarantinedIn(it)
    await it.kubeherald.kill()
    await it.kubeherald.start()
  }
  await load.stop()
  expect(quarantined).toBeGreaterThan(KILLS)
  await expectRecovery(it)
})

test.concurrent('of two processes one is frozen until the other has its quarantined chains, and goes on', async () => {
  await using it = await startStage()
  const tokens = async () => {
    const flat = (await it.redis.ask('HGETALL', `${KEY}:slots`)) as string[]
    return new Map(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]))
  }
  const owners = async () => new Set([...(await tokens()).values()].flatMap((it) => workerOf(it) ?? []))
  await waitFor(async () => (await owners()).size === 1, { what: 'the first to own all slots' })
  const [first] = await owners()
  const other = await it.startAnother()
  failOften(it)
  const load = startLoad(it.feed, OBJECTS, PER_SECOND)
  const quarantinedOfOther = async () => {
    const lanes = (await it.redis.ask('HKEYS', `${KEY}:pending`)) as string[]
    const known = await tokens()
    const owner = (lane: string) => workerOf(known.get(slotOf(lane)))
    return lanes.filter((lane) => isQuarantine(lane) && owner(lane) !== undefined && owner(lane) !== first)
      .length
  }
  await waitFor(async () => (await quarantinedOfOther()) > 3, { what: 'quarantined chains of the second' })
  other.signal('SIGSTOP')
  expect(await quarantinedOfOther()).toBeGreaterThan(0)
  await waitFor(async () => (await owners()).size === 1, {
    timeoutMs: 30_000,
    what: 'one owner of all slots',
  })
  expect([...(await owners())]).toEqual([first])
  other.signal('SIGCONT')
  await waitFor(async () => (await owners()).size === 2, {
    timeoutMs: 30_000,
    what: 'both to own slots again',
  })
  await load.stop()
  await expectRecovery(it)
})

test.concurrent('Redis goes back by some hundred changes under load, chains being quarantined', async () => {
  await using it = await startStage()
  failOften(it)
  const load = startLoad(it.feed, OBJECTS, PER_SECOND)
  await waitFor(async () => (await quarantinedIn(it)) > 5, { what: 'quarantined chains' })
  const older = await it.redis.copy()
  const before = it.arrivals().length
  await waitFor(() => it.arrivals().length > before + 100, { what: 'a hundred more' })
  await it.redis.kill()
  await it.redis.restore(older)
  await it.redis.restart()
  await load.stop()
  await expectRecovery(it)
})
