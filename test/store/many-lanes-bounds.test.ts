import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { QueueBounds } from '../../src/store/bounds/queue-bounds.ts'
import { createSinkBounds } from '../../src/store/bounds/sink-bounds.ts'
import { sinkOf } from '../../src/store/keys.ts'
import { createDeliveringSince } from '../../src/store/lanes/delivering-since.ts'
import type { Item } from '../../src/store/lanes/lane-entries.ts'
import type { LaneWorker } from '../../src/store/lanes/lane-worker.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { slowScripts, startLaneBed } from './lane-bed.ts'

/** More lanes than one look at the bounds measures, or than it has time for. A look before its time measures 100. */

const HOUR_MS = 3_600_000
const WEEK_MS = 168 * HOUR_MS

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** Bounds of sinks over lanes whose workers say what they give up. */
async function boundsOver(
  it: Bed,
  sinks: Record<string, Partial<QueueBounds>>,
  giveUp: (lane: string) => number | LaneWorker['giveUp'],
) {
  const { redis, keys } = it
  const clock = { now: () => Date.now() }
  const jumps = { totalMs: () => 0, agoMs: (ms: number) => clock.now() - ms }
  const since = `${clock.now() - WEEK_MS},${clock.now()}`
  for (const sink of Object.keys(sinks)) await redis.hset(keys.deliveringSince, sink, since)
  const all = Object.entries(sinks).map(([sink, own]): [string, QueueBounds] => {
    return [sink, { maxAgeMs: WEEK_MS, maxBytes: 1e9, ...own }]
  })
  return createSinkBounds({
    ...{ redis, keys, clock, metrics: createMetrics(), log: silentLog, troubles: createTroubles(silentLog) },
    bounds: () => new Map(all),
    deliveringSince: createDeliveringSince({ redis, keys, clock, jumps }),
    giveUpOf(lane) {
      const given = giveUp(lane)
      if (typeof given === 'function') return given
      return async () => Array.from({ length: given }, () => ({}) as Item)
    },
    onDue() {},
    lastError: () => undefined,
    onGivenUp() {},
  })
}

/** One entry in each lane, observed so many hours ago. */
async function fill(it: Bed, lanes: readonly (readonly [lane: string, hoursAgo: number])[]) {
  const pipeline = it.redis.pipeline()
  for (const [lane, hoursAgo] of lanes)
    pipeline.xadd(
      it.keys.lane(lane),
      '*',
      'n',
      1,
      't',
      Date.now() - hoursAgo * HOUR_MS,
      'z',
      'x'.repeat(1_000),
    )
  await pipeline.exec()
  return new Map(lanes.map(([lane]) => [lane, 1]))
}

