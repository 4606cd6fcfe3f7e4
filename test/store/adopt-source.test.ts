import { expect, test } from 'vitest'
import { evaluateWith } from '../../src/app/evaluation.ts'
import type { KnownObject, Source } from '../../src/model/change.ts'
import { PositionLostError } from '../../src/model/change.ts'
import { compileRules } from '../../src/rules/compile.ts'
import { createLimits, limitsOf } from '../../src/rules/limits/limits.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { LAYOUT } from '../../src/store/redis/layout.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const OBJECTS = 1_500
const [FORMER, NEXT, OTHER]: [Source, Source, Source] = [
  { ...SOURCE, key: 'former' },
  { ...SOURCE, key: 'next', namespace: 'default' },
  { ...SOURCE, key: 'other', namespace: 'shop' },
]
const claimsAll = () => true
const isEven = ({ name }: KnownObject) => Number(name.slice(1)) % 2 === 0
const changes = Array.from({ length: OBJECTS }, (_, i) => change('ADDED', `o${i}`, i + 2))

/** A former source that knows objects, and follows incidents of some of them. */
async function startBed(limit: { resolve: true } | { for: number } = { resolve: true }) {
  const rule = { name: 'trouble', when: { name: 'o*7' }, ...limit, to: ['hook'] }
  const decide = evaluateWith({
    normalise: (source, transition) =>
      normalise(source, transition, { cluster: 'test', salt: Buffer.from('salt') }),
    match: compileRules([rule], {
      onError(_, error) {
        throw error
      },
      limitsOf: () => limitsOf(rule),
    }),
    limits: createLimits([rule]),
    onMalformed(_source, _transition, error) {
      throw error
    },
  })
  const it = await startStoreBed({ decide })
  const former = await it.newStore().open(FORMER, never)
  await former.beginList('newer', never)
  await former.endList('1', never)
  await former.commit(changes, '2000', never)
  const incidents = (await it.deliveries()).length
  const fieldsOf = async (source: Source) => ({
    index: await it.reader.hlen(it.keys.index(source.key)),
    limits: await it.reader.hlen(it.keys.ownLimits(source.key)),
    timers: await it.reader.zcard(it.keys.ownLimitTimers(source.key)),
  })
  return {
    ...it,
    former,
    incidents,
    fieldsOf,
    /** The ends of incidents, with their reasons. */
    async ends() {
      const all = await it.deliveries()
      return all.flatMap(({ notice, event }) =>
        notice?.kind === 'resolved' ? [`${event.name} ${notice.why}`] : [],
      )
    },
    async expectBalance() {
      const ledger = await readLedger(it.reader, it.keys, { verify: true })
      expect(ledger).toMatchObject({ balanced: true, verified: true })
      const observed = Object.values(ledger.watches).reduce((sum, counts) => sum + counts.observed, 0)
      expect(observed).toBe(OBJECTS)
    },
  }
}

test('a source takes over index, states, their times and the ledger of the one that it replaces, and that is forgotten', async () => {
  await using it = await startBed()
  const before = await it.fieldsOf(FORMER)
  expect(before).toEqual({ index: OBJECTS, limits: it.incidents, timers: it.incidents })
  const session = await it.newStore().open(NEXT, never)
  await session.adopt({ source: FORMER, claims: claimsAll }, never)
  expect(await it.fieldsOf(NEXT)).toEqual(before)
  expect(await it.reader.keys('*former*')).toEqual([])
  expect(await it.reader.hkeys(it.keys.sources)).toEqual(['next'])
  expect(session.checkpoint).toMatchObject({ phase: 'seeding', adopting: [{ namespace: '' }] })
  expect(session.dueMs).toBeDefined()
  await expect(it.former.commit([change('MODIFIED', 'o1', 3_000)], '3000', never)).rejects.toThrow()
  await it.expectBalance()
})

test('a Redis that restarts in the middle of an adoption goes through its hashes in another order; nothing stays behind', async () => {
  await using it = await startStoreBed()
  const many = Array.from({ length: 6_000 }, (_, i) => change('ADDED', `o${i}`, i + 2))
  await it.seeded(many)
  const session = await it.newStore().open(NEXT, never)
  const ofStates = it.proxy.hold('hscan')
  const adopted = session.adopt({ source: SOURCE, claims: claimsAll }, never)
  await ofStates.seen
  const first = it.proxy.hold('hscan')
  ofStates.release()
  await first.seen
  const second = it.proxy.hold('hscan')
  first.release()
  await second.seen
  await it.server.kill()
  await it.server.restart()
  second.release()
  await adopted
  expect(await it.reader.hlen(it.keys.index(NEXT.key))).toBe(6_000)
  expect(await it.reader.keys(`*${SOURCE.key}*`)).toEqual([])
})

