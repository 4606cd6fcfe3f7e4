import { expect, test } from 'vitest'
import { slotsOf } from '../../src/store/keys.ts'
import type { LaneSlots } from '../../src/store/lanes/lane-slots.ts'
import { LiveProcesses, openPresence } from '../../src/store/lanes/live-processes.ts'
import { waitFor } from '../wait-for.ts'
import { startSlotsBed } from './slots-bed.ts'

/** When a worker takes the slots of another one. */

const [SLOT] = slotsOf('hook') as [string]

test.concurrent('a live worker of our host and pid in another pid namespace keeps its slots for as long as its lease', async () => {
  await using it = await startSlotsBed()
  await it.putSilentWorker('blocked', { place: 'another-boot/pid:[1]' })
  const slots = it.startSlots()
  const startedMs = performance.now()
  await waitFor(() => slots.token(SLOT) !== undefined, { timeoutMs: 20_000, what: 'the slots to be taken' })
  expect(performance.now() - startedMs).toBeGreaterThan(3_500)
})

test.runIf(process.platform === 'linux')(
  'a process that was killed in our pod, and shows so, loses its slots immediately',
  { concurrent: true },
  async () => {
    await using it = await startSlotsBed()
    const presence = await openPresence('killed')
    presence.close()
    await it.putSilentWorker('killed', { ...presence.where, place: 'another-boot/pid:[1]' })
    let beatsBefore = 0
    const slots: LaneSlots = it.startSlots({
      onBeat() {
        if (slots.token(SLOT) === undefined) beatsBefore++
      },
    })
    await waitFor(() => slots.token(SLOT) !== undefined, { what: 'the slots to be taken' })
    // A heartbeat that is missed takes more.
    expect(beatsBefore).toBeLessThan(2)
  },
)

test.concurrent('a machine that slept begins no call before Redis was asked, though its steady clock stood still meanwhile', async () => {
  await using it = await startSlotsBed()
  let sleptMs = 0
  const slots = it.startSlots({ clock: { now: () => Date.now() + sleptMs } })
  await waitFor(() => slots.hasLease(), { what: 'the lease' })
  sleptMs = 4_000
  expect(slots.hasLease()).toBe(false)
  await waitFor(() => slots.hasLease(), { what: 'the lease of the next heartbeat' })
  sleptMs = -3_600_000
  expect(slots.hasLease()).toBe(true)
})

test.concurrent('what a dead worker left is freed again after its heartbeat: others woke it until then', async () => {
  await using it = await startSlotsBed()
  const presence = await openPresence('dead')
  await it.putSilentWorker('dead', { ...presence.where, pid: 2 ** 22 + 1 })
  presence.close()
  const hadHeartbeat: Promise<number>[] = []
  it.startSlots({ onGone: (worker) => hadHeartbeat.push(it.redis.hexists(it.keys.workers, worker)) })
  await waitFor(async () => (await it.redis.hlen(it.keys.workers)) === 1, {
    what: 'the heartbeat to be removed',
  })
  await waitFor(async () => (await Promise.all(hadHeartbeat)).at(-1) === 0, { what: 'the last time' })
})

test.concurrent('a worker that is taken for dead and beats once more keeps its slots', async () => {
  await using it = await startSlotsBed()
  await it.putSilentWorker('late', { place: 'another-boot/pid:[1]' })
  let beats = 0
  const beatOnceMore = async () => {
    if (beats++ > 0) return
    const text = (await it.redis.hget(it.keys.workers, 'late')) as string
    await it.redis.hset(it.keys.workers, 'late', JSON.stringify({ ...JSON.parse(text), beat: 8 }))
  }
  // Slots are read after the decision who is dead, and before they are taken.
  let isDead = false
  const redis = new Proxy(it.redis, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== 'hgetall') return typeof value === 'function' ? value.bind(target) : value
      return async (key: string) => {
        if (isDead) await beatOnceMore()
        return target.hgetall(key)
      }
    },
  })
  const startedMs = performance.now()
  const processes = new LiveProcesses('taker')
  const look = processes.look.bind(processes)
  processes.look = (seen, live) => {
    isDead = !live.some(({ id }) => id === 'late')
    look(seen, live)
  }
  const slots = it.startSlots({ redis, processes })
  await waitFor(() => slots.token(SLOT) !== undefined, { timeoutMs: 20_000, what: 'the slots to be taken' })
  expect(beats).toBeGreaterThan(0)
  expect(performance.now() - startedMs).toBeGreaterThan(6_500)
})
