import { expect, test } from 'vitest'
import type { Message, Outcome } from '../../src/sink/index.ts'
import { isQuarantine } from '../../src/store/keys.ts'
import { seeded } from '../seeded-random.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** Many quarantined chains, and what else may happen to them: sets are exact, the order holds, the ledger balances. */

const LANES = Array.from({ length: 16 }, (_, i) => `hook/n${i}`)
const laneOf = (i: number) => LANES[i % LANES.length] as string

const quarantinedIn = async ({ redis, keys }: Bed) =>
  (await redis.hkeys(keys.pending)).filter(isQuarantine).length

/** What objects took, by name, in order; repeats left out. */
function byObject(took: readonly string[]): Map<string, string[]> {
  return Map.groupBy(new Set(took), (it) => it.split('@')[0] as string)
}

/** All of these objects got versions 1 to `versions`, in order, and nothing else is counted. */
async function expectAll(it: Bed, took: readonly string[], objects: readonly string[], versions: number) {
  await it.drained('hook')
  const found = byObject(took)
  const wrong = objects.filter((name) => `${found.get(name)}` !== `${numbered(name, versions)}`)
  expect(wrong).toEqual([])
  const all = objects.length * versions
  expect(await it.ledger()).toMatchObject({
    ...{ balanced: true, verified: true },
    sinks: { hook: { enqueued: all, delivered: all, dead: 0, pending: 0 } },
  })
  await waitFor(async () => (await quarantinedIn(it)) === 0, { what: 'all chains to return' })
  expect((await it.redis.keys('*')).filter((key) => key.includes('!'))).toEqual([])
}

test('of 3,000 objects 300 fail: the others pass, and those arrive when they no longer fail', async () => {
  await using it = await startLaneBed()
  const objects = Array.from({ length: 3_000 }, (_, i) => (i % 10 === 0 ? `bad-${i}` : `good-${i}`))
  let mended = false
  let healthy = 0
  const sink = scriptedSink(({ event }) => {
    const isGood = event.name.startsWith('good')
    if (isGood) healthy++
    return isGood || mended ? DELIVERED : ODD
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  for (const version of [1, 2]) {
    for (const [i, lane] of LANES.entries()) {
      const own = objects.filter((_, n) => laneOf(n) === lane).map((name) => `${name}@${version}`)
      for (let at = 0; at < own.length; at += 100) await it.put(lane, ...own.slice(at, at + 100))
      lanes.wake([LANES[i] as string])
    }
  }
  await waitFor(() => healthy === 5_400, {
    ...{ timeoutMs: 40_000, what: () => `the healthy ones; ${healthy} of 5,400 passed` },
  })
  await waitFor(async () => (await quarantinedIn(it)) === 300, {
    ...{ timeoutMs: 20_000, what: 'all failing ones to be quarantined' },
  })
  expect(lanes.statuses()).toMatchObject([{ quarantined: 300, healthy: true }])
  mended = true
  await expectAll(it, sink.took, objects, 2)
  expect(sink.took).toHaveLength(6_000)
})

test('objects that fail at the heads of lanes, before anything has passed, do not keep their sink closed', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(({ event }) => (event.name.startsWith('bad') ? ODD : DELIVERED))
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  const some = LANES.slice(0, 3)
  for (const [i, lane] of some.entries()) await it.put(lane, `bad-${i}@1`)
  lanes.wake(some)
  await waitFor(() => lanes.statuses()[0]?.healthy === false, {
    what: 'a sink of which nothing is known but failures',
  })
  for (const [i, lane] of some.entries()) await it.put(lane, `good-${i}@1`)
  lanes.wake(some)
  await waitFor(() => sink.took.length === 3, { what: () => `the others; ${sink.took} passed` })
})

test('workers come and go while chains are quarantined, and change in between: one at a time has each', async () => {
  await using it = await startLaneBed()
  const objects = Array.from({ length: 60 }, (_, i) => (i < 40 ? `bad-${i}` : `good-${i}`))
  const took: string[] = []
  const underway = new Set<string>()
  const overlaps: string[] = []
  const random = seeded(5)
  let mended = false
  async function answer({ event }: Message): Promise<Outcome> {
    if (underway.has(event.name)) overlaps.push(`${event.name}@${event.resourceVersion}`)
    underway.add(event.name)
    await new Promise((resolve) => setTimeout(resolve, 5 * random()))
    underway.delete(event.name)
    if (!mended && event.name.startsWith('bad')) return ODD
    took.push(`${event.name}@${event.resourceVersion}`)
    return DELIVERED
  }
  const start = () => it.work({ hook: scriptedSink(answer) }, { minFailingMs: 600_000 })
  const workers = [start(), start()]
  let version = 0
  async function changeAll(): Promise<void> {
    version++
    for (const [i, name] of objects.entries()) await it.put(laneOf(i), `${name}@${version}`)
    for (const worker of workers) worker.wake(LANES)
  }
  const goodTook = () => took.filter((name) => name.startsWith('good')).length
  const allGood = () =>
    waitFor(() => goodTook() === 20 * version, { what: () => `${goodTook()} of ${20 * version}` })
  await changeAll()
  await allGood()
  await changeAll()
  await waitFor(async () => (await quarantinedIn(it)) > 0, { what: 'quarantined chains' })
  for (let round = 0; round < 4; round++) {
    workers.push(start())
    await changeAll()
    await workers.shift()?.close(1_000)
    await changeAll()
    await allGood()
  }
  expect(await quarantinedIn(it)).toBeGreaterThan(30)
  mended = true
  for (const worker of workers) worker.tryNow(['hook'])
  await expectAll(it, took, objects, version)
  expect(overlaps).toEqual([])
  expect(took).toHaveLength(objects.length * version)
})

test('Redis is full now and then while chains are quarantined', async () => {
  await using it = await startLaneBed()
  const objects = Array.from({ length: 320 }, (_, i) => `object-${i}`)
  const random = seeded(9)
  let mended = false
  const isFull = Promise.withResolvers<void>()
  const sink = scriptedSink(async () => {
    await isFull.promise
    return mended || random() < 0.5 ? DELIVERED : ODD
  })
  const lanes = it.work({ hook: sink }, { minFailingMs: 600_000 })
  const refused = async () =>
    Number(/errorstat_OOM:count=(\d+)/.exec(await it.redis.info('errorstats'))?.[1] ?? 0)
  for (let version = 1; version <= 4; version++) {
    for (let i = 0; i < objects.length; i += 20)
      await it.put(laneOf(i / 20), ...objects.slice(i, i + 20).map((name) => `${name}@${version}`))
    lanes.wake(LANES)
    await waitFor(() => sink.calls > 0, { what: 'calls under way' })
    await it.redis.config('SET', 'maxmemory', '1')
    const before = await refused()
    isFull.resolve()
    await waitFor(async () => (await refused()) > before, { what: 'Redis to refuse something' })
    if (version === 1)
      await waitFor(async () => (await quarantinedIn(it)) > 10, {
        what: 'chains that are quarantined while it is full',
      })
    await it.redis.config('SET', 'maxmemory', '0')
  }
  mended = true
  await expectAll(it, sink.took, objects, 4)
  expect(sink.took).toHaveLength(320 * 4)
})
