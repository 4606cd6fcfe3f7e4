import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { createClockJumps } from '../../src/store/lanes/clock-jumps.ts'
import { createDeliveringSince } from '../../src/store/lanes/delivering-since.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startRedis } from '../servers/redis.ts'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 0, 1)

async function startBed() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const [wall, steady] = [{ ms: START_MS }, { ms: 0 }]
  const clock = { now: () => wall.ms }
  const jumps = createClockJumps(clock, { now: () => steady.ms })
  const since = createDeliveringSince({ redis, keys: keysOf('test'), clock, jumps })
  /** Looks every 2 s, as the delivery stage does. */
  async function pass(minutes: number, onRefusal?: (error: Error) => void): Promise<void> {
    for (let ms = 0; ms < minutes * MINUTE_MS; ms += 2_000) {
      wall.ms += 2_000
      steady.ms += 2_000
      await since.note(['hook']).catch(onRefusal)
    }
  }
  await since.note(['hook'])
  return {
    pass,
    /** Redis is full meanwhile. */
    async passFull(minutes: number): Promise<void> {
      const refusals: Error[] = []
      await server.command('CONFIG', 'SET', 'maxmemory', '1')
      await pass(minutes, (error) => void refusals.push(error))
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
      expect(refusals[0]?.message).toContain('OOM')
    },
    sinceMs: () => since.sinceMs('hook'),
    /** Sets the clock; what the next look finds. */
    async jump(minutes: number): Promise<void> {
      wall.ms += minutes * MINUTE_MS
      await since.note(['hook'])
    },
    /** Was that of so many minutes after the start, by the wall clock, too old? */
    isExpired: (minutes: number, maxAgeMinutes: number) =>
      START_MS + minutes * MINUTE_MS < since.expiredBefore('hook', maxAgeMinutes * MINUTE_MS),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test.each([1, 9, 25, -9])(
  'a clock that is set by %i min: the age of what waits leaves that out',
  async (jump) => {
    await using it = await startBed()
    await it.pass(30)
    expect([it.isExpired(24, 5), it.isExpired(26, 5)]).toEqual([true, false])
    await it.jump(jump)
    expect([it.isExpired(26, 5), it.isExpired(29, 5)]).toEqual([false, false])
    await it.pass(3)
    expect([it.isExpired(28, 5), it.isExpired(29, 5)]).toEqual([false, false])
    // What was observed after the jump, by the clock of then.
    expect(it.isExpired(30 + jump + 1, 5)).toBe(false)
    await it.pass(3)
    // By 10 min and more it begins anew; nothing is given up early.
    if (jump === 1 || jump === 9) expect([it.isExpired(29, 5), it.isExpired(30, 5)]).toEqual([true, true])
    expect(it.isExpired(30 + jump + 2, 5)).toBe(false)
    await it.pass(10)
    expect(it.isExpired(30 + jump + 5, 5)).toBe(true)
  },
)

test('a clock that is set back soon after it was set ahead: nothing is too old early', async () => {
  await using it = await startBed()
  await it.pass(30)
  await it.jump(9)
  await it.pass(2)
  await it.jump(-9)
  for (let minutes = 32; minutes < 37; minutes++) {
    expect([it.isExpired(32.5, 5), it.isExpired(40, 5)]).toEqual([false, false])
    await it.pass(1)
  }
  await it.pass(10)
  expect(it.isExpired(40, 5)).toBe(true)
})

test('a Redis that is full for long does not restart the time of delivering', async () => {
  await using it = await startBed()
  await it.pass(30)
  await it.passFull(25)
  expect(it.sinceMs()).toBe(START_MS)
  expect([it.isExpired(49, 5), it.isExpired(51, 5)]).toEqual([true, false])
  await it.pass(1)
  expect(it.sinceMs()).toBe(START_MS)
})
