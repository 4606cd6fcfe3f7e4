import { expect, test } from 'vitest'
import { createClockJumps } from '../../src/queue/clock-jumps.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

test('jumps add up; the time that passes, and small corrections, are none', () => {
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

test.each([
  ['an hour forwards', HOUR_MS],
  ['an hour backwards', -HOUR_MS],
  ['more than a day forwards', DAY_MS + HOUR_MS],
  ['a day backwards', -DAY_MS],
])(
  'a clock that jumps %s: nothing is given up early, and nothing waits for it',
  async (_, jumpMs) => {
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
      what: 'an outage and a parked object',
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
    const dead = async () =>
      Object.values((await it.ledger()).sinks).reduce((sum, sink) => sum + sink.dead, 0)
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
  },
  60_000,
)

async function beatOf({ redis, keys }: Awaited<ReturnType<typeof startLaneBed>>): Promise<number> {
  const [text] = await redis.hvals(keys.workers)
  return text ? JSON.parse(text).beat : 0
}
