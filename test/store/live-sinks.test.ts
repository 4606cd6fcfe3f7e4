import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { Outcome, Sink } from '../../src/sink/index.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { findOrphanedSinks } from '../../src/store/lanes/sink-registry.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

const none = new Set<string>()

test.concurrent('a sink that comes gets what waits for it, and a process that does not know it yet leaves its lane alone', async () => {
  await using it = await startLaneBed()
  const late = scriptedSink(() => DELIVERED)
  const sinks = new Map<string, Sink>([['hook', scriptedSink(() => DELIVERED)]])
  const behind = it.work({ hook: scriptedSink(() => DELIVERED) })
  const lanes = it.work(sinks)
  await it.put('late/0', ...numbered('a', 20))
  behind.wake(['late/0'])
  sinks.set('late', late)
  lanes.use(['hook', 'late'], none)
  await it.drained('late')
  expect(late.took).toEqual(numbered('a', 20))
  expect(lanes.statuses().map(({ sink }) => sink)).toEqual(['hook', 'late'])
})

test.concurrent('a removed sink delivers what waits for it, is let go of afterwards, and works again when it is back', async () => {
  await using it = await startLaneBed()
  let outcome: Outcome = DOWN
  const old = scriptedSink(() => outcome)
  const sinks = new Map<string, Sink>([
    ['old', old],
    ['hook', scriptedSink(() => DELIVERED)],
  ])
  const gone: string[] = []
  const onDrained = (sink: string) => {
    gone.push(sink)
    sinks.delete(sink)
  }
  const lanes = it.work(sinks, { drainedAfterMs: 10, onDrained })
  await it.put('old/0', ...numbered('a', 10))
  lanes.wake(['old/0'])
  await waitFor(() => old.calls > 0, { what: 'the sink to be asked' })
  lanes.use(['hook'], none)
  expect(lanes.statuses().find(({ sink }) => sink === 'old')).toMatchObject({ removed: true })
  await it.put('old/0', ...numbered('b', 10))
  outcome = DELIVERED
  lanes.tryNow(['old'])
  await it.drained('old')
  expect(old.took).toEqual([...numbered('a', 10), ...numbered('b', 10)])
  await waitFor(() => gone.includes('old'), { what: 'the sink to be let go of' })
  expect(lanes.statuses().map(({ sink }) => sink)).toEqual(['hook'])

  const back = scriptedSink(() => DELIVERED)
  sinks.set('old', back)
  lanes.use(['hook', 'old'], none)
  await it.put('old/0', 'c@1')
  lanes.wake(['old/0'])
  await it.drained('old')
  expect(back.took).toEqual(['c@1'])
})

test.concurrent('another sink under the same name takes over after the batch that is under way', async () => {
  await using it = await startLaneBed()
  const answer = Promise.withResolvers<Outcome>()
  const before = scriptedSink(() => answer.promise)
  const sinks = new Map<string, Sink>([['hook', before]])
  const lanes = it.work(sinks)
  await it.put('hook/0', ...numbered('a', 100))
  lanes.wake(['hook/0'])
  await waitFor(() => before.calls === 1, { what: 'the first batch' })
  const after = scriptedSink(() => DELIVERED)
  sinks.set('hook', after)
  lanes.use(['hook'], new Set(['hook']))
  answer.resolve(DELIVERED)
  await it.drained('hook')
  expect(before.calls).toBe(1)
  expect([...before.took, ...after.took]).toEqual(numbered('a', 100))
})

test.concurrent.each([true, false])(
  'from a reload on a sink gets objects together or alone as its options say: %s',
  async (joined) => {
    await using it = await startLaneBed()
    const objects: number[] = []
    const hook: Sink = {
      async deliver(batch) {
        objects.push(new Set(batch.map(({ event }) => event.name)).size)
        return batch.map(() => DELIVERED)
      },
      async close() {},
    }
    const options = { joins: !joined }
    const lanes = it.work({ hook }, options)
    options.joins = joined
    lanes.use(['hook'], none)
    await it.put('hook/n0', 'a@1', 'b@1', 'c@1', 'd@1', 'e@1', 'f@1')
    lanes.wake(['hook/n0'])
    await it.drained('hook')
    expect(Math.max(...objects) > 1).toBe(joined)
  },
)

test.concurrent('a failed call of a sink that was replaced leaves the health of the new one alone', async () => {
  await using it = await startLaneBed()
  const answer = Promise.withResolvers<Outcome>()
  const before = scriptedSink(() => answer.promise)
  const sinks = new Map<string, Sink>([['hook', before]])
  const metrics = createMetrics()
  const lanes = it.work(sinks, { metrics })
  await it.put('hook/0', ...numbered('a', 3))
  lanes.wake(['hook/0'])
  await waitFor(() => before.calls === 1, { what: 'the first batch' })
  sinks.set(
    'hook',
    scriptedSink(() => DELIVERED),
  )
  lanes.use(['hook'], new Set(['hook']))
  answer.resolve(DOWN)
  await it.drained('hook')
  expect(await metrics.registry.getSingleMetricAsString('kubeherald_sink_healthy')).toContain(
    '{sink="hook"} 1',
  )
})

