import { zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { encodeEntries, isUnreadable, readEntry, UnreadableEntryError } from '../../src/store/entry.ts'
import { dropDeadLetter, NoLaneError, retryDeadLetter } from '../../src/store/lanes/dead-letter-actions.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import { compress, ZSTD_DICTIONARY_1 } from '../../src/store/packing.ts'
import { publishReport } from '../../src/store/process-reports.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

const event = { ...headerFor('b', '1', 'MODIFIED', 'uid-b'), time: new Date().toISOString() }
const HEADER = { sink: 'hook', rule: 'all', event }
const packed = (text: string | Buffer) =>
  Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), compress(Buffer.from(text))])
const lines = (header: unknown, object = '{}') => packed(`${JSON.stringify(header)}\n${object}\n`)
const without = (field: string) => ({ ...HEADER, event: { ...event, [field]: undefined } })
const whole = encodeEntries([{ ...HEADER, objectJson: Buffer.from('{"a":1}') }])[0]?.payload as Buffer

/** Entries that nobody can deliver. */
const BROKEN: [what: string, payload: Buffer][] = [
  ['that is empty', Buffer.alloc(0)],
  ['that is text', Buffer.from('garbage')],
  ['of an unknown format', Buffer.concat([Buffer.of(9), whole.subarray(1)])],
  ['that is torn', whole.subarray(0, -9)],
  ['with a damaged frame', Buffer.concat([whole.subarray(0, 12), Buffer.alloc(8), whole.subarray(20)])],
  [
    'of another dictionary',
    Buffer.concat([
      Buffer.of(1),
      zstdCompressSync(Buffer.from('x'.repeat(999)), { dictionary: Buffer.from('other'.repeat(99)) }),
    ]),
  ],
  ['of no deliveries', packed('')],
  ['without line breaks', packed('{}')],
  ['whose header is not JSON', packed('{not json\n{}\n')],
  ['whose header is null', lines(null)],
  ['whose header is a list', lines([])],
  ['without an event', lines({ sink: 'hook', rule: 'all' })],
  ['without a sink', lines({ ...HEADER, sink: undefined })],
  ['whose rule is a number', lines({ ...HEADER, rule: 7 })],
  ['without a name', lines(without('name'))],
  ['without a time', lines(without('time'))],
  ['with a time that is none', lines({ ...HEADER, event: { ...event, time: 'soon' } })],
  ['with a namespace that is an object', lines({ ...HEADER, event: { ...event, namespace: {} } })],
  ['with a digest without items', lines({ ...HEADER, notice: { kind: 'digest', count: 2 } })],
  ['with an order that is a list', lines({ ...HEADER, order: [] })],
  ['with an object that is cut off', lines(HEADER, '{"metadata":')],
]

for (const [what, payload] of BROKEN) {
  test(`an entry ${what} becomes a dead letter with its bytes, and its lane goes on`, async () => {
    await using it = await startLaneBed()
    await it.put('hook/0', 'a@1')
    await it.enqueue('hook/0', 1, payload)
    await it.put('hook/0', 'c@1')
    const sink = scriptedSink(() => DELIVERED)
    const metrics = createMetrics()
    const lanes = it.work({ hook: sink }, { metrics })
    lanes.wake(['hook/0'])
    await it.drained('hook')
    expect(sink.took).toEqual(['a@1', 'c@1'])
    const [letter, ...more] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
    expect(more).toEqual([])
    expect(letter).toMatchObject({ sink: 'hook', lane: 'hook/0', reason: 'unreadable', count: 1 })
    expect(letter?.delivery).toBeUndefined()
    expect(letter?.detail).not.toBe('')
    const { sinks, balanced, verified } = await it.ledger()
    expect(sinks['hook']).toMatchObject({ enqueued: 3, delivered: 2, dead: 1, pending: 0 })
    expect({ balanced, verified }).toEqual({ balanced: true, verified: true })
    const dead = (await metrics.dead.get()).values
    expect(dead).toMatchObject([{ value: 1, labels: { sink: 'hook', reason: 'unreadable' } }])
  })
}

