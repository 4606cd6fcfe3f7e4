import { expect, test } from 'vitest'
import { createClockJumps } from '../../src/store/lanes/clock-jumps.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

test.concurrent('jumps add up; the time that passes, and small corrections, are none', () => {
  const [wall, steady] = [{ ms: 1_000_000 }, { ms: 50 }]
  const jumps = createClockJumps({ now: () => wall.ms }, { now: () => steady.ms })
  const pass = (ms: number, jumpMs = 0) => {
    wall.ms += ms + jumpMs
    steady.ms += ms
    return jumps.totalMs()
  }
  expect(pass(10 * DAY_MS)).toBe(0)
  expect(pass(1_000, 900)).toBe(0)
  expect(pass(1_000, HOUR_MS)).toBe(HOUR_MS)
  expect(pass(1_000)).toBe(HOUR_MS)
  expect(pass(1_000, -DAY_MS)).toBe(HOUR_MS - DAY_MS)
})

test.concurrent('the time of what is so old leaves jumps out', () => {
  const [wall, steady] = [{ ms: 1_000 * HOUR_MS }, { ms: 0 }]
  const jumps = createClockJumps({ now: () => wall.ms }, { now: () => steady.ms })
  const pass = (hours: number, jumpHours = 0) => {
    wall.ms += (hours + jumpHours) * HOUR_MS
    steady.ms += hours * HOUR_MS
    jumps.totalMs()
  }
  const ago = (hours: number) => jumps.agoMs(hours * HOUR_MS) / HOUR_MS
  pass(10)
  expect(ago(4)).toBe(1_006)
  pass(0, 3)
  pass(1)
  expect([ago(0.5), ago(1), ago(2)]).toEqual([1_013.5, 1_013, 1_009])
  // Of the times since 1012 it is not known whether they are of before or after it.
  pass(0, -2)
  pass(1)
  expect([ago(0.5), ago(1), ago(1.5), ago(4)]).toEqual([1_012.5, 1_012, 1_012, 1_008])
})

test.concurrent('in an outage of as long as maxAge, what has waited for less does not expire because the clock was set', async () => {
  await using it = await startLaneBed()
  const [maxAgeMs, laterMs] = [4_000, 2_500]
  let jumpedMs = 0
  const clock = { now: () => Date.now() + jumpedMs }
  const lanes = it.work({ down: scriptedSink(() => DOWN) }, { maxAgeMs, clock })
  await it.put('down/n0', 'early@1')
  lanes.wake(['down/n0'])
  await new Promise((resolve) => setTimeout(resolve, laterMs))
  await it.put('down/n0', 'late@1')
  lanes.wake(['down/n0'])
  const startedMs = performance.now()
  jumpedMs = HOUR_MS / 10
  const dead = async () => (await it.ledger()).sinks['down']?.dead
  await waitFor(async () => (await dead()) === 2, { timeoutMs: 20_000, what: 'both to expire' })
  expect(performance.now() - startedMs).toBeGreaterThan(maxAgeMs - 200)
})

test.concurrent.each([
  ['an hour forwards', HOUR_MS],
  ['an hour backwards', -HOUR_MS],
  ['more than a day forwards', DAY_MS + HOUR_MS],
  ['a day backwards', -DAY_MS],
])('a clock that jumps %s: nothing is given up early, and nothing waits for it', async (_, jumpMs) => {
  await using it = await startLaneBed()
  let jumpedMs = 0
  const clock = { now: () => Date.now() + jumpedMs }
  let mended = false
  let failures = 0
  const hook = scriptedSink(({ event }) => {
    if (mended || event.name !== 'bad') return DELIVERED
    failures++
    return ODD
  })
  const down = scriptedSink(() => (mended ? DELIVERED : DOWN))
  const policy = { maxAgeMs: DAY_MS, maxTries: 3, minFailingMs: HOUR_MS / 2 }
  const lanes = it.work({ hook, down }, { ...policy, clock })
  const trickle = it.trickle(lanes)
  await it.put('down/n0', ...numbered('waiting', 5))
  await it.put('hook/n0', ...numbered('bad', 3))
  lanes.wake(['down/n0', 'hook/n0'])
  const since = () => it.redis.hget(it.keys.outages, 'down')
  await waitFor(async () => failures > 5 && (await since()) && down.calls > 2, {
    what: 'an outage and a quarantined object',
  })

  jumpedMs = jumpMs
  const before = { failures, calls: down.calls, beat: await beatOf(it) }
  await waitFor(
    async () => {
      lanes.tryNow(['down'])
      const isTried = failures > before.failures + 2 && down.calls > before.calls + 2
      return isTried && (await beatOf(it)) > before.beat + 2
    },
    { what: 'both to be tried again' },
  )
  const dead = async () => Object.values((await it.ledger()).sinks).reduce((sum, sink) => sum + sink.dead, 0)
  expect(await dead()).toBe(0)

  mended = true
  await trickle.stop()
  lanes.tryNow(['down', 'hook'])
  await it.drained('down')
  await it.drained('hook')
  expect(down.took).toEqual(numbered('waiting', 5))
  expect(hook.took.filter((name) => name.startsWith('bad'))).toEqual(numbered('bad', 3))
  expect(await it.ledger()).toMatchObject({ balanced: true, verified: true })
  expect(await dead()).toBe(0)
})

async function beatOf({ redis, keys }: Awaited<ReturnType<typeof startLaneBed>>): Promise<number> {
  const [text] = await redis.hvals(keys.workers)
  return text ? JSON.parse(text).beat : 0
}