test.concurrent('what waits for a sink that no process has for too long becomes dead letters with the reason', async () => {
  await using it = await startLaneBed()
  const metrics = createMetrics()
  await it.put('gone/0', ...numbered('a', 3))
  it.work({ hook: scriptedSink(() => DELIVERED) }, { maxAgeMs: 1, metrics })
  await it.drained('gone')
  const ledger = await it.ledger()
  expect(ledger).toMatchObject({ balanced: true, sinks: { gone: { dead: 3, pending: 0 } } })
  const letters = await it.redis.xrange(it.keys.deadLetters, '-', '+')
  expect(JSON.stringify(letters)).toContain('was removed from the configuration')
})

test.concurrent('a sink that comes back elsewhere is delivered to, also by a process that made dead letters of what had waited', async () => {
  await using it = await startLaneBed()
  const DAY_MS = 86_400_000
  // Seen long ago, and again and again until now.
  await it.redis.hset(it.keys.orphans, 'gone', `${Date.now() - 2 * DAY_MS},${Date.now()}`)
  await it.putAt('gone/0', new Date(Date.now() - 2 * DAY_MS), ...numbered('old', 3))
  await it.put('gone/0', ...numbered('fresh', 3))
  // A dead letter that was retried: its age counts from then.
  const event = {
    ...headerFor('retried', '1', 'MODIFIED', 'uid-retried'),
    time: new Date(Date.now() - 2 * DAY_MS).toISOString(),
  }
  const given = { replay: true as const, releasedAt: new Date().toISOString() }
  const [retried] = encodeEntries([
    { sink: 'gone', rule: 'all', event, objectJson: Buffer.from('{}'), ...given },
  ])
  await it.enqueue('gone/2', 1, (retried as { payload: Buffer }).payload)
  it.work({ hook: scriptedSink(() => DELIVERED) })
  await waitFor(async () => (await it.ledger()).sinks['gone']?.dead === 3, { what: 'the dead letters' })
  const back = scriptedSink(() => DELIVERED)
  const lanes = it.work({ gone: back })
  await it.put('gone/1', ...numbered('news', 3))
  lanes.wake(['gone/1'])
  await it.drained('gone')
  expect(back.took.toSorted()).toEqual([...numbered('fresh', 3), ...numbered('news', 3), 'retried@1'])
  expect((await it.ledger()).sinks['gone']).toMatchObject({ dead: 3, delivered: 7 })
  expect(await it.redis.hlen(it.keys.orphans)).toBe(0)
})

test.concurrent('a sink that another process has is no orphan, however long this one does not know it', async () => {
  await using it = await startLaneBed()
  const { redis, keys } = it
  const find = (own: readonly string[], nowMs: number, waiting = ['a']) =>
    findOrphanedSinks(redis, keys, new Set(waiting), new Set(own), { beforeMs: nowMs - 100_000, nowMs })
  expect(await find([], 1_000)).toEqual([])
  expect(await find(['a'], 60_000)).toEqual([])
  expect(await find([], 60_001)).toEqual([])
  expect(await find([], 150_000)).toEqual([])
  expect(await find([], 161_000)).toEqual(['a'])
  // Nothing waits: forgotten.
  expect(await find([], 162_000, [])).toEqual([])
  expect(await find([], 163_000)).toEqual([])
  // Nobody looked for long: it begins anew.
  expect(await find([], 10_000_000)).toEqual([])
  // The clock went back before that: it begins anew, too.
  expect(await find([], 9_000_000)).toEqual([])
  expect(await find([], 9_100_000)).toEqual([])
  expect(await find([], 9_100_001)).toEqual(['a'])
})

test.concurrent('a clock that is set ahead gives up nothing for removed sinks before its time', async () => {
  await using it = await startLaneBed()
  const MINUTE_MS = 60_000
  const agoMs = (minutes: number) => Date.now() - minutes * MINUTE_MS
  await it.redis.hset(it.keys.orphans, 'young', `${agoMs(57)},${Date.now()}`)
  await it.redis.hset(it.keys.orphans, 'gone', `${agoMs(62)},${Date.now()}`)
  await it.putAt('young/n0', new Date(agoMs(120)), 'kept@1')
  await it.putAt('gone/n0', new Date(agoMs(120)), 'old@1')
  await it.putAt('gone/n1', new Date(agoMs(57)), 'fresh@1')
  let jumpedMs = 0
  const clock = { now: () => Date.now() + jumpedMs }
  it.work({ hook: scriptedSink(() => DELIVERED) }, { maxAgeMs: 60 * MINUTE_MS, clock })
  const counts = async (sink: string) => (await it.ledger()).sinks[sink]
  await waitFor(async () => (await counts('gone'))?.dead === 1, { what: 'the dead letter' })
  jumpedMs = 9 * MINUTE_MS
  const lastMs = async () => Number((await it.redis.hget(it.keys.orphans, 'young'))?.split(',')[1])
  for (const look of ['first', 'second']) {
    const fromMs = Math.max(await lastMs(), Date.now() + 8 * MINUTE_MS)
    await waitFor(async () => (await lastMs()) > fromMs, {
      what: `the ${look} look by the clock that was set`,
    })
  }
  await it.put('gone/n2', 'later@1')
  expect(await counts('gone')).toMatchObject({ dead: 1, pending: 2 })
  expect(await counts('young')).toMatchObject({ dead: 0, pending: 1 })
})