test('the bytes of an entry that cannot be read are kept as they are', async () => {
  await using it = await startLaneBed()
  const payload = Buffer.from([7, 0, 255, 10])
  await it.enqueue('hook/0', 3, payload)
  const lanes = it.work({ hook: scriptedSink(() => DELIVERED) })
  lanes.wake(['hook/0'])
  await it.drained('hook')
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letter).toMatchObject({ payload, count: 3 })
  expect((await it.ledger()).sinks['hook']).toMatchObject({ enqueued: 3, dead: 3, pending: 0 })
  if (!letter) throw new Error('no dead letter')

  // Somebody who can read it may have it back; here it becomes one again.
  expect(await retryDeadLetter(it.redis, it.keys, letter)).toBe(true)
  await it.drained('hook')
  const [again] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(again).toMatchObject({ payload, count: 3 })
  expect((await it.ledger()).balanced).toBe(true)
  expect(again && (await dropDeadLetter(it.redis, it.keys, again))).toBe(true)
  expect(await it.ledger()).toMatchObject({ sinks: { hook: { dead: 3, discarded: 3 } }, balanced: true })
})

test('a dead letter that cannot be counted is not deleted', async () => {
  await using it = await startLaneBed()
  await it.enqueue('hook/0', 1, Buffer.from('garbage'))
  const lanes = it.work({ hook: scriptedSink(() => DELIVERED) })
  lanes.wake(['hook/0'])
  await it.drained('hook')
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  if (!letter) throw new Error('no dead letter')
  await it.redis.hset(it.keys.sinkLedger('hook'), 'discarded', 'mine')
  await expect(dropDeadLetter(it.redis, it.keys, letter)).rejects.toThrow('WRONGTYPE')
  expect(await it.redis.xlen(it.keys.deadLetters)).toBe(1)
})

test('of an entry of several deliveries only that one is given up that cannot be read', async () => {
  await using it = await startLaneBed()
  const named = (name: string) => JSON.stringify({ ...HEADER, event: { ...event, name } })
  await it.enqueue('hook/0', 3, packed(`${named('a')}\n{}\n{"broken":\n{}\n${named('c')}\n{}\n`))
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took).toEqual(['a@1', 'c@1'])
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letter).toMatchObject({ reason: 'unreadable', count: 1 })
  expect(await it.redis.xlen(it.keys.lane('hook/0'))).toBe(0)
  expect((await it.ledger()).balanced).toBe(true)
})

test('an entry without its fields stops nobody', async () => {
  await using it = await startLaneBed()
  await it.redis.xadd(it.keys.lane('hook/0'), '*', 'other', 'x')
  await it.redis.hincrby(it.keys.pending, 'hook/0', 1)
  await it.redis.hincrby(it.keys.sinkLedger('hook'), 'enqueued', 1)
  await it.put('hook/0', 'a@1')
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0'])
  await it.drained('hook')
  expect(sink.took).toEqual(['a@1'])
  expect(await it.ledger()).toMatchObject({ sinks: { hook: { dead: 1, pending: 0 } }, balanced: true })
})

test('an entry of a newer version waits while a process of another version runs', async () => {
  await using it = await startLaneBed()
  const report = {
    ...{ id: 'newer', role: 'deliver' as const, version: '99.0.0', host: 'h', pid: 1 },
    ...{ startedMs: 0, atMs: 0, watches: [], sinks: [] },
  }
  await publishReport(it.redis, it.keys, report)
  await it.put('hook/0', 'a@1')
  await it.enqueue('hook/0', 1, Buffer.of(3, 1, 2, 3))
  await it.put('hook/0', 'c@1')
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0'])
  await waitFor(() => sink.took.includes('a@1'), { what: 'what is before it' })
  await waitFor(async () => (await it.redis.xlen(it.keys.lane('hook/0'))) === 2, { what: 'its end' })
  expect(await it.redis.xlen(it.keys.deadLetters)).toBe(0)
  await it.redis.del(it.keys.instance('newer'))
  lanes.tryNow(['hook'])
  await it.drained('hook')
  expect(sink.took).toEqual(['a@1', 'c@1'])
  expect(await it.redis.xlen(it.keys.deadLetters)).toBe(1)
})

