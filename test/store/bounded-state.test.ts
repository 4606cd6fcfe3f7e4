import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createOutages } from '../../src/store/lanes/outages.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

const LANES = Array.from({ length: 2_000 }, (_, i) => `hook/channel-${i}`)
const HOUR_MS = 3_600_000

test('two thousand lanes that were used once leave no keys and no fields, also those that failed or quarantined objects', async () => {
  await using it = await startLaneBed()
  for (let i = 0; i < LANES.length; i += 500)
    await Promise.all(LANES.slice(i, i + 500).map((lane, at) => it.put(lane, `object-${i + at}`)))
  const failed = new Set<string>()
  const sink = scriptedSink(({ event: { name } }) => {
    const number = Number(name.split('-')[1])
    if (number % 100 > 1 || failed.has(name)) return DELIVERED
    failed.add(name)
    // Of a lane's target, or of one object.
    return number % 100 === 0 ? { ...DOWN, scope: 'target' } : ODD
  })
  const lanes = it.work({ hook: sink }, { namesLanes: true })
  await waitFor(() => sink.took.length >= LANES.length, {
    timeoutMs: 60_000,
    what: () => `all deliveries; ${sink.took.length} came`,
  })
  await it.drained('hook')
  expect(failed.size).toBe(40)
  await lanes.close(500)
  const { keys, redis } = it
  expect((await redis.keys('*')).toSorted()).toEqual(
    [keys.deliveringSince, keys.sinkLedger('hook'), keys.pending, keys.slots].toSorted(),
  )
  expect(await redis.hgetall(keys.pending)).toEqual({ 'hook/*': '0' })
  expect(await redis.hkeys(keys.slots)).toEqual(['version'])
  expect(await redis.hkeys(keys.deliveringSince)).toEqual(['hook'])
})

test('what failed once and was never used again is forgotten within a day and an hour', async () => {
  await using it = await startLaneBed()
  let nowMs = Date.now()
  const outages = createOutages({
    redis: it.redis,
    keys: it.keys,
    clock: { now: () => nowMs },
    jumps: { totalMs: () => 0, agoMs: (ms) => nowMs - ms },
    log: silentLog,
  })
  for (const lane of LANES.slice(0, 1_000)) outages.failed(lane)
  await waitFor(async () => (await it.redis.hlen(it.keys.outages)) === 1_000, { what: 'the outages' })
  nowMs += 24 * HOUR_MS + 1
  outages.failed('hook/other')
  await waitFor(async () => (await it.redis.hlen(it.keys.outages)) === 1, { what: 'them to be forgotten' })
  expect(outages.failed('hook/channel-1')).toBeUndefined()
})
