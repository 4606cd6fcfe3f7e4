import { expect, test } from 'vitest'
import { slotsOf } from '../../src/store/keys.ts'
import { LiveProcesses } from '../../src/store/lanes/live-processes.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, scriptedSink, startLaneBed } from './lane-bed.ts'
import { startSlotsBed } from './slots-bed.ts'

/** What Redis says of slots and what a worker knows of them come together again, whatever got lost between them. */

const LANES = Array.from({ length: 16 }, (_, i) => `hook/n${i}`)

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** A delivery on each lane comes through. */
async function expectAllLanesDeliver(it: Bed): Promise<void> {
  for (const lane of LANES) await it.put(lane, `${lane}@1`)
  await it.drained('hook')
}

test('a worker whose reply to taking slots got lost delivers from them all the same', async () => {
  await using it = await startLaneBed()
  await using proxy = await startTcpProxy(Number(new URL(it.server.url).port))
  // Of the script that takes them, sent in full the first time.
  proxy.cutAfter('local taken')
  const sink = scriptedSink(() => DELIVERED)
  it.work({ hook: sink }, { url: `redis://127.0.0.1:${proxy.port}` })
  await waitFor(async () => (await it.redis.hlen(it.keys.slots)) > 0, { what: 'the slots' })
  await expectAllLanesDeliver(it)
  expect(sink.took).toHaveLength(LANES.length)
})

test('a slot that Redis says is of a worker that does not know of it is delivered from again', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(() => DELIVERED)
  it.work({ hook: sink })
  const tokens = () => it.redis.hgetall(it.keys.slots)
  await waitFor(async () => Object.keys(await tokens()).length > LANES.length, { what: 'all slots' })
  const { version: _, ...known } = await tokens()
  const worker = Object.values(known)[0]?.split(':')[0]
  const others = slotsOf('hook').flatMap((slot, i) => [slot, `${worker}:9${i}`])
  await it.redis.multi().hset(it.keys.slots, others).hincrby(it.keys.slots, 'version', 1).exec()
  await expectAllLanesDeliver(it)
  expect(sink.took).toHaveLength(LANES.length)
})

test('a worker that loses its slots while it asks whether the sink is back asks again when it has them back', async () => {
  await using it = await startLaneBed()
  const hangs = Promise.withResolvers<void>()
  let down = true
  let asked = 0
  const sink = scriptedSink(async () => {
    if (!down) return DELIVERED
    asked++
    if (lanes.statuses()[0]?.healthy === false) await hangs.promise
    return DOWN
  })
  const lanes = it.work({ hook: sink })
  for (const lane of LANES) await it.put(lane, `${lane}@1`)
  lanes.wake(LANES)
  await waitFor(() => lanes.statuses()[0]?.healthy === false, { what: 'a sink that fails' })
  const before = asked
  await waitFor(() => asked >= before + 3, { timeoutMs: 20_000, what: 'probes' })
  const foreign = slotsOf('hook').flatMap((slot) => [slot, 'another:1'])
  await it.redis.multi().hset(it.keys.slots, foreign).hincrby(it.keys.slots, 'version', 1).exec()
  const tokens = async () => Object.values(await it.redis.hmget(it.keys.slots, ...slotsOf('hook')))
  await waitFor(async () => (await tokens()).every((token) => !token?.startsWith('another')), {
    what: 'slots of a worker that does not live to come back',
  })
  hangs.resolve()
  down = false
  await it.drained('hook')
})

test('a refusal of an older token does not take a slot away that came back; a full Redis is reported', async () => {
  await using it = await startSlotsBed()
  const lost: string[] = []
  let outOfMemory = 0
  const slots = it.startSlots({
    onLost: (some) => lost.push(...some),
    onOutOfMemory: () => void outOfMemory++,
  })
  const slot = 'hook/0'
  await waitFor(() => slots.token(slot) !== undefined, { what: 'the slots' })
  const token = slots.token(slot) as string
  slots.lost(slot, `${token}0`)
  expect([slots.token(slot), lost]).toEqual([token, []])
  slots.lost(slot, token)
  expect([slots.token(slot), lost]).toEqual([undefined, [slot]])
  expect(outOfMemory).toBe(0)
  await it.redis.config('SET', 'maxmemory', '1mb')
  await waitFor(() => outOfMemory > 0, { what: 'a heartbeat that a full Redis refuses to be reported' })
})

test('a slot that is lost while it is drained, and comes back, is not given away', async () => {
  await using it = await startSlotsBed()
  const drained = Promise.withResolvers<boolean>()
  const taken: string[] = []
  const slots = it.startSlots({
    onTaken: (some) => taken.push(...some),
    drain: () => drained.promise,
  })
  const all = slotsOf('hook')
  await waitFor(() => all.every((slot) => slots.token(slot)), { what: 'the slots' })
  const other = it.startSlots({ processes: new LiveProcesses('other') })
  await waitFor(() => all.some((slot) => slots.isDraining(slot)), { what: 'a slot for the other worker' })
  const slot = all.find((slot) => slots.isDraining(slot)) as string
  await other.close()
  await it.redis.multi().hset(it.keys.slots, slot, 'gone:1').hincrby(it.keys.slots, 'version', 1).exec()
  const stored = () => it.redis.hget(it.keys.slots, slot)
  await waitFor(() => taken.filter((it) => it === slot).length > 1, { what: 'the slot to come back' })
  const token = await stored()
  taken.length = 0
  drained.resolve(true)
  await waitFor(() => slots.token(slot), { what: 'the slot to be used again' })
  expect([slots.token(slot), await stored()]).toEqual([token, token])
  // Nothing was read from it while it was drained.
  expect(taken).toContain(slot)
})
