import { expect, test } from 'vitest'
import type { HistoryRecord } from '../../src/model/history-record.ts'
import { silentLog } from '../../src/observe/log.ts'
import type { Outcome } from '../../src/sink/index.ts'
import { startHistory } from '../../src/store/history/history.ts'
import { nameOf, nameOfUid, packHistory, unpackHistory } from '../../src/store/history/history-format.ts'
import { historyTarget } from '../../src/store/history/history-target.ts'
import { noteHistoryLoss, readHistory } from '../../src/store/history/read-history.ts'
import { ACKNOWLEDGE, ackArguments, type LaneAcks } from '../../src/store/lanes/ack-script.ts'
import { readStatus } from '../../src/store/ledger.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { runScript } from '../../src/store/redis/script.ts'
import { limitsIn, START_MS } from '../rules/limits/bed.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, numbered, ODD, scriptedSink, startLaneBed } from './lane-bed.ts'
import { startRealLimits } from './real-limits-bed.ts'

const WEEK = { keepMs: 604_800_000, maxBytes: 16e6 }

const REFUSED: Outcome = { kind: 'rejected', reason: 'rejected', detail: 'https://user:pw@host says no' }

async function collect(records: AsyncIterable<HistoryRecord>): Promise<HistoryRecord[]> {
  const all: HistoryRecord[] = []
  for await (const it of records) all.push(it)
  return all
}

const said = ({ outcome, event, sinks, detail }: HistoryRecord) =>
  [outcome, `${event.name}@${event.id.split('/')[2]}`, ...sinks, detail]
    .filter((it) => it !== undefined)
    .join(' ')

test('what the history packs comes out as it was', () => {
  const event = { id: 'c/u/1/MODIFIED', type: 'MODIFIED', apiVersion: 'v1', kind: 'Pod', name: 'a' } as const
  const regarding = { kind: 'Pod', namespace: 'shop', name: 'web' }
  const groups: HistoryRecord[][] = [
    [
      {
        outcome: 'delivered',
        atMs: 5,
        event,
        rule: 'r',
        sinks: ['s'],
        attempts: [{ atMs: 3, tookMs: 2, renderedMs: 1 }],
      },
      {
        ...{ outcome: 'dead', atMs: 1_000, rule: 'r', sinks: ['s'], reason: 'expired', detail: 'late' },
        event: { ...event, namespace: 'shop', reason: 'BackOff', regarding },
        attempts: [
          { atMs: 900, tookMs: 1, error: '503' },
          { atMs: 950, tookMs: 9, renderedMs: 7 },
        ],
        attemptCount: 12,
        isReplay: true,
      },
    ],
    [],
    [
      {
        outcome: 'suppressed',
        atMs: 7,
        event,
        rule: 'r',
        sinks: ['a', 'b'],
        attempts: [],
        limit: 'throttle',
        untilMs: 1_800_007,
      },
    ],
  ]
  const payload = packHistory(groups)
  expect(unpackHistory(payload)).toEqual(groups)
  expect(payload.includes(nameOf('pod', 'shop', 'web'))).toBe(true)
  expect(payload.includes(nameOfUid('u'))).toBe(true)
  expect(unpackHistory(Buffer.from([9, 0, 0]))).toBeUndefined()
  expect(unpackHistory(payload.subarray(0, 20))).toBeUndefined()
})

test('a short record is stored as JSON, and comes out as it was; one that is cut cannot be read', () => {
  const event = { id: 'c/u/1/ADDED', type: 'ADDED', apiVersion: 'v1', kind: 'Pod', name: 'é' } as const
  const record: HistoryRecord = {
    ...{ outcome: 'delivered', atMs: 5, rule: 'r', sinks: ['s'] },
    ...{ event, attempts: [{ atMs: 3, tookMs: 2 }] },
  }
  const payload = packHistory([[record]])
  expect(payload.toString()).toContain('"c/u/1/ADDED"')
  expect(unpackHistory(payload)).toEqual([[record]])
  expect(payload.includes(nameOfUid('u'))).toBe(true)
  expect(unpackHistory(payload.subarray(0, 20))).toBeUndefined()
})

test('what a limit suppresses takes at most 220 bytes alone, and a fifth of it among others', () => {
  const suppressed = (i: number): HistoryRecord => ({
    outcome: 'suppressed',
    atMs: START_MS + i * 137,
    event: {
      id: `prod-eu/7d3f1c2d-8d1f-4a53-9b1d-3f9c6a7e5b${10 + i}/${1_234_567 + i * 31}/MODIFIED`,
      ...({ type: 'MODIFIED', apiVersion: 'v1', kind: 'Event', namespace: 'shop' } as const),
      name: `web-5d8f7c9b4-x7zq${i}.17ab34cd56ef`,
      reason: 'BackOff',
      regarding: { kind: 'Pod', namespace: 'shop', name: `web-5d8f7c9b4-x7zq${i}` },
    },
    ...{ rule: 'crash-loops', sinks: ['oncall', 'pager'], attempts: [] },
    ...{ limit: 'throttle', untilMs: START_MS + 1_800_000 + i * 1_371 },
  })
  expect(packHistory([[suppressed(1)]]).length).toBeLessThanOrEqual(220)
  expect(packHistory([Array.from({ length: 80 }, (_, i) => suppressed(i))]).length / 80).toBeLessThan(40)
})