const numbered = (sink: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${sink}/topic-${i}`)

test('lanes that always have more to give up keep no other from it', async () => {
  await using it = await startLaneBed()
  const lanes = [...numbered('one', 150), ...numbered('two', 100)]
  const waiting = await fill(
    it,
    lanes.map((lane) => [lane, 2]),
  )
  const asked = new Set<string>()
  const giveUp = (lane: string) => asked.add(lane) && 1
  const bounds = await boundsOver(it, { one: { maxAgeMs: HOUR_MS }, two: { maxAgeMs: HOUR_MS } }, giveUp)
  for (let i = 0; i < 6; i++) await bounds.look(waiting, true)
  expect(asked.size).toBe(lanes.length)
})

test('for what was delivered since it was measured nothing newer is given up', async () => {
  await using it = await startLaneBed()
  const lane = 'hook/n0'
  for (let i = 0; i < 40; i++) await it.put(lane, `a-${i}`)
  const selected: number[] = []
  const bounds = await boundsOver(it, { hook: { maxBytes: 2_000 } }, () => async (read, isSelected) => {
    // The sink recovers: most is delivered before the lane is read.
    const left = selected.length === 0 ? 40 : 3
    await it.redis.multi().xtrim(it.keys.lane(lane), 'MAXLEN', left).hset(it.keys.pending, lane, left).exec()
    selected.push((await read()).flatMap(({ items }) => items).filter((it) => isSelected(it, false)).length)
    return []
  })
  await bounds.look(new Map([[lane, 40]]))
  await bounds.look(new Map([[lane, 40]]))
  expect(selected[0]).toBeGreaterThan(10)
  expect(selected[1]).toBe(0)
})

test('for what is delivered and not acknowledged yet, nothing newer is given up', async () => {
  await using it = await startLaneBed()
  const lane = 'hook/n0'
  for (let i = 0; i < 40; i++) await it.put(lane, `a-${i}`)
  const given: string[] = []
  const bounds = await boundsOver(it, { hook: { maxBytes: 2_000 } }, () => async (read, isSelected) => {
    const items = (await read()).flatMap((entry) => entry.items)
    const nameOf = ({ delivery }: (typeof items)[number]) => delivery.event.name
    const isLeaving = (item: (typeof items)[number]) => Number(nameOf(item).slice(2)) < 35
    given.push(...items.filter((item) => isSelected(item, isLeaving(item)) && !isLeaving(item)).map(nameOf))
    return []
  })
  await bounds.look(new Map([[lane, 40]]))
  expect(given).toEqual([])
})

test('a small delivery that is newer than what is beyond the bound stays', async () => {
  await using it = await startLaneBed()
  const lane = 'hook/n0'
  const noise = randomBytes(20_000).toString('hex')
  await it.putAt(lane, new Date(Date.now() - 20_000), `old-${noise}`)
  await it.put(lane, 'new')
  const given: string[] = []
  const bounds = await boundsOver(it, { hook: { maxBytes: 5_000 } }, () => async (read, isSelected) => {
    const items = (await read()).flatMap((entry) => entry.items).filter((item) => isSelected(item, false))
    given.push(...items.map(({ delivery }) => delivery.event.name.slice(0, 3)))
    return []
  })
  await bounds.look(new Map([[lane, 2]]))
  expect(given).toEqual(['old'])
})

test('a count of deliveries that is older than the measured size gives nothing up', async () => {
  await using it = await startLaneBed()
  const lane = 'hook/n0'
  for (let i = 0; i < 60; i++) await it.put(lane, `a-${i}`)
  const given: string[] = []
  const bounds = await boundsOver(it, { hook: { maxBytes: 60_000 } }, (lane) => given.push(lane))
  // The register was read when the burst began.
  await bounds.look(new Map([[lane, 2]]))
  await bounds.look(new Map([[lane, 60]]))
  expect(bounds.status('hook')?.bytes).toBeLessThan(30_000)
  expect(given).toEqual([])
})

test('what came after the last measurement is not given up with what is older', async () => {
  await using it = await startLaneBed()
  const [lane, other] = ['hook/n0', 'hook/n1']
  const noise = randomBytes(10_000).toString('hex')
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000)
  await it.putAt(lane, ago(60), `old-${noise}`)
  const given: string[] = []
  const bounds = await boundsOver(it, { hook: { maxBytes: 40_000 } }, () => async (read, isSelected) => {
    const items = (await read()).flatMap((entry) => entry.items).filter((item) => isSelected(item, false))
    given.push(...items.map(({ delivery }) => delivery.event.name.slice(0, 3)))
    return []
  })
  // The next look is in the pause after this measurement.
  const restore = slowScripts(it)
  await bounds.look(new Map([[lane, 1]]))
  restore()
  for (let i = 0; i < 4; i++) await it.putAt(other, ago(30), `mid-${noise}`)
  await it.put(lane, 'new')
  await bounds.look(
    new Map([
      [lane, 2],
      [other, 4],
    ]),
  )
  expect(given).toContain('old')
  expect(given).not.toContain('new')
})

test('for what one lane delivered before it was measured, no other gives anything up', async () => {
  await using it = await startLaneBed()
  const noise = () => randomBytes(1_000).toString('hex')
  for (let i = 0; i < 40; i++) await it.putAt('hook/n0', new Date(Date.now() - 60_000), `a-${noise()}`)
  for (let i = 0; i < 20; i++) await it.put('hook/n1', `b-${noise()}`)
  const selected: string[] = []
  const bounds = await boundsOver(it, { hook: { maxBytes: 140_000 } }, () => async (read, isSelected) => {
    const items = (await read()).flatMap((entry) => entry.items).filter((item) => isSelected(item, false))
    selected.push(...items.map(({ delivery }) => delivery.event.name.slice(0, 1)))
    return []
  })
  // When the register was read, 60 waited in the second one.
  await bounds.look(
    new Map([
      ['hook/n0', 40],
      ['hook/n1', 60],
    ]),
  )
  expect(bounds.status('hook')?.bytes).toBeLessThan(140_000)
  expect(selected).toEqual([])
})

test('lanes that cannot be measured keep no other from it', async () => {
  await using it = await startLaneBed()
  const waiting = new Map(numbered('foreign', 120).map((lane) => [lane, 1]))
  for (const [lane, count] of await fill(it, [['old/n0', 2]])) waiting.set(lane, count)
  const asked: string[] = []
  const bounds = await boundsOver(it, { foreign: {}, old: { maxAgeMs: HOUR_MS } }, (lane) => asked.push(lane))
  for (let i = 0; i < 2; i++) await bounds.look(waiting, true)
  expect(asked).toEqual(['old/n0'])
})

test('of lanes that are not measured yet, others do not give up their part', async () => {
  await using it = await startLaneBed()
  // The oldest are everywhere; the last ones are measured last.
  const lanes = numbered('down', 300).map((lane, i) => [lane, ((i * 7) % 100) + 1] as const)
  const hoursAgo = new Map(lanes)
  const waiting = await fill(it, lanes)
  const given: string[] = []
  const bounds = await boundsOver(it, { down: { maxBytes: 1_000_000 } }, (lane) => given.push(lane) && 1)
  await bounds.look(waiting, true)
  expect(given.length).toBeGreaterThan(10)
  expect(given.map((lane) => hoursAgo.get(lane) ?? 0).filter((hours) => hours < 50)).toEqual([])
})

test('a look at many lanes is not lost while one at few is under way', async () => {
  await using it = await startLaneBed()
  const lanes = numbered('one', 300)
  const waiting = await fill(
    it,
    lanes.map((lane) => [lane, 2]),
  )
  const asked = new Set<string>()
  const giveUp = (lane: string) => asked.add(lane) && 0
  const bounds = await boundsOver(it, { one: { maxAgeMs: HOUR_MS } }, giveUp)
  const soon = bounds.look(waiting, true)
  await bounds.look(waiting)
  await soon
  await bounds.look(waiting, true)
  expect(asked.size).toBe(lanes.length)
})

test('lanes of which nothing can be given up now keep no other from it', async () => {
  await using it = await startLaneBed()
  let steadyMs = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => steadyMs)
  onTestFinished(() => void vi.restoreAllMocks())
  const lanes = numbered('slow', 90)
  const waiting = await fill(
    it,
    lanes.map((lane) => [lane, 2]),
  )
  const asked = new Set<string>()
  const giveUp = (lane: string) => {
    steadyMs += 25
    asked.add(lane)
    return 0
  }
  const bounds = await boundsOver(it, { slow: { maxAgeMs: HOUR_MS } }, giveUp)
  for (let i = 0; i < 3; i++) await bounds.look(waiting)
  expect(asked.size).toBe(lanes.length)
})

test('the lanes of a sink behind 1,500 others are all measured', async () => {
  await using it = await startLaneBed()
  const lanes = [...numbered('one', 1_500), ...numbered('two', 1_000)]
  const waiting = await fill(
    it,
    lanes.map((lane) => [lane, sinkOf(lane) === 'two' ? 2 : 0]),
  )
  const asked = new Set<string>()
  const giveUp = (lane: string) => asked.add(lane) && 1
  const bounds = await boundsOver(it, { one: { maxAgeMs: HOUR_MS }, two: { maxAgeMs: HOUR_MS } }, giveUp)
  for (let i = 0; i < 4; i++) await bounds.look(waiting)
  expect([...asked].map(sinkOf)).toEqual(Array.from({ length: 1_000 }, () => 'two'))
})
