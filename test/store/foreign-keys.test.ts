import { expect, test } from 'vitest'
import type { Evaluate } from '../../src/model/change.ts'
import { NO_RULE_COUNTS } from '../../src/model/limit.ts'
import { Transaction } from '../../src/store/commit/transaction.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { ForeignKeyError } from '../../src/store/redis/redis-fault.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE, sendAll } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

/** Of two rules: one is there in all commits, one is new in each. */
const sendCounted: Evaluate = (source, transitions) => {
  const counts = { ...NO_RULE_COUNTS, matched: transitions.length, sent: transitions.length }
  const rules = ['all', `of-${transitions[0]?.uid}`].map((rule) => [rule, counts] as const)
  return { ...sendAll(source, transitions), rules: new Map(rules) }
}

/** Keys that a commit writes, each with a value of a type that is not ours. */
const FOREIGN: [what: string, key: string, write: string[]][] = [
  ['a lane that is a string', 'lane:hook/0', ['SET', 'KEY', 'x']],
  ['pending as a string', 'pending', ['SET', 'KEY', 'x']],
  ['a counter of pending that is not a number', 'pending', ['HSET', 'KEY', 'hook/0', 'many']],
  ['the ledger of a sink as a list', 'ledger:sink:hook', ['RPUSH', 'KEY', 'x']],
  ['a counter of a sink that is not a number', 'ledger:sink:hook', ['HSET', 'KEY', 'enqueued', 'many']],
  ['the ledger of a watch as a string', `ledger:watch:${SOURCE.key}`, ['SET', 'KEY', 'x']],
  ['the ledger of a rule as a string', 'ledger:rule:all', ['SET', 'KEY', 'x']],
  ['the list of rules as a string', 'rules', ['SET', 'KEY', 'x']],
]

for (const [what, name, write] of FOREIGN) {
  test(`a commit waits for ${what}, names the key, and loses nothing`, async () => {
    await using it = await startStoreBed({ decide: sendCounted })
    const store = it.newStore()
    const session = await store.open(SOURCE, never)
    await session.beginList('newer', never)
    await session.endList('1', never)
    await session.commit([change('ADDED', 'o0', 2)], '2', never)
    const key = `{kubeherald:test}:${name}`
    await it.reader.rename(key, 'kept')
    await it.server.command(...write.map((word) => (word === 'KEY' ? key : word)))
    const commit = session.commit([change('ADDED', 'o1', 3)], '3', never)
    await waitFor(() => store.trouble()?.includes(key), { what: () => `${key}, not ${store.trouble()}` })
    expect(JSON.parse((await it.reader.get(it.keys.checkpoint(SOURCE.key))) ?? '')).toMatchObject({
      resourceVersion: '2',
    })
    await it.reader.del(key)
    await it.reader.rename('kept', key)
    await commit
    expect(await it.enqueued()).toEqual(['ADDED o0@2', 'ADDED o1@3'])
    expect(await it.reader.hget(it.keys.pending, 'hook/0')).toBe('2')
    expect(await it.reader.hgetall(it.keys.sinkLedger('hook'))).toEqual({ enqueued: '2' })
    const { watches } = await readLedger(it.reader, it.keys, { verify: false })
    expect(watches[SOURCE.key]).toMatchObject({ observed: 2, matched: 2 })
    expect(store.trouble()).toBeUndefined()
  })
}

test('a source whose checkpoint is new waits for a foreign lane as well', async () => {
  await using it = await startStoreBed()
  const store = it.newStore()
  const index = it.keys.index(SOURCE.key)
  await it.server.command('SET', index, 'x')
  const session = await store.open(SOURCE, never)
  const listed = session
    .beginSeed(never)
    .then(() => it.reader.set(index, 'x'))
    .then(() => session.seed([change('ADDED', 'o0', 2)], never))
  await waitFor(() => store.trouble()?.includes(index), { what: () => `${index}, not ${store.trouble()}` })
  await it.reader.del(index)
  await listed
  expect(await it.reader.hlen(index)).toBe(1)
})

test('a transaction that changes very many counters of one key is all or nothing', async () => {
  await using it = await startStoreBed()
  const lanes = Array.from({ length: 20_000 }, (_, i) => `hook/${i}`)
  await it.reader.hset(it.keys.pending, 'hook/19999', 'many')
  const transaction = new Transaction()
  for (const lane of lanes) transaction.add('HINCRBY', it.keys.pending, lane, 1)
  await expect(transaction.run(it.reader, { watching: false })).rejects.toThrow(ForeignKeyError)
  const left = Object.entries(await it.reader.hgetall(it.keys.pending)).filter(([, count]) => count !== '0')
  expect(left).toEqual([['hook/19999', 'many']])
})
