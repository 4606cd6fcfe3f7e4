import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Enqueued } from '../../src/store/entry.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { retryDeadLetter } from '../../src/store/lanes/dead-letter-actions.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import type { Lanes } from '../../src/store/lanes/lanes.ts'
import { FeedSequence } from '../../src/store/lanes/owned-lanes.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

type Bed = Awaited<ReturnType<typeof startLaneBed>>

/** As a commit of this process: into the lane, and fed. */
async function commit({ redis, keys }: Bed, lanes: Lanes, lane: string, name: string, version: string) {
  const event = { ...headerFor(name, version, 'MODIFIED', `uid-${name}`), time: new Date().toISOString() }
  const deliveries: Delivery[] = [{ sink: 'hook', rule: 'all', event, objectJson: Buffer.from('{}') }]
  const [entry] = encodeEntries(deliveries, { plain: true })
  const replies = await redis
    .multi()
    .xadd(keys.lane(lane), '*', 'n', 1, 't', Date.now(), 'z', entry?.payload ?? '')
    .hincrby(keys.pending, lane, 1)
    .hincrby(keys.sinkLedger('hook'), 'enqueued', 1)
    .exec()
  const [id, , total] = (replies ?? []).map(([, value]) => value)
  lanes.enqueued([
    {
      lane,
      sink: 'hook',
      count: 1,
      stored: { entries: [{ id: String(id), deliveries }], total: Number(total) },
    },
  ])
}

/** Commits to a lane until one is delivered without a read: the register was scanned since the last gap. */
async function untilFed(it: Bed, lanes: Lanes, lane: string, name: string): Promise<void> {
  const reads = async () =>
    Number(/cmdstat_xrange:calls=(\d+)/.exec(await it.redis.info('commandstats'))?.[1] ?? 0)
  const isEmpty = async () => ((await it.redis.hget(it.keys.pending, lane)) ?? '0') === '0'
  let version = 0
  const isFed = async () => {
    const before = await reads()
    await commit(it, lanes, lane, name, String(++version))
    await waitFor(isEmpty, { what: 'its acknowledgement' })
    return (await reads()) === before
  }
  await waitFor(isFed, { what: 'a commit that is delivered without a read' })
}

/** Dead letters of the lane, as acknowledgements leave them. */
async function addDeadLetters({ redis, keys }: Bed, lane: string, names: readonly string[]): Promise<void> {
  const multi = redis.multi()
  for (const it of names) {
    const [name = '', version = ''] = it.split('@')
    const event = { ...headerFor(name, version, 'MODIFIED', `uid-${name}`), time: new Date().toISOString() }
    const [entry] = encodeEntries([{ sink: 'hook', rule: 'all', event, objectJson: Buffer.from('{}') }])
    const about = ['sink', 'hook', 'lane', lane, 'rule', 'all', 'reason', 'rejected', 'detail', '400']
    multi.xadd(keys.deadLetters, '*', ...about, 'at', Date.now(), 'z', entry?.payload ?? '', 'n', 1)
  }
  multi.hincrby(keys.sinkLedger('hook'), 'enqueued', names.length)
  multi.hincrby(keys.sinkLedger('hook'), 'dead', names.length)
  await multi.exec()
}

const fed = (total: number, count = 1): Enqueued => ({
  ...{ lane: 'hook/n0', sink: 'hook', count, stored: { entries: [], total } },
})

test('a commit follows the one before when the counter of its sink grew by nothing else', () => {
  const sequence = new FeedSequence()
  expect(sequence.note(fed(5))).toBe('gap')
  expect([sequence.note(fed(6)), sequence.note(fed(9, 3))]).toEqual(['contiguous', 'contiguous'])
  expect(sequence.note(fed(12))).toBe('gap')
  expect(sequence.note(fed(4))).toBe('back')
  expect(sequence.note({ lane: 'hook/n0', sink: 'hook', count: 1 })).toBe('gap')
  expect(sequence.note(fed(6))).toBe('gap')
})

test('only a register that was read after a gap says that other lanes are empty', () => {
  const sequence = new FeedSequence()
  sequence.note(fed(1))
  const seen = sequence.beginScan()
  expect(sequence.isScanned('hook')).toBe(false)
  seen()
  expect(sequence.isScanned('hook')).toBe(true)
  const late = sequence.beginScan()
  sequence.note(fed(7))
  late()
  expect(sequence.isScanned('hook')).toBe(false)
})

test('what this process commits is delivered from memory: the lane is not read', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ hook: sink })
  // The first commit is a gap: the register is read after it.
  await commit(it, lanes, 'hook/n0', 'a', '1')
  await waitFor(() => sink.took.length === 1, { what: 'the first' })
  await untilFed(it, lanes, 'hook/n1', 'b')
})

test('what another process enqueued in between goes first', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ hook: sink })
  await commit(it, lanes, 'hook/n0', 'a', '1')
  await it.drained('hook')
  for (let i = 0; i < 20; i++) {
    await it.put('hook/n0', `a@${2 * i + 2}`)
    await commit(it, lanes, 'hook/n0', 'a', String(2 * i + 3))
  }
  await it.drained('hook')
  expect(sink.took).toEqual(numbered('a', 41))
})

test('retried dead letters of an object keep their order, whatever is fed and read meanwhile', async () => {
  await using it = await startLaneBed()
  await addDeadLetters(it, 'hook/n0', numbered('a', 2))
  const [second, first] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  if (!first || !second) throw new Error('there are no dead letters')
  const held = Promise.withResolvers<void>()
  let isHeld = false
  const sink = scriptedSink(async ({ event }) => {
    isHeld ||= event.name === 'held'
    if (event.name === 'held') await held.promise
    return DELIVERED
  })
  const lanes = it.work({ hook: sink })
  await untilFed(it, lanes, 'hook/n1', 'b')
  await retryDeadLetter(it.redis, it.keys, first)
  await commit(it, lanes, 'hook/n0', 'held', '1')
  await waitFor(() => isHeld, { what: 'a call that takes long' })
  await retryDeadLetter(it.redis, it.keys, second)
  // Another process enqueues: this one finds a gap, and reads its lanes.
  await it.put('hook/n1', 'c@1')
  await commit(it, lanes, 'hook/n1', 'c', '2')
  const retried = () => sink.took.filter((name) => name.startsWith('a@'))
  await waitFor(() => retried().length === 2, { what: 'both' })
  expect(retried()).toEqual(numbered('a', 2))
  held.resolve()
  await it.drained('hook')
})

test('a Redis that lost everything while the process runs is gone on with', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return DELIVERED
  })
  const lanes = it.work({ hook: sink })
  for (const version of ['1', '2', '3']) await commit(it, lanes, 'hook/n0', 'a', version)
  await waitFor(() => sink.took.length > 0, { what: 'the first' })
  await it.redis.flushall()
  await commit(it, lanes, 'hook/n0', 'b', '1')
  await waitFor(() => sink.took.includes('b@1'), { what: 'what came after' })
  await it.drained('hook')
  expect(await it.ledger()).toMatchObject({ balanced: true, sinks: { hook: { enqueued: 1, delivered: 1 } } })
})