test('a delivery leaves one record, with its failed attempts, and the ledger agrees', async () => {
  await using it = await startLaneBed()
  const failures = new Map([
    ['b', 2],
    ['c', 1],
  ])
  const sink = scriptedSink(({ event: { name } }) => {
    if (name === 'bad') return REFUSED
    const left = failures.get(name) ?? 0
    failures.set(name, left - 1)
    return left > 0 ? DOWN : DELIVERED
  })
  await it.put('hook/n1', 'a@1', 'b@1', 'c@1', 'bad@1')
  it.work({ hook: sink }, { history: WEEK }).wake(['hook/n1'])
  await it.drained('hook')
  const records = await collect(readHistory(it.redis, it.keys))
  const final = records.filter(({ outcome }) => outcome !== 'failed')
  expect(final.map(said).toSorted()).toEqual([
    'dead bad@1 hook https://[redacted]@host says no',
    'delivered a@1 hook',
    'delivered b@1 hook',
    'delivered c@1 hook',
  ])
  const attemptsOf = (name: string) =>
    records.filter(({ event }) => event.name === name).flatMap(({ attempts }) => attempts)
  expect(attemptsOf('b').filter(({ error }) => error !== undefined)).toHaveLength(2)
  expect(attemptsOf('c').filter(({ error }) => error !== undefined)).toHaveLength(1)
  const { delivered, dead } = (await it.ledger()).sinks['hook'] ?? {}
  expect(final).toHaveLength(Number(delivered) + Number(dead))
  expect(await collect(readHistory(it.redis, it.keys, { target: historyTarget('c/uid-b/1/ADDED') }))).toEqual(
    records.filter(({ event }) => event.name === 'b'),
  )
})

test('an attempt has how long its message took to render', async () => {
  await using it = await startLaneBed()
  const sink = scriptedSink(({ content }) => (content.title === '' ? ODD : DELIVERED))
  const onRender = () => {
    for (const endMs = performance.now() + 20; performance.now() < endMs; );
  }
  await it.put('hook/n1', 'a@1')
  it.work({ hook: sink }, { history: WEEK, onRender }).wake(['hook/n1'])
  await it.drained('hook')
  const [record] = await collect(readHistory(it.redis, it.keys))
  const { tookMs = 0, renderedMs = 0 } = record?.attempts[0] ?? {}
  expect(renderedMs).toBeGreaterThanOrEqual(20)
  expect(renderedMs).toBeLessThanOrEqual(tookMs)
})

test('an object that fails alone leaves a record of each attempt in quarantine', async () => {
  await using it = await startLaneBed()
  let failures = 0
  const sink = scriptedSink(({ event: { name } }) => (name === 'flaky' && failures++ < 3 ? ODD : DELIVERED))
  const lanes = it.work({ hook: sink }, { history: WEEK })
  it.trickle(lanes)
  await waitFor(() => sink.took.length > 0, { what: 'others to pass' })
  await it.put('hook/n1', 'flaky@1')
  lanes.wake(['hook/n1'])
  await waitFor(() => sink.took.includes('flaky@1'), { what: 'that one to pass' })
  const recordsOf = () =>
    collect(readHistory(it.redis, it.keys, { target: historyTarget('c/uid-flaky/1/ADDED') }))
  await waitFor(async () => (await recordsOf())[0]?.outcome === 'delivered', { what: 'its last record' })
  const records = await recordsOf()
  expect(new Set(records.slice(1).map(({ outcome }) => outcome))).toEqual(new Set(['failed']))
  const errors = records.flatMap(({ attempts }) => attempts).map(({ error }) => error)
  expect(errors.filter((it) => it !== undefined)).toEqual(['500', '500', '500'])
})

test('a crash between any two deliveries: as many records as the ledger counts', async () => {
  await using it = await startLaneBed()
  const lanes = ['hook/n1', 'hook/n2', 'hook/n3']
  for (const lane of lanes) await it.put(lane, ...numbered(lane.slice(5), 200))
  const sink = scriptedSink(() => DELIVERED)
  it.work({ hook: sink }, { history: WEEK }).wake(lanes)
  for (const part of [100, 300]) {
    await waitFor(() => sink.took.length > part, { what: 'some deliveries' })
    await it.server.kill()
    await it.server.restart()
  }
  await it.drained('hook')
  const records = await collect(readHistory(it.redis, it.keys))
  expect(records).toHaveLength(600)
  expect(new Set(records.map(said)).size).toBe(600)
})