test('what unpacks to more than anything that is stored is refused before it takes the memory', () => {
  const bomb = packed(Buffer.alloc(200 * 1024 * 1024, 'a'))
  expect(bomb.length).toBeLessThan(100_000)
  expect(() => readEntry(bomb)).toThrow(UnreadableEntryError)
})

test('what is read of an entry is as it was packed', () => {
  const [part] = readEntry(whole)
  expect(part && isUnreadable(part)).toBe(false)
  expect(part).toEqual({ ...HEADER, objectJson: Buffer.from('{"a":1}') })
})

/** What may be noted of a lane's progress. */
const NOTES: [what: string, note: (id: string) => Record<string, string>][] = [
  ['places that are none', (id) => ({ [id]: 'x,y,7,-1' })],
  ['tries that are no number', (id) => ({ [`${id}/0`]: 'many' })],
  ['a time that is none', () => ({ failing: 'long', failed: 'ago' })],
  ['very many fields', () => Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, 'x']))],
]

for (const [what, note] of NOTES) {
  test(`${what} among the notes of a lane lose nothing`, async () => {
    await using it = await startLaneBed()
    await it.put('hook/0', 'a@1', 'b@1')
    const [[id = ''] = []] = await it.redis.xrange(it.keys.lane('hook/0'), '-', '+')
    await it.redis.hset(it.keys.progress('hook/0'), note(id))
    const sink = scriptedSink(() => DELIVERED)
    const lanes = it.work({ hook: sink })
    lanes.wake(['hook/0'])
    await it.drained('hook')
    expect(sink.took).toEqual(['a@1', 'b@1'])
    expect(await it.redis.xlen(it.keys.lane('hook/0'))).toBe(0)
  })
}

test('an entry of which all is settled goes', async () => {
  await using it = await startLaneBed()
  await it.put('hook/0', 'a@1')
  const [[id = ''] = []] = await it.redis.xrange(it.keys.lane('hook/0'), '-', '+')
  await it.redis.hset(it.keys.progress('hook/0'), id, '0')
  const lanes = it.work({ hook: scriptedSink(() => DELIVERED) })
  lanes.wake(['hook/0'])
  await waitFor(async () => (await it.redis.xlen(it.keys.lane('hook/0'))) === 0, { what: 'its end' })
})

test('dead letters that cannot be read are listed with the others, and go', async () => {
  await using it = await startLaneBed()
  const broken = [
    ['x', 'y'],
    ['sink', 'hook', 'lane', 'hook/0', 'at', 'then', 'z', 'garbage'],
    ['z', ''],
  ]
  for (const fields of broken) await it.redis.xadd(it.keys.deadLetters, '*', ...fields)
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  expect(letters.map(({ delivery }) => delivery)).toEqual([undefined, undefined, undefined])
  for (const letter of letters) {
    expect(() => new Date(letter.atMs).toISOString()).not.toThrow()
    if (letter.lane === '')
      await expect(retryDeadLetter(it.redis, it.keys, letter)).rejects.toThrow(NoLaneError)
    expect(await dropDeadLetter(it.redis, it.keys, letter)).toBe(true)
  }
  expect(await it.redis.xlen(it.keys.deadLetters)).toBe(0)
})

test('a dead letter stays when its lane holds something else', async () => {
  await using it = await startLaneBed()
  const about = [
    'sink',
    'hook',
    'lane',
    'hook/0',
    'rule',
    'all',
    'reason',
    'rejected',
    'detail',
    'no',
    'at',
    '1',
  ]
  await it.redis.xadd(it.keys.deadLetters, '*', ...about, 'z', whole)
  await it.redis.set(it.keys.lane('hook/0'), 'foreign')
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  if (!letter) throw new Error('no dead letter')
  await expect(retryDeadLetter(it.redis, it.keys, letter)).rejects.toThrow(it.keys.lane('hook/0'))
  expect(await it.redis.xlen(it.keys.deadLetters)).toBe(1)
})
