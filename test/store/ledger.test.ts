import { expect, test } from 'vitest'
import { readLedger } from '../../src/store/ledger.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

test('the ledger tells what was observed and enqueued, what waits, and since when', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2), change('ADDED', 'b', 3)], '3', never)
  expect(await readLedger(it.reader, it.keys, { verify: true })).toEqual({
    watches: { [SOURCE.key]: { observed: 2, unmatched: 0, dropped: 0, matched: 2, limited: 0 } },
    rules: {},
    sinks: {
      hook: {
        ...{ enqueued: 2, delivered: 0, dead: 0, discarded: 0, archived: 0, dropped: 0 },
        ...{ pending: 2, oldestMs: 1_750_000_000_000 },
      },
    },
    balanced: true,
    verified: true,
  })
})

test('an empty Redis is balanced', async () => {
  await using it = await startStoreBed()
  expect(await readLedger(it.reader, it.keys, { verify: true })).toMatchObject({ sinks: {}, balanced: true })
})

test('a change that was counted nowhere unbalances it', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  await it.reader.hincrby(it.keys.watchLedger(SOURCE.key), 'observed', 1)
  expect((await readLedger(it.reader, it.keys, { verify: false })).balanced).toBe(false)
})

test('only a count of the streams finds a delivery that is gone', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  await session.commit([change('ADDED', 'a', 2)], '2', never)
  await it.reader.xtrim(it.keys.lane('hook/0'), 'MAXLEN', 0)
  expect(await readLedger(it.reader, it.keys, { verify: false })).toMatchObject({
    balanced: true,
    verified: false,
  })
  expect(await readLedger(it.reader, it.keys, { verify: true })).toMatchObject({
    sinks: { hook: { enqueued: 1, pending: 0 } },
    balanced: false,
    verified: true,
  })
})

test('it is balanced at every moment, also while commits are made', async () => {
  await using it = await startStoreBed()
  const session = await it.watching()
  let working = true
  const commits = (async () => {
    for (let i = 0; i < 300; i++) {
      const some = Array.from({ length: 5 }, (_, n) => change('ADDED', `o${i}-${n}`, i * 5 + n + 2))
      await session.commit(some, String(i * 5 + 6), never)
    }
    working = false
  })()
  const seen: boolean[] = []
  while (working) seen.push((await readLedger(it.reader, it.keys, { verify: true })).balanced)
  await commits
  expect(seen.length).toBeGreaterThan(3)
  expect(seen).not.toContain(false)
})
