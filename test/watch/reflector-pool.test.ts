import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Checkpoint } from '../../src/model/change.ts'
import type { WatchStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { PlannedSource } from '../../src/watch/plan/plan.ts'
import { createReflectorPool, type PoolParts } from '../../src/watch/reflector/reflector-pool.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import { waitFor } from '../wait-for.ts'

const SOURCE = {
  key: 'pods#1',
  title: 'pods',
  resource: { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
  spelling: 'Pod',
} as PlannedSource

test('a watch that another process works on is ready once that has a position, and not before', async () => {
  const stop = new AbortController()
  let stored: Partial<Checkpoint> | undefined
  let asked = 0
  let report: (news: Partial<WatchStatus>) => void = () => {}
  const runs = createReflectorPool({
    store: {
      absentKinds: { has: async () => false },
      peek: async () => {
        asked++
        return stored
      },
    },
    leases: {
      async run(_: unknown, tell: typeof report, signal: AbortSignal) {
        report = tell
        await once(signal, 'abort')
      },
    },
    log: silentLog,
    metrics: createMetrics(),
    clock: Date,
    timing: DEFAULT_TIMING,
    random: Math.random,
    onReady() {},
    onEnd() {},
  } as unknown as PoolParts)
  await runs.start(SOURCE, stop.signal)
  const tell = () => report({ phase: 'standby', holder: 'another' })
  const standBy = async () => {
    const before = asked
    const twice = () => {
      tell()
      return asked >= before + 2
    }
    await waitFor(twice, { what: 'two looks at the position' })
    tell()
    return runs.statuses()[0]?.ready
  }
  expect(await standBy()).toBe(false)
  stored = { phase: 'seeding', resourceVersion: '' }
  expect(await standBy()).toBe(false)
  stored = { phase: 'watching', resourceVersion: '7' }
  const ready = () => {
    tell()
    return runs.statuses()[0]?.ready
  }
  await waitFor(ready, { what: 'the position to count' })
  stop.abort()
  await runs.ended()
})

test('a watch that ends by a defect starts again after a pause', async () => {
  const stop = new AbortController()
  const failedAtMs: number[] = []
  const ended = Promise.withResolvers<number>()
  const backoffMaxMs = 200
  const runs = createReflectorPool({
    store: { absentKinds: { has: async () => false } },
    leases: {
      async run() {
        failedAtMs.push(performance.now())
        throw new TypeError('a defect')
      },
    },
    log: silentLog,
    metrics: createMetrics(),
    clock: Date,
    timing: { ...DEFAULT_TIMING, backoffMaxMs },
    random: Math.random,
    onReady() {},
    onEnd: () => ended.resolve(performance.now()),
  } as unknown as PoolParts)
  await runs.start(SOURCE, stop.signal)
  const atMs = await ended.promise
  // Timers may fire a millisecond early.
  expect(atMs - (failedAtMs[0] as number)).toBeGreaterThan(backoffMaxMs - 5)
  stop.abort()
  await runs.ended()
})