test('an acknowledgement that is sent twice is recorded once, and not at all for a lane of another worker', async () => {
  await using it = await startLaneBed()
  const lanes = ['hook/n0', 'hook/n1', 'hook/n2']
  const acks: LaneAcks[] = []
  const groups: HistoryRecord[][] = []
  for (const [i, lane] of lanes.entries()) {
    await it.redis.hset(it.keys.slots, `hook/${i}`, lane === 'hook/n2' ? 'theirs' : 'mine')
    // One entry of two deliveries goes the longer way through the script.
    const names = lane === 'hook/n1' ? ['b@1', 'b@2'] : [`a${i}@1`]
    await it.put(lane, ...names)
    const [[entryId = ''] = []] = await it.redis.xrange(it.keys.lane(lane), '-', '+')
    const places = names.map((_, place) => place)
    acks.push({ lane, token: 'mine', acks: [{ entryId, count: names.length, places }] })
    const event = { type: 'MODIFIED', apiVersion: 'v1', kind: 'Pod', name: lane } as const
    const base = { outcome: 'delivered', atMs: 1_000 + i, rule: 'r', sinks: ['hook'], attempts: [] } as const
    groups.push(names.map((name) => ({ ...base, event: { ...event, id: `c/u/${name}/MODIFIED` } })))
  }
  const entry = { payload: packHistory(groups), oldestId: '0' }
  const { names, args } = ackArguments(it.keys, acks, entry)
  for (let time = 0; time < 2; time++) await runScript(it.redis, ACKNOWLEDGE, names, args)
  const ids = (await collect(readHistory(it.redis, it.keys))).map(({ event }) => event.id)
  expect(ids.toSorted()).toEqual(['c/u/a0@1/MODIFIED', 'c/u/b@1/MODIFIED', 'c/u/b@2/MODIFIED'])
  expect((await it.ledger()).sinks['hook']).toMatchObject({ delivered: 3, pending: 1 })
})

test('while Redis is nearly full nothing is appended, and deliveries go on', async () => {
  await using it = await startLaneBed()
  let isFull = true
  await it.put('hook/n1', 'a@1')
  const lanes = it.work({ hook: scriptedSink(() => DELIVERED) }, { history: WEEK, isFull: () => isFull })
  lanes.wake(['hook/n1'])
  await it.drained('hook')
  expect(await collect(readHistory(it.redis, it.keys))).toEqual([])
  isFull = false
  await it.put('hook/n1', 'a@2')
  lanes.wake(['hook/n1'])
  await it.drained('hook')
  expect((await collect(readHistory(it.redis, it.keys))).map(said)).toEqual(['delivered a@2 hook'])
})

test('a key that another program took costs the history, and no delivery', async () => {
  await using it = await startLaneBed()
  await it.redis.set(it.keys.history, 'mine')
  await it.put('hook/n1', 'a@1')
  it.work({ hook: scriptedSink(() => DELIVERED) }, { history: WEEK }).wake(['hook/n1'])
  await it.drained('hook')
  expect((await it.ledger()).balanced).toBe(true)
  expect(await it.redis.get(it.keys.history)).toBe('mine')
})

test('what limits suppress is recorded with the limit, also when its time comes later', async () => {
  await using it = await startRealLimits([
    { name: 'r', ...limitsIn({ throttle: { every: '1h', per: ['namespace'] } }) },
    { name: 'last', ...limitsIn({ debounce: { quiet: '10s', atMost: '1m', per: ['namespace'] } }) },
  ])
  const { happen } = await it.watch()
  await happen({ at: 0, name: 'a' })
  await happen({ at: 1, name: 'b' })
  await happen({ at: 2, name: 'c', rule: 'last' })
  it.clock.ms = START_MS + 3_000
  await happen({ at: 3, name: 'd', rule: 'last' })
  const records = await collect(readHistory(it.reader, it.keys))
  expect(
    records.map(({ outcome, event, rule, sinks, limit, untilMs = 0 }) => ({
      outcome,
      name: event.name,
      rule,
      sinks,
      limit,
      untilMs: untilMs - START_MS,
    })),
  ).toEqual([
    // The newest waits until there was nothing for ten seconds; an hour after what was sent, the next one is.
    {
      outcome: 'suppressed',
      name: 'c',
      rule: 'last',
      sinks: ['hook'],
      limit: 'debounce',
      untilMs: 3_000 + 10_000,
    },
    { outcome: 'suppressed', name: 'b', rule: 'r', sinks: ['hook'], limit: 'throttle', untilMs: 3_600_000 },
  ])
  const { rules } = await it.ledger()
  expect(records).toHaveLength(
    (rules['r']?.suppressed.throttle ?? 0) + (rules['last']?.suppressed.debounce ?? 0),
  )
})

