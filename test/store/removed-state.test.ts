import { expect, test } from 'vitest'
import type { WatchStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { type RemovedStateParts, startRemovedState } from '../../src/store/commit/removed-state.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { type InstanceReport, publishReport } from '../../src/store/process-reports.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const WEEK_MS = 7 * 86_400_000

const status = (key: string, news: Partial<WatchStatus> = {}): WatchStatus => ({
  ...{ key, title: `title of ${key}`, phase: 'watching', resourceVersion: '1', lastContactMs: 0 },
  ...{ aliveUntilMs: 0, ready: true },
  ...news,
})

const report = (watches: WatchStatus[], sinks: string[]): InstanceReport => ({
  ...{ id: 'other', role: 'all', version: '1', host: 'here', pid: 1, startedMs: 0, atMs: 0, watches },
  sinks: sinks.map((sink) => ({ sink, healthy: true, quarantined: 0, failingTargets: 0 })),
})

/** A process whose configuration has nothing of what is stored; its clock is set by the test, and it counts its looks. */
async function startBed() {
  const it = await startStoreBed({ lane: () => 'hook/n0' })
  const stack = new AsyncDisposableStack()
  stack.use(it)
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  const state = { nowMs: Date.now(), looks: 0, watches: [] as WatchStatus[] }
  const parts: RemovedStateParts = {
    ...{ redis: it.reader, keys: it.keys, clock: { now: () => state.nowMs }, log: silentLog },
    watches() {
      state.looks++
      return state.watches
    },
    ...{ kinds: () => [], sinks: () => [], timing: { pollMs: 5 } },
  }
  stack.use({ [Symbol.asyncDispose]: () => startedState.close() })
  const startedState = startRemovedState(parts)
  return {
    ...it,
    state,
    session,
    async someLooks() {
      const until = state.looks + 4
      await waitFor(() => state.looks >= until, { what: 'some looks' })
    },
    marks: () => it.reader.hkeys(it.keys.removed),
    keysOfSource: () => it.reader.keys(`*${SOURCE.key}*`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('a watch that no process has had for a week leaves nothing in Redis, and the ledger balances', async () => {
  await using it = await startBed()
  await waitFor(async () => (await it.marks()).includes(`watch:${SOURCE.key}`), { what: 'the mark' })
  it.state.nowMs += WEEK_MS - 60_000
  await it.someLooks()
  expect(await it.keysOfSource()).not.toEqual([])
  it.state.nowMs += 60_001
  await waitFor(async () => (await it.keysOfSource()).length === 0, { what: 'its keys to go' })
  await waitFor(async () => (await it.reader.exists(it.keys.sources, it.keys.removed)) === 0, {
    what: 'its description and its mark to go',
  })
  // The delivery still waits.
  const ledger = await readLedger(it.reader, it.keys, { verify: true })
  expect(ledger).toMatchObject({ balanced: true, watches: {}, sinks: { hook: { pending: 1 } } })
})

test('a watch that comes back within a week goes on from its position', async () => {
  await using it = await startBed()
  await waitFor(async () => (await it.marks()).includes(`watch:${SOURCE.key}`), { what: 'the mark' })
  it.state.nowMs += WEEK_MS - 60_000
  await publishReport(it.reader, it.keys, report([status(SOURCE.key)], []))
  await waitFor(async () => !(await it.marks()).includes(`watch:${SOURCE.key}`), { what: 'no mark' })
  await it.reader.del(it.keys.instance('other'))
  it.state.nowMs += 60_001
  await it.someLooks()
  const { checkpoint } = await it.newStore().open(SOURCE, never)
  expect(checkpoint).toMatchObject({ phase: 'watching', resourceVersion: '2' })
})

test('nothing of a watch is freed while kinds are not resolved, its own kind is waited for, or it moved lately', async () => {
  await using it = await startBed()
  await waitFor(async () => (await it.marks()).includes(`watch:${SOURCE.key}`), { what: 'the mark' })
  await it.reader.hset(it.keys.removed, `watch:${SOURCE.key}`, 1)
  // It moved lately.
  await it.someLooks()
  it.state.watches = [status('Other', { title: 'Other', phase: 'resolving' })]
  await it.someLooks()
  it.state.nowMs += WEEK_MS
  await it.someLooks()
  const { spelling } = SOURCE
  it.state.watches = [status(spelling, { title: spelling, phase: 'waiting-for-kind' })]
  await it.someLooks()
  expect(await it.reader.exists(it.keys.checkpoint(SOURCE.key), it.keys.index(SOURCE.key))).toBe(2)
})

test('a sink that no process has had for a week leaves nothing once nothing waits for it and no dead letter is left', async () => {
  await using it = await startBed()
  await it.reader.hset(it.keys.pending, 'hook/*', 0)
  const hasMark = async () => (await it.marks()).includes('sink:hook')
  await waitFor(hasMark, { what: 'the mark' })
  it.state.nowMs += WEEK_MS + 1
  await it.someLooks()
  expect(await it.reader.exists(it.keys.sinkLedger('hook'))).toBe(1)
  // A dead letter.
  await it.reader.hset(it.keys.sinkLedger('hook'), 'dead', 1)
  await it.someLooks()
  expect(await it.reader.exists(it.keys.sinkLedger('hook'))).toBe(1)
  await it.reader.hset(it.keys.sinkLedger('hook'), 'discarded', 1)
  await it.reader.hdel(it.keys.pending, 'hook/n0')
  await waitFor(async () => (await it.reader.exists(it.keys.sinkLedger('hook'))) === 0, {
    what: 'its counts to go',
  })
  expect(await it.reader.hkeys(it.keys.pending)).toEqual([])
})

test('a sink of another process is kept', async () => {
  await using it = await startBed()
  await it.reader.hset(it.keys.pending, 'hook/*', 0)
  await it.reader.hset(it.keys.sinkLedger('hook'), 'delivered', 1)
  await publishReport(it.reader, it.keys, report([], ['hook']))
  await it.reader.hset(it.keys.removed, 'sink:hook', 1)
  it.state.nowMs += WEEK_MS + 1
  await it.someLooks()
  expect(await it.reader.exists(it.keys.sinkLedger('hook'))).toBe(1)
  expect(await it.marks()).not.toContain('sink:hook')
})

test('kinds that nobody waits for, and how watches were split that are gone, are forgotten after a week', async () => {
  await using it = await startBed()
  const store = it.newStore()
  await store.absentKinds.add('Widget', never)
  await store.splits.settle('gone#1.3', 'shards', never)
  await store.splits.settle(`${SOURCE.key}.3`, 'whole', never)
  await waitFor(async () => (await it.marks()).includes('split:gone#1.3'), { what: 'the marks' })
  it.state.watches = [status(SOURCE.key)]
  it.state.nowMs += WEEK_MS + 1
  await waitFor(async () => !(await store.absentKinds.has('Widget', never)), { what: 'the kind to go' })
  await waitFor(async () => (await it.reader.hkeys(it.keys.splits)).length === 1, { what: 'the split to go' })
  expect(await store.splits.get(`${SOURCE.key}.3`, never)).toBe('whole')
})
