import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { Checkpoint } from '../../src/model/change.ts'
import type { WatchStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { liveness } from '../../src/observe/server/health.ts'
import type { SourceLeases } from '../../src/watch/leases/source-leases.ts'
import type { PlannedSource } from '../../src/watch/plan/plan.ts'
import { createReflectorPool, type PoolParts } from '../../src/watch/reflector/reflector-pool.ts'
import { DEFAULT_TIMING } from '../../src/watch/reflector/timing.ts'
import { configMap } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'

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
      async run(_: unknown, note: typeof report, signal: AbortSignal) {
        report = note
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

test.each<[string, (report: (news: Partial<WatchStatus>) => void, lose: () => void) => void]>([
  ['its lease is lost', (_, lose) => lose()],
  ['another process has taken it', (report) => report({ phase: 'standby' })],
])('the last comparison of a watch is not shown when %s', async (_, leave) => {
  await using it = await startWatchBed({ idle: true, objects: [configMap('a', 5)] })
  const lost = new AbortController()
  let report: (news: Partial<WatchStatus>) => void = () => {}
  const leases: SourceLeases = {
    async run(_source, note, signal, job) {
      report = note
      const guard = { check() {}, renewed: async () => {} }
      const end = await job(guard, AbortSignal.any([signal, lost.signal]))
      if (!signal.aborted) await once(signal, 'abort')
      return end
    },
    leave: async () => {},
  }
  it.start([{ kind: 'ConfigMap', verify: 50 }], { wallMs: 0, leases: () => leases })
  await it.watching('10')
  const [index] = await it.reader.keys(it.keys.index('*'))
  await it.reader.del(index as string)
  await waitFor(() => it.statuses()[0]?.verified?.differences === 1, { what: 'the difference' })
  const series = async () => {
    const names = ['kubeherald_watch_index_differences', 'kubeherald_watch_verified_timestamp_seconds']
    const read = names.map(async (name) => (await it.metrics.registry.getSingleMetric(name)?.get())?.values)
    return (await Promise.all(read)).flat().length
  }
  expect(await series()).toBe(2)
  leave(report, () => lost.abort())
  await waitFor(async () => (await series()) === 0, { what: 'the series to go' })
  expect(it.statuses()[0]?.verified).toBeUndefined()
})

test('how long a watch may be silent does not depend on the wall clock', async () => {
  await using it = await startWatchBed({ idle: true })
  it.start(undefined, { wallMs: 365 * 86_400_000 })
  await waitFor(() => it.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  const isLive = (inMs: number) => {
    const vitals = { sinks: [], redisTrouble: undefined, redisFull: false, stopping: false }
    const checks = liveness({ ...vitals, watches: it.statuses(), nowMs: performance.now() + inMs })
    return checks.every(({ ok }) => ok)
  }
  expect(isLive(0)).toBe(true)
  expect(isLive(3_600_000)).toBe(false)
})

test('how often the index is compared can be changed while the watch goes on', async () => {
  await using it = await startWatchBed({ objects: [configMap('a', 5)] })
  await it.watching('10')
  const series = async () => (await it.metric('watch_verified_timestamp_seconds')).length
  expect(await series()).toBe(0)
  it.apply([{ kind: 'ConfigMap', verify: 50 }])
  await waitFor(() => it.statuses()[0]?.verified?.differences === 0, { what: 'a comparison' })
  expect(await series()).toBe(1)
  it.apply([{ kind: 'ConfigMap' }])
  await waitFor(async () => (await series()) === 0, { what: 'the series to go' })
  expect(it.statuses()[0]?.verified).toBeUndefined()
  expect(it.api.watches()).toHaveLength(1)
})
