import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { PeekedCheckpoint } from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { ReflectorStatus } from '../../src/watch/reflector/reflector-status.ts'
import { standBy } from '../../src/watch/reflector/takeover.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import { SOURCE } from '../store/objects.ts'

const AT: PeekedCheckpoint = {
  phase: 'watching',
  resourceVersion: '7',
  sequence: 1,
  holder: 'other',
  atMs: 0,
  ownerAlive: true,
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** How many looks it takes to take over, when a second passes between two of them. */
async function looksUntilTakeOver(checkpointAt: (look: number) => PeekedCheckpoint): Promise<number> {
  let looks = 0
  const owners = { changes: 0, wait: async () => {} }
  const peek = async () => {
    vi.advanceTimersByTime(1_000)
    return checkpointAt(looks++)
  }
  const store = { peek, owners }
  const clock = { now: () => looks * 1_000 }
  const report = new ReflectorStatus({ metrics: createMetrics(), log: silentLog, clock, report() {} }, 'x')
  const timing = { ...DEFAULT_TIMING, takeOverSpreadMs: 1, standbyPatienceMs: 30_000 }
  await standBy({ store, timing, random: () => 0 }, SOURCE, report, new AbortController().signal)
  return looks
}

test('a quiet source is left to its owner as long as that lives', async () => {
  expect(await looksUntilTakeOver((look) => ({ ...AT, ownerAlive: look < 20 }))).toBe(22)
})

test('a source that stands still for long is taken over, though its owner lives', async () => {
  expect(await looksUntilTakeOver(() => AT)).toBeGreaterThan(30)
})

test('a source that moves is left alone', async () => {
  expect(await looksUntilTakeOver((look) => ({ ...AT, sequence: Math.min(look, 100) }))).toBeGreaterThan(130)
})

test('a source without a living owner is taken over at once', async () => {
  expect(await looksUntilTakeOver(() => ({ ...AT, ownerAlive: false }))).toBe(2)
})

test('of several that stand by the first one takes the source, and the others go on waiting', async () => {
  const takenBy = (look: number) => (look === 0 ? 'dead' : 'third')
  const at = (look: number) => ({ ...AT, holder: takenBy(look), ownerAlive: look > 0 && look < 20 })
  expect(await looksUntilTakeOver(at)).toBe(22)
})

test('an owner whose heartbeat comes back in time keeps its source', async () => {
  expect(await looksUntilTakeOver((look) => ({ ...AT, ownerAlive: look !== 0 && look < 20 }))).toBe(22)
})