test('what is left of a source for others is as old as its last commit', async () => {
  let nowMs = 1_750_000_000_000
  await using it = await startStoreBed({ clock: { now: () => nowMs } })
  await it.seeded(changes.slice(0, 10))
  const atMs = nowMs
  nowMs += 60_000
  const store = it.newStore()
  const session = await store.open(NEXT, never)
  await session.adopt({ source: SOURCE, claims: isEven }, never)
  expect(await it.reader.hlen(it.keys.index(SOURCE.key))).toBe(5)
  expect(await store.peek(SOURCE, never)).toMatchObject({ phase: 'seeding', atMs })
})

test('two sources share what they replace, whichever comes first', async () => {
  await using it = await startBed()
  const [one, two] = await Promise.all([NEXT, OTHER].map((source) => it.newStore().open(source, never)))
  await Promise.all([
    one?.adopt({ source: FORMER, claims: isEven }, never),
    two?.adopt({ source: FORMER, claims: (object) => !isEven(object) }, never),
  ])
  expect([(await it.fieldsOf(NEXT)).index, (await it.fieldsOf(OTHER)).index]).toEqual([750, 750])
  expect((await it.fieldsOf(OTHER)).limits).toBe(it.incidents)
  expect(await it.reader.keys('*former*')).toEqual([])
  await it.expectBalance()
})

for (const after of [1, 700, 1_100, OBJECTS])
  test(`an adoption that is cut off at object ${after} and taken back knows each object once`, async () => {
    await using it = await startBed()
    const ended = new AbortController()
    let asked = 0
    const claims = () => {
      if (++asked === after) ended.abort(new Error('ended'))
      return true
    }
    const next = await it.newStore().open(NEXT, never)
    await expect(next.adopt({ source: FORMER, claims }, ended.signal)).rejects.toThrow('ended')
    const parts = await Promise.all([NEXT, FORMER].map(it.fieldsOf))
    expect(parts.reduce((sum, { index }) => sum + index, 0)).toBe(OBJECTS)
    const back = await it.newStore().open(FORMER, never)
    expect(back.checkpoint).toMatchObject({ phase: 'seeding', adopting: [{ namespace: '' }] })
    await back.adopt({ source: NEXT, claims: claimsAll }, never)
    expect(await it.fieldsOf(FORMER)).toMatchObject({ index: OBJECTS, limits: it.incidents })
    expect(await it.reader.keys('*next*')).toEqual([])
    await it.reader.set(it.keys.schema, String(LAYOUT))
    const gone = next.commit([], '2000', never)
    await expect(gone).rejects.toThrow(PositionLostError)
    await expect(gone).rejects.toThrow(/the checkpoint is gone/)
    await back.beginList('different', never)
    await back.list(changes, never, () => true)
    await back.endList('2000', never)
    expect((await it.deliveries()).length).toBe(it.incidents)
    await it.expectBalance()
  })

test('incidents of what is not selected any more end, once; what is selected and not there is deleted', async () => {
  await using it = await startBed()
  const session = await it.newStore().open(NEXT, never)
  await session.adopt({ source: FORMER, claims: claimsAll }, never)
  await session.beginList('different', never)
  const listed = changes.filter(({ object }) => !['o7', 'o17', 'o27'].includes(object.name))
  await session.list(listed, never)
  await session.endList('2000', never, true, ({ name }) => name !== 'o7')
  expect((await it.ends()).toSorted()).toEqual(['o17 deleted', 'o27 deleted', 'o7 unwatched'])
  expect(await it.fieldsOf(NEXT)).toMatchObject({ index: OBJECTS - 3, limits: it.incidents - 3 })
  const { watches } = await readLedger(it.reader, it.keys, { verify: true })
  expect(watches['next']?.observed).toBe(OBJECTS + 2)
})

test('incidents of a watch that was removed end as no longer watched, and its index stays', async () => {
  await using it = await startBed()
  await it.former.forgetLimits(never)
  expect(await it.ends()).toHaveLength(it.incidents)
  expect(new Set((await it.ends()).map((end) => end.split(' ')[1]))).toEqual(new Set(['unwatched']))
  expect(await it.fieldsOf(FORMER)).toEqual({ index: OBJECTS, limits: 0, timers: 0 })
  await it.expectBalance()
})

test('what waits in two sources for the same object waits once when they become one', async () => {
  await using it = await startBed({ for: 3_600_000 })
  const waits = async () => (await readLedger(it.reader, it.keys, { verify: true })).rules['trouble']
  const before = (await waits())?.waiting ?? 0
  const session = await it.newStore().open(NEXT, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  await session.commit(changes.slice(0, 20), '22', never)
  expect((await waits())?.waiting).toBe(before + 2)
  await session.adopt({ source: FORMER, claims: claimsAll }, never)
  expect(await it.fieldsOf(NEXT)).toMatchObject({ limits: before })
  expect(await waits()).toMatchObject({ waiting: before, suppressed: { gone: 2 } })
  expect(await readLedger(it.reader, it.keys, { verify: true })).toMatchObject({
    ...{ balanced: true, verified: true },
  })
})