test.concurrent('the next record removes those beyond their age, and a history that is turned off is deleted', async () => {
  await using it = await startLaneBed()
  const { redis, keys } = it
  const event = {
    type: 'MODIFIED',
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'old',
    id: 'c/u/1/MODIFIED',
  } as const
  const nowMs = Date.now()
  const store = async (atMs: number) => {
    const record: HistoryRecord = {
      ...{ outcome: 'delivered', atMs, event, rule: 'r', sinks: ['hook'], attempts: [] },
    }
    for (let i = 0; i < 150; i++) await redis.xadd(keys.history, `${atMs}-*`, 'z', packHistory([[record]]))
  }
  await store(nowMs - 1_000_000)
  await store(nowMs - 10_000)
  let bounds: typeof WEEK | undefined = { ...WEEK, keepMs: 60_000 }
  const history = startHistory({
    ...{ redis, keys, bounds: () => bounds, isFull: () => false },
    ...{ clock: Date, log: silentLog, troubles: createTroubles(silentLog) },
  })
  await using _ = { [Symbol.asyncDispose]: async () => history.close() }
  await it.put('hook/n1', 'a@1')
  it.work({ hook: scriptedSink(() => DELIVERED) }, { history: bounds }).wake(['hook/n1'])
  await it.drained('hook')
  const ages = (await collect(readHistory(redis, keys))).map(({ atMs }) => nowMs - atMs)
  // Redis removes whole nodes of a stream, of a hundred entries.
  expect(ages.filter((it) => it > 60_000).length).toBeLessThan(100)
  expect(ages.filter((it) => it <= 60_000)).toHaveLength(151)

  bounds = undefined
  expect(history.isOn()).toBe(false)
  // A process that still keeps one takes that for a loss.
  await noteHistoryLoss(redis, keys, { atMs: Date.now(), why: 'lost' })
  const isGone = async () => (await redis.exists(keys.history, keys.historyLost)) === 0
  await waitFor(isGone, { what: 'the history to be deleted' })
})

test.concurrent('a history beyond its bytes loses its oldest records', async () => {
  await using it = await startLaneBed()
  const lanes = it.work({ hook: scriptedSink(() => DELIVERED) }, { history: { ...WEEK, maxBytes: 20_000 } })
  const names = numbered('a', 3_000)
  for (let i = 0; i < names.length; i += 100) {
    await it.put('hook/n1', ...names.slice(i, i + 100))
    lanes.wake(['hook/n1'])
    await it.drained('hook')
  }
  const kept = async () => (await collect(readHistory(it.redis, it.keys))).map(said)
  await waitFor(async () => !(await kept()).includes('delivered a@1 hook'), { what: 'the oldest to go' })
  expect(await kept()).toContain('delivered a@3000 hook')
})

/** The check of every five seconds has seen what is there. */
async function isChecked(it: Awaited<ReturnType<typeof startLaneBed>>): Promise<void> {
  await waitFor(async () => (await it.redis.pttl(it.keys.history)) > 0, { what: 'a check of the history' })
}

test.concurrent('status has a history that Redis lost, also after new deliveries; one that was trimmed is not', async () => {
  await using it = await startLaneBed()
  const history = { ...WEEK, maxBytes: 60_000 }
  const lanes = it.work({ hook: scriptedSink(() => DELIVERED) }, { history })
  const deliver = async (...names: string[]) => {
    await it.put('hook/n1', ...names)
    lanes.wake(['hook/n1'])
    await it.drained('hook')
  }
  const lost = async () =>
    (await readStatus(it.redis, it.keys, { verify: false, now: Date.now() })).historyLost
  const records = async () => (await collect(readHistory(it.redis, it.keys))).length
  await deliver(...numbered('a', 100))
  await isChecked(it)
  // More than it may have: the check removes the oldest.
  let count = 100
  while ((await records()) === count) {
    await deliver(...numbered(`b${count}-`, 100))
    count += 100
  }
  await it.redis.persist(it.keys.history)
  await isChecked(it)
  expect(await lost()).toBeUndefined()

  const beforeMs = Date.now()
  await it.redis.del(it.keys.history)
  await deliver('after@1')
  await waitFor(async () => (await lost()) !== undefined, { what: 'the loss' })
  expect(await lost()).toMatchObject({ why: 'lost' })
  expect((await lost())?.atMs).toBeGreaterThanOrEqual(beforeMs)
})
